import pytest

from strongroom.crypto.aes256gcm import encrypt
from strongroom.crypto.artefacts import write_artefacts
from strongroom.crypto.compat import derive_key, open_with_key, open_with_passphrase
from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.errors import (
    DecryptionFailed,
    MalformedArtefacts,
    MalformedCiphertext,
    ParametersRefused,
    PassphraseRefused,
)

DERIVATION = "Pbkdf2Hmac." + encode_padded(write_artefacts({"iv": b"salt", "i": 1, "l": 32}))
KEY = derive_key("password", DERIVATION)


def test_a_five_part_value() -> None:
    assert KEY.hex() == "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b"
    serialized = f"{encrypt(KEY, b'old data', ad='user:1')}.{DERIVATION}"
    assert open_with_passphrase("password", serialized) == b"old data"
    with pytest.raises(DecryptionFailed):
        open_with_passphrase("another", serialized)
    with pytest.raises(MalformedCiphertext):
        open_with_passphrase("password", serialized, limit=50)
    with pytest.raises(MalformedCiphertext):
        open_with_key(KEY, serialized)


def test_what_is_refused_before_any_work() -> None:
    with pytest.raises(MalformedArtefacts):
        derive_key("password", DERIVATION.removeprefix("Pbkdf2Hmac."))
    with pytest.raises(PassphraseRefused):
        derive_key("", DERIVATION)
    endless = write_artefacts({"iv": b"salt", "i": 2**31 - 1, "l": 32})
    with pytest.raises(ParametersRefused):
        derive_key("password", "Pbkdf2Hmac." + encode_padded(endless))


def test_the_two_encodings_differ_beyond_ascii() -> None:
    assert derive_key("password", DERIVATION, "code-units") == KEY
    assert derive_key("p\xe4ss", DERIVATION, "code-units") != derive_key("p\xe4ss", DERIVATION)

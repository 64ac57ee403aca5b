import pickle
from collections.abc import Callable
from itertools import permutations
from typing import Any

import pytest

from strongroom.crypto.aes256gcm import encrypt
from strongroom.crypto.errors import ContextRefused, CryptoError, DecryptionFailed, MalformedCiphertext, MalformedKey
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey
from strongroom.crypto.rsa4096 import PrivateKey

Hierarchy = Any


@pytest.mark.parametrize("artefact_format", ArtefactFormat)
def test_there_and_back(ada: Hierarchy, artefact_format: ArtefactFormat) -> None:
    account = ada.account
    assert ada.pdk.unwrap(ada.pdk.wrap(ada.kek, account, artefact_format), account) == ada.kek
    wrapped = ada.kek.wrap_data_encryption_key(ada.dek, account, artefact_format)
    dek = ada.kek.unwrap_data_encryption_key(wrapped, account)
    assert (dek, dek.purpose, dek.uid) == (ada.dek, "data", ada.dek.uid)
    wrapped = ada.kek.wrap_private_key(ada.private_key, account, "vault", artefact_format)
    private_key = ada.kek.unwrap_private_key(wrapped, account, "vault", ada.private_key.public_key)
    assert private_key.pem == ada.private_key.pem
    sealed = dek.seal(b"data", account, "notes", artefact_format)
    assert dek.open(sealed, account, "notes") == b"data"


def _openers(user: Hierarchy) -> dict[str, Callable[[str, Mode], object]]:
    public = user.private_key.public_key
    return {
        "kek": lambda text, mode: user.pdk.unwrap(text, user.account, mode),
        "dek": lambda text, mode: user.kek.unwrap_data_encryption_key(text, user.account, mode),
        "vault key": lambda text, mode: user.kek.unwrap_private_key(text, user.account, "vault", public, mode),
        "share key": lambda text, mode: user.kek.unwrap_private_key(text, user.account, "share", public, mode),
        "untagged key": lambda text, mode: user.kek.unwrap_private_key(text, user.account, "", public, mode),
        "data": lambda text, mode: user.dek.open(text, user.account, "data", mode),
        "notes": lambda text, mode: user.dek.open(text, user.account, "notes", mode),
    }


def _stored(user: Hierarchy, artefacts: ArtefactFormat = ArtefactFormat.YAML) -> dict[str, str]:
    # 32 bytes of plaintext wherever it can be, so that no swap is refused for its length alone.
    wrap_private_key = user.kek.wrap_private_key
    return {
        "kek": user.pdk.wrap(user.kek, user.account, artefacts),
        "dek": user.kek.wrap_data_encryption_key(user.dek, user.account, artefacts),
        "vault key": wrap_private_key(user.private_key, user.account, "vault", artefacts),
        "share key": wrap_private_key(user.private_key, user.account, "share", artefacts),
        "untagged key": wrap_private_key(user.private_key, user.account, "", artefacts),
        "data": user.dek.seal(bytes(32), user.account, "data", artefacts),
        "notes": user.dek.seal(bytes(32), user.account, "notes", artefacts),
    }


def test_every_swap_of_one_object_for_another_is_refused(ada: Hierarchy, twin: Hierarchy) -> None:
    # Both accounts have the same keys, so nothing but the binding tells their values apart.
    users = {"ada": ada, "twin": twin}
    stored = {(name, kind): text for name, user in users.items() for kind, text in _stored(user).items()}
    openers = {(name, kind): opener for name, user in users.items() for kind, opener in _openers(user).items()}
    refused = 0
    for (wanted, opener), (given, text) in ((o, s) for o in openers.items() for s in stored.items()):
        for mode in Mode:
            if wanted == given:
                opener(text, mode)
            else:
                with pytest.raises(DecryptionFailed):
                    opener(text, mode)
                refused += 1
    assert refused == 2 * (14 * 14 - 14)


def test_the_same_key_everywhere_still_keeps_kinds_apart(ada: Hierarchy) -> None:
    """Even if one 32-byte key stood at every level, only the matching kind would open."""
    one = bytes(range(32))
    pdk, kek, dek = PasswordDerivedKey(one), KeyEncryptionKey(one), DataEncryptionKey(one, "data", ada.dek.uid)
    public = ada.private_key.public_key
    openers: list[Callable[[str], object]] = [
        lambda text: pdk.unwrap(text, ada.account),
        lambda text: kek.unwrap_data_encryption_key(text, ada.account),
        lambda text: kek.unwrap_private_key(text, ada.account, "vault", public),
        lambda text: dek.open(text, ada.account),
    ]
    stored = [
        pdk.wrap(kek, ada.account),
        kek.wrap_data_encryption_key(dek, ada.account),
        kek.wrap_private_key(ada.private_key, ada.account, "vault"),
        dek.seal(one, ada.account),
    ]
    for opened, given in permutations(range(4), 2):
        with pytest.raises(DecryptionFailed):
            openers[opened](stored[given])


def test_a_value_bound_to_nothing_opens_in_compat_only(ada: Hierarchy) -> None:
    kek, dek = ada.kek.reveal(), ada.dek.reveal()
    public = ada.private_key.public_key
    cases: list[tuple[str, Callable[[str, Mode], object]]] = [
        (encrypt(ada.pdk.reveal(), kek), lambda text, mode: ada.pdk.unwrap(text, ada.account, mode)),
        (encrypt(kek, dek), lambda text, mode: ada.kek.unwrap_data_encryption_key(text, ada.account, mode)),
        (
            encrypt(kek, ada.private_key.pem.encode()),
            lambda text, mode: ada.kek.unwrap_private_key(text, ada.account, "vault", public, mode),
        ),
        (encrypt(dek, b"data"), lambda text, mode: ada.dek.open(text, ada.account, "data", mode)),
    ]
    for text, opener in cases:
        opener(text, Mode.COMPAT)
        with pytest.raises(DecryptionFailed):
            opener(text, Mode.STRICT)


def test_a_key_of_another_port_has_no_uid_and_seals_nothing(ada: Hierarchy) -> None:
    foreign = ada.kek.unwrap_data_encryption_key(encrypt(ada.kek.reveal(), bytes(32)), ada.account, Mode.COMPAT)
    assert (foreign.purpose, foreign.uid) == (None, None)
    with pytest.raises(ContextRefused):
        foreign.seal(b"x", ada.account)
    with pytest.raises(ContextRefused):
        ada.kek.wrap_data_encryption_key(foreign, ada.account)
    assert foreign.open(encrypt(bytes(32), b"x"), ada.account, mode=Mode.COMPAT) == b"x"
    for text in (encrypt(bytes(32), b"x"), ada.sealed):
        with pytest.raises(DecryptionFailed):
            foreign.open(text, ada.account)


@pytest.mark.parametrize("size", [1, 16, 31, 33, 44, 64])
def test_keys_of_another_length_are_refused(ada: Hierarchy, size: int) -> None:
    from strongroom.crypto import binding

    wrapped = encrypt(ada.pdk.reveal(), bytes(size), ad=binding.key_encryption_key(ada.account))
    with pytest.raises(DecryptionFailed):
        ada.pdk.unwrap(wrapped, ada.account)
    ad = binding.data_encryption_key(ada.account, "data", ada.dek.uid)
    with pytest.raises(DecryptionFailed):
        ada.kek.unwrap_data_encryption_key(encrypt(ada.kek.reveal(), bytes(size), ad=ad), ada.account)


def test_a_public_key_that_is_not_its_pair_is_refused(ada: Hierarchy, bob_key: PrivateKey) -> None:
    with pytest.raises(DecryptionFailed):
        ada.kek.unwrap_private_key(ada.serialized_private_key, ada.account, "vault", bob_key.public_key)
    # Bound to Bob's fingerprint but holding Ada's key: only the comparison of the keys themselves notices.
    from strongroom.crypto import binding

    ad = binding.private_key(ada.account, "vault", bob_key.public_key.fingerprint)
    for plaintext in (ada.private_key.pem.encode(), b"not a key", bytes(3000)):
        forged = encrypt(ada.kek.reveal(), plaintext, ad=ad)
        with pytest.raises(DecryptionFailed):
            ada.kek.unwrap_private_key(forged, ada.account, "vault", bob_key.public_key)
    unbound = encrypt(ada.kek.reveal(), ada.private_key.pem.encode())
    with pytest.raises(DecryptionFailed):
        ada.kek.unwrap_private_key(unbound, ada.account, "vault", bob_key.public_key, Mode.COMPAT)


def _flips(text: str) -> list[str]:
    return [
        text[:place] + chr(ord(text[place]) ^ 1 << bit) + text[place + 1 :]
        for place in range(len(text))
        for bit in range(8)
    ]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("artefact_format", ArtefactFormat)
@pytest.mark.parametrize("kind", ["kek", "dek", "vault key", "data"])
def test_every_single_bit_flip_of_a_stored_value_is_refused(
    ada: Hierarchy, kind: str, artefact_format: ArtefactFormat, mode: Mode
) -> None:
    opener, text = _openers(ada)[kind], _stored(ada, artefact_format)[kind]
    opener(text, mode)
    flipped = _flips(text)
    assert len(flipped) == 8 * len(text)
    for changed in flipped:
        with pytest.raises((MalformedCiphertext, DecryptionFailed)):
            opener(changed, mode)


def test_purposes_and_limits(ada: Hierarchy) -> None:
    for purpose in ("", "Notes", "a" * 33):
        with pytest.raises(ContextRefused):
            DataEncryptionKey.generate(purpose)
    assert KeyEncryptionKey.generate() != KeyEncryptionKey.generate()
    first, second = DataEncryptionKey.generate("notes"), DataEncryptionKey.generate("notes")
    assert first != second
    assert first.uid != second.uid
    sealed = first.seal(bytes(100_000), ada.account)
    assert first.open(sealed, ada.account, limit=100_000) == bytes(100_000)
    with pytest.raises(MalformedCiphertext):
        first.open(sealed, ada.account, limit=99_999)


@pytest.mark.parametrize("cls", [PasswordDerivedKey, KeyEncryptionKey, DataEncryptionKey])
def test_keys_hide(cls: type[PasswordDerivedKey | KeyEncryptionKey | DataEncryptionKey]) -> None:
    key = cls(b"0123456789abcdef0123456789abcdef")
    assert "0123" not in repr(key) + str(key) + repr([key]) + repr(key.reveal)
    with pytest.raises(TypeError):
        pickle.dumps(key)
    with pytest.raises(TypeError):
        hash(key)
    with pytest.raises(MalformedKey):
        cls(bytes(31))
    assert key == cls(key.reveal())
    assert key != cls(bytes(32))


def test_the_three_types_are_never_equal() -> None:
    keys = [cls(bytes(32)) for cls in (PasswordDerivedKey, KeyEncryptionKey, DataEncryptionKey)]
    assert all(first != second for first, second in permutations(keys, 2))


def test_errors_tell_nothing_about_the_input(ada: Hierarchy) -> None:
    for mode in Mode:
        with pytest.raises(CryptoError) as caught:
            ada.pdk.unwrap(ada.serialized_dek, ada.account, mode)
        assert ada.serialized_dek[:30] not in repr(caught.value)
        assert caught.value.args == (DecryptionFailed.message,)

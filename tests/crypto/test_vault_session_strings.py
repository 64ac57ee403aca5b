import pytest

from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.errors import RealmRefused, SessionStringRefused
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.grammar import vault_session_string
from strongroom.crypto.names import realm_tag
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.vault_session_strings import open_vault_session

REALM = "https://vault.example"
HERE, ELSEWHERE = realm_tag(REALM), realm_tag("https://evil.example")
GOOD = vault_session_string(HERE, bytes(range(64)))


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("artefact_format", ArtefactFormat)
def test_a_session_for_this_realm_opens(ada_key: PrivateKey, mode: Mode, artefact_format: ArtefactFormat) -> None:
    encrypted = ada_key.public_key.encrypt(GOOD.encode(), artefact_format)
    opened = open_vault_session(ada_key, encrypted, realm=REALM + ":443/path", mode=mode)
    assert opened.reveal() == GOOD
    assert GOOD not in repr(opened)


REFUSED_ALWAYS = [
    vault_session_string(ELSEWHERE, bytes(range(64))).encode(),
    GOOD[:-1].encode(),
    GOOD.encode() + b"\n",
    GOOD.encode() + b"\r\nX: y",
    GOOD.encode() + b"\0",
    b" " + GOOD.encode(),
    GOOD.replace("srv1_", "srw1_").encode(),
    with_checksum(GOOD.replace("srv1_", "srw1_")[:-6]).encode(),
    with_checksum("srs_" + "A" * 43).encode(),
    bytes(range(32)),
    b"k" * 32,
    b"0123456789abcdef0123456789abcdef",
    b"A" * 43,
    (b"0a" * 32),
    b"A" * 43 + b"=",
    "\xe9".encode() * 20,
    b"-----BEGIN RSA PRIVATE KEY-----",
    b"short",
    b"x" * 470,
    b"x" * 129,
    bytes(470),
]


@pytest.mark.parametrize("plaintext", REFUSED_ALWAYS)
@pytest.mark.parametrize("mode", Mode)
def test_nothing_else_ever_leaves(ada_key: PrivateKey, plaintext: bytes, mode: Mode) -> None:
    with pytest.raises(SessionStringRefused) as caught:
        open_vault_session(ada_key, ada_key.public_key.encrypt(plaintext), realm=REALM, mode=mode)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert str(caught.value) == SessionStringRefused.message


@pytest.mark.parametrize(
    "plaintext", ["vault-session-string", "0123456789abcdef", "a" * 31, "a" * 33, "b" * 128, "A" * 42]
)
def test_session_strings_of_other_servers_are_for_compat(ada_key: PrivateKey, plaintext: str) -> None:
    encrypted = ada_key.public_key.encrypt(plaintext.encode())
    assert open_vault_session(ada_key, encrypted, realm=REALM, mode=Mode.COMPAT).reveal() == plaintext
    with pytest.raises(SessionStringRefused):
        open_vault_session(ada_key, encrypted, realm=REALM)


def test_malformed_and_foreign_ciphertexts_are_the_same_error(ada_key: PrivateKey, bob_key: PrivateKey) -> None:
    encrypted = ada_key.public_key.encrypt(GOOD.encode())
    for text in (
        "",
        GOOD,
        encrypted.replace("Rsa4096", "Aes256Gcm"),
        encrypted.replace("Rsa4096", "Rsa2048"),
        encrypted + ".x",
        encrypted.rpartition(".")[0],
        bob_key.public_key.encrypt(GOOD.encode()),
    ):
        for mode in Mode:
            with pytest.raises(SessionStringRefused):
                open_vault_session(ada_key, text, realm=REALM, mode=mode)
    with pytest.raises(RealmRefused):
        open_vault_session(ada_key, encrypted, realm="http://vault.example")

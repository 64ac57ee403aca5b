"""Whole values of other ports of the library, opened in compat mode by the key or passphrase alone."""

from typing import Final, Literal

from strongroom.crypto.aes256gcm import decrypt
from strongroom.crypto.derivation import derive, parse_derivation_artefacts
from strongroom.crypto.errors import MalformedArtefacts
from strongroom.crypto.formats import Mode
from strongroom.crypto.passphrases import code_units, exact_passphrase
from strongroom.crypto.serialized_values import split_derived

PassphraseEncoding = Literal["utf-8", "code-units"]
LIMIT: Final = 64 * 1024 * 1024


def open_with_key(key: bytes, serialized: str, *, limit: int = LIMIT) -> bytes:
    """A three-part `Aes256Gcm` value, its `ad` taken from the artefacts. MalformedCiphertext or DecryptionFailed."""
    return decrypt(key, serialized, mode=Mode.COMPAT, limit=limit)


def open_with_passphrase(
    passphrase: str, serialized: str, encoding: PassphraseEncoding = "utf-8", *, limit: int = LIMIT
) -> bytes:
    """A five-part value, `Aes256Gcm.<data>.<artefacts>.Pbkdf2Hmac.<derivation artefacts>`; else as `derive_key`."""
    value, derivation = split_derived(serialized, limit)
    return open_with_key(derive_key(passphrase, derivation, encoding), value, limit=limit)


def derive_key(passphrase: str, serialized: str, encoding: PassphraseEncoding = "utf-8") -> bytes:
    """The 32-byte key for `Pbkdf2Hmac.<derivation artefacts>`, the passphrase taken exactly as given.

    `code-units` is the rule of early JavaScript ports. MalformedArtefacts, ParametersRefused or PassphraseRefused.
    """
    if not serialized.startswith("Pbkdf2Hmac."):
        raise MalformedArtefacts
    given = code_units(passphrase) if encoding == "code-units" else exact_passphrase(passphrase)
    return derive(given, parse_derivation_artefacts(serialized, Mode.COMPAT), Mode.COMPAT).reveal()

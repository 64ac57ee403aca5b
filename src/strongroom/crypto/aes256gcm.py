"""The encryption strategy `Aes256Gcm`: key of 32 bytes, random IV of 12, tag of 16 that travels in the artefacts."""

from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from strongroom.crypto.artefacts.fields import is_printable_ascii
from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.errors import ContextRefused, DecryptionFailed, MalformedKey, PlaintextRefused
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.randomness import random_bytes
from strongroom.crypto.serialized_values import (
    DEFAULT_LIMIT,
    IV_SIZE,
    TAG_SIZE,
    CipherArtefacts,
    SerializedValue,
    join_artefacts,
    split,
)

AD_LIMIT: Final = 512


def encrypt(key: bytes, plaintext: bytes, *, ad: str = "none", artefacts: ArtefactFormat = ArtefactFormat.YAML) -> str:
    """`Aes256Gcm.<data>.<artefacts>`. One key may encrypt at most 2^32 values (SP 800-38D 8.3: random IVs).

    MalformedKey unless the key has 32 bytes, PlaintextRefused for an empty plaintext, ContextRefused unless `ad` is
    printable ASCII of at most 512 characters.
    """
    if not plaintext:
        raise PlaintextRefused
    # Ports disagree on the bytes of anything beyond ASCII.
    if len(ad) > AD_LIMIT or not is_printable_ascii(ad):
        raise ContextRefused
    iv = random_bytes(IV_SIZE)
    sealed = memoryview(_cipher(key).encrypt(iv, plaintext, ad.encode("ascii")))
    written = join_artefacts(CipherArtefacts(iv, bytes(sealed[-TAG_SIZE:]), ad), artefacts)
    return f"Aes256Gcm.{encode_padded(sealed[:-TAG_SIZE])}.{written}"


def decrypt(
    key: bytes, serialized: str, *, ad: str | None = None, mode: Mode = Mode.STRICT, limit: int = DEFAULT_LIMIT
) -> bytes:
    """The plaintext. STRICT needs `ad`, the context the caller expects; COMPAT without `ad` uses what the value says.

    `limit` counts characters of the whole value. MalformedCiphertext, or DecryptionFailed for everything else: another
    key, another context, changed bytes. MalformedKey unless the key has 32 bytes.
    """
    return open_value(key, split(serialized, "Aes256Gcm", mode, limit), ad=ad, mode=mode)


def open_value(key: bytes, value: SerializedValue, *, ad: str | None, mode: Mode) -> bytes:
    """Decrypt a value that has been split already; otherwise as `decrypt`."""
    cipher = _cipher(key)
    artefacts = value.artefacts
    if artefacts is None or (ad is None and mode is Mode.STRICT):
        raise DecryptionFailed
    if ad is None:
        ad = artefacts.ad
    elif ad != artefacts.ad:
        raise DecryptionFailed
    try:
        # The caller's own string goes to GCM, so the comparison above is never what security rests on.
        return cipher.decrypt(artefacts.iv, value.data + artefacts.at, ad.encode("ascii"))
    except (InvalidTag, UnicodeEncodeError):
        raise DecryptionFailed from None


def _cipher(key: bytes) -> AESGCM:
    if len(key) != 32:
        raise MalformedKey
    return AESGCM(key)

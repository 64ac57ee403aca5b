"""Serialized values: `<Strategy>.<data>.<artefacts>`, split and joined without any key."""

from dataclasses import dataclass, field
from typing import Final

from strongroom.crypto.artefacts import SIZE_LIMIT, Scalar, read_artefacts, write_artefacts
from strongroom.crypto.artefacts.yaml_hash import is_own_encryption
from strongroom.crypto.encoding import decode_padded, encode_padded
from strongroom.crypto.errors import MalformedArtefacts, MalformedCiphertext
from strongroom.crypto.formats import ArtefactFormat, Mode, Strategy

KEY_LIMIT: Final = 8 * 1024
DEFAULT_LIMIT: Final = 64 * 1024
IV_SIZE: Final = 12
TAG_SIZE: Final = 16
RSA_SIZE: Final = 512
_ARTEFACT_CHARACTERS: Final = -(-SIZE_LIMIT // 3) * 4
# Written for every RSA value; kept ready so that neither emission nor parsing runs for them.
_EMPTY: Final = {
    ArtefactFormat.YAML: encode_padded(write_artefacts({}, ArtefactFormat.YAML)),
    ArtefactFormat.BSON: encode_padded(write_artefacts({}, ArtefactFormat.BSON)),
}


@dataclass(frozen=True, slots=True)
class CipherArtefacts:
    """The artefacts of an Aes256Gcm ciphertext: IV, authentication tag and additional authenticated data."""

    iv: bytes
    at: bytes
    ad: str


@dataclass(frozen=True, slots=True)
class SerializedValue:
    """The three parts, decoded. `artefacts` is None for Rsa4096, whose hash is empty."""

    strategy: Strategy
    data: bytes = field(repr=False)
    artefacts: CipherArtefacts | None
    format: ArtefactFormat = ArtefactFormat.YAML


def characters_for(size: int) -> int:
    """The length of the longest serialized value that holds `size` bytes of data."""
    return len("Aes256Gcm..") + -(-size // 3) * 4 + _ARTEFACT_CHARACTERS


def split(text: str, strategy: Strategy, mode: Mode = Mode.STRICT, limit: int = DEFAULT_LIMIT) -> SerializedValue:
    """Read a value of the one strategy the caller expects; `limit` counts characters of the whole text.

    MalformedCiphertext unless: exactly three parts, the strategy to the letter, canonical Base64, at least one byte of
    data (exactly 512 for Rsa4096), artefacts exactly `iv` (12 bytes), `at` (16 bytes), `ad`, or the empty hash.
    """
    # The strategy is compared, never looked up: a relabelled value must not choose another cipher.
    start = len(strategy) + 1
    if len(text) > limit or not text.startswith(f"{strategy}."):
        raise MalformedCiphertext
    end = text.find(".", start)
    if end < 0 or len(text) - end > _ARTEFACT_CHARACTERS + 1 or text.find(".", end + 1) >= 0:
        raise MalformedCiphertext
    encoded_artefacts = text[end + 1 :]
    data = decode_padded(text[start:end], mode)
    if not data:
        raise MalformedCiphertext
    if strategy == "Rsa4096":
        if len(data) != RSA_SIZE:
            raise MalformedCiphertext
        return SerializedValue(strategy, data, None, _read_empty(encoded_artefacts, mode))
    artefacts, artefact_format = _read_cipher_artefacts(encoded_artefacts, mode)
    return SerializedValue(strategy, data, artefacts, artefact_format)


def _decode_artefacts(encoded: str, mode: Mode) -> bytes:
    decoded = decode_padded(encoded, mode)
    if decoded is None:
        raise MalformedCiphertext
    return decoded


def _read_cipher_artefacts(encoded: str, mode: Mode) -> tuple[CipherArtefacts, ArtefactFormat]:
    try:
        fields, artefact_format = read_artefacts(_decode_artefacts(encoded, mode), mode)
    except MalformedArtefacts:
        raise MalformedCiphertext from None
    iv, at, ad = fields.get("iv"), fields.get("at"), fields.get("ad")
    if len(fields) != 3 or not isinstance(iv, bytes) or not isinstance(at, bytes) or not isinstance(ad, str):
        raise MalformedCiphertext
    # A shorter tag would be easier to forge, and GCM takes any length it is given.
    if len(iv) != IV_SIZE or len(at) != TAG_SIZE:
        raise MalformedCiphertext
    return CipherArtefacts(iv, at, ad), artefact_format


def _read_empty(encoded: str, mode: Mode) -> ArtefactFormat:
    for artefact_format, known in _EMPTY.items():
        if encoded == known:
            return artefact_format
    try:
        fields, artefact_format = read_artefacts(_decode_artefacts(encoded, mode), mode)
    except MalformedArtefacts:
        raise MalformedCiphertext from None
    if fields:
        raise MalformedCiphertext
    return artefact_format


def join(value: SerializedValue) -> str:
    """The text of a value; `split` gives back an equal one."""
    return ".".join((value.strategy, encode_padded(value.data), join_artefacts(value.artefacts, value.format)))


def join_artefacts(artefacts: CipherArtefacts | None, artefact_format: ArtefactFormat) -> str:
    """Part 3 of a serialized value."""
    if artefacts is None:
        return _EMPTY[artefact_format]
    fields: dict[str, Scalar] = {"iv": artefacts.iv, "at": artefacts.at, "ad": artefacts.ad}
    return encode_padded(write_artefacts(fields, artefact_format))


def split_derived(text: str, limit: int = DEFAULT_LIMIT) -> tuple[str, str]:
    """A five-part value as its Aes256Gcm value and its `Pbkdf2Hmac.<derivation artefacts>`; MalformedCiphertext."""
    if len(text) > limit or text.count(".") != 4:
        raise MalformedCiphertext
    strategy, data, artefacts, derivation, derivation_artefacts = text.split(".")
    if strategy != "Aes256Gcm" or derivation != "Pbkdf2Hmac":
        raise MalformedCiphertext
    return f"{strategy}.{data}.{artefacts}", f"{derivation}.{derivation_artefacts}"


def check_encrypted_value(text: str, strategy: Strategy, limit: int = DEFAULT_LIMIT) -> None:
    """What the service demands of a stored field: a whole value of this strategy, in either Base64 alphabet and format.

    MalformedCiphertext otherwise. Says nothing about who can open it: the service has no key to ask.
    """
    split(text, strategy, Mode.COMPAT, limit)


def own_parts(text: str, limit: int = DEFAULT_LIMIT) -> tuple[bytes, bytes] | None:
    """Data and artefacts of an Aes256Gcm value as this package writes it, decoded; None says nothing.

    `check_encrypted_value` accepts everything that this accepts, and takes several times as long.
    """
    pieces = text.split(".", 3)
    if len(pieces) != 3 or pieces[0] != "Aes256Gcm" or len(text) > limit:
        return None
    data, artefacts = decode_padded(pieces[1]), decode_padded(pieces[2])
    if not data or artefacts is None or len(artefacts) > SIZE_LIMIT or not is_own_encryption(artefacts):
        return None
    return data, artefacts

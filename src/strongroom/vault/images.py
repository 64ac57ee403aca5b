"""Pictures of classification nodes: taken in as pixels only, served so that a browser can do nothing but show them."""

import hashlib
import io
import struct
import warnings
from dataclasses import dataclass

from strongroom.http.answers import Stream, stream_of
from strongroom.runtime import ids
from strongroom.storage import Transaction
from strongroom.wire.refusal import Refusal, Refused

MAX_BYTES = 1024 * 1024
MAX_SIDE = 2048
MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
FIND = "SELECT media_type, content_hash, content FROM images WHERE image_id = :image_id"
EXISTS = "SELECT 1 FROM images WHERE image_id = :image_id"
INSERT = """
INSERT INTO images (image_id, media_type, content_hash, content)
VALUES (:image_id, :media_type, :content_hash, :content) ON CONFLICT (image_id) DO NOTHING
"""
DROP_UNUSED = "DELETE FROM images WHERE image_id NOT IN (SELECT image_id FROM classification_nodes)"

_SAVE_OPTIONS: dict[str, dict[str, int | bool]] = {
    "PNG": {"optimize": True},
    "JPEG": {"quality": 90},
    "WEBP": {"quality": 90},
}
# What Pillow raises over a damaged file, beside `struct.error` and warnings.
_UNREADABLE = (OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, ArithmeticError)
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    # The id changes with the picture, so a copy never goes stale.
    "Cache-Control": "public, max-age=31536000, immutable",
}


class ImageRefused(Exception):
    """The bytes are no acceptable picture; the message says why and holds nothing of them."""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture as it is served."""

    image_id: bytes
    media_type: str
    content: bytes

    async def store(self, tx: Transaction) -> None:
        """Storing a picture that is there already changes nothing."""
        content_hash = hashlib.sha256(self.content).digest()
        await tx.run(
            INSERT,
            image_id=self.image_id,
            media_type=self.media_type,
            content_hash=content_hash,
            content=self.content,
        )


def url(public_url: str, image_id: bytes) -> str:
    return f"{public_url}/vault/global/images/{ids.to_text(image_id)}"


async def read(tx: Transaction, image_id: str) -> Stream:
    """The picture with the headers it is always served with; `not_found`."""
    key = ids.from_text(image_id)
    row = None if key is None else await tx.one(FIND, image_id=key)
    if row is None:
        raise Refused(Refusal.not_found)
    media_type, content_hash, content = row
    return stream_of(content, media_type, f'"{content_hash.hex()}"', _HEADERS)


def image_id_of(source: bytes) -> bytes:
    """The id of a picture follows from the bytes it was given as: a version 8 UUID (RFC 9562) from their SHA-256."""
    digest = hashlib.sha256(source).digest()
    return digest[:6] + bytes((0x80 | digest[6] & 0x0F, digest[7], 0x80 | digest[8] & 0x3F)) + digest[9:16]


def take_in(source: bytes) -> Image:
    """Decode and write anew: PNG, JPEG or WebP, at most 1 MiB and 2048 x 2048 pixels, one frame; `ImageRefused`.

    What is served holds pixels only: no metadata, no second format hidden behind the first.
    """
    if len(source) > MAX_BYTES:
        raise ImageRefused("the picture is larger than 1 MiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # Pillow only warns of a picture that would fill the memory
            content, media_type = _written_anew(source)
    except (*_UNREADABLE, struct.error, Warning) as error:
        raise ImageRefused("the picture cannot be read as PNG, JPEG or WebP") from error
    if len(content) > MAX_BYTES:
        raise ImageRefused("the picture, written anew, is larger than 1 MiB")
    return Image(image_id_of(source), media_type, content)


def as_shipped(source: bytes) -> Image:
    """A picture of our own, as it is: already written by the same means, so the first start need not decode it."""
    return Image(image_id_of(source), MEDIA_TYPES["PNG"], source)


def _written_anew(source: bytes) -> tuple[bytes, str]:
    # Imported here because it costs the start of the service more than the whole vault does.
    from PIL import Image as Pictures
    from PIL import ImageOps

    try:
        picture = Pictures.open(io.BytesIO(source), formats=tuple(MEDIA_TYPES))
    except Pictures.DecompressionBombError as error:
        raise ImageRefused("the picture has more than 2048 x 2048 pixels") from error
    with picture:
        # The header tells the size: nothing is decoded before it is known to be small.
        if max(picture.size) > MAX_SIDE:
            raise ImageRefused("the picture has more than 2048 x 2048 pixels")
        # Cameras hide further pictures behind a JPEG; the first one is all we take.
        file_format = "JPEG" if picture.format in ("JPEG", "MPO") else str(picture.format)
        upright = ImageOps.exif_transpose(picture)
        mode = "RGBA" if upright.has_transparency_data and file_format != "JPEG" else "RGB"
        pixels = Pictures.new(mode, upright.size)
        pixels.paste(upright.convert(mode))
    written = io.BytesIO()
    pixels.save(written, file_format, **_SAVE_OPTIONS[file_format])
    return written.getvalue(), MEDIA_TYPES[file_format]

"""Pictures: what is taken in, what is left of it, and how it is served."""

import hashlib
import io
import struct
import zlib
from typing import TYPE_CHECKING

import pytest
from PIL import Image as Pictures
from PIL.PngImagePlugin import PngInfo

from strongroom.http.call import Call
from strongroom.runtime import ids
from strongroom.vault import images
from strongroom.vault.images import ImageRefused, take_in
from strongroom.wire.refusal import Refusal
from strongroom.wire.vault import ImagePath

if TYPE_CHECKING:
    from tests.vault.conftest import World


def picture(file_format: str, size: tuple[int, int] = (8, 4), mode: str = "RGB", **options: object) -> bytes:
    written = io.BytesIO()
    Pictures.new(mode, size, "#C94C5A" if mode in ("RGB", "RGBA") else 7).save(written, file_format, **options)
    return written.getvalue()


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize(
    ("file_format", "media_type"), [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("WEBP", "image/webp")]
)
def test_the_format_stays(file_format: str, media_type: str) -> None:
    image = take_in(picture(file_format))
    assert image.media_type == media_type
    with Pictures.open(io.BytesIO(image.content)) as reread:
        assert reread.format == file_format
        assert reread.size == (8, 4)
        pixel = reread.convert("RGB").getpixel((3, 2))
    assert isinstance(pixel, tuple)
    assert all(abs(got - sent) < 6 for got, sent in zip(pixel, (0xC9, 0x4C, 0x5A), strict=True))


def test_transparency_stays() -> None:
    with Pictures.open(io.BytesIO(take_in(picture("PNG", mode="RGBA")).content)) as reread:
        assert reread.mode == "RGBA"


def test_nothing_but_pixels_is_left() -> None:
    notes = PngInfo()
    notes.add_text("Comment", "hidden words")
    exif = Pictures.Exif()
    exif[0x010E] = "hidden words"
    for source in (
        picture("PNG", pnginfo=notes) + b"hidden words",
        picture("JPEG", exif=exif, comment=b"hidden words") + b"hidden words",
        picture("WEBP", exif=exif),
        picture("PNG", icc_profile=b"hidden words"),
    ):
        assert b"hidden" not in take_in(source).content


def test_a_picture_taken_sideways_is_turned() -> None:
    exif = Pictures.Exif()
    exif[0x0112] = 6
    with Pictures.open(io.BytesIO(take_in(picture("JPEG", exif=exif)).content)) as reread:
        assert reread.size == (4, 8)


def test_of_a_moving_picture_one_frame_is_kept() -> None:
    frames = [Pictures.new("RGB", (4, 4), color) for color in ("red", "green", "blue")]
    for file_format in ("PNG", "WEBP"):
        written = io.BytesIO()
        frames[0].save(written, file_format, save_all=True, append_images=frames[1:])
        with Pictures.open(io.BytesIO(take_in(written.getvalue()).content)) as reread:
            assert getattr(reread, "n_frames", 1) == 1


def test_the_several_pictures_of_a_camera_become_one() -> None:
    frames = [Pictures.new("RGB", (8, 4), color) for color in ("red", "blue")]
    written = io.BytesIO()
    frames[0].save(written, "MPO", save_all=True, append_images=frames[1:])
    image = take_in(written.getvalue())
    assert image.media_type == "image/jpeg"
    with Pictures.open(io.BytesIO(image.content)) as reread:
        assert reread.format == "JPEG"


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"not a picture",
        b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
        picture("GIF"),
        picture("BMP"),
        picture("TIFF"),
        picture("PNG")[:-30],
        picture("JPEG")[:100],
        picture("WEBP")[:24],
        picture("PNG")[:8],
        b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", b"\x00" * 13),
        b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 3, 9, 9, 9, 9)),
    ],
    ids=range(12),
)
def test_what_is_no_picture_is_refused(source: bytes) -> None:
    with pytest.raises(ImageRefused):
        take_in(source)


@pytest.mark.parametrize("size", [(2049, 1), (1, 2049), (30_000, 30_000), (200_000, 200_000), (2**31 - 1, 2**31 - 1)])
def test_a_picture_with_too_many_pixels_is_refused_before_it_is_decoded(size: tuple[int, int]) -> None:
    header = struct.pack(">IIBBBBB", *size, 8, 0, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", zlib.compress(b"\x00" * 1000))
    with pytest.raises(ImageRefused, match="2048"):
        take_in(bomb)


def test_the_largest_picture_is_taken() -> None:
    assert take_in(picture("PNG", (2048, 2048))).media_type == "image/png"


def test_a_file_that_is_too_large_is_refused_before_it_is_read() -> None:
    source = picture("PNG")
    assert take_in(source + b"\x00" * (images.MAX_BYTES - len(source)))
    with pytest.raises(ImageRefused, match="1 MiB"):
        take_in(source + b"\x00" * (images.MAX_BYTES - len(source) + 1))


def test_what_grows_too_large_is_refused() -> None:
    noise = Pictures.effect_noise((1400, 1400), 90)
    written = io.BytesIO()
    noise.save(written, "JPEG", quality=30)
    assert len(written.getvalue()) < images.MAX_BYTES
    with pytest.raises(ImageRefused, match="written anew"):
        take_in(written.getvalue())


def test_the_id_follows_from_the_bytes() -> None:
    assert images.image_id_of(b"a") == images.image_id_of(b"a") != images.image_id_of(b"b")
    text = ids.to_text(images.image_id_of(b"a"))
    assert text[14] == "8"
    assert text[19] in "89ab"


async def store(world: "World", source: bytes) -> images.Image:
    image = take_in(source)
    await world.vault.store.write(image.store)
    return image


@pytest.mark.anyio
async def test_a_picture_is_served_so_that_it_can_only_be_shown(world: "World") -> None:
    image = await store(world, picture("JPEG"))
    served = await world.api.read_image(Call(None, path=ImagePath(ids.to_text(image.image_id))))
    assert (await world.octets(served), served.media_type) == (image.content, "image/jpeg")
    assert served.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert served.headers["Cache-Control"].startswith("public")
    assert served.etag == f'"{hashlib.sha256(image.content).hexdigest()}"'


@pytest.mark.anyio
async def test_a_picture_that_is_not_there_is_not_found(world: "World") -> None:
    image = await store(world, picture("PNG"))
    for unknown in ("", "x", ids.to_text(b"\x00" * 16), ids.to_text(image.image_id) + ".png", "../users"):
        assert await world.refused(world.api.read_image(Call(None, path=ImagePath(unknown)))) is Refusal.not_found


@pytest.mark.anyio
async def test_storing_a_picture_twice_changes_nothing(world: "World") -> None:
    await store(world, picture("PNG"))
    await store(world, picture("PNG"))
    assert await world.rows("SELECT COUNT(*) FROM images") == [(1,)]

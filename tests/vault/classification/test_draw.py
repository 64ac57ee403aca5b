"""The data that ships: what the specification names is there, and its pictures are what the glyphs say."""

import io
import tomllib

import pytest
from PIL import Image, ImageChops, ImageStat

from strongroom.vault import images, scheme_file
from strongroom.vault.importing import SHIPPED
from tools import draw_classification as draw

SCHEMES = {
    "esafe",
    "esafe_tags",
    "platformng",
    "program",
    "program_role",
    "story_category",
    "story_relationship",
    "tag",
}
ESAFE_TAGS = [
    "family",
    "work",
    "fun",
    "holiday",
    "shopping",
    "personal",
    "health",
    "pets",
    "vehicle",
    "financial",
    "education",
    "subscription",
    "warranty",
]
GLYPHS = tomllib.loads((SHIPPED / "images" / "glyphs.toml").read_text("utf-8"))
PICTURES = sorted((SHIPPED / "images").glob("*.png"))


def shipped() -> dict[str, scheme_file.SchemeFile]:
    found = [scheme_file.read(file, images.as_shipped) for file in SHIPPED.glob("*.toml")]
    return {scheme.scheme: scheme for scheme in found}


def test_every_scheme_of_the_specification_ships() -> None:
    schemes = shipped()
    assert set(schemes) == SCHEMES
    assert {file.stem for file in SHIPPED.glob("*.toml")} == SCHEMES
    assert [node.name for node in schemes["esafe_tags"].nodes] == ESAFE_TAGS


def test_names_stand_in_several_schemes() -> None:
    schemes = shipped().values()
    for name in ("pets", "people"):
        assert sum(name in {node.name for node in scheme.nodes} for scheme in schemes) >= 4


def test_the_schemes_are_trees() -> None:
    schemes = shipped()
    assert all(any(node.parent_id for node in schemes[name].nodes) for name in SCHEMES - {"esafe_tags"})
    for scheme in schemes.values():
        known: set[bytes] = set()
        for node in scheme.nodes:  # parents stand before their children
            assert node.parent_id is None or node.parent_id in known
            known.add(node.node_id)


def test_a_node_has_the_colour_of_its_picture() -> None:
    for file in SHIPPED.glob("*.toml"):
        for node in tomllib.loads(file.read_text("utf-8"))["node"]:
            glyph = node["image"].removeprefix("images/").removesuffix(".png")
            assert node["background_color"] == GLYPHS[glyph]["color"]


def test_every_picture_has_its_glyph_and_is_shown() -> None:
    shown = {image_id for scheme in shipped().values() for image_id in scheme.images}
    assert {picture.stem for picture in PICTURES} == set(GLYPHS)
    assert {images.image_id_of(picture.read_bytes()) for picture in PICTURES} == shown


@pytest.mark.parametrize("name", sorted(GLYPHS))
def test_a_shipped_picture_is_a_good_one_and_the_drawn_one(name: str) -> None:
    source = (SHIPPED / "images" / f"{name}.png").read_bytes()
    assert images.take_in(source).media_type == "image/png"
    drawn = draw.draw(GLYPHS[name]["color"], GLYPHS[name]["draw"])
    with Image.open(io.BytesIO(source)) as picture:
        assert picture.size == (draw.SIZE, draw.SIZE)
        # Fewer colours, and the arithmetic of another version of the library, may change pixels a little.
        difference = ImageStat.Stat(ImageChops.difference(picture.convert("RGBA"), drawn)).mean
    assert max(difference) < 4


def test_a_shape_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="no such shape"):
        draw.draw("#000000", ["star 1 2 3"])

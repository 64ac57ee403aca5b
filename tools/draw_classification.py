"""Draws the pictures of the shipped classification nodes from `images/glyphs.toml`: run it after changing a glyph.

python -m tools.draw_classification
"""

import tomllib
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

FOLDER = Path(__file__).parents[1] / "src/strongroom/vault/classification"
SIZE = 128
# Drawn larger and made smaller, which smooths the edges.
OVERSAMPLING = 4
COLORS = 64

_LARGE = SIZE * OVERSAMPLING
_UNIT = _LARGE / 100
_WHITE, _SOFT, _CUT = 255, 150, 0


def draw(color: str, shapes: list[str]) -> Image.Image:
    """A rounded tile of this colour (`#RRGGBB`) with the shapes on it in white."""
    glyph = Image.new("L", (_LARGE, _LARGE), _CUT)
    pen = ImageDraw.Draw(glyph)
    for shape in shapes:
        _draw_shape(pen, shape)
    tile = Image.new("L", (_LARGE, _LARGE), 0)
    ImageDraw.Draw(tile).rounded_rectangle((0, 0, _LARGE - 1, _LARGE - 1), radius=22 * _UNIT, fill=255)
    picture = Image.new("RGBA", (_LARGE, _LARGE), color)
    picture.paste(Image.new("RGBA", (_LARGE, _LARGE), "#FFFFFF"), mask=glyph)
    picture.putalpha(tile)
    return picture.resize((SIZE, SIZE), Image.Resampling.LANCZOS)


def _draw_shape(pen: ImageDraw.ImageDraw, shape: str) -> None:
    words = shape.split()
    fill = {"soft": _SOFT, "cut": _CUT}.get(words[0], _WHITE)
    kind, *numbers = words if fill == _WHITE else words[1:]
    at = [float(number) for number in numbers]
    scaled = [number * _UNIT for number in at]
    match kind:
        case "disc":
            x, y, radius = scaled
            pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)
        case "oval":
            pen.ellipse(_corners(scaled), fill=fill)
        case "box":
            pen.rounded_rectangle(_corners(scaled), radius=scaled[4], fill=fill)
        case "poly":
            pen.polygon(_points(scaled), fill=fill)
        case "line":
            width, points = scaled[0], _points(scaled[1:])
            pen.line(points, fill=fill, width=round(width))
            for x, y in points:  # round ends and joints
                pen.ellipse((x - width / 2, y - width / 2, x + width / 2, y + width / 2), fill=fill)
        case "arc":
            pen.arc(_corners(scaled[1:]), at[5], at[6], fill=fill, width=round(scaled[0]))
        case _:
            raise ValueError(f"no such shape: {kind}")


def _corners(numbers: list[float]) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = numbers[:4]
    return x0, y0, x1, y1


def _points(numbers: list[float]) -> list[tuple[float, float]]:
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def main() -> None:
    glyphs: dict[str, dict[str, Any]] = tomllib.loads((FOLDER / "images" / "glyphs.toml").read_text("utf-8"))
    for name, glyph in glyphs.items():
        picture = draw(glyph["color"], glyph["draw"])
        small = picture.quantize(COLORS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        small.save(FOLDER / "images" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()

"""The fields an artefact hash may hold and what each one is."""

from typing import Final

from strongroom.crypto.errors import MalformedArtefacts

Scalar = bytes | str | int

BINARY: Final = frozenset({"iv", "at", "salt"})
TEXT: Final = frozenset({"ad", "hash"})
INTEGER: Final = frozenset({"iter", "length", "i", "l"})

INT32_MAX: Final = 2**31 - 1


def is_printable_ascii(text: str) -> bool:
    """Whether every character is U+0020 to U+007E: ports disagree on the bytes of anything else."""
    return text.isascii() and text.isprintable()


def check_field(name: str, value: Scalar) -> None:
    """MalformedArtefacts unless the value is of its field's kind: bytes not empty, printable ASCII, 0 to 2^31-1."""
    if isinstance(value, bytes):
        fits = name in BINARY and len(value) > 0
    elif isinstance(value, str):
        fits = name in TEXT and is_printable_ascii(value)
    else:
        fits = name in INTEGER and type(value) is int and 0 <= value <= INT32_MAX
    if not fits:
        raise MalformedArtefacts

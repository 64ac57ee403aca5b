"""Filters of the templates."""

import pytest

from strongroom.portal.rendering import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("call",), "0 calls"),
        (1, ("call",), "1 call"),
        (1_200, ("call",), "1,200 calls"),
        (1, ("person", "people"), "1 person"),
        (2, ("person", "people"), "2 people"),
    ],
)
def test_a_number_and_its_noun_agree(number: int, words: tuple[str, ...], text: str) -> None:
    assert counted(number, *words) == text

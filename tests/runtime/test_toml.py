"""Files of TOML that would keep the parser busy are refused at once."""

import time

import pytest

from strongroom.runtime import toml


@pytest.mark.parametrize(
    "text",
    [
        ".".join("a" * 200_000) + " = 1",
        "[" + ".".join("a" * 200_000) + "]",
        "x = { " + ".".join("a" * 200_000) + " = 1 }",
        "x = " + "9" * 5_000,
        "x = " + "[" * 100_000,
        "x = " + "{ a = " * 50_000,
        "x = ",
    ],
    ids=["dotted key", "dotted table", "dotted key inside", "long number", "deep arrays", "deep tables", "no value"],
)
def test_it_is_refused_in_no_time(text: str) -> None:
    started = time.process_time()
    with pytest.raises(ValueError, match=r"."):
        toml.loads(text)
    assert time.process_time() - started < 0.5


def test_dots_in_texts_are_no_key() -> None:
    dots = "a." * 40
    assert toml.loads(f'x = "{dots}"\ny = [{dots!r}]\n') == {"x": dots, "y": [dots]}
    assert toml.loads("[a.b.c]\nd.e = 1\n") == {"a": {"b": {"c": {"d": {"e": 1}}}}}

"""TOML from files of operators: what would keep the parser busy for minutes is refused before it starts."""

import re
import tomllib
from typing import Any, Final

MAX_KEY_PARTS: Final = 16

_QUOTED: Final = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'')
_KEY: Final = re.compile(r"[A-Za-z0-9_. \t-]+")


def loads(text: str) -> dict[str, Any]:
    """`ValueError`, whose message holds nothing of a value, for what is no TOML or goes too deep.

    Rows of more than 16 dots in a text of several lines pass for a key, too.
    """
    for number, line in enumerate(text.splitlines(), start=1):
        # The parser's time grows with the square of the parts of a key.
        if line.count(".") >= MAX_KEY_PARTS:
            keys = _KEY.findall(_QUOTED.sub("", line))
            if any(key.count(".") >= MAX_KEY_PARTS for key in keys):
                raise ValueError(f"a key has more than {MAX_KEY_PARTS} parts (at line {number})")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except (ValueError, RecursionError):
        raise ValueError("a number is too long, or values are nested too deep") from None

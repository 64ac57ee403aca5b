"""Named parameters into PostgreSQL's numbered ones, so that resource modules write one text for both engines."""

import re
from functools import lru_cache

# What is read over: quoted text and names, comments, and the two colons of a cast.
_PARAMETER = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|::|:([a-z_][a-z0-9_]*)")


@lru_cache(maxsize=1024)
def numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    """`:name` as `$1`, `$2` ... and the names in that order; a name that comes again keeps its number."""
    names: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[1]
        return found[0] if name is None else f"${names.setdefault(name, len(names) + 1)}"

    text = _PARAMETER.sub(number, sql)
    return text, tuple(names)

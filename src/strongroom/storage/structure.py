"""What a schema is made of, in terms that both engines share, so that a database can be held against its migrations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LITERAL = re.compile(r"'((?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class Index:
    """An index, or what a primary key or a unique constraint comes to."""

    columns: tuple[str, ...]
    unique: bool
    condition: frozenset[str]
    """Of a partial index: what all has to be true of a row."""


@dataclass(frozen=True, slots=True)
class Structure:
    """One table."""

    columns: frozenset[tuple[str, str, bool]]
    """Name, kind, and whether there is always a value."""
    choices: frozenset[tuple[str, frozenset[str]]]
    """Columns that take a few texts only, and which."""
    indexes: Mapping[str, Index]
    """By name; those that a constraint made have any."""
    firm: bool
    """Whether types are enforced (SQLite) and rows outlive a crash (PostgreSQL)."""


def conjuncts(condition: str | None) -> frozenset[str]:
    """The parts of a condition such as `((a IS NULL) AND (b IS NULL))`, with as many parentheses as an engine likes."""
    return frozenset(re.split(r"\s+AND\s+", re.sub(r"[()]", "", condition).strip())) if condition else frozenset()


def literals(condition: str) -> frozenset[str]:
    """The texts in `a IN ('x', 'y')`, however an engine writes it."""
    return frozenset(_LITERAL.findall(condition))


def differences(made: Mapping[str, Structure], there: Mapping[str, Structure]) -> list[str]:
    """What of a schema that migrations made is not there, or not so; names of tables and indexes only.

    Additional tables, columns and indexes are no difference.
    """
    found: list[str] = []
    for name, table in made.items():
        if name not in there:
            found.append(f"the table {name} is not there")
        else:
            found += _of_table(name, table, there[name])
    return found


def _of_table(name: str, made: Structure, there: Structure) -> list[str]:
    found = []
    if not made.columns <= there.columns or (made.firm and not there.firm):
        found.append(f"the columns of {name} are not as the migrations make them")
    if not made.choices <= there.choices:
        found.append(f"{name} lacks a check of its values")
    present = set(there.indexes.values())
    for label, index in made.indexes.items():
        if index not in present:
            named = "a primary key or unique constraint" if _is_unnamed(label) else f"the index {label}"
            found.append(f"{name} lacks {named}")
    return found


def _is_unnamed(label: str) -> bool:
    return not label or label.startswith("sqlite_autoindex_")

"""Named parameters as numbered ones."""

import pytest

from strongroom.storage.postgres.statements import numbered


@pytest.mark.parametrize(
    ("named", "expected", "names"),
    [
        ("SELECT 1", "SELECT 1", ()),
        ("SELECT :a", "SELECT $1", ("a",)),
        ("SELECT :b, :a, :b", "SELECT $1, $2, $1", ("b", "a")),
        ("SELECT :user_id2 FROM t WHERE a=:a", "SELECT $1 FROM t WHERE a=$2", ("user_id2", "a")),
        ("SELECT ':a', 'it''s :a', :b", "SELECT ':a', 'it''s :a', $1", ("b",)),
        ('SELECT ":a", "x"":a", :b', 'SELECT ":a", "x"":a", $1', ("b",)),
        ("SELECT 1 -- :a\n, :b", "SELECT 1 -- :a\n, $1", ("b",)),
        ("SELECT :a::bigint", "SELECT $1::bigint", ("a",)),
        ("SELECT '100%', :a", "SELECT '100%', $1", ("a",)),
    ],
)
def test_only_parameters_are_replaced(named: str, expected: str, names: tuple[str, ...]) -> None:
    assert numbered(named) == (expected, names)

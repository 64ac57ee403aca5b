"""A test that asserts nothing cannot fail: every test function has something that can."""

import ast
from collections.abc import Iterator

Tests = dict[str, ast.Module]
Function = ast.FunctionDef | ast.AsyncFunctionDef

RAISING = {"raises", "warns", "fail", "expect"}  # the last one is the browser's


def functions(tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def called(node: ast.AST) -> str:
    """The last name of what a call calls."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def says_so(node: ast.AST) -> bool:
    """`raise AssertionError`, for what must not be reached."""
    return isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name) and node.exc.id == "AssertionError"


def asserts(function: Function, helpers: set[str]) -> bool:
    """Whether the body has an `assert`, expects an exception, or calls a helper that does."""
    for node in ast.walk(function):
        name = called(node)
        if (
            isinstance(node, ast.Assert)
            or says_so(node)
            or name in RAISING
            or name.startswith("assert_")
            or name in helpers
        ):
            return True
    return False


def asserting_helpers(tree: ast.Module) -> set[str]:
    """Functions and methods of a file that assert, by themselves or through one another."""
    helpers: set[str] = set()
    while True:
        found = {f.name for f in functions(tree) if asserts(f, helpers)}
        if found == helpers:
            return helpers
        helpers = found


def without_assertion(tree: ast.Module) -> list[str]:
    helpers = asserting_helpers(tree)
    return [f.name for f in functions(tree) if f.name.startswith("test_") and not asserts(f, helpers)]


def test_every_test_can_fail(tests: Tests) -> None:
    found = [f"{name}: {test}" for name, tree in tests.items() for test in without_assertion(tree)]
    assert found == []


def test_the_rule_finds_what_it_looks_for() -> None:
    tree = ast.parse(
        "def helper():\n    assert x\n"
        "def test_helped():\n    helper()\n"
        "def test_raising():\n    with pytest.raises(ValueError):\n        f()\n"
        "def test_nothing():\n    f()\n"
    )
    assert without_assertion(tree) == ["test_nothing"]


def test_no_name_is_used_for_two_tests(tests: Tests) -> None:
    # The second would silently replace the first.
    found = []
    for name, tree in tests.items():
        scopes = [node.body for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef)]
        for body in scopes:
            names = [n.name for n in body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
            found += [f"{name}: {one}" for one in set(names) if names.count(one) > 1]
    assert found == []

"""Rules for the code of the package, read from its syntax tree."""

import ast
import re
from collections.abc import Callable, Iterator

import pytest

from strongroom.backup import areas
from strongroom.storage.sqlite.tables import schema_made
from strongroom.wire.refusal import RESERVED, Refusal

Package = dict[str, ast.Module]

FORBIDDEN_MODULES = {"random", "pickle", "marshal", "shelve", "yaml", "bson", "telnetlib", "ftplib"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}

# Names of values that someone could guess byte by byte if they were compared with `==`.
GUESSABLE = re.compile(r"(^|_)(hash|digest|mac|hmac|secret|signature|passphrase|password)$|^(crc|tag)$")
COMPARED_OPENLY = {
    ("src/strongroom/crypto/binding.py", "private_key"): "the tag is an external identifier, known to both sides",
    ("src/strongroom/crypto/checksum.py", "has_checksum"): "a checksum finds typing errors and authenticates nothing",
    ("src/strongroom/crypto/derivation.py", "_check"): "the name of a hash function",
    ("src/strongroom/crypto/verification.py", "_read"): "of public text, once the HMAC has been checked",
}

SQL = re.compile(r"\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|WHERE|ORDER BY|VALUES)\b")
_FROM_SCHEMA = "names of tables and columns, taken from the schema that our migrations made"
COMPOSED_SQL = {
    ("src/strongroom/storage/postgres/copying.py", "load"): _FROM_SCHEMA,
    ("src/strongroom/storage/sqlite/tables.py", "delete"): _FROM_SCHEMA,
    ("src/strongroom/storage/sqlite/tables.py", "insert"): _FROM_SCHEMA,
    ("src/strongroom/storage/sqlite/tables.py", "select"): _FROM_SCHEMA,
    ("src/strongroom/cli/demo/evidence.py", "_newest"): "the table's name, out of a tuple of the module",
    ("src/strongroom/vault/classification_nodes.py", "list_nodes"): "joins conditions that are constants of the module",
}


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every function with its name; methods too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node


def last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return last_name(inner)
    return ""


def literal_text(node: ast.AST) -> str:
    return " ".join(n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def is_composition(node: ast.AST) -> bool:
    match node:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(op=ast.Add() | ast.Mod()):
            return True
        case ast.Call(func=ast.Attribute(attr="format" | "join" | "format_map" | "replace")):
            return True
    return False


def evaluated(package: Package) -> list[str]:
    """Modules and calls that turn data into code, or that make guessable random numbers."""
    found = []
    for name, tree in package.items():
        for node in ast.walk(tree):
            match node:
                case ast.Import(names=names):
                    modules = {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(module=str() as module, level=0):
                    modules = {module.partition(".")[0]}
                case _:
                    modules = set()
            found += [f"{name}: {module}" for module in modules & FORBIDDEN_MODULES]
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in FORBIDDEN_CALLS:
                found.append(f"{name}: {node.func.id}()")
    return found


def compared_openly(package: Package) -> list[tuple[str, str]]:
    """Functions that compare with `==` what could be guessed byte by byte."""
    found = set()
    for name, tree in package.items():
        for function, body in functions(tree):
            for node in ast.walk(body):
                if not isinstance(node, ast.Compare) or not any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
                    continue
                sides = (node.left, *node.comparators)
                if any(GUESSABLE.search(last_name(side)) for side in sides):
                    found.add((name, function))
    return sorted(found)


def without_zone(package: Package) -> list[str]:
    """Calls that make a time without a time zone."""
    found = []
    for name, tree in package.items():
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            arguments = len(node.args) + len(node.keywords)
            match node.func:
                case ast.Attribute(attr="utcnow" | "utcfromtimestamp" | "today"):
                    found.append(f"{name}:{node.lineno}")
                case ast.Attribute(value=ast.Name(id="datetime"), attr="now") if arguments == 0:
                    found.append(f"{name}:{node.lineno}")
                case ast.Attribute(value=ast.Name(id="datetime"), attr="fromtimestamp") if arguments == 1:
                    found.append(f"{name}:{node.lineno}")
                case ast.Name(id="datetime") if not any(k.arg == "tzinfo" for k in node.keywords):
                    found.append(f"{name}:{node.lineno}")
    return found


def composed_sql(package: Package) -> list[tuple[str, str]]:
    """Functions that put SQL together, where a value could slip in."""
    found = set()
    for name, tree in package.items():
        for function, body in functions(tree):
            for node in ast.walk(body):
                if is_composition(node) and SQL.search(literal_text(node)):
                    found.add((name, function))
    return sorted(found)


def speaking_of_tables(package: Package, tables: set[str]) -> list[str]:
    """Texts that hold SQL or the name of a table; docstrings are not looked at."""
    found = []
    for name, tree in package.items():
        described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
                words = set(re.findall(r"\w+", node.value))
                if SQL.search(node.value) or words & tables:
                    found.append(f"{name}:{node.lineno}")
    return found


def bare_excepts(package: Package) -> list[str]:
    return [
        f"{name}:{node.lineno}"
        for name, tree in package.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]


def test_nothing_is_evaluated_or_unpickled(package: Package) -> None:
    assert evaluated(package) == []


def test_secrets_are_compared_in_constant_time(package: Package) -> None:
    assert compared_openly(package) == sorted(COMPARED_OPENLY)


def test_every_time_has_a_zone(package: Package) -> None:
    assert without_zone(package) == []


def test_sql_is_made_of_constants_of_the_module(package: Package) -> None:
    assert composed_sql(package) == sorted(COMPOSED_SQL)


def test_backup_knows_no_table_of_an_area(package: Package) -> None:
    tables = {table.name for area in areas.ORDER for table in schema_made(areas.known(area))[0]}
    assert {"users", "keypairs", "subscriptions", "classification_nodes"} < tables
    backup = {name: tree for name, tree in package.items() if "/backup/" in name}
    assert len(backup) > 5
    assert speaking_of_tables(backup, tables) == []


def test_no_exception_is_caught_without_a_name(package: Package) -> None:
    assert bare_excepts(package) == []


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (evaluated, "import pickle"),
        (evaluated, "from random import choice"),
        (evaluated, "eval(text)"),
        (compared_openly, "row.secret_hash == given"),
        (compared_openly, "hmac.digest(key, text, sha) != tag"),
        (without_zone, "datetime.now()"),
        (without_zone, "datetime.fromtimestamp(0)"),
        (without_zone, "datetime(2026, 1, 1)"),
        (composed_sql, "tx.one(f'SELECT 1 FROM users WHERE name = {name}')"),
        (composed_sql, "tx.one('SELECT 1 FROM users WHERE name = ' + name)"),
        (composed_sql, "tx.one('DELETE FROM users WHERE name = %s' % name)"),
        (composed_sql, "tx.one('DELETE FROM {}'.format(name))"),
    ],
)
def test_a_line_against_a_rule_is_found(rule: Callable[[Package], list[object]], line: str) -> None:
    assert len(rule({"planted.py": ast.parse(f"def f():\n    {line}\n")})) == 1


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (evaluated, "re.compile(text)"),
        (compared_openly, "hmac.compare_digest(row.secret_hash, given)"),
        (without_zone, "datetime.now(UTC)"),
        (composed_sql, "tx.one(FIND, name=name)"),
        (composed_sql, "log(f'the user {name} selected')"),
    ],
)
def test_other_lines_are_left_alone(rule: Callable[[Package], list[object]], line: str) -> None:
    assert rule({"planted.py": ast.parse(f"def f():\n    {line}\n")}) == []


@pytest.mark.parametrize("text", ["SELECT 1", "rows of users"])
def test_a_text_that_speaks_of_a_table_is_found(text: str) -> None:
    tree = ast.parse(f'"""Of users."""\nTEXT = "{text}"\n')
    assert speaking_of_tables({"planted.py": tree}, {"users"}) == ["planted.py:2"]


def test_a_bare_except_is_found() -> None:
    assert bare_excepts({"planted.py": ast.parse("try:\n    f()\nexcept:\n    pass\n")}) == ["planted.py:3"]


def test_every_module_says_what_it_is_for(package: Package) -> None:
    assert [name for name, tree in package.items() if not ast.get_docstring(tree)] == []


def test_every_refusal_is_raised_somewhere_or_reserved(package: Package) -> None:
    speaking = ("/wire/", "/client/", "/http/refusals.py")  # they name codes and raise none
    raised = {
        node.attr
        for name, tree in package.items()
        if not any(part in name for part in speaking)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Refusal"
    }
    assert set(Refusal.__members__) - raised == {refusal.code for refusal in RESERVED}

"""What the pages say can be typed: commands, options, variables, contracts and files that they name exist."""

import configparser
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from strongroom.cli.root import root as program
from tools import pages

Texts = dict[str, str]

BLOCK = re.compile(r"^```(?:sh|console|bash)?\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(strongroom [a-z][^`\n]*)`")
VARIABLE = re.compile(r"\bSTRONGROOM_[A-Z_]+\b")
FILE = re.compile(
    r"`((?:src|tests|docs|vectors|bench|tools|requirements)/[\w./-]+\.\w+|(?:http|storage|services|runtime|wire|crypto|cli)/[\w/]+\.py)`"
)


@pytest.fixture(scope="module")
def manual(texts: Texts) -> Texts:
    """The pages that people read."""
    return {name: text for name, text in texts.items() if name.endswith(".md")}


def command_lines(text: str) -> Iterator[str]:
    """Every call of the program, in blocks of shell and in running text."""
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|&& |; |bin/)(strongroom [a-z].*)", line.strip())
            if found:
                yield found[1]
    yield from SPAN.findall(text)


def faults(line: str) -> list[str]:
    """What the program would not know in a line; placeholders stand for any argument."""
    command: click.Command = program
    context = click.Context(program)
    words = [word for word in shlex.split(line, comments=True)[1:] if word not in ("...", "|")]
    while words and isinstance(command, click.Group):
        name = words[0]
        following = command.get_command(context, name)
        if following is None:
            return [] if name.isupper() or name.startswith("-") else [f"no command {name}"]
        command, words = following, words[1:]
    options = {option for parameter in command.params for option in parameter.opts} | {"--help", "--version", "-h"}
    return [f"no option {word}" for word in words if word.startswith("--") and word.partition("=")[0] not in options]


def test_every_command_line_can_be_typed(manual: Texts) -> None:
    lines = [(name, line) for name, text in manual.items() for line in command_lines(text)]
    assert len(lines) > 10
    assert [f"{name}: {line}: {fault}" for name, line in lines for fault in faults(line)] == []


def test_the_rule_finds_what_it_looks_for() -> None:
    assert faults("strongroom serve --port 1") == []
    assert faults("strongroom admin provider create NAME --data PATH") == []
    assert faults("strongroom serv") == ["no command serv"]
    assert faults("strongroom serve --prot 1") == ["no option --prot"]


def test_every_variable_is_read_somewhere(manual: Texts, texts: Texts) -> None:
    # Tests have switches of their own, which their conftest reads.
    reading = (
        text for name, text in texts.items() if name.startswith(("src/", "tools/")) or name.endswith("/conftest.py")
    )
    read = pages.settings() + "".join(reading)
    known = set(VARIABLE.findall(read))
    named = {variable for text in manual.values() for variable in VARIABLE.findall(text)}
    assert named - known - {"STRONGROOM_"} == set()


def test_every_file_named_is_there(root: Path, manual: Texts) -> None:
    missing = [
        f"{name}: {path}"
        for name, text in manual.items()
        for path in FILE.findall(text)
        if not (root / path).exists() and not (root / "src" / "strongroom" / path).exists()
    ]
    assert missing == []


def test_every_import_contract_is_described(root: Path, texts: Texts) -> None:
    contracts = configparser.ConfigParser()
    contracts.read(root / ".importlinter", "utf-8")
    names = [section.rpartition(":")[2] for section in contracts.sections() if ":contract:" in section]
    assert names
    assert [name for name in names if f"`{name}`" not in texts["ARCHITECTURE.md"]] == []


def test_make_targets_named_exist(root: Path, manual: Texts) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {target for text in manual.values() for target in re.findall(r"(?:`|^)make ([a-z-]+)", text, re.MULTILINE)}
    assert named - targets == set()

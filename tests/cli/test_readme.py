"""Everything the README shows is executed against a real service."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import click
import httpx
import pytest

from strongroom.cli.root import root

README = (Path(__file__).parents[2] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def environment(sandbox: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")} | sandbox


@pytest.mark.slow
def test_the_python_of_the_readme(sandbox: dict[str, str]) -> None:
    # One after the other, as a reader would: the later ones open the account that the first one registers.
    programs = [block for block in blocks("python") if "def test_" not in block]
    assert len(programs) == 3
    outputs = []
    for program in programs:
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, env=environment(sandbox)
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == "('data',) 13\n"
    assert "Open the data encryption keys" in outputs[1]
    assert outputs[2].splitlines()[1:] == ["username_taken 409"]


@pytest.mark.slow
def test_the_test_of_the_readme(tmp_path: Path) -> None:
    (program,) = [block for block in blocks("python") if "def test_" in block]
    (tmp_path / "test_readme.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def test_the_curl_line_of_the_readme(sandbox: dict[str, str]) -> None:
    (line,) = [block for block in blocks("sh") if block.startswith("curl ")]
    (example,) = blocks("json")
    filled = re.sub(r"\$(\w+)", lambda name: sandbox[name[1]], line)
    command = shlex.split(filled)
    headers = dict(text.split(": ", 1) for flag, text in pairwise(command) if flag == "-H")
    answer = httpx.request(command[command.index("-X") + 1], command[3], headers=headers)
    assert answer.status_code == 201
    assert answer.json().keys() == json.loads(example).keys()
    assert answer.json()["admission_token"].keys() == json.loads(example)["admission_token"].keys()


def test_the_commands_of_the_readme_exist() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("strongroom ")]
    assert len(lines) >= 7
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        group: click.Command = root
        context = click.Context(root)
        while isinstance(group, click.Group):
            found = group.get_command(context, words.pop(0))
            assert found is not None, line
            group = found
        given = [word for word in words if word.startswith("--")]
        known = {option for parameter in group.params for option in parameter.opts}
        assert set(given) <= known, line


def test_every_public_name_in_the_readme_exists() -> None:
    import strongroom

    for names in re.findall(r"^from strongroom import (.+)$", README, re.MULTILINE):
        assert set(names.split(", ")) <= set(strongroom.__all__)

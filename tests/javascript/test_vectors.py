"""The modules in a real browser, against every shared vector."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page


def run(page: Page, function: str, vectors: dict[str, Any]) -> list[str]:
    script = "async ([name, vectors]) => (await import('/test/vectors.js'))[name](vectors)"
    found: list[str] = page.evaluate(script, [function, vectors])
    return found


@pytest.mark.parametrize(
    ("function", "file"),
    [
        ("interop", "interop.json"),
        ("artefacts", "artefacts.json"),
        ("strict", "strict.json"),
        ("zeroKnowledge", "zero-knowledge.json"),
        ("unicode", "casefold.json"),
    ],
)
def test_every_vector_holds(runner: Page, root: Path, function: str, file: str) -> None:
    assert run(runner, function, json.loads((root / "vectors" / file).read_text("utf-8"))) == []


def test_the_runner_tells_what_does_not_hold(runner: Page, root: Path) -> None:
    strict = json.loads((root / "vectors/strict.json").read_text("utf-8"))
    first = strict["vectors"][0]
    strict["vectors"] = [first | {"expect": "DecryptionFailed"}, first | {"plaintext_hex": "00" * 32}, first]
    assert len(run(runner, "strict", strict)) == 2
    assert run(runner, "unicode", {"casefold": {"0061": "0062"}, "assigned": ["0000-10FFFF"]}) != []

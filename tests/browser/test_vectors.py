"""The portal's module in a real browser, against every shared vector."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route

MEDIA_TYPES = {".js": "text/javascript", ".html": "text/html", ".json": "application/json"}
ORIGIN = "http://localhost"


@pytest.fixture
def runner(page: Page, root: Path) -> Page:
    """A page that can import `vectors.js`, and through it the module, from an origin nobody listens at."""
    folders = {"/static/": root / "src/strongroom/portal/static", "/tests/": root / "tests/browser"}

    def serve(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN)
        for prefix, folder in folders.items():
            if path.startswith(prefix):
                file = folder / path.removeprefix(prefix)
                route.fulfill(body=file.read_bytes(), content_type=MEDIA_TYPES[file.suffix])
                return
        route.fulfill(body="<!doctype html><title>Vectors</title>", content_type="text/html")

    page.route(f"{ORIGIN}/**", serve)
    page.goto(f"{ORIGIN}/")
    return page


def run(page: Page, function: str, vectors: dict[str, Any]) -> list[str]:
    script = "async ([name, vectors]) => (await import('/tests/vectors.js'))[name](vectors)"
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

"""The generated pages of the manual are what the tables say today, and leave nothing out."""

from pathlib import Path

import pytest

from strongroom.runtime.settings import environment_name, meanings
from strongroom.wire.refusal import Refusal
from tools import pages

STALE = "the page is stale: run `make docs`"


@pytest.mark.parametrize("name", sorted(pages.PAGES))
def test_page_is_fresh(root: Path, name: str) -> None:
    # Compared as a flag: a diff of two long pages would hide the sentence that says what to do.
    fresh = (root / "docs" / name).read_text("utf-8") == pages.PAGES[name]()
    assert fresh, STALE


def test_writing_makes_exactly_the_pages(tmp_path: Path) -> None:
    pages.write(tmp_path)
    written = {file.name: file.read_text("utf-8") for file in tmp_path.iterdir()}
    assert written == {name: page() for name, page in pages.PAGES.items()}


def test_every_endpoint_and_alias_is_described() -> None:
    page = pages.api()
    for group in pages.GROUPS.values():
        for endpoint in group:
            assert page.count(f"### {endpoint.method} {endpoint.path}\n") == 1
            for alias in endpoint.aliases:
                assert f"`{alias}`" in page


def test_every_setting_is_described() -> None:
    page = pages.settings()
    for name in meanings():
        assert f"| `{name}` | `{environment_name(name)}` |" in page


def test_secret_settings_have_no_flag() -> None:
    page = pages.settings()
    for name, (meaning, _) in meanings().items():
        assert (f"`--{name.replace('_', '-')}`" not in page) is meaning.secret


def test_every_refusal_is_described() -> None:
    page = pages.refusals()
    for refusal in Refusal:
        assert f"## {refusal.code}\n\n**{refusal.status}** {refusal.title}. {refusal.mend}\n" in page

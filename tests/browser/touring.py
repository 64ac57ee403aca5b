"""A tour through pages: each is checked by axe and on a phone, photographed on request, and remembered."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from playwright.sync_api import Page, expect

import strongroom.portal
from strongroom.portal import pages
from strongroom.portal.area import PREFIX

if TYPE_CHECKING:
    from tests.browser.conftest import Portal

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 800}
LOOKS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("light", "light", DESK),
    ("dark", "dark", DESK),
    ("phone", "light", PHONE),
    ("phone-dark", "dark", PHONE),
)
# The dark look is another set of colours on the same page: what else axe knows would be said twice.
CHECKS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
PATTERNS = {page.path for page in pages.ALL if page.method == "GET" and not page.path.startswith("/static/")}
_FOLDER = Path(strongroom.portal.__file__).parent / "templates"
TEMPLATES = {
    file.relative_to(_FOLDER).as_posix()
    for file in _FOLDER.rglob("*.html")
    if file.read_text("utf-8").startswith("{% extends")
}


def pattern_of(path: str) -> str | None:
    """The path of the page in the table, without what a query adds; None for anything else."""
    own = path.removeprefix(PREFIX).partition("?")[0].partition("#")[0]
    exact = [known for known in PATTERNS if known == own]
    shaped = [known for known in PATTERNS if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(known)), own)]
    return next(iter(exact + shaped), None)


@dataclass
class Seen:
    """What several tours have come by."""

    patterns: set[str] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Tour:
    """One visitor, who looks at each page in every look."""

    page: Page
    portal: "Portal"
    seen: Seen

    def look(self, name: str, heading: str) -> None:
        """Check the page that is open; `heading` tells that it is the one that is meant."""
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(heading)
        self._look(name)

    def _look(self, name: str, photograph: bool = True) -> None:
        self.seen.templates.add(self.page.evaluate("document.body.dataset.template ?? ''"))
        pattern = pattern_of(self.page.url.removeprefix(self.portal.base_url))
        if pattern is not None:
            self.seen.patterns.add(pattern)
        self.page.evaluate(AXE)
        for look, scheme, size in LOOKS:
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal of the table above
            self.page.set_viewport_size(size)  # type: ignore[arg-type]  # a typed dictionary of the same shape
            if look in CHECKS:
                self.seen.wrong += [f"{name}, {look}: {violation}" for violation in self._violations(CHECKS[look])]
            overflow = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if overflow > 0:
                self.seen.wrong.append(f"{name}, {look}: {overflow} pixels too wide")
            folder = os.environ.get("STRONGROOM_SCREENSHOTS")
            if folder and photograph:
                self.page.screenshot(path=Path(folder) / look / f"{name}.png", full_page=True)

    def _violations(self, options: dict[str, Any]) -> Iterator[str]:
        results: Any = self.page.evaluate("options => axe.run(options)", options)
        for violation in results["violations"]:
            yield f"{violation['id']}: {', '.join(str(node['target']) for node in violation['nodes'])}"

    def look_only(self) -> None:
        """Check the page that is open without a picture of it."""
        self._look("this page", photograph=False)

    def visit(self, path: str, name: str, heading: str) -> None:
        """Go to a path of the portal, or to the whole address of a page of it."""
        self.go(path)
        self.look(name, heading)

    def go(self, path: str) -> None:
        self.page.goto(path if path.startswith("http") else self.portal.url(path))

    def press(self, name: str) -> None:
        self.page.get_by_role("main").get_by_role("button", name=name, exact=True).click()

    def fill(self, **fields: str) -> None:
        """By label, with spaces as underscores."""
        for label, value in fields.items():
            self.page.get_by_label(label.replace("_", " "), exact=True).fill(value)

    def crawl(self, role: str, *without: str) -> None:
        """Follow the links from the start page on, but to no page `without`; one page of each kind is enough."""
        waiting, known = [self.portal.url("/")], set[str]()
        while waiting:
            url = waiting.pop(0)
            pattern = pattern_of(url.removeprefix(self.portal.base_url))
            if pattern is None or pattern in known or pattern.startswith(without):
                continue
            known.add(pattern)
            self.page.goto(url)
            self._look(f"{role}{re.sub(r'[^a-z]+', '-', pattern).rstrip('-')}")
            waiting += self.page.evaluate("Array.from(document.links, (link) => link.href)")

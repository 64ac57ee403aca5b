"""A real Chromium: fixtures for the tests of the portal and of the JavaScript package."""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CANDIDATES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 1000.0


def chromium() -> str | None:
    """Where Chromium is: `STRONGROOM_CHROMIUM`, or what the system has; None without one."""
    named = os.environ.get("STRONGROOM_CHROMIUM")
    return named or next((found for name in CANDIDATES if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium(), headless=True, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser profile of its own for each test."""
    made = browser.new_context()
    made.set_default_timeout(15 * SECONDS)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page whose script errors and refused resources fail the test: the policy of the portal allows no exception."""
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield opened
    # What a page shows for a refusal is its own matter; the browser merely notes that there was one.
    faults = [
        problem for problem in problems if not problem.startswith("Failed to load resource: the server responded")
    ]
    assert faults == []

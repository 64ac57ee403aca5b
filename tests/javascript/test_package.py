"""The package as npm would publish it: what is in it, its tests and types in Node, and the README's programs."""

import json
import os
import re
import secrets
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.javascript.conftest import PACKAGE, Site

from strongroom import Strongroom

JOURNEY = 60_000.0
# Without a way to the registry npm would try for minutes.
ONCE = {"npm_config_fetch_retries": "0", "npm_config_fetch_timeout": "20000"}


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ONCE | variables
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=180
    )


def program(language: str) -> str:
    """The only program of this language in the README."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", (PACKAGE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


def test_everything_needed_is_published_and_nothing_else(installed: Path) -> None:
    folder = installed / "node_modules" / "strongroom"
    published = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}
    modules = {f"src/{file.name}" for file in (PACKAGE / "src").glob("*.js")}
    assert published == modules | {"LICENSE", "README.md", "package.json", "types/index.d.ts"}
    assert not {"dependencies", "devDependencies"} & set(json.loads((folder / "package.json").read_text()))


@pytest.mark.usefixtures("installed")
def test_the_tests_of_the_package_pass_in_node() -> None:
    done = run(["npm", "test", "--silent"], PACKAGE)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("installed")
def test_the_types_agree_with_the_modules() -> None:
    compiler = re.search(r"typescript@\S+", (PACKAGE / "package.json").read_text())
    assert compiler is not None
    if run(["npx", "--yes", "--package", compiler[0], "tsc", "--version"], PACKAGE).returncode != 0:
        pytest.skip("npm cannot fetch TypeScript here")
    done = run(["npm", "run", "types", "--silent"], PACKAGE)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_program_of_the_readme_runs_in_node(installed: Path, service: dict[str, str]) -> None:
    username = f"ada-{secrets.token_hex(4)}"
    (installed / "diary.mjs").write_text(program("js").replace('"ada"', f'"{username}"'))
    settings = {
        "STRONGROOM_URL": service["base_url"],
        "STRONGROOM_SUBSCRIPTION_KEY": service["subscription_key"],
        "STRONGROOM_PROVIDER_API_KEY": service["provider_api_key"],
    }
    done = run(["node", "diary.mjs"], installed, **settings)
    assert (done.returncode, done.stdout) == (0, "Dear diary\n"), done.stderr
    with Strongroom(service["base_url"], subscription_key=service["subscription_key"]) as client:
        assert client.unlock(username, "correct horse battery staple")


def test_the_page_of_the_readme_opens_an_account_in_chromium(page: Page, site: Site, service: dict[str, str]) -> None:
    username, passphrase = f"ada-{secrets.token_hex(4)}", secrets.token_hex(8)
    key = service["subscription_key"]
    with Strongroom(service["base_url"], subscription_key=key, provider_api_key=service["provider_api_key"]) as client:
        client.register(username, passphrase, iterations=600_000)
    html = program("html").replace('"https://vault.example"', f'"{service["base_url"]}"')
    (site.folder / "diary.html").write_text(html.replace('"srk_..."', f'"{key}"').replace('"ada"', f'"{username}"'))
    (site.folder / "strongroom").symlink_to(PACKAGE)
    page.on("dialog", lambda dialog: dialog.accept(passphrase))
    page.goto(f"{site.address}/diary.html")
    expect(page.locator("#greeting")).to_have_text(f"The account of {username} is open.", timeout=JOURNEY)

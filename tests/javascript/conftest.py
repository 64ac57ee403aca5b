"""Node and Chromium for the JavaScript package: `make js` runs this folder, plain pytest leaves it out."""

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Page, Route
from tests.browser.chromium import browser, chromium, context, page
from tests.browser.processes import free_port, serving

__all__ = ["browser", "context", "page"]

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "sdk" / "js"
ORIGIN = "http://localhost"


NODE = "Node 20 with npm"


def _has_node() -> bool:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return False
    printed = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    return int(printed.removeprefix("v").partition(".")[0]) >= 20


@lru_cache(maxsize=1)
def _missing() -> dict[str, str]:
    """What is not installed here, with the variable that makes it necessary."""
    found = {
        "Chromium": (chromium() is not None, "STRONGROOM_REQUIRE_BROWSER"),
        NODE: (_has_node(), "STRONGROOM_REQUIRE_NODE"),
    }
    return {name: variable for name, (is_there, variable) in found.items() if not is_there}


def pytest_configure() -> None:
    for name, variable in _missing().items():
        if os.environ.get(variable) == "1":
            pytest.exit(f"FAILED: {variable}=1, and {name} is not installed", returncode=1)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        for name in _missing():
            print(f"SKIPPED: the tests that need {name}, which is not installed")


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `strongroom` is installed as npm would publish it."""
    if NODE in _missing():
        pytest.skip(f"there is no {NODE}")
    folder = tmp_path_factory.mktemp("installed")
    command = ["npm", "pack", "--silent", "--pack-destination", str(folder)]
    subprocess.run(command, cwd=PACKAGE, capture_output=True, check=True, timeout=60)
    (archive,) = folder.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 knows none
        packed.extractall(folder / "node_modules")
    archive.unlink()
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "strongroom")
    return folder


@dataclass(frozen=True)
class Site:
    """Files on a web server of this machine, at an address of their own."""

    address: str
    folder: Path


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    with server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield Site(f"http://localhost:{server.server_port}", folder)
        server.shutdown()


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory, site: Site) -> Iterator[dict[str, str]]:
    """A service that the pages of the site may call; gives what it announces."""
    port = free_port()
    settings = {"public_url": f"http://localhost:{port}", "areas": "keystore,vault", "cors_origins": site.address}
    with serving(tmp_path_factory.mktemp("service"), port=str(port), **settings) as keys:
        yield keys


@pytest.fixture
def runner(page: Page) -> Page:
    """A page that can import `/test/vectors.js`, and through it the modules, from an origin without a server."""

    def serve(route: Route) -> None:
        file = PACKAGE / route.request.url.removeprefix(f"{ORIGIN}/")
        if file.suffix == ".js":
            route.fulfill(body=file.read_bytes(), content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html><title>Vectors</title>", content_type="text/html")

    page.route(f"{ORIGIN}/**", serve)
    page.goto(f"{ORIGIN}/")
    return page

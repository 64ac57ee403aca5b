"""The stylesheet, the scripts of pages, and the modules of the JavaScript package."""

import hashlib
from functools import lru_cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Literal

from starlette.responses import Response

from strongroom.portal.refusals import Absent
from strongroom.portal.rendering import STATIC
from strongroom.portal.web.page import Needs, Page, Visit

_MEDIA_TYPES: Final = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


def _modules() -> Traversable:
    # A wheel has them among the files of the portal (see pyproject.toml), a checkout where they are written.
    installed = STATIC / "strongroom"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "sdk" / "js" / "src"


MODULES: Final = _modules()


@lru_cache(maxsize=2)
def _files(of: Literal["pages", "package"]) -> dict[str, tuple[bytes, str]]:
    # A table of what there is, instead of a path put together from a request.
    found = {}
    for file in (STATIC if of == "pages" else MODULES).iterdir():
        media_type = _MEDIA_TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            found[file.name] = (file.read_bytes(), media_type)
    return found


def _file(of: Literal["pages", "package"], name: str) -> tuple[bytes, str]:
    try:
        return _files(of)[name]
    except KeyError:
        raise Absent from None


async def show(visit: Visit) -> Response:
    content, media_type = _file("pages", visit.path("name"))
    # The address holds a digest of the content; without one it is asked for again every time.
    kept = "public, max-age=31536000, immutable" if visit.query("v") else "no-cache"
    return Response(content, media_type=media_type, headers={"Cache-Control": kept})


async def module(visit: Visit) -> Response:
    """One module. Others import it by its bare name, so the browser keeps it and asks each time if it changed."""
    content, media_type = _file("package", visit.path("name"))
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"Cache-Control": "no-cache", "ETag": etag}
    if visit.request.headers.get("If-None-Match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


PAGES = (
    Page("GET", "/static/{name}", Needs.anybody, show),
    Page("GET", "/static/strongroom/{name}", Needs.anybody, module),
)

"""The stylesheet and the scripts."""

from functools import lru_cache

from starlette.responses import Response

from strongroom.portal.refusals import Absent
from strongroom.portal.rendering import STATIC
from strongroom.portal.web.page import Needs, Page, Visit

_MEDIA_TYPES = {
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}


@lru_cache(maxsize=1)
def _files() -> dict[str, tuple[bytes, str]]:
    # A table of what there is, instead of a path put together from a request.
    found = {}
    for file in STATIC.iterdir():
        media_type = _MEDIA_TYPES.get(file.name.rpartition(".")[2])
        if media_type is not None:
            found[file.name] = (file.read_bytes(), media_type)
    return found


async def show(visit: Visit) -> Response:
    found = _files().get(visit.path("name"))
    if found is None:
        raise Absent
    content, media_type = found
    # The address holds a digest of the content; without one it is asked for again every time.
    kept = "public, max-age=31536000, immutable" if visit.query("v") else "no-cache"
    return Response(content, media_type=media_type, headers={"Cache-Control": kept})


PAGES = (Page("GET", "/static/{name}", Needs.anybody, show),)

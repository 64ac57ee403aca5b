"""Try it and the envelope inspector: the pages whose work is done by the browser, and the module that does it."""

import hashlib
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import Response

from strongroom.crypto.names import canonical_realm
from strongroom.portal.refusals import Absent
from strongroom.portal.rendering import STATIC
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.portal.web.security_headers import CONTENT_SECURITY_POLICY

_SCRIPT: Final = "text/javascript; charset=utf-8"


async def show(visit: Visit) -> Response:
    api_url = visit.portal.api_url
    response = visit.page("try.html", api_url=api_url, realm=canonical_realm(api_url))
    parts = urlsplit(api_url)
    # Where the portal runs apart, this page alone may speak to the service.
    policy = CONTENT_SECURITY_POLICY.replace(
        "connect-src 'self'", f"connect-src 'self' {parts.scheme}://{parts.netloc}"
    )
    response.headers["Content-Security-Policy"] = policy
    return response


async def inspector(visit: Visit) -> Response:
    return visit.page("inspect.html")


@lru_cache(maxsize=1)
def _modules() -> dict[str, tuple[bytes, str]]:
    # A table of what there is, instead of a path put together from a request.
    found = {}
    for file in (STATIC / "strongroom").iterdir():
        content = file.read_bytes()
        found[file.name] = (content, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found


async def module(visit: Visit) -> Response:
    """One file of the module. Its name is in other files, so it is kept by the browser and asked for every time."""
    found = _modules().get(visit.path("name"))
    if found is None:
        raise Absent
    content, etag = found
    headers = {"Cache-Control": "no-cache", "ETag": etag}
    if visit.request.headers.get("If-None-Match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_SCRIPT, headers=headers)


PAGES = (
    Page("GET", "/try", Needs.anybody, show),
    Page("GET", "/inspect", Needs.anybody, inspector),
    Page("GET", "/static/strongroom/{name}", Needs.anybody, module),
)

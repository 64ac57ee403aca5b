"""Try it and the envelope inspector: the pages whose work is done by the browser."""

from urllib.parse import urlsplit

from starlette.responses import Response

from strongroom.crypto.names import canonical_realm
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.portal.web.security_headers import CONTENT_SECURITY_POLICY


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


PAGES = (
    Page("GET", "/try", Needs.anybody, show),
    Page("GET", "/inspect", Needs.anybody, inspector),
)

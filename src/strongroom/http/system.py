"""Health, version and documentation, the same whatever areas a process runs."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from strongroom.http import openapi, refusal_page
from strongroom.http.answers import Content
from strongroom.storage import Unavailable
from strongroom.wire.endpoint import Endpoint
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.system import Health, Version

_CACHE = {"Cache-Control": "public, max-age=300"}
_PAGE_HEADERS = _CACHE | {"Content-Security-Policy": refusal_page.CONTENT_SECURITY_POLICY}


class SystemApi:
    def __init__(
        self,
        check: Callable[[], Awaitable[None]],
        areas: tuple[str, ...],
        tables: Mapping[str, Iterable[Endpoint]],
        version: str,
        base_url: str,
        catalogue: str | None = None,
    ) -> None:
        """`catalogue` is where the portal explains refusals, if it is served by this process."""
        self._check = check
        self._version = Version("strongroom", version, list(areas))
        self._tables = dict(tables)
        self._base_url = base_url
        self._catalogue = catalogue
        self._document: bytes | None = None

    async def healthz(self, who: None, what: None) -> Health:
        return Health("ok")

    async def readyz(self, who: None, what: None) -> Health:
        try:
            await self._check()
        except Unavailable:
            raise Refused(Refusal.unavailable) from None
        return Health("ok")

    async def version(self, who: None, what: None) -> Version:
        return self._version

    async def refusal(self, who: None, what: str) -> Content:
        if what not in Refusal.__members__:
            raise Refused(Refusal.not_found)
        refusal = Refusal[what]
        page = refusal_page.render(refusal, self._catalogue and self._catalogue + refusal.code)
        return Content(page, "text/html; charset=utf-8", _PAGE_HEADERS)

    async def openapi(self, who: None, what: None) -> Content:
        if self._document is None:
            self._document = msgspec.json.encode(openapi.document(self._tables, self._version.version, self._base_url))
        return Content(self._document, "application/json", _CACHE)

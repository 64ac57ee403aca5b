"""Health, version and documentation, the same in every process."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from strongroom.http import openapi, refusal_page
from strongroom.http.answers import Content
from strongroom.http.call import Bare, WithPath
from strongroom.storage import Unavailable
from strongroom.wire.endpoint import AnyEndpoint
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.system import Health, RefusalPath, Version

_CACHE = {"Cache-Control": "public, max-age=300"}
_PAGE_HEADERS = _CACHE | {"Content-Security-Policy": refusal_page.CONTENT_SECURITY_POLICY}


class SystemApi:
    def __init__(
        self,
        check: Callable[[], Awaitable[None]],
        areas: tuple[str, ...],
        tables: Mapping[str, Iterable[AnyEndpoint]],
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

    async def healthz(self, call: Bare[None]) -> Health:
        return Health("ok")

    async def readyz(self, call: Bare[None]) -> Health:
        try:
            await self._check()
        except Unavailable:
            raise Refused(Refusal.unavailable) from None
        return Health("ok")

    async def version(self, call: Bare[None]) -> Version:
        return self._version

    async def refusal(self, call: WithPath[None, RefusalPath]) -> Content:
        if call.path.code not in Refusal.__members__:
            raise Refused(Refusal.not_found)
        refusal = Refusal[call.path.code]
        page = refusal_page.render(refusal, self._catalogue and self._catalogue + refusal.code)
        return Content(page, "text/html; charset=utf-8", _PAGE_HEADERS)

    async def openapi(self, call: Bare[None]) -> Content:
        if self._document is None:
            self._document = msgspec.json.encode(openapi.document(self._tables, self._version.version, self._base_url))
        return Content(self._document, "application/json", _CACHE)

"""Health, version and documentation, the same whatever areas a process runs."""

import html
from collections.abc import Awaitable, Callable, Iterable, Mapping

import msgspec

from strongroom.server import openapi
from strongroom.server.answers import Content
from strongroom.server.db import Unavailable
from strongroom.wire.endpoint import Endpoint
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.system import Health, Version

_CACHE = {"Cache-Control": "public, max-age=300"}
_PAGE_HEADERS = _CACHE | {"Content-Security-Policy": "default-src 'none'; sandbox"}


class SystemApi:
    def __init__(
        self,
        check: Callable[[], Awaitable[None]],
        areas: tuple[str, ...],
        tables: Mapping[str, Iterable[Endpoint]],
        version: str,
        base_url: str,
    ) -> None:
        self._check = check
        self._version = Version("strongroom", version, list(areas))
        self._tables = dict(tables)
        self._base_url = base_url
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
        page = (
            f"<!doctype html><html lang=en><meta charset=utf-8><title>{refusal.code}</title>"
            f"<h1><code>{refusal.code}</code></h1><p>{html.escape(refusal.title)} (HTTP {refusal.status}).</p>"
            f"<p>{html.escape(refusal.mend)}</p></html>\n"
        )
        return Content(page.encode(), "text/html; charset=utf-8", _PAGE_HEADERS)

    async def openapi(self, who: None, what: None) -> Content:
        if self._document is None:
            self._document = msgspec.json.encode(openapi.document(self._tables, self._version.version, self._base_url))
        return Content(self._document, "application/json", _CACHE)

"""The frame around every page: authentication, authorisation, the check of forms, and security headers."""

import logging
import re
import secrets
import time
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, Router

from strongroom.http.asgi import Receive, Scope, Send
from strongroom.portal import limits, pages
from strongroom.portal.accounts import sessions
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.accounts.sessions import Session
from strongroom.portal.area import PREFIX, Portal
from strongroom.portal.limits import TooMany
from strongroom.portal.membership import organisations
from strongroom.portal.membership.organisations import Membership
from strongroom.portal.refusals import Absent, Forbidden
from strongroom.portal.web import cookies, forms, signing_in
from strongroom.portal.web.forms import BadForm, Form
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.portal.web.security_headers import HEADERS
from strongroom.runtime.clock import SECOND
from strongroom.runtime.ids import from_text
from strongroom.runtime.logging import LOGGER, AccessLog
from strongroom.storage import Transaction, Unavailable
from strongroom.wire.refusal import Refused

_logger = logging.getLogger(LOGGER)


class Frame:
    """The portal as an ASGI application."""

    def __init__(self, portal: Portal, access_log: AccessLog | None = None) -> None:
        self._portal = portal
        self._access_log = access_log
        by_path: dict[str, dict[str, Page]] = {}
        for page in pages.ALL:
            if by_path.setdefault(page.path, {}).setdefault(page.method, page) is not page:
                raise TypeError(f"{page.method} {page.path} is served twice")
        routes = [Route(PREFIX + path, _Endpoint(self, methods)) for path, methods in by_path.items()]
        self._router = Router(routes, redirect_slashes=False, default=self._elsewhere)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._router(scope, receive, send)

    async def _elsewhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await self.answer(_NOWHERE, Request(scope, receive))
        await response(scope, receive, send)

    async def answer(self, page: Page, request: Request) -> Response:
        started = time.perf_counter()
        request_id = secrets.token_hex(8)
        try:
            form = await self._form(page, request)
            visit = await self._visit(page, request)
            response = await self._handle(page, visit, form)
        except Unavailable as error:
            _logger.error("unavailable", extra={"request_id": request_id, "cause": type(error.__cause__).__name__})
            response = _plain(503, "The portal cannot answer now. Please try again in a moment.", request_id)
        except Exception:
            _logger.exception("failed", extra={"request_id": request_id})
            response = _plain(500, "Something failed on our side.", request_id)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if self._portal.secure:
            response.headers["Strict-Transport-Security"] = "max-age=63072000"
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers["X-Request-Id"] = request_id
        if self._access_log is not None:
            seconds = time.perf_counter() - started
            self._access_log.write(page.method, PREFIX + page.path, response.status_code, seconds, request_id)
        return response

    async def _form(self, page: Page, request: Request) -> Form | None:
        # Read before the caller is authenticated and authorised: a form that arrives slowly must not take effect for a
        # caller who was removed, or signed out everywhere, in the meantime.
        if page.method != "POST":
            return Form({})
        try:
            return await forms.read(request, float(self._portal.settings.body_timeout))
        except BadForm:
            return None

    async def _visit(self, page: Page, request: Request) -> Visit:
        portal = self._portal
        now = portal.clock.now()
        token = cookies.read(request, cookies.SESSION, secure=portal.secure)
        idle = portal.settings.portal_session_idle * SECOND

        async def look(tx: Transaction) -> tuple[Session | None, Membership | None]:
            session = await sessions.find(tx, token or "", now, idle)
            return session, await self._membership(tx, page, request, session)

        session, membership = await portal.store.read(look) if token else (None, None)
        if session is not None and token and now - session.seen_at >= sessions.TOUCH_EVERY:
            await portal.store.write(lambda tx: sessions.touch(tx, token, now))
        binding = token if session is not None else cookies.read(request, cookies.FORM, secure=portal.secure)
        visit = Visit(
            portal=portal,
            request=request,
            now=now,
            token=token if session is not None else None,
            session=session,
            membership=membership,
            binding=binding or secrets.token_urlsafe(24),
            form=Form({}),
            is_bound=bool(binding),
            is_operator=_is_operator(portal, session),
        )
        if not binding:
            visit.set_cookie(cookies.Cookie(cookies.FORM, visit.binding))
        return visit

    async def _membership(
        self, tx: Transaction, page: Page, request: Request, session: Session | None
    ) -> Membership | None:
        if session is None or session.stage != "full" or "{organisation}" not in page.path:
            return None
        provider_id = from_text(request.path_params["organisation"])
        return None if provider_id is None else await organisations.find(tx, provider_id, session.developer_id)

    async def _handle(self, page: Page, visit: Visit, form: Form | None) -> Response:
        refusal = _refusal(page, visit)
        if refusal is not None:
            return refusal
        if page.needs is Needs.operator and not await self._has_factor_of_operators(visit):
            return visit.page("refused.html", status=403, reason="factor")
        try:
            if page.method == "POST":
                if form is None:
                    raise BadForm
                visit.form = form
                bound = visit.binding if visit.is_bound else None
                forms.check_origin(visit.request, visit.portal.secret, visit.portal.base_url, bound, visit.form)
                await self._count_act(page, visit)
            return await page.handler(visit)
        except BadForm:
            return visit.page("refused.html", status=403, reason="form")
        except Forbidden:
            return visit.page("refused.html", status=403, reason="role")
        except Absent:
            return visit.page("refused.html", status=404, reason="absent")
        except TooMany as error:
            response = visit.page("refused.html", status=429, reason="limit", retry_after=error.retry_after)
            response.headers["Retry-After"] = str(error.retry_after)
            return response
        except Refused as error:  # of the password pool, whose queue is full
            response = visit.page("refused.html", status=error.refusal.status, reason="busy")
            response.headers["Retry-After"] = str(error.retry_after or 2)
            return response

    async def _count_act(self, page: Page, visit: Visit) -> None:
        # Accounts are free: without this limit one of them could fill the database with objects it makes and cancels.
        # Acts that protect the account are exempt: otherwise a stolen session could block its owner.
        if page.needs not in (Needs.signed_in, Needs.member, Needs.owner) or page.path.startswith("/account"):
            return
        await visit.count(limits.ACTS, visit.who.developer_id.hex())

    async def _has_factor_of_operators(self, visit: Visit) -> bool:
        # Turning the first factor on ends the other sessions, and signing in asks for it from then on: where the
        # account has one, it was shown in this session.
        portal, developer_id = self._portal, visit.who.developer_id
        if not portal.settings.operator_second_factor:
            return True
        return await portal.store.read(lambda tx: signing_in.has_second_factor(tx, developer_id))


async def _absent(visit: Visit) -> Response:
    raise Absent


async def _above(visit: Visit) -> Response:
    """A GET of an address that only takes forms, as after a refusal: redirect to the nearest page above it."""
    path = visit.request.scope["path"].removeprefix(PREFIX).rpartition("/")[0]
    return visit.redirect(_nearest_shown(path))  # which decides who may see it


def _nearest_shown(path: str) -> str:
    """This page, or the nearest one above it that answers GET; empty for the first page."""
    while path and not any(pattern.fullmatch(path) for pattern in _SHOWN):
        path = path.rpartition("/")[0]
    return path


_NOWHERE = Page("GET", "/-", Needs.anybody, _absent)
_ABOVE = Page("GET", "/-", Needs.anybody, _above)
_SHOWN = [
    re.compile(re.sub(r"\{\w+\}", "[^/]+", page.path)) for page in pages.ALL if page.method == "GET" and page.path
]


class _Endpoint:
    """The pages of one path. An object, because beside a function Starlette would answer other methods itself."""

    def __init__(self, frame: Frame, methods: dict[str, Page]) -> None:
        self._frame = frame
        self._methods = methods

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        page = self._methods.get(method, _ABOVE if method == "GET" else _NOWHERE)
        response = await self._frame.answer(page, Request(scope, receive))
        await response(scope, receive, send)


def _refusal(page: Page, visit: Visit) -> Response | None:
    """The answer to a caller who may not call this page, or None."""
    if page.path == "/sign-out" and visit.session is None:
        return visit.redirect("/sign-in", "signed_out")  # the session had expired: the form has no effect
    if page.needs is Needs.anybody:
        return None
    session = visit.session
    if page.needs is Needs.half_signed_in:
        return None if session is not None and session.stage == "password" else visit.redirect("/sign-in")
    if session is None:
        was_sent = page.method == "POST"
        return visit.redirect(_sign_in_path(visit.request), "not_done" if was_sent else "please_sign_in")
    if session.stage != "full":
        return visit.redirect("/sign-in/second-factor")
    if page.needs is Needs.signed_in:
        return None
    allowed = visit.is_operator if page.needs is Needs.operator else visit.membership is not None
    if not allowed:
        # Another organisation gets the same answer as one that does not exist.
        return visit.page("refused.html", status=404, reason="absent")
    if page.needs is Needs.owner and visit.organisation.role != "owner":
        return visit.page("refused.html", status=403, reason="role")
    return None


def _sign_in_path(request: Request) -> str:
    """Back to the page after signing in, or from a form to the one it stood on."""
    path = request.scope["path"].removeprefix(PREFIX)
    return f"/sign-in?next={quote(_nearest_shown(path) or '/' if request.method == 'POST' else path, safe='/')}"


def _is_operator(portal: Portal, session: Session | None) -> bool:
    if session is None or session.stage != "full":
        return False
    own = canonical_email(session.email)
    return own is not None and own in {canonical_email(address) for address in portal.settings.operators}


def _plain(status: int, text: str, request_id: str) -> Response:
    """A page that needs neither a template nor a database."""
    body = f"<!doctype html><html lang=en><title>Strongroom</title><h1>{text}</h1><p>Request {request_id}</html>\n"
    return HTMLResponse(body, status)

"""The shape of a page: a path, who may call it, and a handler that takes the visit."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, TypeAlias

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from strongroom.http.client_address import network_of
from strongroom.portal import limits, rendering
from strongroom.portal.accounts.sessions import Session
from strongroom.portal.area import PREFIX, Portal
from strongroom.portal.limits import Limit
from strongroom.portal.membership import organisations
from strongroom.portal.membership.organisations import Membership
from strongroom.portal.refusals import Forbidden
from strongroom.portal.web import cookies
from strongroom.portal.web.forms import Form, csrf_token
from strongroom.storage import T, Transaction, Work

Method: TypeAlias = Literal["GET", "POST"]


class Needs(Enum):
    """Who may call a page. Every page declares it, and a test calls each page as every other kind of caller."""

    anybody = "anybody"
    half_signed_in = "a password, the second factor is still to come"
    signed_in = "a developer who is signed in"
    member = "a member of the organisation in the path"
    owner = "an owner of the organisation in the path"
    operator = "the operator of the service"


@dataclass(frozen=True, slots=True)
class Page:
    """One page or action. `{name}` in the path is one segment; `{organisation}` is where member and owner belong."""

    method: Method
    path: str
    needs: Needs
    handler: "Handler"
    because: str = ""
    """Why an action is open to unauthenticated callers."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """One request, its caller known and allowed, its form checked."""

    portal: Portal
    request: Request
    now: int
    token: str | None
    """The session's, from the cookie; None without a session."""
    session: Session | None
    membership: Membership | None
    binding: str
    """The cookie value that forms are bound to."""
    form: Form
    is_bound: bool = True
    """False where the browser sent no such cookie yet: then every form is refused."""
    is_operator: bool = False
    _cookies: list[cookies.Cookie] = field(default_factory=list)

    @property
    def who(self) -> Session:
        """The caller of a page that needs one."""
        assert self.session is not None
        return self.session

    @property
    def signed_in(self) -> Session | None:
        """The session of a fully signed-in caller, on a page that needs none."""
        return self.session if self.session is not None and self.session.stage == "full" else None

    @property
    def organisation(self) -> Membership:
        """The caller's place in the organisation of the path, on a page that needs one."""
        assert self.membership is not None
        return self.membership

    @property
    def network(self) -> str:
        """The network the request came from; limits are counted by it."""
        return network_of(self.address)

    @property
    def address(self) -> str:
        """The address the request came from, as a trusted proxy reports it."""
        peer = self.request.client.host if self.request.client else ""
        return self.portal.proxies.client_address(peer, self.request.scope["headers"])

    def path(self, name: str) -> str:
        """A segment of the path, as in the page's pattern."""
        value: str = self.request.path_params[name]
        return value

    def query(self, name: str) -> str:
        return self.request.query_params.get(name, "")

    def set_cookie(self, cookie: cookies.Cookie) -> None:
        self._cookies.append(cookie)

    async def read(self, work: Work[T]) -> T:
        return await self.portal.store.read(work)

    async def read_many(self, work: Work[T]) -> T:
        return await self.portal.store.read_many(work)

    async def write(self, work: Work[T]) -> T:
        """Run an act of the visitor as one transaction, then send the mail that it queued.

        `Forbidden` where the visitor was removed from the organisation of the path meanwhile, or has another role.
        """

        async def act(tx: Transaction) -> T:
            if self.membership is not None:
                found = await organisations.find(tx, self.membership.provider_id, self.who.developer_id)
                if found != self.membership:
                    raise Forbidden
            return await work(tx)

        done = await self.portal.store.write(act)
        self.portal.mail.wake()
        return done

    async def count(self, limit: Limit, key: str) -> None:
        """Count one more for this key, in a transaction of its own; `TooMany` above the limit."""
        portal = self.portal
        await portal.store.write(lambda tx: limits.count(tx, portal.secret, limit, key, self.now))

    def page(
        self, template: str, *, status: int = 200, errors: Mapping[str, str] | None = None, **values: Any
    ) -> Response:
        """A rendered template. It is also given the visit's session, its CSRF token and the notice to show once.

        `errors` are by the names of fields, and make it a 422.
        """
        notice = cookies.read(self.request, cookies.NOTICE, secure=self.portal.secure)
        if notice is not None:
            self.set_cookie(cookies.expired(cookies.NOTICE))
        html = rendering.render(
            template,
            csrf_token=csrf_token(self.portal.secret, self.binding),
            session=self.signed_in,
            membership=self.membership,
            is_operator=self.is_operator,
            notice=notice,
            # Not `request.url`, which also reads the unchecked Host header and query.
            here=self.request.scope["path"],
            form=self.form,
            base_url=self.portal.base_url,
            now=self.now,
            errors=errors or {},
            **values,
        )
        return self.with_cookies(HTMLResponse(html, 422 if errors else status))

    @property
    def is_confirmed(self) -> bool:
        """Whether the visitor has said yes on the page that `ask` shows."""
        return self.form.text("confirmed") == "yes"

    def ask(
        self, heading: str, text: str, button: str, back: str, *, asks_reason: bool = False, **fields: str
    ) -> Response:
        """A page that says what an action would do, and a button that does it; `fields` of the form go along.

        With `asks_reason` there is a field for one, which may stay empty.
        Without JavaScript there is no other way to ask for confirmation, and a wrong click should end nothing.
        """
        return self.page(
            "sure.html",
            path=self.request.scope["path"].removeprefix(PREFIX),
            fields={**fields, "confirmed": "yes"},
            heading=heading,
            text=text,
            button=button,
            back=back,
            asks_reason=asks_reason,
        )

    def notify(self, notice: str) -> None:
        """Show the notice of this code once, on the next page."""
        self.set_cookie(cookies.Cookie(cookies.NOTICE, notice, lifetime=60))

    def redirect(self, path: str, notice: str | None = None) -> Response:
        """On to another page of the portal, where the notice of this code is shown once."""
        if notice is not None:
            self.notify(notice)
        return self.with_cookies(RedirectResponse(PREFIX + path, 303))

    def with_cookies(self, response: Response) -> Response:
        """The response with the cookies of the visit."""
        for cookie in self._cookies:
            cookies.add(response, cookie, secure=self.portal.secure)
        return response


Handler: TypeAlias = Callable[[Visit], Awaitable[Response]]

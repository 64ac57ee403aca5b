"""The portal's cookies: http-only, same-site, and bound to this host where browsers come over TLS."""

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

SESSION = "strongroom_session"
FORM = "strongroom_form"
"""Binds the forms of a browser that is not signed in."""
NOTICE = "strongroom_notice"
"""The code of a notice that the next page shows."""


@dataclass(frozen=True, slots=True)
class Cookie:
    name: str
    value: str
    lifetime: int | None = None
    """Seconds; None for as long as the browser runs, 0 to remove it."""

    def __repr__(self) -> str:
        return f"Cookie({self.name!r}, ***)"


def expired(name: str) -> Cookie:
    return Cookie(name, "", 0)


def read(request: Request, name: str, *, secure: bool) -> str | None:
    return request.cookies.get(_full_name(name, secure=secure))


def add(response: Response, cookie: Cookie, *, secure: bool) -> None:
    """Lax, so that a link in a mail still finds the session; what changes anything is a POST, which Lax keeps out."""
    response.set_cookie(
        _full_name(cookie.name, secure=secure),
        cookie.value,
        max_age=cookie.lifetime,
        path="/",
        secure=secure,
        httponly=True,
        samesite="lax",
    )


def _full_name(name: str, *, secure: bool) -> str:
    # The prefix makes browsers refuse a cookie of this name from a sibling domain or without TLS (RFC 6265bis 4.1.3.2).
    return f"__Host-{name}" if secure else name

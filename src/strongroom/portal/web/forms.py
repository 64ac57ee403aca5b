"""Forms: read from a request within limits, and bound to the browser they were shown to."""

import asyncio
import hmac
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request

from strongroom.crypto.encoding import encode_unpadded
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import is_loopback

MAX_BODY = 64 * 1024
MAX_FIELDS = 64
CSRF_FIELD = "csrf_token"

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class BadForm(Exception):
    """Not a form of ours: too large, of another type, unreadable, or sent by another site."""


class Form:
    """The fields of one form. A field that is missing reads as empty text."""

    __slots__ = ("_fields",)

    def __init__(self, fields: Mapping[str, str]) -> None:
        self._fields = fields

    def __repr__(self) -> str:
        return "Form(***)"

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def text(self, name: str) -> str:
        """Without the space around it, and on one line."""
        return " ".join(self._fields.get(name, "").split())

    def exact(self, name: str) -> str:
        """As it was typed: for passwords and usernames."""
        return self._fields.get(name, "")


async def read(request: Request, seconds: float) -> Form:
    """The fields of an `application/x-www-form-urlencoded` body that arrives within `seconds`; `BadForm`."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/x-www-form-urlencoded":
        raise BadForm
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > MAX_BODY:
                    raise BadForm
    except (TimeoutError, ClientDisconnect):
        raise BadForm from None
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except ValueError:
        raise BadForm from None
    fields = dict(pairs)
    if len(fields) != len(pairs) or any(_CONTROL.search(value) for value in fields.values()):
        raise BadForm
    return Form(fields)


def csrf_token(secret: ServerSecret, binding: str) -> str:
    """The token of every form shown to the holder of one cookie; nothing of it is stored."""
    return encode_unpadded(secret.mac("portal-csrf", binding.encode()))


def check_origin(request: Request, secret: ServerSecret, base_url: str, binding: str | None, form: Form) -> None:
    """`BadForm` unless the form came from a page of ours, shown to this browser (cross-site request forgery)."""
    origin = request.headers.get("origin")
    if origin is not None and not _is_ours(origin, base_url, request.headers.get("host", "")):
        raise BadForm
    # Where a browser says how a request came about, a request from another site is recognised without any token.
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise BadForm
    if binding is None:
        raise BadForm
    given = form.exact(CSRF_FIELD).encode()
    message = binding.encode()
    wanted = [hmac.digest(key, message, "sha256") for key in secret.keys("portal-csrf")]
    if not any(hmac.compare_digest(encode_unpadded(mac).encode(), given) for mac in wanted):
        raise BadForm


def _is_ours(origin: str, base_url: str, host: str) -> bool:
    if origin == _origin_of(base_url):
        return True
    # A machine has several names for itself: localhost, 127.0.0.1. None of them is another site's.
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return (
        is_loopback(urlsplit(base_url).hostname or "")
        and parts.scheme == "http"
        and parts.netloc == host
        and is_loopback(parts.hostname or "")
    )


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"

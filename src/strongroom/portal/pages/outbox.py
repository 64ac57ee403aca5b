"""The outbox of development: mail that would have been sent, shown to users of this machine only."""

import asyncio
import re
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import urlsplit

from starlette.responses import Response

from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.settings import is_loopback

MOST = 20
_LINK = re.compile(r"https?://\S+")


@dataclass(frozen=True, slots=True)
class Shown:
    to: str
    subject: str
    date: str
    text: str
    link: str | None


async def show(visit: Visit) -> Response:
    """Absent unless mail stays on this machine, the service listens to this machine alone, and it is what asks."""
    settings = visit.portal.settings
    # This page shows reset links in clear. Three conditions, as each alone could be wrong behind some proxy.
    if not visit.portal.keeps_mail or not is_loopback(settings.host) or not is_loopback(visit.address):
        raise Absent
    # A page of another site whose name was made to point at this machine (DNS rebinding) asks under that name.
    if not is_loopback(_host_of(visit)):
        raise Absent
    messages = await asyncio.to_thread(_newest, settings.data / "outbox", visit.portal.base_url)
    return visit.page("outbox.html", messages=messages)


def _host_of(visit: Visit) -> str:
    try:
        return urlsplit(f"//{visit.request.headers.get('host', '')}").hostname or ""
    except ValueError:
        return ""


def _newest(folder: Path, base_url: str) -> list[Shown]:
    # Names begin with the time: the order of names is the order of messages.
    files = sorted(folder.glob("*.eml"), reverse=True)[:MOST]
    return [_shown(message_from_bytes(file.read_bytes(), policy=policy.default), base_url) for file in files]


def _shown(mail: EmailMessage, base_url: str) -> Shown:
    body = mail.get_body(("plain",))
    text = "" if body is None else str(body.get_content()).strip()
    found = _LINK.search(text)
    link = found[0] if found and found[0].startswith(f"{base_url}/") else None
    return Shown(str(mail["To"]), str(mail["Subject"]), str(mail["Date"]), text, link)


PAGES = (Page("GET", "/outbox", Needs.anybody, show),)

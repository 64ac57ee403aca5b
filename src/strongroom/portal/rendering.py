"""Templates: Jinja with everything escaped, and the few filters that pages need."""

import hashlib
import re
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from strongroom.portal import lengths
from strongroom.portal.accounts.agents import describe
from strongroom.portal.area import PREFIX
from strongroom.portal.notices import NOTICES
from strongroom.runtime.clock import MINUTE, duration, wire_time
from strongroom.runtime.ids import to_text
from strongroom.version import __version__

_SPAN = re.compile(r"`([^`]+)`")
STATIC = files("strongroom.portal") / "static"


@lru_cache(maxsize=1)
def environment() -> Environment:
    # Every template is escaped, with any file extension. An undefined name is an error, not an empty text.
    made = Environment(
        loader=PackageLoader("strongroom.portal"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(prefix=PREFIX, asset=asset, notices=NOTICES, version=__version__, lengths=lengths)
    made.filters.update(
        moment=moment,
        day=day,
        uuid=to_text,
        ago=ago,
        duration=duration,
        counted=counted,
        browser=describe,
        sentence=sentence,
        spans=spans,
    )
    return made


def render(template: str, **values: Any) -> str:
    """A page of `templates/`."""
    return environment().get_template(template).render(**values)


@lru_cache(maxsize=64)
def asset(name: str) -> str:
    """The URL of a file of `static/`: it changes with the content, so that browsers may keep what they have."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"{PREFIX}/static/{name}?v={digest}"


def moment(milliseconds: int) -> str:
    """`2026-01-31 12:00 UTC`"""
    return f"{wire_time(milliseconds)[:16].replace('T', ' ')} UTC"


def day(milliseconds: int) -> str:
    """`2026-01-31`"""
    return wire_time(milliseconds)[:10]


def ago(milliseconds: int, now: int) -> str:
    """`3 hours ago`"""
    past = now - milliseconds
    return "just now" if past < MINUTE else f"{duration(past)} ago"


def counted(number: int, one: str, more: str = "") -> str:
    """`1 call`, `1,200 calls`; `more` where the plural is not the singular and an s."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def sentence(text: str) -> str:
    """The text with a capital in front, the rest as it is."""
    return text[:1].upper() + text[1:]


def spans(text: str) -> Markup:
    """The text, escaped, with what stands in backticks as code."""
    return Markup(_SPAN.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped just here

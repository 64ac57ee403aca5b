"""The page behind the `type` of a problem document: what the code means and how to mend it, in one file."""

import base64
import hashlib
import html
from typing import Final

from strongroom.wire.refusal import Refusal

_STYLE: Final = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.55 system-ui,sans-serif;max-width:42rem;margin:0 auto;padding:2rem 1rem;"
    "background:#f6f7f8;color:#16211f}"
    "h1,code{font-family:ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}"
    "h1{font-size:1.4rem}code{font-size:.9em}dt{color:#52605d}dd{margin:0 0 1rem}a{color:#0b6e63}"
    "@media(prefers-color-scheme:dark){body{background:#0e1514;color:#e6edeb}dt{color:#a3b3af}a{color:#5cc8b8}}"
)
_DIGEST: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# The one style is named by its hash; nothing else is loaded or run.
CONTENT_SECURITY_POLICY: Final = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; sandbox"


def render(refusal: Refusal, documentation: str | None) -> bytes:
    """The whole page; `documentation` is the address of its page in the portal, where one is served here."""
    more = f'<p><a href="{html.escape(documentation)}">More in the error catalogue</a></p>' if documentation else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{refusal.code} · Strongroom</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{_STYLE}</style></head>'
        f"<body><main><h1>{refusal.code}</h1><p>{html.escape(refusal.title)}.</p>"
        f"<dl><dt>HTTP status</dt><dd>{refusal.status}</dd>"
        f"<dt>How to mend it</dt><dd>{html.escape(refusal.mend)}</dd></dl>{more}</main></body></html>\n"
    ).encode()

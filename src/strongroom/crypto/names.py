"""Canonical usernames and realms, and the short tags computed from them: what both sides must spell alike."""

import hashlib
import ipaddress
import re
import unicodedata
from typing import Final
from urllib.parse import urlsplit

from strongroom.crypto.checksum import base62
from strongroom.crypto.encoding import encode_unpadded
from strongroom.crypto.errors import RealmRefused, UsernameRefused
from strongroom.crypto.unicode14 import is_assigned

_LOOPBACK: Final = "http://localhost"
_LABEL: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.ASCII)
_PRINTABLE: Final = re.compile(r"[^\x00-\x20\x7f\\]+")


def canonical_username(username: str) -> str:
    """NFC(casefold(NFKC(username))), under which names are unique and looked up.

    UsernameRefused unless it is 1 to 128 code points, each assigned in Unicode 14.0 (the tables of the running Python
    do not matter), none a control (category Cc) or a surrogate. Format, separator and private-use characters are
    allowed: scripts and emoji need joiners, and nothing rests on how a name looks.
    """
    if not 1 <= len(username) <= 128:
        raise UsernameRefused
    for character in username:
        # Tables agree on what 14.0 assigned; a newer character could fold differently on two machines.
        if not is_assigned(ord(character)) or unicodedata.category(character) == "Cc":
            raise UsernameRefused
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", username).casefold())


def account_tag(username: str) -> str:
    """`acct`: 22 characters that stand for the canonical name in bindings. UsernameRefused as for the name."""
    canonical = canonical_username(username).encode()
    return encode_unpadded(hashlib.sha256(b"strongroom/1/acct\0" + canonical).digest())[:22]


def canonical_realm(url: str) -> str:
    """`https://host[:port]` of an address: lower case, ASCII host, without path or default port.

    Every loopback name or address is `http://localhost`, with any port. RealmRefused for other schemes, http to
    other hosts, user information, a query or fragment, and hosts that are not names or whole IP addresses.
    """
    if _PRINTABLE.fullmatch(url) is None:
        raise RealmRefused
    try:
        parts = urlsplit(url)
        port = parts.port
        host = parts.hostname or ""
    except ValueError:
        raise RealmRefused from None
    if parts.scheme not in ("http", "https") or parts.username is not None or "?" in url or "#" in url:
        raise RealmRefused
    if "[" in parts.netloc and ":" not in host:
        raise RealmRefused
    host, is_loopback = _canonical_host(host)
    if is_loopback:
        return _LOOPBACK
    # Anyone on the way could rewrite what an http server says, the realm's whole meaning included.
    if parts.scheme == "http" or port == 0:
        raise RealmRefused
    return f"https://{host}" if port in (None, 443) else f"https://{host}:{port}"


def _canonical_host(host: str) -> tuple[str, bool]:
    if ":" in host:
        try:
            address = ipaddress.IPv6Address(host)
        except ValueError:
            raise RealmRefused from None
        if address.scope_id is not None:
            raise RealmRefused
        mapped = address.ipv4_mapped
        return f"[{address.compressed}]", address.is_loopback or (mapped is not None and mapped.is_loopback)
    name = (host if host.isascii() else _to_ascii(host)).lower().removesuffix(".")
    labels = name.split(".")
    # A last label that is a number makes an IPv4 address, of which only the dotted form has one spelling.
    if labels[-1].isdigit() or labels[-1].startswith("0x"):
        try:
            address4 = ipaddress.IPv4Address(name)
        except ValueError:
            raise RealmRefused from None
        return str(address4), address4.is_loopback
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise RealmRefused
    return name, labels[-1] == "localhost"


def _to_ascii(host: str) -> str:
    # Imported here: almost every host is ASCII already, and the tables are large.
    import idna

    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError:
        raise RealmRefused from None


def realm_tag(realm: str) -> str:
    """11 base62 digits that name the realm inside a vault session string. Takes any spelling; RealmRefused as above."""
    digest = hashlib.sha256(b"strongroom/1/realm\0" + canonical_realm(realm).encode()).digest()
    return base62(int.from_bytes(digest[:8], "big"), 11)

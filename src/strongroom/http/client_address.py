"""Whose request it is, as an address: the peer's, or behind a trusted proxy the one that the proxy saw."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

FORWARDED_HEADERS = ("x-forwarded-for", "forwarded")
MAX_HOPS = 32

# `203.0.113.7:4711` and `[2001:db8::1]:4711`, as some proxies write them; a bare IPv6 address has no port.
_WITH_PORT = re.compile(r"\[(?P<v6>[^\]]*)\](?::[^:]*)?|(?P<v4>[^:]+)(?::[^:]*)?")


class TrustedProxies:
    """Networks of proxies whose forwarding header is believed. Without any, the address of the connection counts."""

    def __init__(self, networks: Iterable[str] = (), header: str = FORWARDED_HEADERS[0]) -> None:
        """`ValueError` for what is no network. `header` is the one that the proxies write: no other one is read."""
        self._networks = [ip_network(network) for network in networks]
        self._header = header.lower().encode()

    def client_address(self, peer: str, headers: Iterable[tuple[bytes, bytes]]) -> str:
        """The right-most address that is not a trusted proxy's, without a port; `peer` where no proxy is trusted.

        A proxy adds on the right, so what stands to the left of that address may be made up. Where a hop is no
        address, the one that reported it counts.
        """
        nearest = _parse(peer)
        if nearest is None or not self._trusts(nearest):
            return peer if nearest is None else str(nearest)
        # Only the header the proxies write: the other one reaches us as the client wrote it.
        lines = [value.decode("latin-1") for name, value in headers if name == self._header]
        for hop in _hops(self._header, lines):
            found = _parse(hop)
            if found is None:
                break
            nearest = found
            if not self._trusts(found):
                break
        return str(nearest)

    def trust(self, peer: str) -> bool:
        """Whether a connection comes from one of the proxies."""
        found = _parse(peer) if self._networks else None
        return found is not None and self._trusts(found)

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._networks)


def network_of(address: str) -> str:
    """What limits count by: an IPv4 address, or the 64 bits that one IPv6 customer shares among all addresses."""
    found = _parse(address)
    return str(IPv6Network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address


def _hops(header: bytes, lines: list[str]) -> list[str]:
    """Whom each proxy saw, the nearest first, at most 32."""
    # Split at every comma, also within quotes: an address holds none, and a quote that a client left open on the left
    # must not swallow what a proxy added on the right.
    hops = ",".join(lines).rsplit(",", MAX_HOPS)[-1 : -MAX_HOPS - 1 : -1]
    return [_for(hop) if header == b"forwarded" else hop.strip() for hop in hops]


def _for(hop: str) -> str:
    """The address in `for=203.0.113.7;proto=https` (RFC 7239 section 4), quoted where it holds a colon, or nothing.

    Taken apart and not matched: the left part is any stranger's, who must not make it cost more than its length.
    """
    pairs = [pair.partition("=") for pair in hop.split(";")]
    named = [value for name, _, value in pairs if name.strip().lower() == "for"]
    return named[-1].strip().strip('"').strip() if named else ""


def _parse(text: str) -> Address | None:
    try:
        found = ip_address(text)
    except ValueError:
        shaped = _WITH_PORT.fullmatch(text)
        if shaped is None:
            return None
        try:
            found = ip_address(shaped["v6"] or shaped["v4"] or "")
        except ValueError:
            return None
    # One host, one name: `::ffff:203.0.113.7` is what a socket for both families calls 203.0.113.7.
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found

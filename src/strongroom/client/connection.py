"""Where the service is and what is sent along: turns a call of the endpoint table into a request and its reply into a
record or a typed error."""

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from strongroom.client.errors import (
    ClientError,
    ConfigurationRefused,
    ProtocolViolation,
    ServiceRefused,
    ServiceUnavailable,
)
from strongroom.client.observing import Exchange, Observer
from strongroom.client.progress import ProgressCallback
from strongroom.client.running import at_caller
from strongroom.client.transfer import Channel, OctetBody, Reply, Request, StreamedReply, Transport, is_reachable
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.names import canonical_realm
from strongroom.crypto.secret import Secret
from strongroom.wire.endpoint import AnyEndpoint, Credential, Endpoint
from strongroom.wire.refusal import Problem

P = TypeVar("P", bound=msgspec.Struct)
Q = TypeVar("Q", bound=msgspec.Struct)
B = TypeVar("B", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)

_VAULT_PATHS: Final = "/vault/"
_VISIBLE: Final = re.compile(r"[\x21-\x7e]{1,1024}")
_SECONDS: Final = re.compile(r"[0-9]{1,6}\Z")


class Connection:
    """The settings of one service. The repr shows addresses only.

    Addresses are https, or http to a loopback name or address; anything else is refused, and so is an address with
    user information, query or fragment. The realm is the client's own setting or follows from its base address; it
    never comes from the service.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        subscription_key: str | None = None,
        provider_api_key: str | None = None,
        keystore_url: str | None = None,
        vault_url: str | None = None,
        realm: str | None = None,
        state_dir: str | Path | None = None,
        timeout: float = 30.0,
        transport: Transport | None = None,
        artefacts: ArtefactFormat = ArtefactFormat.YAML,
        progress: ProgressCallback | None = None,
        observer: Observer | None = None,
    ) -> None:
        base_url = base_url or os.environ.get("STRONGROOM_URL")
        keystore, vault = keystore_url or base_url, vault_url or base_url
        if keystore is None or vault is None:
            raise ConfigurationRefused("a base URL is needed, or one for the key store and one for the vault")
        self.keystore_url = _address(keystore)
        self.vault_url = _address(vault)
        if realm is None and base_url is None and canonical_realm(keystore) != canonical_realm(vault):
            raise ConfigurationRefused("areas at two addresses share one realm: set it")
        self.realm = canonical_realm(realm or base_url or keystore)
        self._subscription_key = _credential(subscription_key or os.environ.get("STRONGROOM_SUBSCRIPTION_KEY"))
        self._provider_api_key = _credential(provider_api_key or os.environ.get("STRONGROOM_PROVIDER_API_KEY"))
        self.state_dir = None if state_dir is None else Path(state_dir)
        self.artefacts = artefacts
        self.progress = progress
        self.observer = observer
        self._channel = Channel(timeout, transport)

    def __repr__(self) -> str:
        return f"Connection({self.keystore_url!r}, {self.vault_url!r}, realm={self.realm!r})"

    @property
    def provider_api_key(self) -> Secret[str]:
        if self._provider_api_key is None:
            raise ConfigurationRefused("issuing admission tokens needs the provider API key, or hand in a token")
        return self._provider_api_key

    async def ask(
        self,
        endpoint: Endpoint[P, Q, B, R],
        *,
        body: B | None = None,
        query: Q | None = None,
        path: P | None = None,
        credential: Secret[str] | None = None,
    ) -> R:
        """A call that is answered with a record; an answer of another shape is a `ProtocolViolation`."""
        reply = await self.converse(endpoint, body=body, query=query, path=path, credential=credential)
        return _decode(reply, endpoint.answer, "application/json")

    async def converse(
        self,
        endpoint: AnyEndpoint,
        *,
        body: msgspec.Struct | None = None,
        query: msgspec.Struct | None = None,
        path: msgspec.Struct | None = None,
        credential: Secret[str] | None = None,
    ) -> Reply:
        """Ask, let the observer see it, and return the reply if it is a success; refusals become errors of the tree."""
        request = self._request(endpoint, body, query, path, credential)
        reply = await self._channel.exchange(request)
        await self._observe(endpoint, request, reply)
        if not 200 <= reply.status < 300:
            raise _refusal(reply)
        return reply

    @asynccontextmanager
    async def stream(
        self,
        endpoint: AnyEndpoint,
        *,
        body: OctetBody | None = None,
        query: msgspec.Struct | None = None,
        path: msgspec.Struct | None = None,
        headers: dict[str, str] | None = None,
        credential: Secret[str] | None = None,
    ) -> AsyncIterator[StreamedReply]:
        """The same for octets of any length, in constant memory; `headers` come on top of what every request has.

        The time limit is for each step, see `Channel.stream`. The observer sees the exchange without streamed bodies.
        """
        request = self._request(endpoint, body, query, path, credential, headers)
        async with self._channel.stream(request) as streamed:
            if 200 <= streamed.status < 300:
                await self._observe(endpoint, request, streamed.head())
                yield streamed
                return
            reply = await streamed.whole()
        await self._observe(endpoint, request, reply)
        raise _refusal(reply)

    async def close(self) -> None:
        """Close the connections."""
        await self._channel.close()

    async def _observe(self, endpoint: AnyEndpoint, request: Request, reply: Reply) -> None:
        if self.observer is None:
            return
        parts = urlsplit(request.url)
        words = endpoint.credential.value if isinstance(endpoint.credential, Credential) else None
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        sent = request.body if isinstance(request.body, bytes) else b""
        exchange = Exchange(request.method, target, words, sent, reply.status, reply.body, reply.seconds)
        await at_caller(self.observer, exchange)

    def _request(
        self,
        endpoint: AnyEndpoint,
        body: msgspec.Struct | OctetBody | None,
        query: msgspec.Struct | None,
        path: msgspec.Struct | None,
        credential: Secret[str] | None,
        headers: dict[str, str] | None = None,
    ) -> Request:
        """The request for this call. Every area's credential goes to that area's address and to no other."""
        base = self.vault_url if endpoint.path.startswith(_VAULT_PATHS) else self.keystore_url
        try:
            segments = {} if path is None else msgspec.structs.asdict(path)
            url = base + endpoint.path.format(**{name: _segment(value) for name, value in segments.items()})
            if query is not None and (parameters := _parameters(query)):
                url = f"{url}?{parameters}"
            content = msgspec.json.encode(body) if isinstance(body, msgspec.Struct) else body or b""
        except UnicodeEncodeError:
            # `from None`: the codec's message quotes the text.
            raise ConfigurationRefused("text with lone surrogates cannot be sent") from None
        given = {
            "Accept": ", ".join(endpoint.media_types),
            # Without compression there is no decompression bomb, and the cap on the body is the cap on memory.
            "Accept-Encoding": "identity",
            # Also where there is no body: the specification has it for endpoints 9 and 12.
            "Content-Type": "application/json",
            **(headers or {}),
        }
        if endpoint.subscription_key:
            if self._subscription_key is None:
                raise ConfigurationRefused("a subscription key is needed")
            given["Service-Subscription-Key"] = self._subscription_key.reveal()
        if credential is not None:
            given["Authorization"] = credential.reveal()
        return Request(endpoint.method, url, given, content)


def _segment(value: str) -> str:
    # Libraries resolve dot segments, and an empty one would name the listing.
    if value in {"", ".", ".."}:
        raise ConfigurationRefused("an identifier is not empty and no dot segment")
    return quote(value, safe="")


def _address(url: str) -> str:
    canonical_realm(url)  # refuses plain http except for loopback
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ConfigurationRefused("a base URL has no user information, query or fragment")
    if not is_reachable(url):
        raise ConfigurationRefused("a base URL has the name of a host")
    return url.rstrip("/")


def _credential(value: str | None) -> Secret[str] | None:
    if not value:
        return None
    # A line break here would let a setting write headers of its own.
    return presentable(value)


def presentable(value: str) -> Secret[str]:
    """A credential the caller handed in, fit to stand in a header or body; else `ConfigurationRefused`."""
    if not is_presentable(value):
        raise ConfigurationRefused("a key, token or session string is printable ASCII without spaces")
    return Secret(value)


def is_presentable(text: str) -> bool:
    """At most 1,024 visible ASCII characters."""
    return _VISIBLE.fullmatch(text) is not None


def _parameters(query: msgspec.Struct) -> str:
    values = msgspec.to_builtins(query)
    return urlencode({name: value for name, value in values.items() if value is not None})


def _decode(reply: Reply, response: type[R], *content_types: str) -> R:
    if reply.content_type.partition(";")[0].strip().lower() not in content_types:
        raise ProtocolViolation("the content type of the answer is not the documented one")
    with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
        return msgspec.json.decode(reply.body, type=response)
    # Outside the handler: the decoder's message may quote the answer, and would come along as the context.
    raise ProtocolViolation("the answer is not of the documented shape")


def _refusal(reply: Reply) -> ClientError:
    retry_after = float(reply.retry_after) if _SECONDS.match(reply.retry_after) else None
    if reply.status == 429:
        return ServiceUnavailable("too many requests", retry_after=retry_after, status=reply.status)
    if reply.status >= 500:
        return ServiceUnavailable("the service cannot answer now", retry_after=retry_after, status=reply.status)
    if reply.status < 400:
        # Following a redirect would carry credentials and bodies to an address nobody configured.
        return ProtocolViolation("the answer is neither a success nor a refusal")
    try:
        problem = _decode(reply, Problem, "application/problem+json", "application/json")
    except ProtocolViolation as violation:
        return violation
    return ServiceRefused.of(problem, reply.status)

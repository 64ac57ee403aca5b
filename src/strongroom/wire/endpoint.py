"""The shape of an endpoint: one record for server, client, documentation and tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, TypeAlias, get_args

import msgspec
from typing_extensions import TypeVar

from strongroom.wire.octets import Octets
from strongroom.wire.refusal import Refusal

KIB = 1024


class Credential(Enum):
    """Who may call an endpoint: the credential that `Authorization` has to hold."""

    provider = "provider API key"
    keystore_session = "key store session string"
    vault_session = "vault session string"
    service = "service credential of the other area"


@dataclass(frozen=True, slots=True)
class Open:
    """No `Authorization` is required; the reason has to be given."""

    because: str


class Condition(Enum):
    """A header that an endpoint looks at; the door ignores those that an endpoint does not declare."""

    if_match = "If-Match"
    """One quoted entity tag, handed to the handler without its quotes."""
    if_none_match = "If-None-Match"
    """The answer carries an `ETag`; 304 for a caller who names it."""
    range = "Range"
    """One range of bytes of the answer, with `If-Range`; 206, or 416."""
    content_digest = "Content-Digest"
    """The `sha-256` of an octet body (RFC 9530); a mismatch is refused once the whole body was read."""


class NoPath(msgspec.Struct, frozen=True):
    """The path has no parameters."""


class NoQuery(msgspec.Struct, frozen=True):
    """The endpoint takes no query parameters; unknown ones are ignored."""


class NoBody(msgspec.Struct, frozen=True):
    """The request carries no body, or the answer."""


Path = TypeVar("Path", bound=msgspec.Struct, default=NoPath)
Query = TypeVar("Query", bound=msgspec.Struct, default=NoQuery)
Body = TypeVar("Body", bound=msgspec.Struct | Octets, default=NoBody)
Answer = TypeVar("Answer", bound=msgspec.Struct | Octets, default=NoBody)


# What every endpoint may answer, besides what it declares itself.
ALWAYS = (Refusal.malformed_request, Refusal.rate_limited, Refusal.internal_error, Refusal.unavailable)
WITH_SUBSCRIPTION = (
    Refusal.subscription_key_missing,
    Refusal.subscription_key_invalid,
    Refusal.subscription_key_inactive,
    Refusal.subscription_key_expired,
)
WITH_OCTETS = (Refusal.unsupported_media_type, Refusal.body_too_large, Refusal.request_timeout)
WITH_RECORD = (Refusal.malformed_json, *WITH_OCTETS, Refusal.validation_failed)
WITH_RANGE = (Refusal.range_not_satisfiable,)
WITH_DIGEST = (Refusal.digest_mismatch,)
WITH_NEEDED = (Refusal.precondition_required,)
WITH_CREDENTIAL = {
    Credential.provider: (Refusal.authorization_missing, Refusal.provider_key_invalid),
    Credential.keystore_session: (Refusal.authorization_missing, Refusal.session_invalid),
    Credential.vault_session: (Refusal.authorization_missing, Refusal.session_invalid),
    Credential.service: (Refusal.authorization_missing, Refusal.service_credential_invalid),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Generic[Path, Query, Body, Answer]):
    """One endpoint, as a constant of a module of `wire`: what it takes and what it gives are its types.

    Each `{x}` in `path` is one raw segment, decoded once into the field `x` of `parameters`.
    """

    name: str = field(init=False, default="")
    """Of the constant, in lower case: of the handler that serves it, and in documents. `named` gives it."""
    method: str
    path: str
    summary: str
    credential: Credential | Open
    source: str = "additive"
    """Where it comes from: `spec: key store 8`, or `additive`."""
    parameters: type[Path] = NoPath  # type: ignore[assignment]  # the default of the type variable
    query: type[Query] = NoQuery  # type: ignore[assignment]  # likewise
    body: type[Body] = NoBody  # type: ignore[assignment]  # likewise
    wrapper: str | None = None
    """The member that may wrap the body; the same fields are then also taken flat."""
    answer: type[Answer] = NoBody  # type: ignore[assignment]  # likewise
    media_types: tuple[str, ...] = ("application/json",)
    """The media type of the answer; anything but JSON is sent as the handler returns it."""
    status: int = 201
    statuses: tuple[int, ...] = ()
    """Further success statuses, such as 200 where identical bytes are posted again."""
    conditions: tuple[Condition, ...] = ()
    needed: tuple[Condition, ...] = ()
    """The conditions without which a request is refused."""
    refusals: tuple[Refusal, ...] = ()
    body_limit: int = 64 * KIB
    subscription_key: bool = True
    cacheable: bool = False
    """False sends `Cache-Control: no-store`."""
    internal: bool = False
    """True for calls between the areas: served, but no part of the public document."""
    aliases: tuple[str, ...] = ()

    @property
    def takes_record(self) -> bool:
        return self.body is not NoBody and not self.takes_octets

    @property
    def takes_octets(self) -> bool:
        return self.body is Octets

    @property
    def gives_record(self) -> bool:
        return self.answer is not NoBody and self.answer is not Octets

    @property
    def inner(self) -> type[msgspec.Struct]:
        """The record in the wrapper of the body."""
        body: Any = self.body
        (wrapped,) = (f.type for f in msgspec.structs.fields(body) if f.name == self.wrapper)
        found: type[msgspec.Struct] = get_args(wrapped)[0]  # around it stands its description
        return found

    @property
    def is_conditional(self) -> bool:
        return Condition.if_none_match in self.conditions

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, *self.aliases)

    @property
    def all_refusals(self) -> tuple[Refusal, ...]:
        """Every refusal this endpoint can answer, in the order of the catalogue."""
        found = {*ALWAYS, *self.refusals}
        if self.subscription_key:
            found.update(WITH_SUBSCRIPTION)
        if self.takes_record:
            found.update(WITH_RECORD)
        if self.takes_octets:
            found.update(WITH_OCTETS)
        if isinstance(self.credential, Credential):
            found.update(WITH_CREDENTIAL[self.credential])
        if self.query is not NoQuery:
            found.add(Refusal.validation_failed)
        if self.parameters is not NoPath:
            found.add(Refusal.not_found)
        if Condition.range in self.conditions:
            found.update(WITH_RANGE)
        if Condition.content_digest in self.conditions:
            found.update(WITH_DIGEST)
        if self.needed:
            found.update(WITH_NEEDED)
        return tuple(refusal for refusal in Refusal if refusal in found)


AnyEndpoint: TypeAlias = Endpoint[Any, Any, Any, Any]


def named(module: Mapping[str, object]) -> tuple[AnyEndpoint, ...]:
    """The endpoints of a module in the order in which they stand there; each gets the name of its constant."""
    found = []
    for constant, value in module.items():
        if isinstance(value, Endpoint):
            object.__setattr__(value, "name", constant.lower())
            found.append(value)
    return tuple(found)

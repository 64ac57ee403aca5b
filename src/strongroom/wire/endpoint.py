"""The shape of an endpoint: one record says all that server, client, documentation and tests need to know."""

from dataclasses import dataclass, field
from enum import Enum

import msgspec

from strongroom.wire.refusal import Refusal

KIB = 1024


class Credential(Enum):
    """Who may call an endpoint, told by what stands in `Authorization`."""

    provider = "provider API key"
    keystore_session = "key store session string"
    vault_session = "vault session string"
    service = "service credential of the other area"


@dataclass(frozen=True, slots=True)
class Open:
    """No `Authorization` is asked for; the reason has to be given."""

    because: str


class NoBody(msgspec.Struct, frozen=True):
    """The request or the response carries no body."""


class NoQuery(msgspec.Struct, frozen=True):
    """The endpoint takes no query parameters; unknown ones are ignored."""


# What every endpoint may answer, besides what it declares itself.
ALWAYS = (Refusal.malformed_request, Refusal.rate_limited, Refusal.internal_error, Refusal.unavailable)
WITH_SUBSCRIPTION = (
    Refusal.subscription_key_missing,
    Refusal.subscription_key_invalid,
    Refusal.subscription_key_inactive,
    Refusal.subscription_key_expired,
)
WITH_BODY = (
    Refusal.malformed_json,
    Refusal.unsupported_media_type,
    Refusal.body_too_large,
    Refusal.request_timeout,
    Refusal.validation_failed,
)
WITH_CREDENTIAL = {
    Credential.provider: (Refusal.authorization_missing, Refusal.provider_key_invalid),
    Credential.keystore_session: (Refusal.authorization_missing, Refusal.session_invalid),
    Credential.vault_session: (Refusal.authorization_missing, Refusal.session_invalid),
    Credential.service: (Refusal.authorization_missing, Refusal.service_credential_invalid),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint. `name` is the method that serves it; `{x}` in `path` is one raw segment, decoded once."""

    name: str
    method: str
    path: str
    summary: str
    credential: Credential | Open
    source: str = "additive"
    """Where it comes from: `spec: key store 8`, or `additive`."""
    request: type[msgspec.Struct] = NoBody
    wrapper: str | None = None
    """The member that may wrap the body; the same fields are then also taken flat."""
    query: type[msgspec.Struct] = NoQuery
    response: type[msgspec.Struct] = NoBody
    media_types: tuple[str, ...] = ("application/json",)
    """Of the response; anything but JSON is sent as the handler gives it."""
    status: int = 201
    statuses: tuple[int, ...] = ()
    """Further success statuses, such as 200 where identical bytes are posted again."""
    refusals: tuple[Refusal, ...] = ()
    body_limit: int = 64 * KIB
    subscription_key: bool = True
    cacheable: bool = False
    """False sends `Cache-Control: no-store`."""
    conditional: bool = False
    """The answer carries an `ETag`; with it in `If-None-Match` a caller who kept the answer is told 304."""
    internal: bool = False
    """True for calls between the areas: served, but no part of the public document."""
    aliases: tuple[str, ...] = field(default=())

    @property
    def has_body(self) -> bool:
        return self.request is not NoBody

    @property
    def paths(self) -> tuple[str, ...]:
        return (self.path, *self.aliases)

    @property
    def all_refusals(self) -> tuple[Refusal, ...]:
        """Every refusal this endpoint can answer, in the order of the catalogue."""
        found = set(ALWAYS) | set(self.refusals)
        if self.subscription_key:
            found |= set(WITH_SUBSCRIPTION)
        if self.has_body:
            found |= set(WITH_BODY)
        if isinstance(self.credential, Credential):
            found |= set(WITH_CREDENTIAL[self.credential])
        if self.query is not NoQuery:
            found.add(Refusal.validation_failed)
        return tuple(refusal for refusal in Refusal if refusal in found)

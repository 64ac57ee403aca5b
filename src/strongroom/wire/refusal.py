"""Refusals: every way the service says no, as words with a stable code and one problem document (RFC 9457)."""

from enum import Enum, unique
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta


class Kind(NamedTuple):
    """What a refusal code means: its HTTP status, a short title, and how the caller mends it."""

    status: int
    title: str
    mend: str


@unique
class Refusal(Enum):
    """Every refusal of the service. The member's name is the `code` on the wire and never changes."""

    # 400: the request cannot be read
    malformed_request = Kind(400, "The request cannot be read", "Send a well-formed HTTP request.")
    malformed_json = Kind(
        400,
        "The body is not acceptable JSON",
        "Send one UTF-8 JSON object without duplicate keys, NaN, NUL or lone surrogates, at most 16 levels deep.",
    )
    # 401: no credential, or one that opens nothing
    subscription_key_missing = Kind(
        401, "No subscription key", "Send the subscription key in the Service-Subscription-Key header."
    )
    subscription_key_invalid = Kind(
        401, "The subscription key is not valid", "Check the key for typing errors, or regenerate it."
    )
    subscription_key_inactive = Kind(
        401,
        "The subscription key is not active",
        "Activate the subscription, or use the key of one that is active.",
    )
    subscription_key_expired = Kind(
        401,
        "The subscription key has come to its end",
        "Use the other key of the subscription, regenerate this one, or give it a later end in the portal.",
    )
    authorization_missing = Kind(
        401, "No Authorization header", "Send the credential this endpoint asks for in Authorization."
    )
    provider_key_invalid = Kind(
        401,
        "The provider API key is not valid",
        "Use an active provider API key of the provider that owns the subscription key.",
    )
    session_invalid = Kind(401, "The session is not valid", "Log in again and use the new session string.")
    invalid_credentials = Kind(
        401, "The credentials are not valid", "Check what was sent; the answer is the same whatever is wrong."
    )
    admission_token_invalid = Kind(
        401, "The admission token is not valid", "Ask the provider for a new admission token."
    )
    admission_token_expired = Kind(
        401, "The admission token has expired", "Ask the provider for a new admission token."
    )
    service_credential_invalid = Kind(
        401, "The service credential is not valid", "Give both areas the same server secret."
    )
    # 403: known, but not allowed
    suspended = Kind(403, "The account is suspended", "Ask the provider or the operator to lift the suspension.")
    # 404, 405, 406: nothing here
    not_found = Kind(404, "Nothing is there", "Check the path and the identifier.")
    method_not_allowed = Kind(405, "The method is not allowed here", "Use a method of the Allow header.")
    # 408, 413, 415, 431: the shape of the request
    request_timeout = Kind(408, "The request took too long to arrive", "Send the whole request without pauses.")
    body_too_large = Kind(413, "The body is too large", "Stay below the documented size.")
    unsupported_media_type = Kind(
        415, "The media type is not supported", "Send Content-Type: application/json, without compression."
    )
    headers_too_large = Kind(431, "The headers are too large", "Stay below the documented size.")
    # 409: it contradicts what is stored
    admission_token_used = Kind(409, "The admission token has been used", "Ask the provider for a new admission token.")
    username_taken = Kind(409, "The username is taken", "Choose another username; the admission token is still good.")
    passphrase_derivation_artefact_exists = Kind(
        409,
        "Other derivation artefacts are stored",
        "Read the stored artefacts; a user has exactly one set, and it is never replaced by this call.",
    )
    key_encryption_key_exists = Kind(
        409,
        "Another key encryption key is stored",
        "Read the stored key encryption key; a user has exactly one, and it is never replaced by this call.",
    )
    external_identifier_taken = Kind(
        409,
        "The external identifier is on another keypair",
        "Use the keypair that carries it, or choose another identifier.",
    )
    public_key_taken = Kind(
        409, "The public key is taken", "Log in with the key, or make a new keypair and register that."
    )
    vault_account_exists = Kind(409, "The vault account exists", "Log in to the vault with the public key.")
    # 422: readable, but refused
    validation_failed = Kind(422, "A value is not acceptable", "Mend the fields named in errors.")
    username_refused = Kind(
        422,
        "The username is not acceptable",
        "Use 1 to 128 assigned Unicode characters without control characters.",
    )
    passphrase_refused = Kind(422, "The passphrase field is not acceptable", "Send between 1 and 1024 bytes of UTF-8.")
    derived_secret_required = Kind(
        422,
        "A derived login secret is required",
        "This provider does not take raw passphrases: send the login secret that the client derives.",
    )
    malformed_ciphertext = Kind(
        422,
        "The value is not a serialized encrypted value",
        "Send <strategy>.<Base64 data>.<Base64 artefacts> with the strategy this field asks for.",
    )
    malformed_public_key = Kind(
        422,
        "The public key is not acceptable",
        "Send one PEM block with a 4096-bit RSA public key (SPKI, exponent 65537).",
    )
    plaintext_key_refused = Kind(
        422,
        "A private key in clear was refused",
        "Encrypt the private key on the client. The value was neither stored nor logged; treat that key as exposed.",
    )
    digest_mismatch = Kind(
        422, "The body is not what Content-Digest says", "Send the same bytes again, with their own sha-256."
    )
    # 428, 416: what a header asks for, or does not say
    precondition_required = Kind(428, "A precondition is missing", "Send the header that detail names.")
    range_not_satisfiable = Kind(
        416, "The range lies outside of what is there", "Ask for bytes before the length that Content-Range tells."
    )
    # 429, 5xx: not now
    rate_limited = Kind(429, "Too many requests", "Wait as long as Retry-After says.")
    internal_error = Kind(500, "Something went wrong here", "Report the request id in instance.")
    unavailable = Kind(
        503,
        "The service cannot answer now",
        "Wait as long as Retry-After says and repeat the request: repeating it is safe.",
    )

    @property
    def code(self) -> str:
        return self.name

    @property
    def status(self) -> int:
        return self.value.status

    @property
    def title(self) -> str:
        return self.value.title

    @property
    def mend(self) -> str:
        return self.value.mend


class Fault(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that is wrong: a code, what to do about it, and where it stands in the body (RFC 6901)."""

    error: Annotated[str, Meta(description="A code.")]
    message: Annotated[str, Meta(description="What to do about it.")]
    pointer: Annotated[str | None, Meta(description="Where it stands in the body, a JSON pointer.")] = None


class Problem(msgspec.Struct, frozen=True):
    """The body of every refusal (RFC 9457, `application/problem+json`)."""

    type: Annotated[str, Meta(description="URL of the page that explains the refusal.")]
    title: Annotated[str, Meta(description="What it means, the same for every refusal of this code.")]
    status: Annotated[int, Meta(description="The HTTP status.")]
    detail: Annotated[str, Meta(description="How to mend it, here.")]
    instance: Annotated[str, Meta(description="The request id, which stands in the service's log.")]
    code: Annotated[str, Meta(description="The refusal's code; it never changes its meaning.")]
    errors: Annotated[tuple[Fault, ...], Meta(description="Everything that is wrong, at least one.")]


RESERVED = frozenset((Refusal.suspended, Refusal.rate_limited))
"""Codes whose meaning is fixed already; no part of this version answers with them."""


class Refused(Exception):
    """Raised where a rule says no. `detail` and `faults` never hold anything the caller sent."""

    def __init__(
        self,
        refusal: Refusal,
        detail: str | None = None,
        *,
        pointer: str | None = None,
        faults: tuple[Fault, ...] = (),
        retry_after: int | None = None,
    ) -> None:
        super().__init__(refusal)
        self.refusal = refusal
        self.retry_after = retry_after
        self._detail, self._pointer, self._faults = detail, pointer, faults

    # Found out when asked for: every write prepares a refusal in case its session has ended, and raises few of them.
    def __str__(self) -> str:
        return self.refusal.code

    @property
    def detail(self) -> str:
        return self._detail or self.refusal.mend

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self._faults or (Fault(self.refusal.code, self.detail, self._pointer),)

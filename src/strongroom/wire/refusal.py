"""Refusals: every error the service answers, with a stable code and one problem document (RFC 9457)."""

from enum import Enum, unique
from typing import Annotated, NamedTuple

import msgspec
from msgspec import Meta


class Kind(NamedTuple):
    """What a refusal code means: its HTTP status, a short title, and how the caller corrects it."""

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
    # 401: no credential, or one that is not accepted
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
        "The subscription key has expired",
        "Use the other key of the subscription, regenerate this one, or set a later end date in the portal.",
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
        401, "The credentials are not valid", "Check the values. The answer does not say which of them is wrong."
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
    # 404, 405, 406: no such resource, method or representation
    not_found = Kind(404, "Not found", "Check the path and the identifier.")
    method_not_allowed = Kind(405, "The method is not allowed here", "Use a method that the Allow header lists.")
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
        "Other derivation artefacts are already stored",
        "Read the stored artefacts; a user has exactly one set, and it is never replaced by this call.",
    )
    key_encryption_key_exists = Kind(
        409,
        "Another key encryption key is already stored",
        "Read the stored key encryption key; a user has exactly one, and it is never replaced by this call.",
    )
    external_identifier_taken = Kind(
        409,
        "Another keypair has this external identifier",
        "Use the keypair that has it, or choose another identifier.",
    )
    public_key_taken = Kind(
        409, "The public key is taken", "Log in with the key, or make a new keypair and register that."
    )
    vault_account_exists = Kind(409, "The vault account already exists", "Log in to the vault with the public key.")
    # 422: readable, but refused
    validation_failed = Kind(422, "A value is not acceptable", "Correct the fields named in errors.")
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
        "An unencrypted private key was refused",
        "Encrypt the private key on the client. The value was neither stored nor logged; treat that key as "
        "compromised.",
    )
    digest_mismatch = Kind(
        422, "The body does not match Content-Digest", "Send the bytes again with their own sha-256 digest."
    )
    # 428, 416: a header is missing or asks for too much
    precondition_required = Kind(428, "A precondition is missing", "Send the header named in detail.")
    range_not_satisfiable = Kind(
        416, "The range is outside the content", "Ask for bytes within the length that Content-Range gives."
    )
    # 429, 5xx: not now; a later request may succeed
    rate_limited = Kind(429, "Too many requests", "Wait as long as Retry-After says.")
    internal_error = Kind(500, "Internal error", "Report the request id given in instance.")
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
    """One fault of a request: a code, how to correct it, and where it is in the body (RFC 6901)."""

    error: Annotated[str, Meta(description="A code.")]
    message: Annotated[str, Meta(description="How to correct it.")]
    pointer: Annotated[str | None, Meta(description="Where it is in the body, as a JSON pointer.")] = None


class Problem(msgspec.Struct, frozen=True):
    """The body of every refusal (RFC 9457, `application/problem+json`)."""

    type: Annotated[str, Meta(description="URL of the page that explains the refusal.")]
    title: Annotated[str, Meta(description="What the code means; the same text for every refusal with this code.")]
    status: Annotated[int, Meta(description="The HTTP status.")]
    detail: Annotated[str, Meta(description="How to correct this request.")]
    instance: Annotated[str, Meta(description="The request id, as in the service's log.")]
    code: Annotated[str, Meta(description="The refusal's code; it never changes its meaning.")]
    errors: Annotated[tuple[Fault, ...], Meta(description="Every fault that was found, at least one.")]


RESERVED = frozenset((Refusal.suspended, Refusal.rate_limited))
"""Codes that are reserved: their meaning is fixed, and this version never answers with them."""


class Refused(Exception):
    """Raised where a rule refuses a request. `detail` and `faults` never hold anything the caller sent."""

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

    # Computed on demand: every write prepares a refusal in case its session has ended, and few of them are raised.
    def __str__(self) -> str:
        return self.refusal.code

    @property
    def detail(self) -> str:
        return self._detail or self.refusal.mend

    @property
    def faults(self) -> tuple[Fault, ...]:
        return self._faults or (Fault(self.refusal.code, self.detail, self._pointer),)

"""Everything the client refuses or reports, as one small tree; no message holds a secret.

StrongroomError                    root, shared with strongroom.crypto
├── CryptoError ...                what the caller handed in does not fit (username, passphrase, value to open)
└── ClientError
    ├── ConfigurationRefused       the client cannot work with these settings
    ├── ServiceRefused             the service said no: code, status, detail, request_id, errors
    │   ├── InvalidCredentials     wrong username or passphrase at a single call
    │   ├── SessionExpired         the session string opens nothing any more: unlock again
    │   ├── UsernameTaken
    │   └── AdmissionTokenUsed
    ├── ServiceUnavailable         network, deadline, 429 or 5xx: what happened is unknown, try again later
    ├── ProtocolViolation          an answer that breaks the contract
    │   └── ReadBackMismatch       what the service stored is not what was sent
    ├── UnlockRefused              wrong passphrase and changed keys alike
    ├── RegistrationIncomplete     registration was interrupted: register again
    ├── SessionRefused             the vault's encrypted session string is not for this realm
    ├── RollbackDetected           the service shows an older or another account than before
    ├── StateFileUnreadable        the pins on this machine cannot be read or written
    ├── NoSuchKey                  the account has no key for this purpose or under this tag
    └── AccountClosed              the account's keys have been dropped
"""

import re
from typing import Any, Final

from strongroom.crypto.errors import CryptoError as CryptoError
from strongroom.crypto.errors import StrongroomError as StrongroomError
from strongroom.wire.refusal import Fault, Problem, Refusal

_DETAIL_LIMIT: Final = 300
_FAULT_LIMIT: Final = 16
_CODE: Final = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


def printable(text: str, limit: int = _DETAIL_LIMIT) -> str:
    """The text without anything a terminal could act on, cut to `limit` characters."""
    return "".join(character if character.isprintable() else " " for character in text[:limit])


def _rebuild(kind: type["ClientError"], arguments: tuple[Any, ...], state: dict[str, Any]) -> "ClientError":
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


class ClientError(StrongroomError):
    """The root of the client's own errors."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross process boundaries by pickle, which would call `__init__` with the finished message.
        return _rebuild, (type(self), self.args, self.__dict__)


class ConfigurationRefused(ClientError):
    """The client cannot work with these settings."""


class ServiceRefused(ClientError):
    """The service said no. `detail` and `errors` are the service's words, cut and made printable."""

    def __init__(
        self,
        code: str,
        status: int,
        detail: str = "",
        request_id: str = "",
        errors: tuple[Fault, ...] = (),
    ) -> None:
        self.code = code if _CODE.match(code) else "unknown"
        self.status = status
        self.detail = printable(detail)
        self.request_id = printable(request_id, 128)
        self.errors = tuple(
            Fault(printable(fault.error, 64), printable(fault.message), fault.pointer and printable(fault.pointer))
            for fault in errors[:_FAULT_LIMIT]
        )
        super().__init__(f"{self.code} ({status}): {self.detail}")

    @staticmethod
    def of(problem: Problem, status: int) -> "ServiceRefused":
        """The most telling class for a problem document."""
        kind = _KINDS.get(problem.code, ServiceRefused)
        return kind(problem.code, status, problem.detail, problem.instance, problem.errors)


class InvalidCredentials(ServiceRefused):
    """Wrong username or passphrase; the service never says which."""


class SessionExpired(ServiceRefused):
    """The session string opens nothing any more: unlock again."""


class UsernameTaken(ServiceRefused):
    """Another user has this username; the admission token is still good."""


class AdmissionTokenUsed(ServiceRefused):
    """The admission token was good once."""


_KINDS: Final[dict[str, type[ServiceRefused]]] = {
    Refusal.invalid_credentials.code: InvalidCredentials,
    Refusal.session_invalid.code: SessionExpired,
    Refusal.username_taken.code: UsernameTaken,
    Refusal.admission_token_used.code: AdmissionTokenUsed,
}


class ServiceUnavailable(ClientError):
    """No answer, or "not now". Whether the request took effect is unknown; repeating it is safe."""

    def __init__(self, reason: str, *, retry_after: float | None = None, status: int | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds to wait, where the service said so."""
        self.status = status


class ProtocolViolation(ClientError):
    """The service's answer breaks the contract; nothing of it was used."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the service broke the protocol: {what}")


class ReadBackMismatch(ProtocolViolation):
    """The service confirmed what it did not store, or stored something else."""

    def __init__(self, what: str) -> None:
        super().__init__(f"what it holds of the {what} is not what was sent")


class UnlockRefused(ClientError):
    """The account does not open: wrong passphrase or changed keys, one text for both so that no guess is helped."""

    def __init__(self, realm: str) -> None:
        super().__init__(
            f"the account does not open: wrong username, passphrase or account secret, or its keys were changed "
            f"(realm {realm})"
        )
        self.realm = realm


class RegistrationIncomplete(ClientError):
    """The registration of this account was interrupted; `register` with the same name and passphrase finishes it."""

    def __init__(self) -> None:
        super().__init__("the registration was interrupted: register again with the same name and passphrase")


class SessionRefused(ClientError):
    """What the vault sent is not a session string for this realm; nothing of it was sent on or kept."""

    def __init__(self) -> None:
        super().__init__("the vault's session string was refused: it is not one for this realm and keypair")


class RollbackDetected(ClientError):
    """The service shows an older or another state than this machine has seen."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the service shows another account than before: {what}")


class StateFileUnreadable(ClientError):
    """The pins of the account cannot be read or written; they are never silently started anew."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the state file of the account {what}")


class NoSuchKey(ClientError):
    """The account has no key for this purpose or under this tag."""


class AccountClosed(ClientError):
    """The account was closed: its keys are gone from this object."""

    def __init__(self) -> None:
        super().__init__("the account is closed: unlock it again")

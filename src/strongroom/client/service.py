"""The service as people use it, shared by `Strongroom` and `AsyncStrongroom`: journeys, settings, nothing of HTTP."""

from abc import abstractmethod
from typing import Generic, TypeVar

from strongroom.client import journeys
from strongroom.client.connection import Connection
from strongroom.client.conversation import Conversation, exposed
from strongroom.client.opened import OpenAccount
from strongroom.client.progress import ProgressCallback
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS
from strongroom.crypto.passphrases import AccountSecret

A = TypeVar("A")


class ServiceMethods(Generic[A]):
    """One Strongroom service. `A` is the kind of account its journeys end with."""

    _connection: Connection

    @abstractmethod
    def _account(self, opened: OpenAccount) -> A: ...

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    @property
    def realm(self) -> str:
        """What login secrets and vault session strings are bound to: keep it constant for one data set."""
        return self._connection.realm

    @exposed
    def register(
        self,
        username: str,
        passphrase: str,
        *,
        admission_token: str | None = None,
        vault_admission_token: str | None = None,
        account_secret: AccountSecret | None = None,
        iterations: int = DEFAULT_ITERATIONS,
        progress: ProgressCallback | None = None,
    ) -> Conversation[A]:
        """Register in the eleven steps of the specification and return the open account.

        Without an admission token one is issued with the provider API key. Interrupted at any step, or where the
        outcome is unknown (`ServiceUnavailable`), the same call finishes the registration: no key is lost, none is
        made twice. The passphrase never leaves this machine. `iterations` (600,000 to 10,000,000) is what a guess at
        the passphrase costs whoever steals the database. Raises `UsernameTaken`, `AdmissionTokenUsed` and other
        `ServiceRefused`, `ReadBackMismatch` if the service did not store what it confirmed.
        """
        opened = yield from journeys.register(
            self._connection,
            username,
            passphrase,
            admission_token=admission_token,
            vault_admission_token=vault_admission_token,
            account_secret=account_secret,
            iterations=iterations,
            progress=progress,
        )
        return self._account(opened)

    @exposed
    def unlock(
        self,
        username: str,
        passphrase: str,
        *,
        account_secret: AccountSecret | None = None,
        compat: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Conversation[A]:
        """Open the account on any device from name and passphrase.

        `UnlockRefused` for a wrong passphrase and for changed keys alike, `RegistrationIncomplete` where `register`
        has to be called again, `RollbackDetected` where this machine has seen a later state. `compat` opens accounts
        that other ports wrote and sends the passphrase itself, as they do: only then can the service learn it
        (`ConfigurationRefused`, and nothing sent, for an account that this machine knows better).
        """
        opened = yield from journeys.unlock(
            self._connection,
            username,
            passphrase,
            account_secret=account_secret,
            compat=compat,
            progress=progress,
        )
        return self._account(opened)

    @exposed
    def issue_admission_token(self) -> Conversation[str]:
        """Issue an admission token with the provider API key: a permission for one person to register."""
        return (yield from journeys.issue_admission_token(self._connection))

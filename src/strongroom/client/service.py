"""`AsyncStrongroom`: a Strongroom service, awaited. `blocking.Strongroom` is the same for blocking code."""

from pathlib import Path
from types import TracebackType
from typing import Self, final

import httpx

from strongroom.client import journeys
from strongroom.client.account import AsyncAccount
from strongroom.client.calls import AsyncCalls
from strongroom.client.connection import Connection
from strongroom.client.observing import Observer
from strongroom.client.progress import ProgressCallback
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS
from strongroom.crypto.passphrases import AccountSecret


@final
class AsyncStrongroom:
    """A Strongroom service, for asyncio; use it with `async with`.

    Settings not given are taken from STRONGROOM_URL, STRONGROOM_SUBSCRIPTION_KEY and STRONGROOM_PROVIDER_API_KEY.
    `realm` has to stay the same for one data set: the login secret depends on it. With `state_dir` a small file per
    account notices a service that goes back in time. `timeout` is seconds for a whole request. `progress` is called
    during long work, `observer` with every request and answer unmasked, both where the caller is. `transport` is an
    httpx transport, for tests. Key derivation and RSA generation run in a thread.
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
        transport: httpx.AsyncBaseTransport | None = None,
        artefacts: ArtefactFormat = ArtefactFormat.YAML,
        progress: ProgressCallback | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._connection = Connection(
            base_url,
            subscription_key=subscription_key,
            provider_api_key=provider_api_key,
            keystore_url=keystore_url,
            vault_url=vault_url,
            realm=realm,
            state_dir=state_dir,
            timeout=timeout,
            transport=transport,
            artefacts=artefacts,
            progress=progress,
            observer=observer,
        )
        self.calls = AsyncCalls(self._connection)
        """The single calls underneath."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    @property
    def realm(self) -> str:
        """What login secrets and vault session strings are bound to: keep it constant for one data set."""
        return self._connection.realm

    async def register(
        self,
        username: str,
        passphrase: str,
        *,
        admission_token: str | None = None,
        vault_admission_token: str | None = None,
        account_secret: AccountSecret | None = None,
        iterations: int = DEFAULT_ITERATIONS,
        progress: ProgressCallback | None = None,
    ) -> AsyncAccount:
        """Register in the eleven steps of the specification and return the open account.

        Without an admission token one is issued with the provider API key. Interrupted at any step, or where the
        outcome is unknown (`ServiceUnavailable`), the same call finishes the registration: no key is lost, none is
        made twice. The passphrase never leaves this machine. `iterations` (600,000 to 10,000,000) is what a guess at
        the passphrase costs whoever steals the database. Raises `UsernameTaken`, `AdmissionTokenUsed` and other
        `ServiceRefused`, `ReadBackMismatch` if the service did not store what it confirmed.
        """
        return await journeys.register(
            self._connection,
            username,
            passphrase,
            admission_token=admission_token,
            vault_admission_token=vault_admission_token,
            account_secret=account_secret,
            iterations=iterations,
            progress=progress,
        )

    async def unlock(
        self,
        username: str,
        passphrase: str,
        *,
        account_secret: AccountSecret | None = None,
        compat: bool = False,
        progress: ProgressCallback | None = None,
    ) -> AsyncAccount:
        """Open the account on any device from name and passphrase.

        `UnlockRefused` for a wrong passphrase and for changed keys alike, `RegistrationIncomplete` where `register`
        has to be called again, `RollbackDetected` where this machine has seen a later state. `compat` opens accounts
        that other ports wrote and sends the passphrase itself, as they do: only then can the service learn it
        (`ConfigurationRefused`, and nothing sent, for an account that this machine knows better).
        """
        return await journeys.unlock(
            self._connection,
            username,
            passphrase,
            account_secret=account_secret,
            compat=compat,
            progress=progress,
        )

    async def issue_admission_token(self) -> str:
        """Issue an admission token with the provider API key: a permission for one person to register."""
        return await journeys.issue_admission_token(self._connection)

    async def close(self) -> None:
        """Close the connections; accounts can still seal and open, but call nothing."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

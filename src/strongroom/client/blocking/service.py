"""`Strongroom`, for blocking code. Written by `make docs` from the async core: change that one."""

from pathlib import Path
from typing import Self, final

import httpx

from strongroom.client.blocking.account import Account
from strongroom.client.blocking.background import Background
from strongroom.client.blocking.calls import Calls
from strongroom.client.blocking.transport import in_callers_thread
from strongroom.client.observing import Observer
from strongroom.client.progress import ProgressCallback
from strongroom.client.service import AsyncStrongroom
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS
from strongroom.crypto.passphrases import AccountSecret


@final
class Strongroom:
    """A Strongroom service, for blocking code; use it as a context manager.

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
        transport: httpx.BaseTransport | None = None,
        artefacts: ArtefactFormat = ArtefactFormat.YAML,
        progress: ProgressCallback | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._core = AsyncStrongroom(
            base_url,
            subscription_key=subscription_key,
            provider_api_key=provider_api_key,
            keystore_url=keystore_url,
            vault_url=vault_url,
            realm=realm,
            state_dir=state_dir,
            timeout=timeout,
            transport=in_callers_thread(transport),
            artefacts=artefacts,
            progress=progress,
            observer=observer,
        )
        self._background = Background(self._core.close)
        self.calls = Calls(self._core.calls, self._background)
        """The single calls underneath."""

    def __repr__(self) -> str:
        return repr(self._core).removeprefix("Async")

    @property
    def realm(self) -> str:
        """What login secrets and vault session strings are bound to: keep it constant for one data set."""
        return self._core.realm

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
    ) -> Account:
        """Register in the eleven steps of the specification and return the open account.

        Without an admission token one is issued with the provider API key. Interrupted at any step, or where the
        outcome is unknown (`ServiceUnavailable`), the same call finishes the registration: no key is lost, none is
        made twice. The passphrase never leaves this machine. `iterations` (600,000 to 10,000,000) is what a guess at
        the passphrase costs a thief of the database. Raises `UsernameTaken`, `AdmissionTokenUsed` and other
        `ServiceRefused`, `ReadBackMismatch` if the service did not store what it confirmed.
        """
        return Account(
            self._background.run(
                self._core.register(
                    username,
                    passphrase,
                    admission_token=admission_token,
                    vault_admission_token=vault_admission_token,
                    account_secret=account_secret,
                    iterations=iterations,
                    progress=progress,
                )
            ),
            self._background,
        )

    def unlock(
        self,
        username: str,
        passphrase: str,
        *,
        account_secret: AccountSecret | None = None,
        compat: bool = False,
        progress: ProgressCallback | None = None,
    ) -> Account:
        """Open the account on any device from name and passphrase.

        `UnlockRefused` for a wrong passphrase and for changed keys alike, `RegistrationIncomplete` where `register`
        has to be called again, `RollbackDetected` where this machine has seen a later state. `compat` opens accounts
        that other ports wrote and sends the passphrase itself, as they do: only then can the service learn it
        (`ConfigurationRefused`, and nothing sent, for an account that this machine knows better).
        """
        return Account(
            self._background.run(
                self._core.unlock(username, passphrase, account_secret=account_secret, compat=compat, progress=progress)
            ),
            self._background,
        )

    def issue_admission_token(self) -> str:
        """Issue an admission token with the provider API key: a permission for one person to register."""
        return self._background.run(self._core.issue_admission_token())

    def close(self) -> None:
        """Close the connections; accounts can still seal and open, but call nothing."""
        self._background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

"""`AsyncStrongroom`: a Strongroom service, awaited. `blocking.Strongroom` is the same for blocking code."""

from pathlib import Path
from typing import Self, final

import httpx

from strongroom.client import journeys
from strongroom.client.account import AsyncAccount, opened
from strongroom.client.calls import AsyncCalls
from strongroom.client.connection import ServiceConnection, presentable
from strongroom.client.errors import ConfigurationRefused, InvalidCredentials, RollbackDetected, UnlockRefused
from strongroom.client.keyring import VAULT_TAG
from strongroom.client.observing import Observer
from strongroom.client.opening import (
    Stored,
    Subject,
    found,
    log_in,
    open_data_encryption_keys,
    open_derivation,
    open_key_encryption_key,
    open_keypair,
)
from strongroom.client.pins import PinStore
from strongroom.client.progress import STEPS, ProgressCallback, Reporter
from strongroom.client.running import in_thread
from strongroom.client.storing import KeyStoring
from strongroom.client.vaulting import VaultAccess
from strongroom.crypto.derivation import DerivationArtefacts
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS
from strongroom.crypto.names import account_tag, canonical_username
from strongroom.crypto.passphrases import AccountSecret, exact_passphrase, passphrase_for_pdk
from strongroom.crypto.secret import Secret


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
        self._connection = ServiceConnection(
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
        the passphrase costs a thief of the database. Raises `UsernameTaken`, `AdmissionTokenUsed` and other
        `ServiceRefused`, `ReadBackMismatch` if the service did not store what it confirmed.
        """
        canonical_username(username)
        DerivationArtefacts.generate(iterations)  # refuses a count out of bounds before a token is spent on it
        connection, calls = self._connection, self.calls
        reporter = Reporter(progress or connection.progress)
        store = PinStore(connection.state_dir, connection.realm, username)
        known = await in_thread(store.load)
        login = await journeys.login_secret(reporter, passphrase, username, connection.realm, account_secret)
        async with reporter.step(1, STEPS[0]):
            if admission_token is None:
                admission_token = await self.issue_admission_token()
            token = presentable(admission_token)
        async with reporter.step(2, STEPS[1]):
            refusal = await journeys.create_user(calls, token.reveal(), username, login)
            if refusal is None and known is not None:
                raise RollbackDetected("it was registered before and is gone")
        async with reporter.step(3, STEPS[2]):
            try:
                session = await log_in(calls, username, login)
            except InvalidCredentials as invalid:
                raise (refusal or invalid) from None
        subject = Subject(connection, calls, reporter, username, account_tag(username), session, Mode.STRICT)
        secret = Secret(passphrase_for_pdk(passphrase, account_secret))
        storing = KeyStoring(subject, secret, iterations=iterations, fresh=refusal is None, known=known is not None)
        async with reporter.step(4, STEPS[3]):
            derived = await storing.derivation()
        async with reporter.step(5, STEPS[4]):
            keyring, kek_record = await storing.key_encryption_key(derived)
        async with reporter.step(6, STEPS[5]):
            dek_records = await storing.data_encryption_keys(keyring)
        async with reporter.step(7, STEPS[6]):
            keypair_record = await storing.vault_keypair(keyring)
        vault = VaultAccess(subject, keyring)
        await journeys.enter_vault(subject, vault, vault_admission_token)
        stored = Stored(derived, kek_record, dek_records, keypair_record)
        async with reporter.step(None, "Read everything back"):
            await storing.read_back(keyring, stored)
        return await opened(subject, keyring, vault, store, stored, known)

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
        canonical_username(username)
        mode = Mode.COMPAT if compat else Mode.STRICT
        connection, calls = self._connection, self.calls
        reporter = Reporter(progress or connection.progress)
        store = PinStore(connection.state_dir, connection.realm, username)
        known = await in_thread(store.load)
        if compat and known is not None and known.bound:
            # Such an account never opens this way, and asking would tell the service the passphrase.
            raise ConfigurationRefused("this machine knows the account as one of this client: unlock it without compat")
        exact = compat and account_secret is None
        secret = Secret(exact_passphrase(passphrase) if exact else passphrase_for_pdk(passphrase, account_secret))
        if compat:
            login = Secret(secret.reveal().decode())
        else:
            login = await journeys.login_secret(reporter, passphrase, username, connection.realm, account_secret)
        async with reporter.step(None, "Log in"):
            try:
                session = await log_in(calls, username, login)
            except InvalidCredentials as refusal:
                raise UnlockRefused(connection.realm) from refusal
        subject = Subject(connection, calls, reporter, username, account_tag(username), session, mode)
        async with reporter.step(None, "Open the key encryption key"):
            artefact = journeys.needed(await found(calls.read_passphrase_derivation_artefact(session)), known)
            derived = await open_derivation(subject, secret, artefact)
            kek_record = journeys.needed(await found(calls.read_key_encryption_key(session)), known)
            keyring = open_key_encryption_key(subject, derived, kek_record)
        async with reporter.step(None, "Open the data encryption keys"):
            listing = await calls.list_data_encryption_keys(session)
            for key in await open_data_encryption_keys(subject, keyring, listing.data_encryption_keys):
                keyring.add(key)
        async with reporter.step(None, "Open the keypair tagged vault"):
            keypair_record = await found(calls.read_keypair_by_external_identifier(session, VAULT_TAG))
            if mode is Mode.STRICT:
                journeys.needed(keypair_record, known)
            if keypair_record is not None:
                keyring.take_vault_keypair(await open_keypair(subject, keyring, keypair_record, VAULT_TAG))
        stored = Stored(derived, kek_record, tuple(listing.data_encryption_keys), keypair_record)
        return await opened(subject, keyring, VaultAccess(subject, keyring), store, stored, known)

    async def issue_admission_token(self) -> str:
        """Issue an admission token with the provider API key: a permission for one person to register."""
        return await journeys.issue_admission_token(self._connection)

    async def close(self) -> None:
        """Close the connections; accounts can still seal and open, but call nothing."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

"""The journeys: registration in the eleven steps of the specification, and unlocking on any device.

Zero knowledge: the passphrase never leaves, only the login secret derived from it; every key is encrypted before it is
sent and checked before it is used.
"""

from functools import partial
from typing import Final, TypeVar

from strongroom.client.account import AsyncAccount, opened
from strongroom.client.calls import AsyncCalls
from strongroom.client.connection import Connection, is_presentable, presentable
from strongroom.client.errors import (
    ConfigurationRefused,
    InvalidCredentials,
    ProtocolViolation,
    RegistrationIncomplete,
    RollbackDetected,
    ServiceRefused,
    UnlockRefused,
)
from strongroom.client.keyring import VAULT_TAG
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
from strongroom.client.pins import Pins, PinStore
from strongroom.client.progress import STEPS, ProgressCallback, Reporter
from strongroom.client.running import in_thread
from strongroom.client.storing import KeyStoring
from strongroom.client.vaulting import VaultAccess
from strongroom.crypto.derivation import DerivationArtefacts
from strongroom.crypto.formats import Mode
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS
from strongroom.crypto.login_secret import ITERATIONS as LOGIN_ITERATIONS
from strongroom.crypto.login_secret import derive_login_secret
from strongroom.crypto.names import account_tag, canonical_username
from strongroom.crypto.passphrases import AccountSecret, exact_passphrase, passphrase_for_pdk
from strongroom.crypto.secret import Secret
from strongroom.wire.refusal import Refusal

T = TypeVar("T")

# An earlier attempt of ours may have used the token or taken the name: the login secret tells.
_PERHAPS_OURS: Final = frozenset(
    {
        Refusal.admission_token_used.code,
        Refusal.admission_token_expired.code,
        Refusal.admission_token_invalid.code,
        Refusal.username_taken.code,
    }
)


async def issue_admission_token(connection: Connection) -> str:
    """An admission token for one registration, issued with the provider API key."""
    token = await AsyncCalls(connection).issue_admission_token()
    if token.used:
        raise ProtocolViolation("a new admission token is used already")
    if not is_presentable(token.token_value):
        raise ProtocolViolation("an admission token is not printable ASCII")
    return token.token_value


async def register(
    connection: Connection,
    username: str,
    passphrase: str,
    *,
    admission_token: str | None = None,
    vault_admission_token: str | None = None,
    account_secret: AccountSecret | None = None,
    iterations: int = DEFAULT_ITERATIONS,
    progress: ProgressCallback | None = None,
) -> AsyncAccount:
    """All eleven steps. Interrupted anywhere, the same call again finishes without a lost or a second key."""
    canonical_username(username)
    DerivationArtefacts.generate(iterations)  # refuses a count out of bounds before a token is spent on it
    calls = AsyncCalls(connection)
    reporter = Reporter(progress or connection.progress)
    store = PinStore(connection.state_dir, connection.realm, username)
    known = await in_thread(store.load)
    login = await reporter.work(
        partial(derive_login_secret, passphrase, username, connection.realm, account_secret),
        "Derive the login secret",
        iterations=LOGIN_ITERATIONS,
    )
    async with reporter.step(1, STEPS[0]):
        if admission_token is None:
            admission_token = await issue_admission_token(connection)
        token = presentable(admission_token)
    async with reporter.step(2, STEPS[1]):
        refusal = await _create_user(calls, token.reveal(), username, login)
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
    vault = VaultAccess(connection, calls, reporter, keyring, Mode.STRICT)
    await _enter_vault(subject, vault, vault_admission_token)
    stored = Stored(derived, kek_record, dek_records, keypair_record)
    async with reporter.step(None, "Read everything back"):
        await storing.read_back(keyring, stored)
    return await opened(subject, keyring, vault, store, stored, known)


async def _create_user(calls: AsyncCalls, token: str, username: str, login: Secret[str]) -> ServiceRefused | None:
    """None if the user is new; otherwise the refusal to fall back on if logging in fails as well."""
    try:
        user = await calls.create_user(token, username, login.reveal())
    except ServiceRefused as refusal:
        if refusal.code not in _PERHAPS_OURS:
            raise
        return refusal
    if user.username != username:
        raise ProtocolViolation("the user was created under another name")
    return None


async def _enter_vault(subject: Subject, vault: VaultAccess, admission_token: str | None) -> None:
    """Steps 8 to 11; where the vault account exists, its creation becomes a login."""
    reporter, calls = subject.reporter, subject.calls
    async with reporter.step(8, STEPS[7]):
        if admission_token is None:
            try:
                answer = await calls.read_external_admission_token(subject.session)
            except ServiceRefused as refusal:
                if refusal.code != Refusal.vault_account_exists.code:
                    raise
            else:
                admission_token = answer.vault_api_admission_token
                if not is_presentable(admission_token):
                    raise ProtocolViolation("an admission token is not printable ASCII")
    async with reporter.step(9, STEPS[8]):
        if admission_token is None:
            encrypted = await vault.ask_for_session()
        else:
            encrypted = await vault.create_account(admission_token)
    async with reporter.step(10, STEPS[9]):
        vault_session = await vault.accept(encrypted)
    async with reporter.step(11, STEPS[10]):
        # The session row is made at first use, so this call is what makes the string good until it expires.
        await calls.list_classification_nodes(vault_session, page=1, per=1)


async def unlock(
    connection: Connection,
    username: str,
    passphrase: str,
    *,
    account_secret: AccountSecret | None = None,
    compat: bool = False,
    progress: ProgressCallback | None = None,
) -> AsyncAccount:
    """Open an account from name and passphrase alone.

    `compat` opens accounts of other ports: it sends the raw passphrase at login, as they did, and accepts unbound
    values and low iteration counts. It is never chosen by itself.
    """
    canonical_username(username)
    mode = Mode.COMPAT if compat else Mode.STRICT
    calls = AsyncCalls(connection)
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
        login = await reporter.work(
            partial(derive_login_secret, passphrase, username, connection.realm, account_secret),
            "Derive the login secret",
            iterations=LOGIN_ITERATIONS,
        )
    async with reporter.step(None, "Log in"):
        try:
            session = await log_in(calls, username, login)
        except InvalidCredentials as refusal:
            raise UnlockRefused(connection.realm) from refusal
    subject = Subject(connection, calls, reporter, username, account_tag(username), session, mode)
    async with reporter.step(None, "Open the key encryption key"):
        artefact = _needed(await found(calls.read_passphrase_derivation_artefact(session)), known)
        derived = await open_derivation(subject, secret, artefact)
        kek_record = _needed(await found(calls.read_key_encryption_key(session)), known)
        keyring = open_key_encryption_key(subject, derived, kek_record)
    async with reporter.step(None, "Open the data encryption keys"):
        listing = await calls.list_data_encryption_keys(session)
        for key in await open_data_encryption_keys(connection, keyring, listing.data_encryption_keys, mode):
            keyring.add(key)
    async with reporter.step(None, "Open the keypair tagged vault"):
        keypair_record = await found(calls.read_keypair_by_external_identifier(session, VAULT_TAG))
        if mode is Mode.STRICT:
            _needed(keypair_record, known)
        if keypair_record is not None:
            keyring.take_vault_keypair(
                await open_keypair(connection, reporter, keyring, keypair_record, VAULT_TAG, mode)
            )
    stored = Stored(derived, kek_record, tuple(listing.data_encryption_keys), keypair_record)
    vault = VaultAccess(connection, calls, reporter, keyring, mode)
    return await opened(subject, keyring, vault, store, stored, known)


def _needed(record: T | None, known: Pins | None) -> T:
    if record is not None:
        return record
    if known is not None:
        raise RollbackDetected("a part of it is missing")
    raise RegistrationIncomplete

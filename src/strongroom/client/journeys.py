"""What registering and unlocking are made of (`AsyncStrongroom`), from the login secret to the vault.

Zero knowledge: the passphrase never leaves, only the login secret derived from it; every key is encrypted before it is
sent and checked before it is used.
"""

from functools import partial
from typing import Final, TypeVar

from strongroom.client.calls import AsyncCalls
from strongroom.client.connection import ServiceConnection, is_presentable
from strongroom.client.errors import ProtocolViolation, RegistrationIncomplete, RollbackDetected, ServiceRefused
from strongroom.client.opening import Subject
from strongroom.client.pins import Pins
from strongroom.client.progress import STEPS, Reporter
from strongroom.client.vaulting import VaultAccess
from strongroom.crypto.login_secret import ITERATIONS, derive_login_secret
from strongroom.crypto.passphrases import AccountSecret
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


async def issue_admission_token(connection: ServiceConnection) -> str:
    """An admission token for one registration, issued with the provider API key."""
    token = await AsyncCalls(connection).issue_admission_token()
    if token.used:
        raise ProtocolViolation("a new admission token is used already")
    return _presentable_token(token.token_value)


def _presentable_token(value: str) -> str:
    if not is_presentable(value):
        raise ProtocolViolation("an admission token is not printable ASCII")
    return value


async def login_secret(
    reporter: Reporter, passphrase: str, username: str, realm: str, account_secret: AccountSecret | None
) -> Secret[str]:
    """What is sent in the place of the passphrase."""
    derive = partial(derive_login_secret, passphrase, username, realm, account_secret)
    return await reporter.work(derive, "Derive the login secret", iterations=ITERATIONS)


async def create_user(calls: AsyncCalls, token: str, username: str, login: Secret[str]) -> ServiceRefused | None:
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


async def enter_vault(subject: Subject, vault: VaultAccess, admission_token: str | None) -> None:
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
                admission_token = _presentable_token(answer.vault_api_admission_token)
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


def needed(record: T | None, known: Pins | None) -> T:
    """A part that every complete account has."""
    if record is not None:
        return record
    if known is not None:
        raise RollbackDetected("a part of it is missing")
    raise RegistrationIncomplete

"""Access to the vault: its account, and session strings that only this user's private key can read."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from strongroom.client.errors import ServiceRefused, SessionExpired, SessionRefused
from strongroom.client.keyring import Keyring
from strongroom.client.opening import Subject
from strongroom.crypto.errors import CryptoError
from strongroom.crypto.secret import Secret
from strongroom.crypto.vault_session_strings import open_vault_session
from strongroom.wire.refusal import Refusal

T = TypeVar("T")

# Every refused string may be a probe of the private key: after these the account object asks no more.
_REFUSALS_ALLOWED: Final = 3

# The vault account of this key is there already: the answer to its creation was lost.
_ACCOUNT_EXISTS: Final = frozenset(
    {Refusal.admission_token_used.code, Refusal.public_key_taken.code, Refusal.vault_account_exists.code}
)


class VaultAccess:
    """The vault session of one account: obtained when first needed, renewed once when it has expired."""

    def __init__(self, subject: Subject, keyring: Keyring) -> None:
        self._subject = subject
        self._calls = subject.calls
        self._keyring = keyring
        self._session: Secret[str] | None = None
        self._refused = 0

    def __repr__(self) -> str:
        return f"VaultAccess({self._subject.connection!r})"

    async def create_account(self, admission_token: str) -> str:
        """Create the vault user, or log in where it exists; returns the encrypted session string."""
        try:
            created = await self._calls.create_vault_user(self._keyring.vault_keypair.public_key.pem, admission_token)
        except ServiceRefused as refusal:
            if refusal.code not in _ACCOUNT_EXISTS:
                raise
            return await self._log_in_instead(refusal)
        return created.encrypted_session_authentication_string

    async def _log_in_instead(self, refusal: ServiceRefused) -> str:
        try:
            return await self.ask_for_session()
        except ServiceRefused:
            # The key opens no vault account either, so the first answer was the telling one.
            raise refusal from None

    async def ask_for_session(self) -> str:
        """The encrypted session string of a login with the public key (spec: vault 11)."""
        if self._refused >= _REFUSALS_ALLOWED:
            raise SessionRefused
        session = await self._calls.create_vault_session(self._keyring.vault_keypair.public_key.pem)
        return session.encrypted_session_authentication_string

    async def accept(self, encrypted: str) -> Secret[str]:
        """Decrypt and check a session string before anything of it can leave (`SessionRefused`)."""
        subject, private_key = self._subject, self._keyring.vault_keypair.private_key
        try:
            session = await subject.reporter.work(
                lambda: open_vault_session(private_key, encrypted, realm=subject.connection.realm, mode=subject.mode),
                "Decrypt the session string",
            )
        except CryptoError:
            self._refused += 1
            raise SessionRefused from None
        self._session = session
        return session

    async def use(self, call: Callable[[Secret[str]], Awaitable[T]]) -> T:
        """Make a vault call that may be repeated, with a fresh session string if the one at hand has expired."""
        if self._session is not None:
            try:
                return await call(self._session)
            except SessionExpired:
                self._session = None
        encrypted = await self.ask_for_session()
        session = await self.accept(encrypted)
        return await call(session)

    async def log_out(self) -> None:
        """End the session, if there is one."""
        session, self._session = self._session, None
        if session is None:
            return
        try:
            await self._calls.delete_vault_session(session)
        except SessionExpired:
            return

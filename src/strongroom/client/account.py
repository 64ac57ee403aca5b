"""An open account as people use it: `Account` for blocking code, `AsyncAccount` the same with `await`."""

from types import TracebackType
from typing import Final, Self, final

from strongroom.client.conversation import Awaiting, AwaitingDriver, Blocking, BlockingDriver, Conversation, exposed
from strongroom.client.keyring import DATA_PURPOSE, OpenKeypair
from strongroom.client.opened import OpenAccount
from strongroom.crypto.formats import Mode
from strongroom.wire import vault

DEFAULT_CONTEXT: Final = "data"


class AccountMethods:
    """What `register` and `unlock` give. Its keys stay on this machine; `close` drops them."""

    _open: OpenAccount

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.username!r})"

    @property
    def username(self) -> str:
        """As given to `register` or `unlock`."""
        return self._open.subject.username

    @property
    def account_tag(self) -> str:
        """The 22 characters that bind everything to this account."""
        return self._open.subject.account

    @property
    def realm(self) -> str:
        """The realm the login secret and the vault session strings are bound to."""
        return self._open.subject.connection.realm

    @property
    def data_encryption_keys(self) -> tuple[str, ...]:
        """The purposes there are data encryption keys for, oldest first."""
        return self._open.keyring.purposes

    @exposed
    def seal(self, data: bytes, *, key: str = DATA_PURPOSE, context: str = DEFAULT_CONTEXT) -> Conversation[str]:
        """Encrypt up to 16 MiB under the data encryption key for the purpose `key`, bound to account and `context`.

        `NoSuchKey` without such a key; `ContextRefused` unless the context is `[a-z0-9._-]{1,64}`; `PlaintextRefused`
        for empty data.
        """
        return (yield from self._open.seal(data, key, context))

    @exposed
    def open(
        self, serialized: str, *, key: str = DATA_PURPOSE, context: str = DEFAULT_CONTEXT, compat: bool = False
    ) -> Conversation[bytes]:
        """Decrypt what `seal` returned, given the same `key` and `context`.

        `MalformedCiphertext` or `DecryptionFailed` for anything else. `compat` also opens values of other ports.
        """
        mode = Mode.COMPAT if compat else Mode.STRICT
        return (yield from self._open.open(serialized, key, context, mode))

    @exposed
    def create_data_encryption_key(self, purpose: str) -> Conversation[None]:
        """Have a data encryption key for `purpose` (`[a-z0-9-]{1,32}`); nothing happens if there is one."""
        yield from self._open.create_data_encryption_key(purpose)

    @exposed
    def keypair(self, tag: str) -> Conversation[OpenKeypair]:
        """The keypair with this tag, opened and checked; `NoSuchKey` if there is none."""
        return (yield from self._open.keypair(tag))

    @exposed
    def create_keypair(self, tag: str) -> Conversation[OpenKeypair]:
        """Have a keypair with this tag (at most 128 bytes): the stored one, or a new RSA 4096 one (seconds)."""
        return (yield from self._open.create_keypair(tag))

    @exposed
    def classification_nodes(
        self,
        scheme_name: str | None = None,
        by_name: str | None = None,
        page: int | None = None,
        per: int | None = None,
    ) -> Conversation[list[vault.ClassificationNode]]:
        """Classification nodes of the vault, by scheme and part of the name. What they say is the service's word."""
        response = yield from self._open.classification_nodes(scheme_name, by_name, page, per)
        return response.classification_nodes

    @exposed
    def log_out(self) -> Conversation[None]:
        """End the sessions in both areas and close the account."""
        yield from self._open.log_out()

    def close(self) -> None:
        """Drop the keys. The sessions at the service live on until they expire: `log_out` ends them, too."""
        self._open.close()


@final
class Account(AccountMethods, Blocking):
    """An open account. As a context manager it closes itself."""

    def __init__(self, opened: OpenAccount, driver: BlockingDriver) -> None:
        self._open = opened
        self._driver = driver

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


@final
class AsyncAccount(AccountMethods, Awaiting):
    """An open account whose methods are awaited. As a context manager it closes itself."""

    def __init__(self, opened: OpenAccount, driver: AwaitingDriver) -> None:
        self._open = opened
        self._driver = driver

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

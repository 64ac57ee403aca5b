"""`Account`, for blocking code. Written by `make docs` from the async core: change that one."""

from typing import Self, final

from strongroom.client.account import AsyncAccount
from strongroom.client.blocking.background import Background
from strongroom.client.keyring import DATA_PURPOSE, DEFAULT_CONTEXT, OpenKeypair
from strongroom.wire import vault


@final
class Account:
    """What `register` and `unlock` give. Its keys stay on this machine; `close` drops them.

    As a context manager it closes itself.
    """

    def __init__(self, core: AsyncAccount, background: Background) -> None:
        self._core = core
        self._background = background

    def __repr__(self) -> str:
        return repr(self._core).removeprefix("Async")

    @property
    def username(self) -> str:
        """As given to `register` or `unlock`."""
        return self._core.username

    @property
    def account_tag(self) -> str:
        """The 22 characters that bind everything to this account."""
        return self._core.account_tag

    @property
    def realm(self) -> str:
        """The realm the login secret and the vault session strings are bound to."""
        return self._core.realm

    @property
    def data_encryption_keys(self) -> tuple[str, ...]:
        """The purposes there are data encryption keys for, oldest first."""
        return self._core.data_encryption_keys

    def seal(self, data: bytes, *, key: str = DATA_PURPOSE, context: str = DEFAULT_CONTEXT) -> str:
        """Encrypt up to 16 MiB under the data encryption key for the purpose `key`, bound to account and `context`.

        `NoSuchKey` without such a key; `ContextRefused` unless the context is `[a-z0-9._-]{1,64}`; `PlaintextRefused`
        for empty data.
        """
        return self._core._seal(data, key=key, context=context)  # noqa: SLF001 - it needs no event loop

    def open(
        self, serialized: str, *, key: str = DATA_PURPOSE, context: str = DEFAULT_CONTEXT, compat: bool = False
    ) -> bytes:
        """Decrypt what `seal` returned, given the same `key` and `context`.

        `MalformedCiphertext` or `DecryptionFailed` for anything else. `compat` also opens values of other ports.
        """
        return self._core._open(serialized, key=key, context=context, compat=compat)  # noqa: SLF001 - it needs no event loop

    def create_data_encryption_key(self, purpose: str) -> None:
        """Have a data encryption key for `purpose` (`[a-z0-9-]{1,32}`); nothing happens if there is one.

        Where another device made one meanwhile, that one is taken.
        """
        self._background.run(self._core.create_data_encryption_key(purpose))

    def keypair(self, tag: str) -> OpenKeypair:
        """The keypair with this tag, opened and checked; `NoSuchKey` if there is none."""
        return self._background.run(self._core.keypair(tag))

    def create_keypair(self, tag: str) -> OpenKeypair:
        """Have a keypair with this tag (at most 128 bytes): the stored one, or a new RSA 4096 one (seconds).

        There is never a second one with the same tag, and none is replaced.
        """
        return self._background.run(self._core.create_keypair(tag))

    def classification_nodes(
        self,
        scheme_name: str | None = None,
        by_name: str | None = None,
        page: int | None = None,
        per: int | None = None,
    ) -> list[vault.ClassificationNode]:
        """Classification nodes of the vault, by scheme and part of the name. What they say is the service's word."""
        return self._background.run(self._core.classification_nodes(scheme_name, by_name, page, per))

    def log_out(self) -> None:
        """End the sessions in both areas, if they have not expired anyway, and close the account."""
        self._background.run(self._core.log_out())

    def close(self) -> None:
        """Drop the keys. The sessions at the service live on until they expire: `log_out` ends them, too."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

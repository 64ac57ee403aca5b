"""`AsyncAccount`: an open account, awaited. `blocking.Account` is the same for blocking code."""

from contextlib import suppress
from functools import partial
from typing import Final, Self, final

import msgspec

from strongroom.client.errors import AccountClosed, NoSuchKey, SessionExpired
from strongroom.client.keyring import DATA_PURPOSE, DEFAULT_CONTEXT, Keyring, OpenKeypair
from strongroom.client.opening import Stored, Subject, found, open_data_encryption_keys, open_keypair
from strongroom.client.pins import Pins, PinStore
from strongroom.client.running import in_thread
from strongroom.client.storing import store_data_encryption_key, store_keypair
from strongroom.client.vaulting import VaultAccess
from strongroom.crypto.errors import ContextRefused
from strongroom.crypto.formats import Mode
from strongroom.wire import keystore, vault

# Below this a thread costs more than the cipher: 64 KiB take some 30 microseconds.
_INLINE: Final = 64 * 1024


@final
class AsyncAccount:
    """What `register` and `unlock` give. Its keys stay on this machine; `close` drops them.

    As a context manager it closes itself.
    """

    def __init__(
        self, subject: Subject, keyring: Keyring, vault_access: VaultAccess, store: PinStore, pins: Pins
    ) -> None:
        self._subject = subject
        self._keyring = keyring
        self._vault = vault_access
        self._store = store
        self._pins = pins
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.username!r})"

    @property
    def username(self) -> str:
        """As given to `register` or `unlock`."""
        return self._subject.username

    @property
    def account_tag(self) -> str:
        """The 22 characters that bind everything to this account."""
        return self._subject.account

    @property
    def realm(self) -> str:
        """The realm the login secret and the vault session strings are bound to."""
        return self._subject.connection.realm

    @property
    def data_encryption_keys(self) -> tuple[str, ...]:
        """The purposes there are data encryption keys for, oldest first."""
        return self._keyring.purposes

    async def seal(self, data: bytes, *, key: str = DATA_PURPOSE, context: str = DEFAULT_CONTEXT) -> str:
        """Encrypt up to 16 MiB under the data encryption key for the purpose `key`, bound to account and `context`.

        `NoSuchKey` without such a key; `ContextRefused` unless the context is `[a-z0-9._-]{1,64}`; `PlaintextRefused`
        for empty data.
        """
        if len(data) <= _INLINE:
            return self._seal(data, key=key, context=context)
        return await in_thread(partial(self._seal, data, key=key, context=context))

    def _seal(self, data: bytes, *, key: str, context: str) -> str:
        return self._keyring.seal(data, key, context, self._subject.connection.artefacts)

    async def open(
        self, serialized: str, *, key: str = DATA_PURPOSE, context: str = DEFAULT_CONTEXT, compat: bool = False
    ) -> bytes:
        """Decrypt what `seal` returned, given the same `key` and `context`.

        `MalformedCiphertext` or `DecryptionFailed` for anything else. `compat` also opens values of other ports.
        """
        if len(serialized) <= _INLINE:
            return self._open(serialized, key=key, context=context, compat=compat)
        return await in_thread(partial(self._open, serialized, key=key, context=context, compat=compat))

    def _open(self, serialized: str, *, key: str, context: str, compat: bool) -> bytes:
        return self._keyring.open(serialized, key, context, Mode.COMPAT if compat else Mode.STRICT)

    async def create_data_encryption_key(self, purpose: str) -> None:
        """Have a data encryption key for `purpose` (`[a-z0-9-]{1,32}`); nothing happens if there is one.

        Where another device made one meanwhile, that one is taken.
        """
        self._check_open()
        subject = self._subject
        if purpose in self._keyring.purposes:
            return
        listing = await subject.calls.list_data_encryption_keys(subject.session)
        for key in await open_data_encryption_keys(subject, self._keyring, listing.data_encryption_keys):
            if key.uid is not None and not self._keyring.knows(key):
                self._keyring.add(key)
        if purpose not in self._keyring.purposes:
            await store_data_encryption_key(subject, self._keyring, purpose)
        self._pins = msgspec.structs.replace(self._pins, data_encryption_keys=self._keyring.uids)
        await in_thread(partial(self._store.advance, self._pins))

    async def keypair(self, tag: str) -> OpenKeypair:
        """The keypair with this tag, opened and checked; `NoSuchKey` if there is none."""
        record = await self._stored_keypair(tag)
        if record is None:
            raise NoSuchKey("the account has no keypair with this tag")
        return await open_keypair(self._subject, self._keyring, record, tag)

    async def create_keypair(self, tag: str) -> OpenKeypair:
        """Have a keypair with this tag (at most 128 bytes): the stored one, or a new RSA 4096 one (seconds).

        There is never a second one with the same tag, and none is replaced.
        """
        record = await self._stored_keypair(tag)
        if record is None:
            record = await store_keypair(self._subject, self._keyring, tag)
        return await open_keypair(self._subject, self._keyring, record, tag)

    async def classification_nodes(
        self,
        scheme_name: str | None = None,
        by_name: str | None = None,
        page: int | None = None,
        per: int | None = None,
    ) -> list[vault.ClassificationNode]:
        """Classification nodes of the vault, by scheme and part of the name. What they say is the service's word."""
        self._check_open()
        calls = self._subject.calls
        response = await self._vault.use(
            lambda session: calls.list_classification_nodes(session, scheme_name, by_name, page, per)
        )
        return response.classification_nodes

    async def log_out(self) -> None:
        """End the sessions in both areas, if they have not expired anyway, and close the account."""
        self._check_open()
        await self._vault.log_out()
        with suppress(SessionExpired):
            await self._subject.calls.delete_session(self._subject.session)
        self.close()

    def close(self) -> None:
        """Drop the keys. The sessions at the service live on until they expire: `log_out` ends them, too."""
        self._closed = True
        self._keyring.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    async def _stored_keypair(self, tag: str) -> keystore.Keypair | None:
        self._check_open()
        _check_tag(tag)
        return await found(self._subject.calls.read_keypair_by_external_identifier(self._subject.session, tag))

    def _check_open(self) -> None:
        if self._closed:
            raise AccountClosed


def _check_tag(tag: str) -> None:
    try:
        size = len(tag.encode())
    except UnicodeEncodeError:
        raise ContextRefused from None
    # A dot segment in a path would name another resource.
    if not 1 <= size <= 128 or tag in {".", ".."}:
        raise ContextRefused


async def opened(
    subject: Subject, keyring: Keyring, vault_access: VaultAccess, store: PinStore, stored: Stored, known: Pins | None
) -> AsyncAccount:
    """The end of every journey: compare with what this machine knew, remember what it knows now."""
    pins = stored.pins(keyring, subject.mode)
    if known is not None:
        known.check(pins)
    await in_thread(partial(store.advance, pins))
    return AsyncAccount(subject, keyring, vault_access, store, pins)

"""What can be done with an open account, as conversations; `Account` and `AsyncAccount` expose them."""

from contextlib import suppress
from functools import partial
from typing import Final

import msgspec

from strongroom.client.conversation import Conversation, Work
from strongroom.client.errors import AccountClosed, NoSuchKey, SessionExpired
from strongroom.client.keyring import Keyring, OpenKeypair
from strongroom.client.opening import Stored, Subject, found, open_data_encryption_keys, open_keypair
from strongroom.client.pins import Pins, PinStore
from strongroom.client.storing import store_data_encryption_key, store_keypair
from strongroom.client.vaulting import VaultAccess
from strongroom.crypto.errors import ContextRefused
from strongroom.crypto.formats import Mode
from strongroom.wire import vault

# Below this a thread costs more than the cipher: 64 KiB take some 30 microseconds.
_INLINE: Final = 64 * 1024


class OpenAccount:
    """An account with its keys open. The repr shows the name only."""

    def __init__(
        self, subject: Subject, keyring: Keyring, vault_access: VaultAccess, store: PinStore, pins: Pins
    ) -> None:
        self.subject = subject
        self.keyring = keyring
        self._vault = vault_access
        self._store = store
        self._pins = pins
        self._closed = False

    def __repr__(self) -> str:
        return f"OpenAccount({self.subject.username!r})"

    def seal(self, data: bytes, key: str, context: str) -> Conversation[str]:
        work = partial(self.keyring.seal, data, key, context, self.subject.connection.artefacts)
        if len(data) <= _INLINE:
            return work()
        sealed: str = yield Work(work)
        return sealed

    def open(self, serialized: str, key: str, context: str, mode: Mode) -> Conversation[bytes]:
        work = partial(self.keyring.open, serialized, key, context, mode)
        if len(serialized) <= _INLINE:
            return work()
        data: bytes = yield Work(work)
        return data

    def create_data_encryption_key(self, purpose: str) -> Conversation[None]:
        """Have a DEK for this purpose: the one that another device made meanwhile, or a new one."""
        self._check_open()
        subject = self.subject
        if purpose in self.keyring.purposes:
            return
        listing = yield from subject.calls.list_data_encryption_keys(subject.session)
        keys = yield from open_data_encryption_keys(
            subject.connection, self.keyring, listing.data_encryption_keys, subject.mode
        )
        for key in keys:
            if key.uid is not None and not self.keyring.knows(key):
                self.keyring.add(key)
        if purpose not in self.keyring.purposes:
            yield from store_data_encryption_key(subject, self.keyring, purpose)
        self._pins = msgspec.structs.replace(self._pins, data_encryption_keys=self.keyring.uids)
        yield Work(partial(self._store.advance, self._pins))

    def keypair(self, tag: str) -> Conversation[OpenKeypair]:
        self._check_open()
        _check_tag(tag)
        subject = self.subject
        record = yield from found(subject.calls.read_keypair_by_external_identifier(subject.session, tag))
        if record is None:
            raise NoSuchKey("the account has no keypair with this tag")
        return (yield from open_keypair(subject.connection, subject.reporter, self.keyring, record, tag, subject.mode))

    def create_keypair(self, tag: str) -> Conversation[OpenKeypair]:
        """Have a keypair with this tag: the one that is there, or a new one. Never a second, never a replacement."""
        self._check_open()
        _check_tag(tag)
        subject = self.subject
        record = yield from found(subject.calls.read_keypair_by_external_identifier(subject.session, tag))
        if record is None:
            record = yield from store_keypair(subject, self.keyring, tag)
        return (yield from open_keypair(subject.connection, subject.reporter, self.keyring, record, tag, subject.mode))

    def classification_nodes(
        self, scheme_name: str | None, by_name: str | None, page: int | None, per: int | None
    ) -> Conversation[vault.ClassificationNodesResponse]:
        self._check_open()
        calls = self.subject.calls
        return (
            yield from self._vault.use(
                lambda session: calls.list_classification_nodes(session, scheme_name, by_name, page, per)
            )
        )

    def log_out(self) -> Conversation[None]:
        """End both sessions at the service and close; sessions that have expired anyway are no error."""
        self._check_open()
        yield from self._vault.log_out()
        with suppress(SessionExpired):
            yield from self.subject.calls.delete_session(self.subject.session)
        self.close()

    def close(self) -> None:
        self._closed = True
        self.keyring.close()

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


def opened(
    subject: Subject, keyring: Keyring, vault_access: VaultAccess, store: PinStore, stored: Stored, known: Pins | None
) -> Conversation[OpenAccount]:
    """The end of every journey: compare with what this machine knew, remember what it knows now."""
    pins = stored.pins(keyring, subject.mode)
    if known is not None:
        known.check(pins)
    yield Work(partial(store.advance, pins))
    return OpenAccount(subject, keyring, vault_access, store, pins)

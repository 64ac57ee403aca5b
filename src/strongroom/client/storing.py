"""Storing an account's keys: each is adopted if it is there, and otherwise made, stored and compared with the echo.

Nothing stored is ever replaced: where the service says that something else is there, it is read again and adopted.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from strongroom.client.errors import ReadBackMismatch, RollbackDetected, ServiceRefused
from strongroom.client.keyring import DATA_PURPOSE, VAULT_TAG, Keyring
from strongroom.client.opening import (
    Derived,
    Stored,
    Subject,
    found,
    open_data_encryption_keys,
    open_derivation,
    open_key_encryption_key,
    open_keypair,
)
from strongroom.crypto.derivation import DerivationArtefacts, derive
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.secret import Secret
from strongroom.crypto.verification import make_verification
from strongroom.wire import keystore
from strongroom.wire.refusal import Refusal

T = TypeVar("T")

_FIRST_GENERATION = 1


async def stored_or_read(refusal: Refusal, store: Awaitable[T], read: Callable[[], Awaitable[T]]) -> tuple[T, bool]:
    """Store; on this refusal read what is there instead. The flag tells whether ours was stored."""
    try:
        return await store, True
    except ServiceRefused as refused:
        if refused.code != refusal.code:
            raise
    return await read(), False


class KeyStoring:
    """Steps 4 to 7 of a registration.

    `fresh` is true if this very call created the user: then nothing can be there to adopt. `known` is true if
    this machine has seen the account complete: then nothing may be missing.
    """

    def __init__(
        self, subject: Subject, passphrase: Secret[bytes], *, iterations: int, fresh: bool, known: bool
    ) -> None:
        self._subject = subject
        self._passphrase = passphrase
        self._iterations = iterations
        self._fresh = fresh
        self._known = known

    @property
    def _artefacts(self) -> ArtefactFormat:
        return self._subject.connection.artefacts

    async def _existing(self, read: Callable[[], Awaitable[T]], what: str) -> T | None:
        if self._fresh:
            return None
        record = await found(read())
        if record is None and self._known:
            raise RollbackDetected(f"its {what} is missing")
        return record

    async def derivation(self) -> Derived:
        """Step 4. Nothing is wrapped under parameters read back, unless an interrupted registration of ours stored
        them: inside the strict bounds and verified under the passphrase."""
        subject, calls, session = self._subject, self._subject.calls, self._subject.session
        read = partial(calls.read_passphrase_derivation_artefact, session)
        existing = await self._existing(read, "derivation artefact")
        if existing is not None:
            return await open_derivation(subject, self._passphrase, existing)
        artefacts = DerivationArtefacts.generate(self._iterations)
        key = await subject.reporter.work(
            lambda: derive(self._passphrase.reveal(), artefacts),
            "Derive the password derived key",
            iterations=artefacts.iter,
        )
        text = artefacts.serialize()
        verification = make_verification(
            key,
            account=subject.account,
            derivation_artefacts=text,
            iterations=artefacts.iter,
            generation=_FIRST_GENERATION,
            time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        record, ours = await stored_or_read(
            Refusal.passphrase_derivation_artefact_exists,
            calls.store_passphrase_derivation_artefact(session, text, verification),
            read,
        )
        if not ours:
            self._fresh = False  # another device is registering the same account
            return await open_derivation(subject, self._passphrase, record)
        if (record.derivation_artefacts, record.verification_artefacts) != (text, verification):
            raise ReadBackMismatch("derivation artefacts")
        return Derived(key, record, artefacts.iter, _FIRST_GENERATION)

    async def key_encryption_key(self, derived: Derived) -> tuple[Keyring, keystore.KeyEncryptionKey]:
        """Step 5."""
        subject, calls, session = self._subject, self._subject.calls, self._subject.session
        read = partial(calls.read_key_encryption_key, session)
        existing = await self._existing(read, "key encryption key")
        if existing is not None:
            return open_key_encryption_key(subject, derived, existing), existing
        key = KeyEncryptionKey.generate()
        serialized = derived.key.wrap(key, subject.account, self._artefacts)
        record, ours = await stored_or_read(
            Refusal.key_encryption_key_exists,
            calls.store_key_encryption_key(session, serialized),
            read,
        )
        if not ours:
            self._fresh = False  # another device is registering the same account
            return open_key_encryption_key(subject, derived, record), record
        if record.serialized_key_encryption_key != serialized:
            raise ReadBackMismatch("key encryption key")
        return Keyring(subject.account, key), record

    async def data_encryption_keys(self, keyring: Keyring) -> tuple[keystore.DataEncryptionKey, ...]:
        """Step 6: adopt all that are there; make the one for `data` if there is none."""
        subject = self._subject
        records: list[keystore.DataEncryptionKey] = []
        if not self._fresh:
            listing = await subject.calls.list_data_encryption_keys(subject.session)
            records.extend(listing.data_encryption_keys)
        for key in await open_data_encryption_keys(subject, keyring, records):
            keyring.add(key)
        if DATA_PURPOSE not in keyring.purposes:
            if self._known:
                raise RollbackDetected("a data encryption key is missing")
            records.append(await store_data_encryption_key(subject, keyring, DATA_PURPOSE))
        return tuple(records)

    async def vault_keypair(self, keyring: Keyring) -> keystore.Keypair:
        """Step 7."""
        subject, calls, session = self._subject, self._subject.calls, self._subject.session
        record = await self._existing(
            partial(calls.read_keypair_by_external_identifier, session, VAULT_TAG), "keypair tagged vault"
        )
        if record is None:
            record = await store_keypair(subject, keyring, VAULT_TAG)
        keypair = await open_keypair(subject, keyring, record, VAULT_TAG)
        keyring.take_vault_keypair(keypair)
        return record

    async def read_back(self, keyring: Keyring, stored: Stored) -> None:
        """Read everything once more and compare: a service that confirms without storing is found out before use.

        Data encryption keys that another device has added meanwhile are adopted.
        """
        subject, calls, session = self._subject, self._subject.calls, self._subject.session
        artefact = await found(calls.read_passphrase_derivation_artefact(session))
        held = stored.derived.record
        if artefact is None or (artefact.derivation_artefacts, artefact.verification_artefacts) != (
            held.derivation_artefacts,
            held.verification_artefacts,
        ):
            raise ReadBackMismatch("derivation artefacts")
        key = await found(calls.read_key_encryption_key(session))
        if key is None or key.serialized_key_encryption_key != stored.key_encryption_key.serialized_key_encryption_key:
            raise ReadBackMismatch("key encryption key")
        listing = await calls.list_data_encryption_keys(session)
        listed = {record.serialized_data_encryption_key: record for record in listing.data_encryption_keys}
        ours = {record.serialized_data_encryption_key for record in stored.data_encryption_keys}
        if not ours <= set(listed):
            raise ReadBackMismatch("data encryption keys")
        added = [record for text, record in listed.items() if text not in ours]
        for added_key in await open_data_encryption_keys(subject, keyring, added):
            keyring.add(added_key)
        keypair = await found(calls.read_keypair_by_external_identifier(session, VAULT_TAG))
        if keypair is None or stored.vault_keypair is None or not _same_keypair(keypair, stored.vault_keypair):
            raise ReadBackMismatch("keypair tagged vault")


def _same_keypair(one: keystore.Keypair, other: keystore.Keypair) -> bool:
    return (
        one.public_key == other.public_key
        and one.encrypted_serialized_key == other.encrypted_serialized_key
        and [item.identifier for item in one.external_identifiers]
        == [item.identifier for item in other.external_identifiers]
    )


async def store_data_encryption_key(subject: Subject, keyring: Keyring, purpose: str) -> keystore.DataEncryptionKey:
    """Make a DEK for this purpose, store it and add it to the keyring."""
    key = DataEncryptionKey.generate(purpose)
    serialized = keyring.key_encryption_key.wrap_data_encryption_key(key, subject.account, subject.connection.artefacts)
    record = await subject.calls.store_data_encryption_key(subject.session, serialized)
    if record.serialized_data_encryption_key != serialized:
        raise ReadBackMismatch("data encryption key")
    keyring.add(key)
    return record


async def store_keypair(subject: Subject, keyring: Keyring, tag: str) -> keystore.Keypair:
    """Make a keypair with this tag and store it; where the tag is taken, return the keypair that carries it."""
    private_key = await subject.reporter.work(PrivateKey.generate, "Generate the keypair")
    public_pem = private_key.public_key.pem
    serialized = keyring.key_encryption_key.wrap_private_key(
        private_key, subject.account, tag, subject.connection.artefacts
    )
    record, ours = await stored_or_read(
        Refusal.external_identifier_taken,
        subject.calls.store_keypair(subject.session, public_pem, serialized, [tag]),
        lambda: subject.calls.read_keypair_by_external_identifier(subject.session, tag),
    )
    echoed = [item.identifier for item in record.external_identifiers]
    if ours and (record.public_key, record.encrypted_serialized_key, echoed) != (public_pem, serialized, [tag]):
        raise ReadBackMismatch("keypair")
    return record

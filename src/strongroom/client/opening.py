"""Opening what the service stores: every value is checked against the passphrase and its place before it is used."""

import re
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar

from strongroom.client.calls import AsyncCalls
from strongroom.client.connection import ServiceConnection
from strongroom.client.errors import ProtocolViolation, ServiceRefused, UnlockRefused
from strongroom.client.keyring import Keyring, OpenKeypair
from strongroom.client.pins import Pins, digest
from strongroom.client.progress import Reporter
from strongroom.client.running import in_thread
from strongroom.crypto.derivation import derive, parse_derivation_artefacts
from strongroom.crypto.errors import CryptoError
from strongroom.crypto.formats import Mode
from strongroom.crypto.keys import DataEncryptionKey, PasswordDerivedKey
from strongroom.crypto.names import canonical_username
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.secret import Secret
from strongroom.crypto.verification import Verification, check_verification
from strongroom.wire import keystore
from strongroom.wire.refusal import Refusal

T = TypeVar("T")

_SESSION_STRING: Final = re.compile(r"[A-Za-z0-9_=-]{1,512}\.[A-Za-z0-9_=-]{1,512}\Z")
_VERIFICATION_PREFIX: Final = "srva1."


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose account it is, and what it is opened with."""

    connection: ServiceConnection
    calls: AsyncCalls
    reporter: Reporter = field(repr=False)
    username: str
    account: str
    session: Secret[str]
    mode: Mode


@dataclass(frozen=True, slots=True)
class Derived:
    """The password derived key and what it was derived with. `generation` is 0 for accounts of other ports."""

    key: PasswordDerivedKey = field(repr=False)
    record: keystore.PassphraseDerivationArtefact = field(repr=False)
    iterations: int
    generation: int


@contextmanager
def unlocking(realm: str) -> Iterator[None]:
    """If anything is wrong with a stored value or the passphrase, the caller sees the one refusal."""
    try:
        yield
    except CryptoError:
        raise UnlockRefused(realm) from None


async def found(reading: Awaitable[T]) -> T | None:
    """None where the service says that nothing is stored."""
    try:
        return await reading
    except ServiceRefused as refusal:
        if refusal.code != Refusal.not_found.code:
            raise
        return None


async def log_in(calls: AsyncCalls, username: str, field_value: Secret[str]) -> Secret[str]:
    """Create a key store session for this user and no other."""
    record = await calls.create_session(username, field_value.reveal())
    try:
        same = canonical_username(record.username) == canonical_username(username)
    except CryptoError:
        same = False
    if not same:
        raise ProtocolViolation("the session is for another user")
    if not _SESSION_STRING.match(record.session_authentication_string):
        raise ProtocolViolation("the session string is not two parts joined by a dot")
    return Secret(record.session_authentication_string)


async def open_derivation(
    subject: Subject, passphrase: Secret[bytes], record: keystore.PassphraseDerivationArtefact
) -> Derived:
    """Derive the PDK from stored artefacts.

    In strict mode the bounds are checked before PBKDF2 starts, so a hostile answer costs no time, and the verification
    artefacts before the KEK is touched, so it tests at most one guess.
    """
    with unlocking(subject.connection.realm):
        artefacts = parse_derivation_artefacts(record.derivation_artefacts, subject.mode)
        if subject.mode is Mode.STRICT:
            artefacts.check_strict()
        key = await subject.reporter.work(
            lambda: derive(passphrase.reveal(), artefacts, subject.mode),
            "Derive the password derived key",
            iterations=artefacts.iter,
        )
        generation = 0
        # Compat reads accounts without verification artefacts; ours are checked even there.
        if subject.mode is Mode.STRICT or record.verification_artefacts.startswith(_VERIFICATION_PREFIX):
            verification: Verification = check_verification(
                key,
                record.verification_artefacts,
                account=subject.account,
                derivation_artefacts=record.derivation_artefacts,
            )
            if verification.iterations != artefacts.iter:
                raise UnlockRefused(subject.connection.realm)
            generation = verification.generation
        return Derived(key, record, artefacts.iter, generation)


def open_key_encryption_key(subject: Subject, derived: Derived, record: keystore.KeyEncryptionKey) -> Keyring:
    """Unwrap the stored KEK into a keyring without further keys."""
    with unlocking(subject.connection.realm):
        key = derived.key.unwrap(record.serialized_key_encryption_key, subject.account, subject.mode)
        return Keyring(subject.account, key)


async def open_data_encryption_keys(
    subject: Subject, keyring: Keyring, records: Iterable[keystore.DataEncryptionKey]
) -> list[DataEncryptionKey]:
    """Unwrap stored DEKs. Their number is the service's choice, so this is work and not done on an event loop."""
    key_encryption_key = keyring.key_encryption_key

    def unwrap() -> list[DataEncryptionKey]:
        texts = [record.serialized_data_encryption_key for record in records]
        return [key_encryption_key.unwrap_data_encryption_key(text, subject.account, subject.mode) for text in texts]

    with unlocking(subject.connection.realm):
        return await in_thread(unwrap)


async def open_keypair(subject: Subject, keyring: Keyring, record: keystore.Keypair, tag: str) -> OpenKeypair:
    """Unwrap a stored keypair and check that its halves, the fingerprint and the tag belong together."""
    identifiers = [item.identifier for item in record.external_identifiers]
    # The binding holds the first tag; a keypair that merely carries this one as well was not made for it.
    wanted = identifiers[:1] if subject.mode is Mode.STRICT else identifiers
    if tag not in wanted:
        raise ProtocolViolation("the keypair does not carry the tag asked for")
    with unlocking(subject.connection.realm):
        public_key = PublicKey.parse(record.public_key)
        key_encryption_key = keyring.key_encryption_key
        private_key = await subject.reporter.work(
            lambda: key_encryption_key.unwrap_private_key(
                record.encrypted_serialized_key, subject.account, identifiers[0], public_key, subject.mode
            ),
            "Open the private key",
        )
        return OpenKeypair(tag, public_key, private_key)


@dataclass(frozen=True, slots=True)
class Stored:
    """The records an account consists of, as the service showed or confirmed them."""

    derived: Derived
    key_encryption_key: keystore.KeyEncryptionKey = field(repr=False)
    data_encryption_keys: tuple[keystore.DataEncryptionKey, ...] = field(repr=False)
    vault_keypair: keystore.Keypair | None = field(repr=False)

    def pins(self, keyring: Keyring, mode: Mode) -> Pins:
        """What this machine remembers of the account."""
        return Pins(
            generation=self.derived.generation,
            derivation_artefacts=digest(self.derived.record.derivation_artefacts),
            iterations=self.derived.iterations,
            key_encryption_key=digest(self.key_encryption_key.serialized_key_encryption_key),
            vault_keypair=keyring.vault_fingerprint,
            data_encryption_keys=keyring.uids,
            bound=mode is Mode.STRICT,
        )

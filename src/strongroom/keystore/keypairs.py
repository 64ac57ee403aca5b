"""Keypairs: the public key in clear, the private key as the client encrypted it, tagged with external identifiers."""

from typing import Any

import msgspec

from strongroom.crypto.errors import MalformedKey
from strongroom.crypto.public_keys import PublicKey
from strongroom.keystore import digests, encrypted_fields
from strongroom.runtime.ids import from_text, new_row_id, to_text
from strongroom.services.paging import page
from strongroom.storage import Row, Transaction, Value
from strongroom.wire.keystore import ExternalIdentifier, Keypair, KeypairsResponse, StoreKeypair
from strongroom.wire.paging import Paging
from strongroom.wire.refusal import Fault, Refusal, Refused

VAULT_TAG = "vault"
MAX_IDENTIFIER_BYTES = 128
MAX_METADATA_BYTES = 4 * 1024

INSERT = """
INSERT INTO keypairs
    (user_id, id, digest, fingerprint, public_key, encrypted_serialized_key, metadata, created_at)
VALUES (:user_id, :id, :digest, :fingerprint, :public_key, :encrypted_serialized_key, :metadata, :now)
ON CONFLICT (user_id, digest) DO NOTHING
"""
TAG = """
INSERT INTO external_identifiers (user_id, identifier, id, keypair_id, place)
VALUES (:user_id, :identifier, :id, :keypair_id, :place)
ON CONFLICT (user_id, identifier) DO NOTHING
"""
_CONTENT = "public_key, encrypted_serialized_key, metadata"
COLUMNS = f"SELECT id, {_CONTENT} FROM keypairs WHERE user_id = :user_id"  # noqa: S608  # a constant
BY_DIGEST = COLUMNS + " AND digest = :digest"
BY_ID = COLUMNS + " AND id = :id"
LIST = COLUMNS + " ORDER BY id"
# Each keypair once for each of its tags, in their order.
WITH_DIGESTS = f"""
SELECT keypairs.user_id, keypairs.id, digest, identifier, keypairs.id, {_CONTENT}
FROM keypairs LEFT JOIN external_identifiers
ON external_identifiers.user_id = keypairs.user_id AND external_identifiers.keypair_id = keypairs.id
ORDER BY keypairs.user_id, keypairs.id, place
"""  # noqa: S608  # a constant
COUNT = "SELECT count(*) FROM keypairs WHERE user_id = :user_id"
TAGS = "SELECT id, identifier, keypair_id FROM external_identifiers WHERE user_id = :user_id ORDER BY keypair_id, place"
TAGS_OF = """
SELECT id, identifier, keypair_id FROM external_identifiers
WHERE user_id = :user_id AND keypair_id = :keypair_id ORDER BY place
"""
TAGGED = "SELECT keypair_id FROM external_identifiers WHERE user_id = :user_id AND identifier = :identifier"
FINGERPRINT = """
SELECT keypairs.fingerprint FROM external_identifiers
JOIN keypairs ON keypairs.user_id = external_identifiers.user_id AND keypairs.id = external_identifiers.keypair_id
WHERE external_identifiers.user_id = :user_id AND external_identifiers.identifier = :identifier
"""


def check(given: StoreKeypair) -> PublicKey:
    """Everything that can be refused without the database; the parsed public key."""
    encrypted_fields.check(given.encrypted_serialized_key, "/encrypted_serialized_key")
    encrypted_fields.refuse_private_key(given.public_key, "/public_key")
    packed = msgspec.json.encode(given.metadata)
    if len(packed) > MAX_METADATA_BYTES:
        raise _invalid(f"At most {MAX_METADATA_BYTES} bytes of JSON are taken here.", "/metadata")
    # The whole as well: a JWK is an object, and none of its texts alone shows what they are together.
    for text in (packed.decode(), *_texts(given.metadata)):
        encrypted_fields.refuse_private_key(text, "/metadata")
    seen: set[str] = set()
    for place, identifier in enumerate(given.external_identifiers):
        pointer = f"/external_identifiers/{place}"
        if len(identifier.encode()) > MAX_IDENTIFIER_BYTES:
            raise _invalid(f"At most {MAX_IDENTIFIER_BYTES} bytes are taken here.", pointer)
        if identifier in seen:
            raise _invalid("This identifier stands here twice.", pointer)
        seen.add(identifier)
        encrypted_fields.refuse_private_key(identifier, pointer)
    try:
        key = PublicKey.parse(given.public_key)
        key.check_strength()
    except MalformedKey:
        raise Refused(Refusal.malformed_public_key, pointer="/public_key") from None
    return key


async def store(
    tx: Transaction, user_id: bytes, given: StoreKeypair, fingerprint: str, now: int
) -> tuple[Keypair, bool]:
    """The stored keypair and whether this call stored it.

    Identical content is stored once; a tag that another keypair carries is refused and nothing is stored.
    """
    content_digest = digest(given, given.external_identifiers)
    row_id = new_row_id(now)
    created = await tx.run(
        INSERT, user_id=user_id, id=row_id, digest=content_digest, fingerprint=fingerprint, now=now, **_columns(given)
    )
    if not created:
        row = await tx.one(BY_DIGEST, user_id=user_id, digest=content_digest)
        assert row is not None
        return _record(row, await tx.all(TAGS_OF, user_id=user_id, keypair_id=row[0])), False
    identifiers = []
    for place, identifier in enumerate(given.external_identifiers):
        tag_id = new_row_id(now)
        tagged = await tx.run(TAG, user_id=user_id, identifier=identifier, id=tag_id, keypair_id=row_id, place=place)
        if not tagged:
            raise Refused(Refusal.external_identifier_taken, pointer=f"/external_identifiers/{place}")
        identifiers.append(ExternalIdentifier(id=to_text(tag_id), identifier=identifier, keypair_id=to_text(row_id)))
    content = msgspec.structs.asdict(given) | {"external_identifiers": identifiers}
    return Keypair(id=to_text(row_id), **content), True


async def read(tx: Transaction, user_id: bytes, text_id: str) -> Keypair:
    return await _read(tx, user_id, from_text(text_id))


async def read_tagged(tx: Transaction, user_id: bytes, identifier: str) -> Keypair:
    """The keypair that carries this external identifier."""
    row = await tx.one(TAGGED, user_id=user_id, identifier=identifier) if "\x00" not in identifier else None
    return await _read(tx, user_id, None if row is None else row[0])


async def list_all(tx: Transaction, user_id: bytes, paging: Paging) -> KeypairsResponse:
    """Oldest first; the whole list unless a page is asked for."""
    rows, meta = await page(tx, LIST, COUNT, paging, user_id=user_id)
    tags: dict[bytes, list[Row]] = {}
    for tag in await tx.all(TAGS, user_id=user_id):
        tags.setdefault(tag[2], []).append(tag)
    return KeypairsResponse([_record(row, tags.get(row[0], [])) for row in rows], meta)


async def vault_fingerprint(tx: Transaction, user_id: bytes) -> str | None:
    """The fingerprint of the keypair tagged `vault`, if the user has stored it."""
    row = await tx.one(FINGERPRINT, user_id=user_id, identifier=VAULT_TAG)
    return None if row is None else row[0]


def digest(keypair: StoreKeypair | Keypair, identifiers: list[str]) -> bytes:
    """By which identical content is known: all columns, and the tags in their order."""
    metadata = msgspec.json.encode(keypair.metadata, order="deterministic").decode()
    return digests.digest("keypair", **_columns(keypair) | {"metadata": metadata}, external_identifiers=identifiers)


def has_its_digest(rows: list[Row]) -> bool:
    """Whether what `WITH_DIGESTS` says of one keypair has the digest that is stored. Raises nothing."""
    _, _, stored, first, *columns = rows[0]
    try:
        made = digest(_record(tuple(columns), []), [] if first is None else [row[3] for row in rows])
    except (msgspec.DecodeError, RecursionError):  # the latter where values are nested deeper than we ever store
        return False
    return digests.agrees(stored, made)


async def _read(tx: Transaction, user_id: bytes, row_id: bytes | None) -> Keypair:
    row = None if row_id is None else await tx.one(BY_ID, user_id=user_id, id=row_id)
    if row is None:
        raise Refused(Refusal.not_found)
    return _record(row, await tx.all(TAGS_OF, user_id=user_id, keypair_id=row[0]))


def _record(row: Row, tags: list[Row]) -> Keypair:
    return Keypair(
        id=to_text(row[0]),
        public_key=row[1],
        encrypted_serialized_key=row[2],
        metadata=msgspec.json.decode(row[3]),
        external_identifiers=[
            ExternalIdentifier(id=to_text(tag_id), identifier=identifier, keypair_id=to_text(keypair_id))
            for tag_id, identifier, keypair_id in tags
        ],
    )


def _columns(keypair: StoreKeypair | Keypair) -> dict[str, Value]:
    """The content of a keypair by column, as it is stored."""
    return {
        "public_key": keypair.public_key,
        "encrypted_serialized_key": keypair.encrypted_serialized_key,
        "metadata": msgspec.json.encode(keypair.metadata).decode(),
    }


def _texts(value: Any) -> list[str]:
    """Every text in a JSON value, keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, member in value.items() for text in (key, *_texts(member))]
    if isinstance(value, list):
        return [text for member in value for text in _texts(member)]
    return []


def _invalid(message: str, pointer: str) -> Refused:
    return Refused(Refusal.validation_failed, faults=(Fault("field_refused", message, pointer),))

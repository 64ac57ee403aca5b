"""Derivation artefacts: what the client needs besides the passphrase to derive the key. Opaque text to the service."""

import re

from strongroom.keystore import encrypted_fields
from strongroom.runtime.ids import new_row_id, to_text
from strongroom.storage import Row, Transaction
from strongroom.wire.keystore import PassphraseDerivationArtefact, StorePassphraseDerivationArtefact
from strongroom.wire.refusal import Fault, Refusal, Refused

INSERT = """
INSERT INTO passphrase_derivation_artefacts
    (user_id, id, derivation_artefacts, verification_artefacts, created_at)
VALUES (:user_id, :id, :derivation_artefacts, :verification_artefacts, :now)
ON CONFLICT (user_id) DO NOTHING
"""
READ = """
SELECT id, derivation_artefacts, verification_artefacts FROM passphrase_derivation_artefacts WHERE user_id = :user_id
"""

_PRINTABLE = re.compile(r"[\x20-\x7e]*")


def check(given: StorePassphraseDerivationArtefact) -> None:
    """Printable ASCII, so that it comes back byte for byte from every engine, and no private key in clear."""
    for pointer, text in (
        ("/derivation_artefacts", given.derivation_artefacts),
        ("/verification_artefacts", given.verification_artefacts),
    ):
        if not _PRINTABLE.fullmatch(text):
            fault = Fault("field_refused", "Printable ASCII is taken here.", pointer)
            raise Refused(Refusal.validation_failed, faults=(fault,))
        encrypted_fields.refuse_private_key(text, pointer)


async def store(
    tx: Transaction, user_id: bytes, given: StorePassphraseDerivationArtefact, now: int
) -> PassphraseDerivationArtefact:
    """Store once; identical bytes answer with what is stored, others are refused and change nothing."""
    await tx.execute(
        INSERT,
        user_id=user_id,
        id=new_row_id(now),
        derivation_artefacts=given.derivation_artefacts,
        verification_artefacts=given.verification_artefacts,
        now=now,
    )
    stored = await read(tx, user_id)
    if (stored.derivation_artefacts, stored.verification_artefacts) != (
        given.derivation_artefacts,
        given.verification_artefacts,
    ):
        raise Refused(Refusal.passphrase_derivation_artefact_exists)
    return stored


async def read(tx: Transaction, user_id: bytes) -> PassphraseDerivationArtefact:
    row: Row | None = await tx.one(READ, user_id=user_id)
    if row is None:
        raise Refused(Refusal.not_found)
    return PassphraseDerivationArtefact(id=to_text(row[0]), derivation_artefacts=row[1], verification_artefacts=row[2])

"""Derivation artefacts (spec: key store 4 and 5)."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from strongroom.wire.endpoint import KIB, Credential, Endpoint
from strongroom.wire.keystore.fields import Id
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

VerificationArtefacts: TypeAlias = Annotated[
    str, Meta(description="Binds the derivation artefacts to the passphrase; may be empty.")
]

SentVerificationArtefacts: TypeAlias = Annotated[VerificationArtefacts, Meta(max_length=4 * KIB)]

DerivationArtefacts: TypeAlias = Annotated[
    str, Meta(description="Base64 of the hash with `salt`, `iter`, `length` and `hash`; kept byte for byte.")
]

SentDerivationArtefacts: TypeAlias = Annotated[DerivationArtefacts, Meta(min_length=1, max_length=4 * KIB)]


class StorePassphraseDerivationArtefact(Record, frozen=True):
    derivation_artefacts: SentDerivationArtefacts
    verification_artefacts: SentVerificationArtefacts = ""


class PassphraseDerivationArtefact(Record, frozen=True):
    id: Id
    derivation_artefacts: DerivationArtefacts
    verification_artefacts: VerificationArtefacts


class PassphraseDerivationArtefactResponse(Record, frozen=True):
    passphrase_derivation_artefact: Annotated[PassphraseDerivationArtefact, Meta(description="What is stored.")]


STORE_PASSPHRASE_DERIVATION_ARTEFACT = Endpoint(
    method="POST",
    path="/keystore/passphrase_derivation_artefact",
    summary="Store the derivation artefacts. Once per user; identical bytes answer with what is stored.",
    source="spec: key store 4",
    credential=Credential.keystore_session,
    body=StorePassphraseDerivationArtefact,
    answer=PassphraseDerivationArtefactResponse,
    status=200,
    refusals=(Refusal.passphrase_derivation_artefact_exists, Refusal.plaintext_key_refused),
)

READ_PASSPHRASE_DERIVATION_ARTEFACT = Endpoint(
    method="GET",
    path="/keystore/passphrase_derivation_artefact",
    summary="Read the stored derivation artefacts.",
    source="spec: key store 5",
    credential=Credential.keystore_session,
    answer=PassphraseDerivationArtefactResponse,
    status=200,
    refusals=(Refusal.not_found,),
)

"""What a column holds that can be worked out anew from others: canonical names, fingerprints, digests, ids."""

import hmac
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from strongroom.crypto.errors import MalformedKey, UsernameRefused
from strongroom.crypto.names import canonical_username
from strongroom.crypto.public_keys import PublicKey
from strongroom.keystore import keypairs
from strongroom.portal.accounts.emails import canonical_email
from strongroom.runtime import tokens
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row
from strongroom.storage.copying import Snapshot
from strongroom.vault import admission_tokens, scheme_file
from strongroom.wire.keystore import StoreKeypair


@dataclass(frozen=True, slots=True)
class Recomputed:
    """A query, and whether what it says of one thing agrees."""

    query: str
    agrees: Callable[[list[Row]], bool]
    """Of the rows of one thing, which come one after the other. Must not raise, whatever they hold."""
    key: int = 0
    """So many leading columns say which thing a row is of; 0: each row is one."""


_USERNAMES = "SELECT username, canonical_username FROM users"
_FINGERPRINTS = "SELECT public_key, fingerprint FROM keypairs"
_KEYPAIRS = """
SELECT k.user_id, k.id, k.digest, k.public_key, k.encrypted_serialized_key, k.metadata, e.identifier
FROM keypairs k LEFT JOIN external_identifiers e ON e.user_id = k.user_id AND e.keypair_id = k.id
ORDER BY k.user_id, k.id, e.place
"""
_PUBLIC_KEYS = """
SELECT u.public_key, f.fingerprint FROM public_key_fingerprints f
JOIN users u ON u.user_id = f.user_id AND u.provider_id = f.provider_id
"""
_NODES = "SELECT scheme, name, node_id FROM classification_nodes"
_EXTERNAL_TOKENS = "SELECT admission_token_id, secret_key_id, token_hash FROM external_admission_tokens"
_ADDRESSES = "SELECT email FROM developers"


def of_area(area: str, secret: ServerSecret | None) -> dict[str, Recomputed]:
    """By what should be true; without the server secret what needs it is left out."""
    if area == "keystore":
        return {
            "users are looked up by the canonical form of their names": Recomputed(_USERNAMES, _is_canonical),
            "fingerprints of keypairs are those of their public keys": Recomputed(_FINGERPRINTS, _is_fingerprint),
            "keypairs are what their digests are of": Recomputed(_KEYPAIRS, _is_digest, key=2),
        }
    if area == "vault":
        found = {
            "users are looked up by the fingerprints of their public keys": Recomputed(
                _PUBLIC_KEYS, _is_raw_fingerprint
            ),
            "classification nodes have the ids that follow from scheme and name": Recomputed(_NODES, _is_node_id),
        }
        if secret is not None:
            found["tokens that are given to key store users again are those that the server secret makes"] = Recomputed(
                _EXTERNAL_TOKENS, lambda rows: _is_external_token(rows, secret)
            )
        return found
    if area == "access":
        return {
            "developers are looked up by the canonical form of their addresses": Recomputed(_ADDRESSES, _is_address)
        }
    return {}


async def disagreements(snapshot: Snapshot, recomputed: Recomputed) -> int:
    """How many things do not agree; memory does not grow with their number. `Unavailable`."""
    count, key = 0, recomputed.key
    thing: list[Row] = []
    async for batch in snapshot.stream(recomputed.query):
        for row in batch:
            if thing and (not key or row[:key] != thing[0][:key]):
                count += not recomputed.agrees(thing)
                thing = []
            thing.append(row)
    return count + (bool(thing) and not recomputed.agrees(thing))


def _is_canonical(rows: list[Row]) -> bool:
    ((username, canonical),) = rows
    try:
        return bool(canonical_username(username) == canonical)
    except UsernameRefused:
        return False


def _is_fingerprint(rows: list[Row]) -> bool:
    ((pem, fingerprint),) = rows
    key = _parsed(pem)
    return key is not None and key.fingerprint == fingerprint


def _is_raw_fingerprint(rows: list[Row]) -> bool:
    ((pem, fingerprint),) = rows
    key = _parsed(pem)
    return key is not None and key.fingerprint_bytes == fingerprint


def _is_digest(rows: list[Row]) -> bool:
    _, _, digest, public_key, encrypted, metadata, first = rows[0]
    try:
        stored = StoreKeypair(
            public_key=public_key,
            encrypted_serialized_key=encrypted,
            metadata=msgspec.json.decode(metadata),
            external_identifiers=[] if first is None else [row[6] for row in rows],
        )
    except (msgspec.DecodeError, RecursionError):  # the latter where values are nested deeper than we ever store
        return False
    return hmac.compare_digest(keypairs.digest(stored), digest)


def _is_node_id(rows: list[Row]) -> bool:
    ((scheme, name, node_id),) = rows
    return bool(scheme_file.node_id(scheme.decode(errors="replace"), name) == node_id)


def _is_external_token(rows: list[Row], secret: ServerSecret) -> bool:
    ((token_id, key_id, token_hash),) = rows
    value = admission_tokens.external_value(secret, token_id, key_id)
    # One made with a secret that is gone is of no use to anybody, and no fault: the next call makes a new one.
    return value is None or hmac.compare_digest(tokens.digest(value), token_hash)


def _is_address(rows: list[Row]) -> bool:
    ((email,),) = rows
    return bool(canonical_email(email) == email)


def _parsed(pem: str) -> PublicKey | None:
    try:
        return PublicKey.parse(pem)
    except MalformedKey:
        return None

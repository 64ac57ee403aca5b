"""What can be worked out anew is, and each way in which it can be wrong is found."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from strongroom.backup import integrity
from strongroom.backup.verifying import verify_archive, verify_databases
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row
from strongroom.storage.integrity import Recomputed

pytestmark = pytest.mark.anyio

DIGESTS = "keypairs are what their digests are of"
TOKENS = "tokens that are given to key store users again are those that the server secret makes"
RENAMED = "UPDATE users SET canonical_username = '{0}' WHERE canonical_username = 'ada';"
RENAMED += "UPDATE usernames SET canonical_username = '{0}' WHERE canonical_username = 'ada'"
# Of bea, who has not used hers up.
OTHER_TOKEN = """
DELETE FROM external_admission_tokens WHERE token_hash IN (SELECT token_hash FROM admission_tokens
WHERE used_at IS NOT NULL);
UPDATE external_admission_tokens SET token_hash = zeroblob(32);
UPDATE admission_tokens SET token_hash = zeroblob(32) WHERE keystore_user_id IS NOT NULL AND used_at IS NULL
"""
# What breaks each of them, in SQL that constraints and other checks let pass.
BREACHES = {
    "keystore": {
        "users are looked up by the canonical form of their names": [
            RENAMED.format("ADA"),
            RENAMED.format("adam"),
            "UPDATE users SET username = 'bob' WHERE username = 'ada'",
            "UPDATE users SET username = char(7) WHERE username = 'ada'",
        ],
        "fingerprints of keypairs are those of their public keys": [
            "UPDATE keypairs SET fingerprint = 'other'",
            "UPDATE keypairs SET public_key = 'other'",
        ],
        DIGESTS: [
            "UPDATE keypairs SET digest = randomblob(33)",
            "UPDATE keypairs SET encrypted_serialized_key = encrypted_serialized_key || 'x'",
            "UPDATE keypairs SET metadata = '{}'",
            "UPDATE keypairs SET metadata = 'no JSON'",
            "UPDATE keypairs SET metadata = replace(hex(zeroblob(100000)), '00', '[')",
            "UPDATE keypairs SET public_key = public_key || ' '",
            "DELETE FROM external_identifiers WHERE place = 1",
            "DELETE FROM external_identifiers",
            "UPDATE external_identifiers SET identifier = 'other' WHERE place = 0",
            "UPDATE external_identifiers SET place = 9 WHERE place = 0",
        ],
        "data encryption keys are what their digests are of": [
            "UPDATE data_encryption_keys SET serialized_data_encryption_key = 'other'"
        ],
    },
    "vault": {
        "users are looked up by the fingerprints of their public keys": [
            "UPDATE public_key_fingerprints SET fingerprint = randomblob(32)",
            "UPDATE users SET public_key = (SELECT max(public_key) FROM users)",
            "UPDATE users SET public_key = 'other'",
        ],
        "classification nodes have the ids that follow from scheme and name": [
            "UPDATE classification_nodes SET name = name || 'x' WHERE name = 'identity'",
            "UPDATE classification_nodes SET scheme = x'ff' WHERE name = 'identity'",
        ],
        TOKENS: [OTHER_TOKEN],
    },
    "access": {
        "developers are looked up by the canonical form of their addresses": [
            f"UPDATE developers SET email = '{email}'; UPDATE developer_emails SET email = '{email}'"
            for email in ("Dev@example.org", "none")
        ],
    },
}


@pytest.fixture
def secret() -> ServerSecret:
    return ServerSecret(b"s" * 32)


def test_everything_that_is_recomputed_has_its_breach(secret: ServerSecret) -> None:
    known = {area: set(of_area.recomputed(secret)) for area, of_area in integrity.OF_AREA.items()}
    assert {area: found for area, found in known.items() if found} == {
        area: set(breaches) for area, breaches in BREACHES.items()
    }
    assert known["vault"] - set(integrity.OF_AREA["vault"].recomputed(None)) == {TOKENS}


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_every_breach_is_found_and_named_without_values(populated: Any) -> None:
    for area, breaches in BREACHES.items():
        populated.deployment.given["areas"] = "portal" if area == "access" else area
        for sentence, statements in breaches.items():
            for statement in statements:
                found = await populated.deployment.found_after({area: statement})
                assert all(line.startswith(f"{area}: not true of ") for line in found)
                assert any(line.endswith(f": {sentence}") for line in found), (statement, found)
                assert "ada" not in "".join(found)


async def test_a_look_up_that_leads_nowhere_is_found_on_either_engine_and_in_an_archive(
    populated: Any, tmp_path: Any
) -> None:
    made = populated.deployment
    assert await verify_databases(made.settings, lambda *_: None, made.secret) == []
    await made.execute("vault", "UPDATE external_admission_tokens SET secret_key_id = secret_key_id + 1")
    assert await verify_databases(made.settings, lambda *_: None, made.secret) == []
    await made.execute("keystore", "UPDATE keypairs SET fingerprint = 'other'", "DELETE FROM external_identifiers")
    await made.execute("vault", "UPDATE users SET public_key = (SELECT max(public_key) FROM users)")
    expected = [
        "vault: not true of 1: users are looked up by the fingerprints of their public keys",
        "keystore: not true of 1: fingerprints of keypairs are those of their public keys",
        f"keystore: not true of 1: {DIGESTS}",
    ]
    assert await verify_databases(made.settings, lambda *_: None, made.secret) == expected
    await made.back_up(tmp_path / "unsound")
    for secret in (made.secret, None):
        assert (await verify_archive(tmp_path / "unsound", secret, lambda *_: None)).findings == expected


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_the_server_secret_made_is_made_again_only_with_it(populated: Any, secret: ServerSecret) -> None:
    made = populated.deployment
    made.change("vault", OTHER_TOKEN)
    made.given["areas"] = "vault"
    finding = f"vault: not true of 1: {TOKENS}"
    assert await verify_databases(made.settings, lambda *_: None, made.secret) == [finding]
    assert await verify_databases(made.settings, lambda *_: None) == []


class Streamed:
    """A snapshot that has one answer, in batches of one row."""

    def __init__(self, *rows: Row) -> None:
        self.rows = rows

    async def stream(self, sql: str) -> AsyncIterator[list[Row]]:
        for row in self.rows:
            yield [row]


@pytest.mark.parametrize(
    ("rows", "key", "expected"),
    [
        ((), 1, 0),
        ((), 0, 0),
        (((1, "a"), (1, "b"), (2, "c")), 1, [2, 1]),
        (((1, "a"), (2, "b"), (2, "c")), 1, [1, 2]),
        (((1, "a"), (1, "b")), 2, [1, 1]),
        (((1, "a"), (1, "a")), 0, [1, 1]),
    ],
)
async def test_rows_of_one_thing_are_looked_at_together_wherever_a_batch_ends(
    rows: tuple[Row, ...], key: int, expected: list[int] | int
) -> None:
    seen: list[int] = []

    def agrees(thing: list[Row]) -> bool:
        seen.append(len(thing))
        return False

    streamed: Any = Streamed(*rows)
    count = await integrity.disagreements(streamed, Recomputed("", agrees, key))
    assert (seen, count) == (expected or [], len(seen))

"""Admission tokens of the vault: what is stored of them, and the one that endpoint 9 asks for."""

from typing import TYPE_CHECKING

import pytest

from strongroom.http.call import Call
from strongroom.runtime import ids, tokens
from strongroom.runtime.principals import Provider, Service
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Transaction
from strongroom.vault import admission_tokens
from strongroom.wire.refusal import Refusal
from strongroom.wire.vault import IssueExternalAdmissionToken

if TYPE_CHECKING:
    from tests.vault.conftest import World

pytestmark = pytest.mark.anyio

DAY = 24 * 3600
USER = b"\x07" * 16
OTHER_USER = b"\x08" * 16


async def test_a_token_is_shown_once_and_stored_as_its_hash(world: "World") -> None:
    answer = await world.api.issue_vault_admission_token(Call(Provider(world.provider_id, b"\x05" * 16)))
    token = answer.admission_token
    assert token.used is False
    assert tokens.well_formed(tokens.Prefix.admission_token, token.token_value)
    rows = await world.rows("SELECT token_hash, admission_token_id, provider_id FROM admission_tokens")
    assert rows == [(tokens.digest(token.token_value), ids.from_text(token.id), world.provider_id)]


async def test_every_token_is_another_one(world: "World") -> None:
    assert len({await world.token() for _ in range(8)}) == 8


async def test_the_external_token_stays_the_same_and_only_its_hash_is_stored(world: "World") -> None:
    token = await world.external_token(USER)
    assert await world.external_token(USER) == token
    assert tokens.well_formed(tokens.Prefix.admission_token, token)
    stored = [value for row in await world.rows("SELECT * FROM external_admission_tokens") for value in row]
    assert tokens.digest(token) in stored
    assert await world.rows("SELECT COUNT(*) FROM admission_tokens") == [(1,)]


async def test_each_key_store_user_has_an_external_token_of_its_own(world: "World") -> None:
    assert await world.external_token(USER) != await world.external_token(OTHER_USER)


async def test_the_external_token_admits_its_user(world: "World") -> None:
    await world.create_user("ada", await world.external_token(USER, "ada"))
    assert await world.rows("SELECT keystore_user_id FROM keystore_users") == [(USER,)]


async def test_with_a_vault_user_there_is_no_external_token(world: "World") -> None:
    await world.create_user("ada", await world.external_token(USER))
    assert await world.refused(world.external_token(USER)) is Refusal.vault_account_exists
    assert await world.refused(world.external_token(USER, "bob")) is Refusal.vault_account_exists
    # The other key store user asks with the same key in its keypair.
    assert await world.refused(world.external_token(OTHER_USER, "ada")) is Refusal.vault_account_exists
    await world.external_token(OTHER_USER, "bob")


async def test_a_key_that_came_in_another_way_counts_too(world: "World") -> None:
    await world.create_user("ada")
    assert await world.refused(world.external_token(USER, "ada")) is Refusal.vault_account_exists


async def test_another_providers_users_do_not_count(world: "World") -> None:
    token = await world.external_token(USER)
    await world.create_user("ada", token)
    request = IssueExternalAdmissionToken(ids.to_text(world.other_provider_id), ids.to_text(USER))
    other = await world.api.issue_external_admission_token(Call(Service(), body=request))
    assert other.token_value != token


async def test_an_expired_external_token_is_replaced(world: "World") -> None:
    first = await world.external_token(USER)
    world.clock.move(DAY - 60)
    assert await world.external_token(USER) == first
    world.clock.move(60)
    second = await world.external_token(USER)
    assert second != first
    # An expired token that was replaced is not kept beside the live one.
    assert await world.rows("SELECT token_hash FROM admission_tokens") == [(tokens.digest(second),)]
    assert await world.refused(world.create_user("ada", first)) is Refusal.admission_token_invalid
    await world.create_user("ada", second)


async def test_a_rotated_server_secret_gives_the_same_external_token(world: "World") -> None:
    token = await world.external_token(USER)
    world.vault.secret = ServerSecret(b"t" * 32, b"s" * 32)
    assert await world.external_token(USER) == token
    world.vault.secret = ServerSecret(b"t" * 32)
    replaced = await world.external_token(USER)
    assert replaced != token
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_invalid
    await world.create_user("ada", replaced)


async def test_parallel_requests_get_one_external_token(world: "World") -> None:
    results = await world.outcomes(world.external_token(USER) for _ in range(32))
    assert len(set(results)) == 1
    assert isinstance(results[0], str)
    assert await world.rows("SELECT COUNT(*) FROM admission_tokens") == [(1,)]


async def test_parallel_requests_replace_an_expired_external_token_once(world: "World") -> None:
    first = await world.external_token(USER)
    world.clock.move(DAY)
    results = await world.outcomes(world.external_token(USER) for _ in range(32))
    assert len(set(results)) == 1
    assert results[0] != first
    assert await world.rows("SELECT COUNT(*) FROM admission_tokens") == [(1,)]


async def test_a_replacement_that_comes_late_replaces_nothing(world: "World") -> None:
    token = await world.external_token(USER)
    for stale in (b"", tokens.digest("the token before")):
        replaced = await world.run(
            admission_tokens.REPLACE_EXTERNAL,
            keystore_user_id=USER,
            provider_id=world.provider_id,
            admission_token_id=b"\x00" * 16,
            token_hash=b"\x00" * 32,
            secret_key_id=0,
            expires_at=1,
            replaced_hash=stale,
        )
        assert replaced == 0
    assert await world.external_token(USER) == token


async def test_the_external_token_and_its_use_at_once(world: "World") -> None:
    token = await world.external_token(USER)
    results = await world.outcomes([world.create_user("ada", token), *(world.external_token(USER) for _ in range(16))])
    assert set(results[1:]) <= {token, Refusal.vault_account_exists}
    assert await world.refused(world.external_token(USER)) is Refusal.vault_account_exists


@pytest.mark.parametrize(
    ("provider_id", "keystore_user_id", "fingerprint"),
    [
        ("", ids.to_text(USER), None),
        (ids.to_text(USER), ids.to_text(USER).upper()[:-1] + "F", None),
        (ids.to_text(USER), ids.to_text(USER), "!" * 43),
        (ids.to_text(USER), ids.to_text(USER), "A" * 42 + "B"),
        (ids.to_text(USER), ids.to_text(USER), "A" * 8),
    ],
)
async def test_what_names_nobody_is_refused(
    world: "World", provider_id: str, keystore_user_id: str, fingerprint: str | None
) -> None:
    request = IssueExternalAdmissionToken(provider_id, keystore_user_id, fingerprint)
    answer = world.api.issue_external_admission_token(Call(Service(), body=request))
    assert await world.refused(answer) is Refusal.validation_failed


async def test_expired_tokens_are_forgotten_after_a_month(world: "World") -> None:
    used, unused = await world.token(), await world.token()
    await world.create_user("ada", used)
    await world.external_token(USER)

    async def work(tx: Transaction) -> int:
        return await admission_tokens.prune(tx, world.clock.now())

    world.clock.move(31 * DAY - 60)
    assert await world.vault.store.write(work) == 0
    assert await world.refused(world.create_user("bob", used)) is Refusal.admission_token_used
    assert await world.refused(world.create_user("bob", unused)) is Refusal.admission_token_expired
    world.clock.move(60)
    assert await world.vault.store.write(work) == 4
    assert await world.rows("SELECT COUNT(*) FROM admission_tokens") == [(0,)]
    assert await world.rows("SELECT COUNT(*) FROM external_admission_tokens") == [(0,)]
    assert await world.refused(world.create_user("bob", used)) is Refusal.admission_token_invalid

"""Creating vault users: one per public key, one admission token each, whatever happens at the same time."""

import base64
from typing import TYPE_CHECKING

import pytest

from strongroom.crypto.public_keys import PublicKey
from strongroom.http.call import Call
from strongroom.runtime import ids, tokens
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.vault import CreateVaultUser, NewVaultUser, VaultUserResponse

if TYPE_CHECKING:
    from tests.vault.conftest import World

pytestmark = pytest.mark.anyio

NAMES = ("ada", "bob", "cleo", "dora", "emil", "fay")
USERS = "SELECT COUNT(*) FROM users"


def keystore_token(world: "World") -> str:
    token = tokens.mint(tokens.Prefix.admission_token)
    world.keystore.claims[token] = None
    return token


async def test_the_key_is_stored_as_it_was_sent(world: "World") -> None:
    pem = world.public_pem("ada").replace("\n", "\r\n")
    created = await world.create_user("ada", pem=pem)
    rows = await world.rows("SELECT user_id, public_key, provider_id, session_generation FROM users")
    assert rows == [(ids.from_text(created.id), pem, world.provider_id, 1)]


async def test_a_key_has_one_user_however_it_is_written(world: "World") -> None:
    await world.create_user("ada")
    token = await world.token()
    assert await world.refused(world.create_user("ada", token)) is Refusal.public_key_taken
    crlf = world.public_pem("ada").replace("\n", "\r\n")
    assert await world.refused(world.create_user("ada", token, crlf)) is Refusal.public_key_taken
    # The token was not used up by the refusals: the squatted owner makes a new key and registers that.
    await world.create_user("bob", token)


async def test_the_same_key_may_have_a_user_at_each_provider(world: "World") -> None:
    first = await world.create_user("ada")
    body = NewVaultUser(world.public_pem("ada"), await world.token(world.other_provider_id))
    second = await world.api.create_vault_user(Call(world.other_subscription, body=CreateVaultUser(body)))
    assert first.id != second.id


async def test_a_token_admits_once(world: "World") -> None:
    token = await world.token()
    await world.create_user("ada", token)
    assert await world.refused(world.create_user("bob", token)) is Refusal.admission_token_used
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_used
    assert await world.rows(USERS) == [(1,)]


async def test_a_token_expires(world: "World") -> None:
    token = await world.token()
    world.clock.move(24 * 3600)
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_expired


async def test_a_used_token_is_told_as_used_even_when_it_has_expired(world: "World") -> None:
    token = await world.token()
    await world.create_user("ada", token)
    world.clock.move(48 * 3600)
    assert await world.refused(world.create_user("bob", token)) is Refusal.admission_token_used


async def test_another_providers_token_is_worthless(world: "World") -> None:
    token = await world.token(world.other_provider_id)
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_invalid
    body = CreateVaultUser(NewVaultUser(world.public_pem("ada"), token))
    await world.api.create_vault_user(Call(world.other_subscription, body=body))


async def test_a_used_token_of_another_provider_is_not_told_as_used(world: "World") -> None:
    token = await world.token(world.other_provider_id)
    body = CreateVaultUser(NewVaultUser(world.public_pem("ada"), token))
    await world.api.create_vault_user(Call(world.other_subscription, body=body))
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_invalid


async def test_a_mistyped_token_costs_no_query(world: "World") -> None:
    token = await world.token()
    await world.vault.store.close()
    for mistyped in (token[:-1], token + "0", token[:10] + token[11:] + "0", "srs_" + token[4:], "", "x", "é" * 20):
        assert await world.refused(world.create_user("ada", mistyped)) is Refusal.admission_token_invalid


async def test_an_unknown_token_is_asked_of_the_key_store(world: "World") -> None:
    token = tokens.mint(tokens.Prefix.admission_token)
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_invalid
    assert await world.rows(USERS) == [(0,)]


async def test_a_token_of_the_key_store_is_claimed_for_the_key(world: "World") -> None:
    token = keystore_token(world)
    await world.create_user("ada", token)
    assert world.keystore.claims == {token: PublicKey.parse(world.public_pem("ada")).fingerprint}
    assert await world.refused(world.create_user("bob", token)) is Refusal.admission_token_used


async def test_a_claimed_token_that_admitted_is_told_as_used(world: "World") -> None:
    token = keystore_token(world)
    await world.create_user("ada", token)
    world.keystore.claims.clear()  # not even asked again
    assert await world.refused(world.create_user("ada", token)) is Refusal.admission_token_used
    body = CreateVaultUser(NewVaultUser(world.public_pem("ada"), token))
    answer = world.api.create_vault_user(Call(world.other_subscription, body=body))
    assert await world.refused(answer) is Refusal.admission_token_invalid


async def test_the_vaults_own_tokens_are_not_asked_of_the_key_store(world: "World") -> None:
    async def claim(token_value: str, provider_id: bytes, claimant: str) -> None:
        raise AssertionError

    world.vault.claim_admission_token = claim
    await world.create_user("ada")


async def test_a_taken_key_leaves_a_key_store_token_unclaimed(world: "World") -> None:
    await world.create_user("ada")
    token = keystore_token(world)
    assert await world.refused(world.create_user("ada", token)) is Refusal.public_key_taken
    assert world.keystore.claims[token] is None
    # The squatted owner makes a new key and registers that.
    await world.create_user("bob", token)


async def test_after_a_failed_insert_the_same_key_may_try_a_claimed_token_again(world: "World") -> None:
    token = keystore_token(world)
    fingerprint = PublicKey.parse(world.public_pem("ada")).fingerprint_bytes

    async def claim_and_lose(token_value: str, provider_id: bytes, claimant: str) -> None:
        await world.keystore.claim(token_value, provider_id, claimant)
        await world.run("INSERT INTO public_key_fingerprints VALUES (:f, :p, x'00')", f=fingerprint, p=provider_id)

    world.vault.claim_admission_token = claim_and_lose
    assert await world.refused(world.create_user("ada", token)) is Refusal.public_key_taken
    world.vault.claim_admission_token = world.keystore.claim
    await world.run("DELETE FROM public_key_fingerprints")
    assert await world.refused(world.create_user("bob", token)) is Refusal.admission_token_used
    await world.create_user("ada", token)


@pytest.mark.parametrize("damage", ["text", "two", "certificate", "header", "empty", "even", "short"])
async def test_a_key_of_another_shape_is_refused_and_the_token_stays_good(world: "World", damage: str) -> None:
    pem = world.public_pem("ada")
    der = bytearray(base64.b64decode("".join(pem.splitlines()[1:-1])))
    even = der[:-6] + bytes((der[-6] ^ 1,)) + der[-5:]
    damaged = {
        "text": "hello " + pem,
        "two": pem + world.public_pem("bob"),
        "certificate": pem.replace("PUBLIC KEY", "CERTIFICATE"),
        "header": pem.replace("\n", "\nProc-Type: 4,ENCRYPTED\n", 1),
        "empty": "",
        "even": _pem(bytes(even)),
        "short": _pem(bytes(der[:-1])),
    }[damage]
    token = await world.token()
    with pytest.raises(Refused) as caught:
        await world.api.create_vault_user(Call(world.subscription, body=CreateVaultUser(NewVaultUser(damaged, token))))
    assert caught.value.refusal is Refusal.malformed_public_key
    assert caught.value.faults[0].pointer == "/user/public_key"
    await world.create_user("ada", token)


async def test_a_key_with_a_small_factor_is_refused(world: "World") -> None:
    pem = world.public_pem("ada")
    der = base64.b64decode("".join(pem.splitlines()[1:-1]))
    modulus = int.from_bytes(der[-5 - 512 : -5], "big")
    weak = next(number for number in range(modulus - modulus % 2 + 1, modulus - 1000, -2) if number % 3 == 0)
    weak_pem = _pem(der[: -5 - 512] + weak.to_bytes(512, "big") + der[-5:])
    assert PublicKey.parse(weak_pem)  # the shape is right; only the search for factors finds it out
    assert await world.refused(world.create_user("ada", pem=weak_pem)) is Refusal.malformed_public_key


async def test_parallel_use_of_one_token_has_one_winner(world: "World") -> None:
    token = await world.token()
    results = await world.outcomes(world.create_user(NAMES[turn % 6], token) for turn in range(32))
    winners = [result for result in results if isinstance(result, VaultUserResponse)]
    assert len(winners) == 1
    assert set(results) - set(winners) == {Refusal.admission_token_used}
    assert await world.rows(USERS) == [(1,)]


async def test_parallel_use_of_one_key_has_one_winner_and_leaves_the_other_tokens(world: "World") -> None:
    issued = [await world.token() for _ in range(32)]
    results = await world.outcomes(world.create_user("ada", token) for token in issued)
    assert [result for result in results if result is not Refusal.public_key_taken][1:] == []
    assert await world.rows(USERS) == [(1,)]
    assert await world.rows("SELECT COUNT(*) FROM admission_tokens WHERE used_at IS NOT NULL") == [(1,)]


async def test_parallel_use_of_a_claimed_token_has_one_winner(world: "World") -> None:
    token = keystore_token(world)
    results = await world.outcomes(world.create_user(NAMES[turn % 6], token) for turn in range(32))
    winners = [result for result in results if isinstance(result, VaultUserResponse)]
    assert len(winners) == 1
    # The winner's own key may come again before the claim is remembered, and is then told that it is there.
    losers = {result for result in results if result not in winners}
    assert Refusal.admission_token_used in losers
    assert losers <= {Refusal.admission_token_used, Refusal.public_key_taken}


async def test_a_key_store_user_gets_one_vault_user(world: "World") -> None:
    keystore_user_id = b"\x07" * 16
    token = await world.external_token(keystore_user_id)
    await world.run("INSERT INTO keystore_users VALUES (:k, :p, x'00')", k=keystore_user_id, p=world.provider_id)
    assert await world.refused(world.create_user("ada", token)) is Refusal.vault_account_exists
    assert await world.rows(USERS) == [(0,)]
    await world.run("DELETE FROM keystore_users")
    await world.create_user("ada", token)


def _pem(der: bytes) -> str:
    text = base64.b64encode(der).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join(["-----BEGIN PUBLIC KEY-----", *lines, "-----END PUBLIC KEY-----", ""])

"""Session strings: what opens the vault, for how long, and what closes it again."""

from typing import TYPE_CHECKING

import pytest

from strongroom.crypto import grammar
from strongroom.crypto.names import realm_tag
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.vault_session_strings import open_vault_session
from strongroom.http.call import Call
from strongroom.runtime import ids
from strongroom.runtime.principals import VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Transaction
from strongroom.vault import maintenance, session
from strongroom.wire.refusal import Refusal
from strongroom.wire.vault import CreateVaultSession

if TYPE_CHECKING:
    from tests.vault.conftest import World

pytestmark = pytest.mark.anyio

HOUR = 3600
SESSIONS = "SELECT COUNT(*) FROM sessions"


async def test_the_string_opens_the_vault_for_its_user(world: "World") -> None:
    created = await world.create_user("ada")
    principal = await world.authenticate(world.decrypt("ada", created.encrypted_session_authentication_string))
    assert ids.to_text(principal.user_id) == created.id
    assert principal.provider_id == world.provider_id


async def test_the_client_accepts_the_string_for_this_realm(world: "World") -> None:
    created = await world.create_user("ada")
    encrypted = created.encrypted_session_authentication_string
    text = world.decrypt("ada", encrypted)
    assert encrypted.startswith("Rsa4096.")
    assert open_vault_session(world.private_keys["ada"], encrypted, realm="https://vault.example").reveal() == text
    assert len(text) <= 470


async def test_every_login_gives_another_string_and_the_earlier_ones_stay_good(world: "World") -> None:
    await world.create_user("ada")
    first, second = await world.log_in("ada"), await world.log_in("ada")
    assert first != second
    assert (await world.authenticate(first)).session_id != (await world.authenticate(second)).session_id


async def test_login_writes_nothing(world: "World") -> None:
    await world.create_user("ada")
    for _ in range(20):
        await world.log_in("ada")
        await world.refused(world.log_in("bob"))
    assert await world.rows(SESSIONS) == [(0,)]


async def test_unknown_foreign_and_suspended_keys_get_one_answer(world: "World") -> None:
    await world.create_user("ada")
    answers = {
        await world.refused(world.log_in("bob")),
        await world.refused(world.log_in("ada", world.other_subscription)),
    }
    await world.run("UPDATE users SET suspended_at = 1")
    answers.add(await world.refused(world.log_in("ada")))
    assert answers == {Refusal.invalid_credentials}


async def test_a_key_that_cannot_be_read_is_refused(world: "World") -> None:
    body = CreateVaultSession(world.public_pem("ada").replace("PUBLIC", "PRIVATE"))
    assert (
        await world.refused(world.api.create_vault_session(Call(world.subscription, body=body)))
        is Refusal.malformed_public_key
    )


async def test_the_key_may_come_back_with_other_line_ends(world: "World") -> None:
    await world.create_user("ada")
    body = CreateVaultSession(world.public_pem("ada").replace("\n", "\r\n"))
    answer = await world.api.create_vault_session(Call(world.subscription, body=body))
    text = world.decrypt("ada", answer.session.encrypted_session_authentication_string)
    assert await world.authenticate(text) == await world.authenticate(text)


async def test_using_a_string_again_writes_no_second_row(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    first = await world.authenticate(text)
    assert await world.authenticate(text) == first
    assert await world.rows(SESSIONS) == [(1,)]


async def test_parallel_first_use_makes_one_row(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    principals = await world.outcomes(world.authenticate(text) for _ in range(32))
    assert len(set(principals)) == 1
    assert isinstance(principals[0], VaultSession)
    assert await world.rows(SESSIONS) == [(1,)]


async def test_first_use_is_possible_for_half_an_hour(world: "World") -> None:
    await world.create_user("ada")
    used, unused = await world.log_in("ada"), await world.log_in("ada")
    world.clock.move(29 * 60)
    await world.authenticate(used)
    world.clock.move(2 * 60)
    await world.authenticate(used)
    assert await world.refused(world.authenticate(unused)) is Refusal.session_invalid


async def test_a_string_from_a_future_that_was_taken_back_is_not_used_for_the_first_time(world: "World") -> None:
    await world.create_user("ada")
    used, unused = await world.log_in("ada"), await world.log_in("ada")
    await world.authenticate(used)
    world.clock.move(-29 * 60)
    await world.authenticate(used)
    assert isinstance(await world.authenticate(await world.log_in("ada")), VaultSession)
    world.clock.move(-2 * 60)
    assert await world.refused(world.authenticate(unused)) is Refusal.session_invalid


async def test_a_session_ends_after_its_lifetime(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    await world.authenticate(text)
    world.clock.move(12 * HOUR - 60)
    await world.authenticate(text)
    world.clock.move(60)
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_a_lifetime_made_shorter_counts_for_open_sessions(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    await world.authenticate(text)
    world.clock.move(2 * HOUR)
    await world.authenticate(text)
    world.change(session_lifetime=3_600_000)
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_logout_ends_one_session_for_good(world: "World") -> None:
    await world.create_user("ada")
    left, stays = await world.log_in("ada"), await world.log_in("ada")
    principal = await world.authenticate(left)
    await world.authenticate(stays)
    await world.api.delete_vault_session(Call(principal))
    for _ in range(2):
        assert await world.refused(world.authenticate(left)) is Refusal.session_invalid
    await world.authenticate(stays)


async def test_a_string_never_used_can_be_logged_out(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    await world.api.delete_vault_session(Call(await world.authenticate(text)))
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_logout_and_first_use_at_once_leave_the_session_closed(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    principal = await world.authenticate(text)
    await world.outcomes(
        [world.api.delete_vault_session(Call(principal)), *(world.authenticate(text) for _ in range(8))]
    )
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_nothing_is_written_for_a_user_after_logout(world: "World") -> None:
    await world.create_user("ada")
    principal = await world.authenticate(await world.log_in("ada"))

    async def work(tx: Transaction, now: int) -> None:
        await tx.run("UPDATE users SET created_at = 0 WHERE id = :user_id", user_id=principal.user_id)

    await world.vault.write_for(principal, work)
    await world.run("UPDATE users SET created_at = 1")
    await world.api.delete_vault_session(Call(principal))
    assert await world.refused(world.vault.write_for(principal, work)) is Refusal.session_invalid
    assert await world.rows("SELECT created_at FROM users") == [(1,)]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE users SET suspended_at = 1",
        "UPDATE users SET session_generation = session_generation + 1",
        "UPDATE users SET provider_id = x'ff'",
        "DELETE FROM users",
        "UPDATE sessions SET valid_till = 0",
        "DELETE FROM sessions",
    ],
)
async def test_recheck_sees_what_has_changed_since(world: "World", change: str) -> None:
    await world.create_user("ada")
    principal = await world.authenticate(await world.log_in("ada"))

    async def work(tx: Transaction) -> None:
        await session.recheck(tx, principal, world.clock.now())

    await world.vault.store.write(work)
    await world.run(change)
    assert await world.refused(world.vault.store.write(work)) is Refusal.session_invalid


@pytest.mark.parametrize("used", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE users SET suspended_at = 1",
        "UPDATE users SET session_generation = session_generation + 1",
        "DELETE FROM users",
    ],
)
async def test_a_string_goes_with_its_user(world: "World", change: str, used: bool) -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    if used:
        await world.authenticate(text)
    await world.run(change)
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid
    assert await world.rows(SESSIONS) == [(int(used),)]


async def test_a_string_is_worthless_at_another_provider(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    assert await world.refused(world.authenticate(text, world.other_provider_id)) is Refusal.session_invalid
    assert await world.rows(SESSIONS) == [(0,)]


@pytest.mark.parametrize("used", [True, False])
async def test_strings_from_before_a_restore_are_refused(world: "World", used: bool) -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    if used:
        await world.authenticate(text)
    world.clock.move(1)
    await world.run("UPDATE store_meta SET value = :now WHERE name = 'restore_epoch'", now=world.clock.now())
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid
    await world.authenticate(await world.log_in("ada"))


async def test_a_previous_server_secret_still_opens_and_a_forgotten_one_does_not(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    world.change(secret=ServerSecret(b"t" * 32, b"s" * 32))
    await world.authenticate(text)
    world.change(secret=ServerSecret(b"t" * 32))
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_a_string_is_good_in_its_own_realm_only(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    world.change(realm_tag=realm_tag("https://elsewhere.example"))
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_forged_strings_cost_no_query(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    body = grammar.vault_session_body(text, world.vault.realm_tag)
    assert body is not None
    await world.vault.store.close()  # a query would raise now
    forged = [
        grammar.vault_session_string(world.vault.realm_tag, body[:at] + bytes((body[at] ^ 1,)) + body[at + 1 :])
        for at in range(len(body))
    ]
    forged += [
        grammar.vault_session_string(world.vault.realm_tag, body[:-1]),
        grammar.vault_session_string(world.vault.realm_tag, body + b"\x00"),
        text[:-1] + ("0" if text[-1] != "0" else "1"),
        text + "\n",
        "",
        "srv1_",
        "\x00" * 40,
        "srs_é",
    ]
    for string in forged:
        assert await world.refused(world.authenticate(string)) is Refusal.session_invalid


async def test_an_expired_string_costs_no_query(world: "World") -> None:
    await world.create_user("ada")
    text = await world.log_in("ada")
    world.clock.move(12 * HOUR)
    await world.vault.store.close()
    assert await world.refused(world.authenticate(text)) is Refusal.session_invalid


async def test_only_the_holder_of_the_private_key_can_read_the_string(world: "World") -> None:
    await world.create_user("ada")
    await world.create_user("bob")
    answer = await world.api.create_vault_session(
        Call(world.subscription, body=CreateVaultSession(world.public_pem("ada")))
    )
    with pytest.raises(Exception, match="decryption failed"):
        world.decrypt("bob", answer.session.encrypted_session_authentication_string)
    assert isinstance(world.private_keys["bob"], PrivateKey)


async def test_expired_rows_are_forgotten_a_day_later(world: "World") -> None:
    await world.create_user("ada")
    await world.api.delete_vault_session(Call(await world.authenticate(await world.log_in("ada"))))

    world.clock.move(35 * HOUR)
    assert await maintenance.prune(world.vault) == 0
    world.clock.move(HOUR)
    assert await maintenance.prune(world.vault) == 1
    assert await world.rows(SESSIONS) == [(0,)]

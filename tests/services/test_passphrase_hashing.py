"""Tokens, the server secret, identifiers and the slow hashing of passphrases."""

import asyncio
import os
import pickle
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.checksum import with_checksum
from strongroom.runtime import ids, tokens
from strongroom.runtime.clock import MovableClock, SystemClock, wire_time
from strongroom.runtime.secret import Exposed, ServerSecret, load_or_create, parse, read
from strongroom.runtime.tokens import Prefix
from strongroom.services.passphrase_hashing import CostClass, PassphraseHasher, cost_class
from strongroom.wire.refusal import Refusal, Refused

OLD, NEW = bytes(range(32)), bytes(range(32, 64))
LOGIN_SECRET = with_checksum("srl1_" + "A" * 43)


@pytest.mark.parametrize("prefix", list(Prefix))
def test_a_token_has_its_form(prefix: Prefix) -> None:
    token = tokens.mint(prefix)
    assert len(token) == 4 + 43 + 6
    assert tokens.well_formed(prefix, token)
    assert not any(tokens.well_formed(other, token) for other in Prefix if other is not prefix)
    assert tokens.mint(prefix) != token


@given(st.integers(0, 52), st.characters())
def test_one_changed_character_is_noticed(place: int, character: str) -> None:
    token = tokens.mint(Prefix.admission_token, OLD)
    changed = token[:place] + character + token[place + 1 :]
    assert tokens.well_formed(Prefix.admission_token, changed) == (changed == token)


@given(st.text())
def test_any_text_is_judged_without_an_error(text: str) -> None:
    assert not tokens.well_formed(Prefix.admission_token, text)
    assert tokens.parse_session(text) is None


def test_a_session_string_names_its_row_and_keeps_its_secret() -> None:
    user_id, session_id = os.urandom(16), os.urandom(16)
    text, stored = tokens.mint_session(user_id, session_id)
    assert tokens.parse_session(text) == (user_id, session_id, stored)
    assert text.count(".") == 1
    assert stored.hex() not in text
    for place in range(len(text)):
        changed = text[:place] + ("A" if text[place] != "A" else "B") + text[place + 1 :]
        assert tokens.parse_session(changed) is None


def test_a_hint_shows_the_kind_and_four_characters() -> None:
    assert tokens.hint("srk_" + "x" * 45 + "1a2b") == "srk_...1a2b"


def test_uses_of_the_secret_are_kept_apart() -> None:
    secret = ServerSecret(OLD)
    assert secret.mac("a", b"x") != secret.mac("b", b"x")
    assert secret.key("a") != OLD


def test_two_secrets_are_active_while_one_is_rotated() -> None:
    old, both = ServerSecret(OLD), ServerSecret(NEW, OLD)
    assert both.key("use", old.current_id) == old.current_key("use")
    assert both.keys("use") == [ServerSecret(NEW).current_key("use"), old.current_key("use")]
    assert ServerSecret(NEW).key("use", old.current_id) is None


def test_two_secrets_with_one_key_id_are_refused() -> None:
    current = bytes(32)
    others = (number.to_bytes(32, "big") for number in range(1, 10_000))
    twin = next(other for other in others if ServerSecret(other).current_id == ServerSecret(current).current_id)
    with pytest.raises(ValueError, match="make another one"):
        ServerSecret(current, twin)
    assert ServerSecret(current, current).keys("use") == [ServerSecret(current).current_key("use")]


def test_a_secret_does_not_show_and_is_not_pickled() -> None:
    assert OLD.hex() not in repr(ServerSecret(OLD))
    with pytest.raises(TypeError):
        pickle.dumps(ServerSecret(OLD))


def test_the_secret_file_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    made = load_or_create(path)
    assert load_or_create(path) == made
    assert path.stat().st_mode & 0o777 == 0o600


def test_processes_that_start_together_agree_on_one_secret(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        made = list(pool.map(lambda _: load_or_create(tmp_path / "secret"), range(64)))
    assert len(set(made)) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610])
def test_a_secret_of_ours_that_others_can_reach_is_refused_and_left_as_it_is(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "a b"
    made = load_or_create(path)
    path.chmod(mode)
    for reading in (read, load_or_create):
        with pytest.raises(Exposed, match=f"chmod 600 '{path}'"):
            reading(path)
    path.chmod(0o400)
    assert read(path) == made


@pytest.mark.parametrize("mode", [0o440, 0o444])
def test_the_mode_of_a_mounted_secret_of_another_owner_is_not_checked(
    tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "secret"
    made = load_or_create(path)
    path.chmod(mode)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert load_or_create(path) == made


@pytest.mark.parametrize("text", ["", "00", "zz" * 32, "00" * 33])
def test_what_is_no_secret_is_refused_without_showing_it(text: str) -> None:
    with pytest.raises(ValueError, match="64 hexadecimal digits") as caught:
        parse(text)
    assert caught.value.__cause__ is None


def test_row_ids_follow_time_and_hidden_ids_do_not() -> None:
    earlier, later = ids.new_row_id(1_000), ids.new_row_id(2_000)
    assert earlier < later
    assert ids.to_text(earlier)[14] == "7"
    assert ids.to_text(ids.new_hidden_id())[14] == "4"
    assert ids.from_text(ids.to_text(later)) == later


@pytest.mark.parametrize(
    "text", ["", "x" * 36, "F47AC10B-58CC-4372-A567-0E02B2C3D479", "f47ac10b58cc4372a5670e02b2c3d479"]
)
def test_other_spellings_of_an_id_name_nothing(text: str) -> None:
    assert ids.from_text(text) is None


def test_times_on_the_wire() -> None:
    assert wire_time(0) == "1970-01-01T00:00:00.000Z"
    assert wire_time(1_769_860_800_007) == "2026-01-31T12:00:00.007Z"


def test_the_clock_never_runs_backwards(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SystemClock()
    now = clock.now()
    monkeypatch.setattr(time, "time_ns", lambda: 0)
    assert clock.now() >= now


def test_a_movable_clock_jumps() -> None:
    clock = MovableClock()
    now = clock.now()
    clock.move(3600)
    assert clock.now() - now >= 3_600_000


def test_the_cost_follows_from_the_field_alone() -> None:
    assert cost_class(LOGIN_SECRET) is CostClass.derived
    assert cost_class(LOGIN_SECRET[:-1]) is CostClass.raw
    assert cost_class("correct horse") is CostClass.raw


@pytest.fixture
async def hasher() -> PassphraseHasher:
    return PassphraseHasher(ServerSecret(OLD), workers=2)


@pytest.mark.anyio
async def test_a_hash_matches_its_passphrase_only(hasher: PassphraseHasher) -> None:
    for field in (LOGIN_SECRET, "correct horse"):
        stored = await hasher.hash(field)
        assert field not in stored
        assert await hasher.verify(field, stored)
        assert not await hasher.verify(field + "x", stored)
        assert not await hasher.verify(field, None)
        assert not hasher.is_stale(stored)
    hasher.close()


@pytest.mark.anyio
async def test_a_field_of_the_other_class_never_matches(hasher: PassphraseHasher) -> None:
    stored = await hasher.hash(LOGIN_SECRET)
    assert not await hasher.verify("raw", stored)
    hasher.close()


@pytest.mark.anyio
async def test_another_pepper_never_matches_and_a_rotated_one_is_stale(hasher: PassphraseHasher) -> None:
    stored = await hasher.hash(LOGIN_SECRET)
    rotated = PassphraseHasher(ServerSecret(NEW, OLD))
    assert await rotated.verify(LOGIN_SECRET, stored)
    assert rotated.is_stale(stored)
    assert not await PassphraseHasher(ServerSecret(NEW)).verify(LOGIN_SECRET, stored)
    hasher.close()


@pytest.mark.anyio
async def test_beyond_the_queue_the_answer_is_unavailable(hasher: PassphraseHasher) -> None:
    narrow = PassphraseHasher(ServerSecret(OLD), workers=1, queue=0)
    first = asyncio.create_task(narrow.hash(LOGIN_SECRET))
    await asyncio.sleep(0)
    with pytest.raises(Refused) as caught:
        await narrow.hash(LOGIN_SECRET)
    assert caught.value.refusal is Refusal.unavailable
    assert caught.value.retry_after == 2
    assert await first
    assert await narrow.hash(LOGIN_SECRET)

"""What the seam promises, on both engines."""

import asyncio
import random
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from strongroom.storage import ConstraintViolated, Row, Store, Transaction, Unavailable, Value

if TYPE_CHECKING:
    from tests.storage.conftest import Database

pytestmark = pytest.mark.anyio

INSERT = "INSERT INTO items (id, name, content, amount) VALUES (:id, :name, :content, :amount)"
NAMES = "SELECT name FROM items ORDER BY id"


class Refusal(Exception):
    """What a unit of work raises of its own."""


async def put(tx: Transaction, id: int, name: str | None = None, amount: int | None = None) -> None:  # noqa: A002
    await tx.execute(INSERT, id=id, name=name, content=None, amount=amount)


async def names(store: Store) -> list[Any]:
    return [row[0] for row in await store.read(lambda tx: tx.all(NAMES))]


@pytest.mark.parametrize(
    "row",
    [
        (1, "plain", b"bytes", 0),
        (-(2**63), "", b"", 2**63 - 1),
        (2**63 - 1, "ä 密 \U0001f510 'quoted' :name %s $1 \\ \n\t\x7f", bytes(range(256)), 1),
        (0, None, None, None),
    ],
)
async def test_values_come_back_as_they_were(store: Store, row: Row) -> None:
    given: dict[str, Value] = dict(zip(("id", "name", "content", "amount"), row, strict=True))
    await store.write(lambda tx: tx.run(INSERT, **given))
    found = await store.read(lambda tx: tx.one("SELECT id, name, content, amount FROM items"))
    assert found == row
    assert found is not None
    assert [type(value) for value in found] == [type(value) for value in row]


async def test_counts_sums_and_comparisons_are_integers(store: Store) -> None:
    await store.write(lambda tx: put(tx, 1, "a", 3))
    await store.write(lambda tx: put(tx, 2, "b", 4))
    sql = "SELECT count(*), sum(amount), max(amount), count(*) > 1, 1 = 2, coalesce(sum(amount), 0) FROM items"
    found = await store.read(lambda tx: tx.one(sql))
    assert found == (2, 7, 4, 1, 0, 7)
    assert found is not None
    assert {type(value) for value in found} == {int}


async def test_parameters_of_every_kind_are_known_by_their_value(store: Store) -> None:
    sql = """
    SELECT :text, :number, :content, coalesce(:nothing, :text), 'a:text %s', "name" -- :comment
    FROM (SELECT 'x:y' AS name) AS t
    """
    found = await store.read(lambda tx: tx.one(sql, text="t", number=70_000, content=b"\x00", nothing=None))
    assert found == ("t", 70_000, b"\x00", "t", "a:text %s", "x:y")


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**30])
async def test_a_number_of_more_than_64_bits_is_an_error_and_stores_nothing(store: Store, number: int) -> None:
    with pytest.raises(Exception) as caught:
        await store.write(lambda tx: put(tx, number))
    assert not isinstance(caught.value, Unavailable)
    assert await names(store) == []


async def test_text_in_a_column_of_numbers_is_an_error_and_stores_nothing(store: Store) -> None:
    with pytest.raises(Exception) as caught:
        await store.write(lambda tx: tx.run(INSERT, id=1, name="a", content=None, amount="many"))
    assert not isinstance(caught.value, Unavailable)
    assert await names(store) == []


async def test_a_parameter_without_a_value_is_an_error(store: Store) -> None:
    with pytest.raises(Exception) as caught:
        await store.write(lambda tx: tx.run(INSERT, id=1, name="a"))
    assert not isinstance(caught.value, Unavailable)
    assert await names(store) == []


async def test_run_counts_the_rows_that_changed(store: Store) -> None:
    async def work(tx: Transaction) -> list[int]:
        twice = INSERT + " ON CONFLICT (id) DO NOTHING"
        values: dict[str, Value] = {"id": 1, "name": "a", "content": None, "amount": 1}
        return [
            await tx.run(twice, **values),
            await tx.run(twice, **values),
            await tx.run("UPDATE items SET amount = amount"),
            await tx.run("UPDATE items SET amount = 2 WHERE id = 5"),
            await tx.run("DELETE FROM items"),
        ]

    assert await store.write(work) == [1, 0, 1, 0, 1]


async def test_a_unit_sees_what_it_has_written_and_others_do_not_before_it_is_done(store: Store) -> None:
    async def work(tx: Transaction) -> Row | None:
        await put(tx, 1, "a")
        return await tx.one("SELECT name FROM items")

    assert await store.write(work) == ("a",)
    assert await names(store) == ["a"]


async def test_an_exception_undoes_all_of_the_unit(store: Store) -> None:
    async def work(tx: Transaction) -> None:
        await put(tx, 1, "a")
        await tx.run(INSERT, id=2, name="b", content=None, amount=None)
        raise Refusal

    with pytest.raises(Refusal):
        await store.write(work)
    assert await names(store) == []


@pytest.mark.parametrize("second", [{"id": 1}, {"id": 2, "name": "a"}, {"id": 2, "amount": -1}])
async def test_a_violated_constraint_undoes_all_of_the_unit(store: Store, second: dict[str, Any]) -> None:
    async def work(tx: Transaction) -> None:
        await put(tx, 1, "a")
        await put(tx, **second)

    with pytest.raises(ConstraintViolated) as caught:
        await store.write(work)
    assert str(caught.value) == ""
    assert await names(store) == []
    await store.write(lambda tx: put(tx, 1, "a"))
    assert await names(store) == ["a"]


async def test_a_failing_unit_among_many_fails_alone(store: Store) -> None:
    async def one(number: int) -> str:
        async def work(tx: Transaction) -> None:
            await put(tx, number, str(number))
            if number % 3 == 0:
                raise Refusal
            if number % 3 == 1:
                await put(tx, number)

        try:
            await store.write(work)
        except Refusal:
            return "refused"
        except ConstraintViolated:
            return "violated"
        return "stored"

    outcomes = await asyncio.gather(*(one(number) for number in range(48)))
    assert outcomes == ["refused", "violated", "stored"] * 16
    assert await names(store) == [str(number) for number in range(48) if number % 3 == 2]


async def test_a_guarded_change_has_one_winner_of_many(store: Store) -> None:
    await store.write(lambda tx: put(tx, 1, "free"))
    sql = "UPDATE items SET name = :name WHERE id = 1 AND name = 'free'"

    async def take(number: int, tx: Transaction) -> int:
        return await tx.run(sql, name=str(number))

    counts = await asyncio.gather(*(store.write(partial(take, n)) for n in range(32)))
    assert sorted(counts) == [0] * 31 + [1]
    assert await names(store) == [str(counts.index(1))]


async def test_an_insert_that_gives_way_sees_the_row_that_won(store: Store) -> None:
    async def work(name: str, tx: Transaction) -> str:
        await tx.execute(INSERT + " ON CONFLICT (id) DO NOTHING", id=1, name=name, content=None, amount=None)
        row = await tx.one("SELECT name FROM items WHERE id = 1")
        assert row is not None
        return str(row[0])

    seen = await asyncio.gather(*(store.write(partial(work, str(n))) for n in range(32)))
    assert set(seen) == set(await names(store))


async def test_changes_of_many_add_up(store: Store) -> None:
    await store.write(lambda tx: put(tx, 1, "counter", 0))
    await asyncio.gather(
        *(store.write(lambda tx: tx.execute("UPDATE items SET amount = amount + 1 WHERE id = 1")) for _ in range(64))
    )
    assert await store.read(lambda tx: tx.one("SELECT amount FROM items")) == (64,)


async def test_hold_lets_the_unit_go_on_when_there_is_a_row(store: Store) -> None:
    await store.write(lambda tx: put(tx, 1, "a"))

    async def work(tx: Transaction) -> Row | None:
        await tx.lock_or_raise(Refusal(), "SELECT 1 FROM items WHERE id = :id", id=1)
        await put(tx, 2, "b")
        return await tx.one("SELECT count(*) FROM items")

    assert await store.write(work) == (2,)


@pytest.mark.parametrize("ending", ["nothing", "put", "one", "violation"])
async def test_hold_undoes_everything_when_there_is_no_row(store: Store, ending: str) -> None:
    async def work(tx: Transaction) -> None:
        await put(tx, 1, "a")
        await tx.lock_or_raise(Refusal(), "SELECT 1 FROM items WHERE id = :id", id=7)
        match ending:
            case "put":
                await put(tx, 2, "b")
            case "one":
                await tx.one("SELECT 1")
            case "violation":
                await put(tx, 1, "a")

    with pytest.raises(Refusal):
        await store.write(work)
    assert await names(store) == []


@pytest.mark.parametrize("many", [False, True])
async def test_a_read_changes_nothing(store: Store, many: bool) -> None:
    read = store.read_many if many else store.read
    with pytest.raises(Unavailable):
        await read(lambda tx: tx.run(INSERT, id=1, name="a", content=None, amount=None))
    assert await names(store) == []


async def test_an_exception_of_a_read_is_the_callers(store: Store) -> None:
    async def work(tx: Transaction) -> None:
        await tx.one(NAMES)
        raise Refusal

    for read in (store.read, store.read_many):
        with pytest.raises(Refusal):
            await read(work)
    assert await names(store) == []


async def test_read_many_gives_every_row(store: Store) -> None:
    async def fill(tx: Transaction) -> None:
        for number in range(1000):
            await put(tx, number, str(number))

    await store.write(fill)
    assert len(await store.read_many(lambda tx: tx.all(NAMES))) == 1000


async def test_a_cancelled_write_is_stored_completely_or_not_at_all(store: Store) -> None:
    async def work(number: int, tx: Transaction) -> None:
        await put(tx, number, f"{number}a")
        await tx.one("SELECT 1")
        await put(tx, number + 1000, f"{number}b")

    tasks = [asyncio.ensure_future(store.write(partial(work, n))) for n in range(40)]
    for turn, task in enumerate(tasks):
        if turn % 4 == 0:
            await asyncio.sleep(0.001)
        if turn % 2:
            task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    stored = set(await names(store))
    for number, outcome in enumerate(outcomes):
        pair = {f"{number}a", f"{number}b"}
        assert pair <= stored or not pair & stored
        if outcome is None:
            assert pair <= stored
    await store.check()


async def test_a_connection_after_a_cancelled_caller_returns_no_old_answers(store: Store) -> None:
    chance = random.Random(1)

    async def work(number: int, tx: Transaction) -> list[Row]:
        found = [*await tx.all("SELECT CAST(:number AS BIGINT) AS found", number=number)]
        if number % 5 == 0:
            raise Refusal
        return found + await tx.all("SELECT CAST(:number AS BIGINT) AS found UNION ALL SELECT -1", number=-number)

    async def ask(number: int) -> None:
        asked = store.write if number % 3 == 0 else store.read
        assert sorted(await asked(partial(work, number))) == sorted([(number,), (-number,), (-1,)])

    tasks: list[asyncio.Task[None]] = []
    for number in range(2, 600):
        tasks.append(asyncio.ensure_future(ask(number)))
        if number % 4 == 0:
            chance.choice(tasks[-20:]).cancel()
            await asyncio.sleep(chance.choice((0, 0.001)))
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    kinds = {type(outcome) for outcome in outcomes}
    assert kinds - {asyncio.CancelledError} == {type(None), Refusal}


async def test_closing_finishes_what_was_accepted_and_refuses_the_rest(store: Store, database: "Database") -> None:
    tasks = [asyncio.ensure_future(store.write(partial(put, id=n, name=str(n)))) for n in range(20)]
    await asyncio.sleep(0.005)
    await store.close()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    with pytest.raises(Unavailable):
        await store.write(lambda tx: put(tx, 99))
    await store.close()
    again = await database.open()
    stored = await names(again)
    assert stored == [str(number) for number, outcome in enumerate(outcomes) if outcome is None]
    assert all(outcome is None or isinstance(outcome, Unavailable) for outcome in outcomes)
    assert stored != []


async def test_check_answers_and_changes_nothing(store: Store, database: "Database") -> None:
    await store.write(lambda tx: put(tx, 1, "a"))
    await store.check()
    assert await names(store) == ["a"]


async def test_what_was_stored_is_there_in_the_next_store(store: Store, database: "Database") -> None:
    await store.write(lambda tx: put(tx, 1, "a"))
    await store.close()
    assert await names(await database.open()) == ["a"]

"""A tick of the event loop: it ends before anything that arrives later, also if the loop stops or is closed."""

import asyncio

import pytest

from strongroom.runtime.loop_tick import LoopTick


def test_a_tick_ends_before_later_arrivals() -> None:
    said: list[str] = []

    async def main() -> None:
        turn = LoopTick(lambda: said.append("over"))
        loop = asyncio.get_running_loop()
        loop.call_soon(said.append, "was there before")
        turn.begin()
        loop.call_soon(said.append, "came later")
        assert turn.is_on
        await asyncio.sleep(0)
        assert not turn.is_on

    asyncio.run(main())
    assert said == ["was there before", "over", "came later"]


def test_a_tick_that_its_loop_did_not_end_is_ended_by_the_next() -> None:
    ended: list[None] = []
    turn = LoopTick(lambda: ended.append(None))
    loop = asyncio.new_event_loop()
    loop.call_soon(turn.begin)
    loop.call_soon(loop.stop)
    loop.run_forever()
    before = turn.is_on
    loop.close()
    assert (before, turn.is_on, len(ended)) == (True, False, 0)

    async def begin() -> None:
        turn.begin()
        assert len(ended) == 1

    asyncio.run(begin())


def test_without_a_loop_there_is_no_tick() -> None:
    turn = LoopTick(lambda: None)
    with pytest.raises(RuntimeError):
        turn.begin()
    assert not turn.is_on

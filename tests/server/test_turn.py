"""A turn of the event loop: over before anything that arrives later, whatever becomes of the loop."""

import asyncio

from strongroom.server.turn import Turn


def test_a_turn_is_over_before_what_arrives_after_it_began() -> None:
    said: list[str] = []

    async def main() -> None:
        turn = Turn(lambda: said.append("over"))
        loop = asyncio.get_running_loop()
        loop.call_soon(said.append, "was there before")
        turn.begin()
        loop.call_soon(said.append, "came later")
        assert turn.is_on
        await asyncio.sleep(0)
        assert not turn.is_on

    asyncio.run(main())
    assert said == ["was there before", "over", "came later"]


def test_a_turn_that_its_loop_did_not_end_is_ended_by_the_next() -> None:
    ended: list[None] = []
    turn = Turn(lambda: ended.append(None))

    async def begin() -> None:
        turn.begin()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    loop.close()
    assert not turn.is_on
    asyncio.run(begin())
    assert ended

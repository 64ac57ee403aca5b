"""Health and readiness: whoever asks, and however often, costs the databases next to nothing."""

import asyncio

import pytest

from strongroom.http import system
from strongroom.http.call import Call
from strongroom.http.system import SystemApi
from strongroom.storage import Unavailable
from strongroom.wire.refusal import Refused
from strongroom.wire.system import Health

pytestmark = pytest.mark.anyio


class Databases:
    def __init__(self) -> None:
        self.checks = 0
        self.answer = True

    async def check(self) -> None:
        self.checks += 1
        await asyncio.sleep(0)
        if not self.answer:
            raise Unavailable


async def test_many_who_ask_for_readiness_share_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    databases = Databases()
    api = SystemApi(databases.check, (), {}, "1", "http://h")
    assert await asyncio.gather(*(api.readyz(Call(None)) for _ in range(50))) == [Health("ok")] * 50
    assert databases.checks == 1
    monkeypatch.setattr(system, "READY_SECONDS", 0.0)
    api = SystemApi(databases.check, (), {}, "1", "http://h")
    for _ in range(3):
        await api.readyz(Call(None))
    assert databases.checks == 4


async def test_a_database_that_is_gone_is_reported_as_long_as_it_is() -> None:
    databases = Databases()
    databases.answer = False
    api = SystemApi(databases.check, (), {}, "1", "http://h")
    for _ in range(2):
        with pytest.raises(Refused, match="unavailable"):
            await api.readyz(Call(None))
    databases.answer = True
    assert await api.readyz(Call(None)) == Health("ok")

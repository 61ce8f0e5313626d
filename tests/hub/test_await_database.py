"""What a hub that is started before its database waits for, what it says of that, and when it gives up."""

import asyncio

import pytest

from taskyard.hub import await_database
from taskyard.hub.await_database import once_there, unless_stopped
from taskyard.hub.observe import Log
from taskyard.store.port import StoreRefused, StoreUnavailable
from taskyard.store.postgres.reach import Away, Unreachable, Unresolved
from tests.support.hub_scene import ALog

AWAY = Away("db:5432/yard cannot be reached.")
UNKNOWN = Unresolved("db:5432/yard is not known under this name.")
LOST = StoreUnavailable("the connection was lost")
UNKNOWN_S = 0.2


@pytest.fixture(autouse=True)
def prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(await_database, "FIRST_S", 0.001)
    monkeypatch.setattr(await_database, "LONGEST_S", 0.002)


class Opening:
    """Of a database that fails in these ways, one after another, and is there then."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = iter(failures)
        self.log = ALog()
        self.told: list[str] = []

    async def result(self) -> str:
        return await once_there(self._open, Log(self.log), on_wait=self._tell)

    async def _open(self) -> str:
        for failure in self.failures:
            raise failure
        return "opened"

    async def _tell(self, reason: str) -> None:
        self.told.append(reason)

    @property
    def logged(self) -> list[str]:
        return [line["event"] for line in self.log.told.all]


async def test_a_database_that_is_there_is_not_waited_for() -> None:
    opening = Opening()
    assert await opening.result() == "opened"
    assert (opening.told, opening.logged) == ([], [])


async def test_one_that_is_away_is_waited_for_and_that_is_told_once_and_logged_when_it_changes() -> None:
    opening = Opening(AWAY, AWAY, LOST, UNKNOWN, UNKNOWN, AWAY)
    assert await opening.result() == "opened"
    assert opening.told == [str(AWAY)]
    assert opening.logged == [*["database.awaited"] * 4, "database.reached"]
    reasons = [line["data"]["reason"] for line in opening.log.told.all[:-1]]
    assert reasons == [str(each) for each in (AWAY, LOST, UNKNOWN, AWAY)]


@pytest.mark.parametrize("error", [Unreachable("Check user and password."), StoreRefused("There is no schema yet.")])
async def test_what_waiting_would_not_help_ends_the_start_also_after_a_wait(error: StoreRefused) -> None:
    with pytest.raises(StoreRefused) as refused:
        await Opening(AWAY, error).result()
    assert refused.value is error


async def test_a_name_that_stays_unknown_ends_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(await_database, "UNRESOLVED_S", UNKNOWN_S)
    opening = Opening(*[UNKNOWN] * 10_000)
    with pytest.raises(StoreRefused, match=r"not known under this name. It was not for 0.2 s.") as refused:
        await opening.result()
    assert type(refused.value) is StoreRefused
    assert opening.told == [str(UNKNOWN)]


async def test_a_name_that_was_known_in_between_is_waited_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(1_000))
    monkeypatch.setattr(await_database, "read_age", lambda: next(now) * 10.0)
    assert await Opening(*[UNKNOWN] * 3, AWAY, *[UNKNOWN] * 3).result() == "opened"
    with pytest.raises(StoreRefused, match="It was not for 60 s"):
        await Opening(*[UNKNOWN] * 8).result()


@pytest.mark.parametrize("error", [None, ValueError("unforeseen")])
async def test_a_start_that_has_ended_before_it_is_told_to_stop_ends_as_it_did(error: Exception | None) -> None:
    async def start() -> str:
        if error is not None:
            raise error
        return "started"

    if error is None:
        assert await unless_stopped(asyncio.Event(), start()) == "started"
    else:
        with pytest.raises(ValueError, match="unforeseen"):
            await unless_stopped(asyncio.Event(), start())

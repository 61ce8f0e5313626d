"""When a hub wakes although nobody speaks to it, and what it finds then."""

import asyncio

from taskyard.core.state import Now
from taskyard.hub.alarm import JUMP_MS, LAG_MS, Alarm

HOUR_MS = 3_600_000


def test_a_waking_that_is_late_by_more_than_a_busy_machine_explains_is_told() -> None:
    alarm = Alarm(lambda: None)
    alarm.reset(Now(0, 1_000))
    assert alarm.lag_ms(Now(0, 1_000 + LAG_MS)) == 0
    assert alarm.lag_ms(Now(0, 1_001 + LAG_MS)) == LAG_MS + 1


def test_a_calendar_that_is_put_far_forward_or_back_is_told_once() -> None:
    alarm = Alarm(lambda: None)
    told = [alarm.jump_ms(Now(wall, mono)) for wall, mono in ((0, 0), (500, 500), (HOUR_MS, 600), (HOUR_MS + 9, 609))]
    assert told == [0, 0, HOUR_MS - 600, 0]
    assert alarm.jump_ms(Now(1_000, 1_000)) == 600 - HOUR_MS


def test_a_calendar_that_is_put_right_by_little_is_not_worth_a_word() -> None:
    alarm = Alarm(lambda: None)
    alarm.jump_ms(Now(0, 0))
    assert alarm.jump_ms(Now(JUMP_MS, 0)) == 0


async def test_it_rings_when_the_next_thing_is_due_and_an_earlier_one_is_left_as_it_is() -> None:
    rung = asyncio.Event()
    alarm = Alarm(rung.set)
    alarm.set(Now(0, 0), 10, heartbeat_s=5)
    alarm.set(Now(0, 0), 60_000, heartbeat_s=5)
    await asyncio.wait_for(rung.wait(), 5)
    rung.clear()
    alarm.set(Now(0, 1_000), None, heartbeat_s=0.01)
    await asyncio.wait_for(rung.wait(), 5)


async def test_one_that_is_cancelled_does_not_ring() -> None:
    rung: list[str] = []
    alarm = Alarm(lambda: rung.append("rung"))
    alarm.set(Now(0, 0), 0, heartbeat_s=5)
    alarm.cancel()
    alarm.cancel()
    await asyncio.sleep(0.01)
    assert rung == []

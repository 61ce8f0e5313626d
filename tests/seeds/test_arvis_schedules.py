"""Arvis's scheduler: heartbeats, cron jobs, the flood guard, and what its Workflows page does.

Times are not looked for every ten seconds: each schedule has a timer of its own.
"""

from typing import Any

import pytest

from taskyard.core.commands import Tick
from taskyard.vocabulary import EventName, Level, SourceType
from taskyard.vocabulary.schedules import SkipReason
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub
from tests.support.schedules import DAY, HOUR, MINUTE, Scheduled

SCHEDULES = "/api/v1/schedules"
HEARTBEAT: dict[str, Any] = {
    "name": "BTC",
    "every": "every 5m",
    "task": {
        "type": "heartbeat",
        "input": "Check BTC price and post to #prices",
        "metadata": {"agent": "trader", "channel_id": "prices", "platform": "discord"},
    },
}
CRON: dict[str, Any] = {
    "name": "weekly",
    "cron": "0 9 * * 1",
    "task": {"type": "cron", "input": "Write a weekly crypto market summary", "metadata": {"agent": "writer"}},
}
pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(("every", "s"), [("every 5m", 5 * MINUTE), ("every 1h", HOUR), ("every 1d", DAY)])
async def test_a_heartbeat_runs_as_often_as_it_says(hub: GatewayHub, ann: Client, every: str, s: int) -> None:
    await ann.post(SCHEDULES, {**HEARTBEAT, "every": every})
    hub.wall_ms += s * 1000 - 1
    hub.decide(Tick())
    assert (await ann.get("/api/v1/tasks")).json == []
    hub.wall_ms += 1
    hub.decide(Tick())
    assert len((await ann.get("/api/v1/tasks")).json) == 1


async def test_a_job_carries_its_agent_its_channel_and_its_platform(hub: GatewayHub, ann: Client) -> None:
    await ann.post(SCHEDULES, HEARTBEAT)
    task = (await ann.post(f"{SCHEDULES}/BTC/run", {})).json
    assert task["metadata"] == {"agent": "trader", "channel_id": "prices", "platform": "discord"}
    assert (task["type"], task["input"]) == ("heartbeat", "Check BTC price and post to #prices")


async def test_a_cron_job_runs_at_nine_on_mondays(ann: Client) -> None:
    made = (await ann.post(SCHEDULES, CRON)).json
    assert made["next_run_at"] == "2027-01-18T09:00:00Z"
    assert (await ann.get(f"{SCHEDULES}/weekly/next?count=2")).json[1] == "2027-01-25T09:00:00Z"


async def test_nine_on_weekdays_skips_the_weekend(ann: Client) -> None:
    found = (await ann.get(f"{SCHEDULES}/preview?cron=0%209%20*%20*%201-5&count=3")).json
    assert found == ["2027-01-15T09:00:00Z", "2027-01-18T09:00:00Z", "2027-01-19T09:00:00Z"]


async def test_a_schedule_is_toggled_at_once_and_deleted(hub: GatewayHub, ann: Client) -> None:
    await ann.post(SCHEDULES, HEARTBEAT)
    off = (await ann.request("PATCH", f"{SCHEDULES}/BTC", {"enabled": False})).json
    assert (off["enabled"], off["next_run_at"]) == (False, None)
    on = (await ann.request("PATCH", f"{SCHEDULES}/BTC", {"enabled": True})).json
    assert on["next_run_at"] == "2027-01-15T08:05:00Z"
    await ann.request("DELETE", f"{SCHEDULES}/BTC")
    hub.wall_ms += HOUR * 1000
    hub.decide(Tick())
    assert (await ann.get(SCHEDULES)).json == (await ann.get("/api/v1/tasks")).json == []


async def test_the_last_run_is_seen(hub: GatewayHub, ann: Client) -> None:
    await ann.post(SCHEDULES, HEARTBEAT)
    hub.wall_ms += 5 * MINUTE * 1000
    hub.decide(Tick())
    assert (await ann.get(f"{SCHEDULES}/BTC")).json["last_run_at"] == "2027-01-15T08:05:00Z"


async def test_the_four_presets_are_there(ann: Client) -> None:
    found = (await ann.get(f"{SCHEDULES}/presets")).json
    assert [(each["every"] or each["cron"]) for each in found] == ["5m", "0 * * * *", "0 0 * * *", "0 0 * * 1"]


def test_while_a_job_is_queued_or_runs_the_next_is_skipped_and_that_is_written_down() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=5 * MINUTE)
    hub.advance(s=10 * MINUTE)
    assert len(hub.made(beat)) == 1
    assert [(event.data or {})["reason"] for event in hub.said(EventName.SCHEDULE_SKIPPED)] == [SkipReason.UNFINISHED]


def test_one_schedule_that_is_busy_holds_up_no_other() -> None:
    hub = Scheduled()
    busy, other = hub.schedule(every=5 * MINUTE), hub.schedule(every=10 * MINUTE)
    hub.advance(s=10 * MINUTE)
    assert hub.runs(busy).skipped == 1
    assert len(hub.made(other)) == 1


def test_scheduled_work_is_normal_and_not_the_most_urgent() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.advance(s=MINUTE)
    [task] = hub.made(beat)
    assert (task.level, task.kind.source) == (Level.NORMAL, SourceType.SCHEDULE)


def test_a_minute_that_matches_makes_one_job_however_fast_it_ends() -> None:
    hub = Scheduled()
    hub.daemon()
    every_minute = hub.schedule(cron="* * * * *")
    for _ in range(12):
        hub.live(s=10, step_ms=1000)
        hub.finish(every_minute)
    assert len(hub.made(every_minute)) == 2


def test_an_interval_does_not_drift_with_how_late_its_runs_are() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    for _ in range(5):
        hub.sleep(s=MINUTE + 7)
        hub.cancel(hub.made(beat)[-1])
    due = [(event.data or {})["due_at"] for event in hub.said(EventName.SCHEDULE_RAN)]
    assert due == [beat.created_at + n * 60_000 for n in range(1, 6)]


@pytest.mark.parametrize("wrong", [{"every": "every fortnight"}, {"every": None, "cron": "every hour"}])
async def test_what_cannot_be_read_is_refused_and_never_means_hourly(ann: Client, wrong: dict[str, Any]) -> None:
    refused = await ann.post(SCHEDULES, {**HEARTBEAT, **wrong})
    assert (refused.status, refused.json["code"]) == (422, "INVALID_INPUT")
    assert (await ann.get(SCHEDULES)).json == []

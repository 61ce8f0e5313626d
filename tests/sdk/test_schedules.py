"""Schedules by either client."""

from datetime import UTC, datetime

from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub

SCHEDULE = {
    "id": "s_1",
    "name": "prices",
    "kind": "heartbeat",
    "every": "5m",
    "cron": None,
    "timezone": "UTC",
    "task": {"input": "a"},
    "enabled": True,
    "next_run_at": "2026-01-02T03:04:05Z",
    "last_skip": {"at": "2026-01-02T03:04:05Z", "due_at": "2026-01-02T03:04:05Z", "reason": "unfinished"},
}
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_a_schedule_is_made_with_what_was_named(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "schedules", Reply(status=201, body=SCHEDULE))
    made = driver.do(driver.client.add_schedule("prices", {"input": "a"}, every="5m", timezone=None))
    assert (made.id, made.next_run_at, made.last_outcome) == ("s_1", AT, None)
    assert made.last_skip is not None
    assert made.last_skip.reason == "unfinished"
    assert [call.body for call in hub.calls] == [{"name": "prices", "task": {"input": "a"}, "every": "5m"}]


def test_schedules_are_listed_shown_changed_and_removed(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "schedules", Reply(body=[SCHEDULE]))
    hub.on("GET", "schedules/prices", Reply(body=SCHEDULE))
    hub.on("PATCH", "schedules/prices", Reply(body=SCHEDULE))
    hub.on("DELETE", "schedules/prices", Reply(body={"ok": True}))
    assert [each.name for each in driver.do(driver.client.schedules())] == ["prices"]
    assert driver.do(driver.client.schedule("prices")).every == "5m"
    driver.do(driver.client.change_schedule("prices", probe=None, enabled=False))
    assert driver.do(driver.client.delete_schedule("prices")).ok
    assert [call.body for call in hub.asked("PATCH", "schedules/prices")] == [{"probe": None, "enabled": False}]


def test_a_run_now_is_the_task_that_it_made(hub: StubHub, driver: Driver) -> None:
    task = {"id": "t", "ref": "T-001", "status": "queued"}
    hub.on("POST", "schedules/prices/run", Reply(status=201, body=task))
    assert driver.do(driver.client.run_schedule("prices")).ref == "T-001"


def test_what_comes_is_told(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "schedules/prices/next", Reply(body=["2026-01-02T03:04:05Z"]))
    hub.on(
        "GET",
        "schedules/prices/runs",
        Reply(body=[{"at": "2026-01-02T03:04:05Z", "due_at": "2026-01-02T03:04:05Z", "reason": "missed", "count": 2}]),
    )
    [skipped] = driver.do(driver.client.schedule_runs("prices"))
    assert (skipped.at, skipped.reason, skipped.count, skipped.task_id) == (AT, "missed", 2, None)
    hub.on("GET", "schedules/preview", Reply(body=["2026-01-02T03:04:05Z"]))
    hub.on("GET", "schedules/presets", Reply(body=[{"name": "hourly", "cron": "0 * * * *"}]))
    assert driver.do(driver.client.next_runs("prices", count=1)) == [AT]
    assert driver.do(driver.client.preview_schedule(cron="0 * * * *", count=1)) == [AT]
    assert driver.do(driver.client.schedule_presets())[0].cron == "0 * * * *"

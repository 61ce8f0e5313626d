"""Schedules over HTTP."""

from typing import Any

import pytest

from taskyard.core.commands import Tick
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.present import event_answer
from taskyard.vocabulary import Scope, SourceType
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
SCHEDULES = "/api/v1/schedules"
HOURLY: dict[str, Any] = {"name": "prices", "every": "1h", "task": {"input": "check the price of BTC"}}
NIGHTLY: dict[str, Any] = {
    "name": "nightly",
    "cron": "30 2 * * *",
    "timezone": "Europe/Paris",
    "task": {"input": "tidy up", "type": "ops", "priority": "high", "metadata": {"agent": "sam", "channel_id": "c"}},
}


async def pass_time(hub: GatewayHub, *, s: float) -> None:
    hub.wall_ms += round(s * 1000)
    await hub.decide(Tick())


async def test_a_schedule_is_answered_as_it_is_kept(ann: Client) -> None:
    made = await ann.post(SCHEDULES, NIGHTLY)
    assert made.status == 201
    assert made.json == {
        "id": made.json["id"],
        "user_id": made.json["user_id"],
        "name": "nightly",
        "kind": "cron",
        "every": None,
        "cron": "30 2 * * *",
        "timezone": "Europe/Paris",
        "task": NIGHTLY["task"],
        "enabled": True,
        "catch_up": "one",
        "max_lateness": None,
        "probe": None,
        "created_at": "2027-01-15T08:00:00Z",
        "last_run_at": None,
        "next_run_at": "2027-01-16T01:30:00Z",
        "last_outcome": None,
        "last_task_id": None,
        "runs": 0,
        "skipped": 0,
        "last_skip": None,
    }
    assert made.json["user_id"] == (await ann.get("/api/v1/users/me")).json["id"]
    assert (await ann.get(f"{SCHEDULES}/nightly")).json == made.json
    assert (await ann.get(SCHEDULES)).json == [made.json]


async def test_each_run_makes_the_task_that_was_written_down(hub: GatewayHub, ann: Client) -> None:
    schedule = (await ann.post(SCHEDULES, NIGHTLY)).json
    await pass_time(hub, s=24 * 3600)

    (task,) = (await ann.get("/api/v1/tasks")).json

    assert (task["type"], task["priority"], task["input"]) == ("ops", "high", "tidy up")
    assert task["source"] == {"type": "schedule", "id": schedule["id"], "channel": None}
    assert task["metadata"] == {"agent": "sam", "channel_id": "c"}
    shown = (await ann.get(f"{SCHEDULES}/nightly")).json
    assert (shown["runs"], shown["last_task_id"], shown["last_outcome"]) == (1, task["id"], None)
    await ann.request("DELETE", f"/api/v1/tasks/{task['id']}")
    assert (await ann.get(f"{SCHEDULES}/nightly")).json["last_outcome"] == "cancelled"


async def test_a_skip_is_shown_with_its_reason(hub: GatewayHub, ann: Client) -> None:
    await ann.post(SCHEDULES, HOURLY)
    await pass_time(hub, s=3600)
    await pass_time(hub, s=3600)
    shown = (await ann.get(f"{SCHEDULES}/prices")).json
    assert shown["skipped"] == 1
    assert shown["last_skip"] == {
        "at": "2027-01-15T10:00:00Z",
        "due_at": "2027-01-15T10:00:00Z",
        "reason": "unfinished",
        "code": None,
        "count": 1,
    }


async def test_runs_and_skips_are_events(hub: GatewayHub, ann: Client) -> None:
    schedule = (await ann.post(SCHEDULES, HOURLY)).json
    await pass_time(hub, s=3600)
    await pass_time(hub, s=3600)
    batches = await hub.read(lambda reader: reader.events_after(epoch=1, seq=0, index=0, limit=100))
    told = [event_answer(each) for each in batches or () if each.event.name.startswith("schedule.")]
    assert [each.event for each in told] == ["schedule.ran", "schedule.skipped"]
    facts = {"schedule_id": schedule["id"], "name": "prices"}
    assert told[0].data == {**facts, "due_at": told[0].at, "task": "T-001", "task_id": told[0].data["task_id"]}
    assert told[1].data == {**facts, "due_at": told[1].at, "reason": "unfinished", "code": None, "count": 1}


async def test_a_run_now_answers_the_task(ann: Client) -> None:
    await ann.post(SCHEDULES, HOURLY)
    ran = await ann.post(f"{SCHEDULES}/prices/run", {})
    assert ran.status == 201
    assert (ran.json["ref"], ran.json["input"]) == ("T-001", "check the price of BTC")


async def test_changes_hold_at_once(hub: GatewayHub, ann: Client) -> None:
    schedule = (await ann.post(SCHEDULES, HOURLY)).json
    path = f"{SCHEDULES}/{schedule['id']}"

    changed = (
        await ann.request("PATCH", path, {"every": "every 5m", "name": "often", "max_lateness": 90, "catch_up": "all"})
    ).json
    assert (changed["every"], changed["next_run_at"]) == ("5m", "2027-01-15T08:05:00Z")
    assert (changed["name"], changed["max_lateness"], changed["catch_up"]) == ("often", 90.0, "all")
    changed = (
        await ann.request("PATCH", path, {"cron": "0 9 * * *", "timezone": "Asia/Tokyo", "max_lateness": None})
    ).json
    assert (changed["kind"], changed["every"], changed["next_run_at"]) == ("cron", None, "2027-01-16T00:00:00Z")
    assert changed["max_lateness"] is None
    changed = (await ann.request("PATCH", path, {"task": {"input": "another"}, "enabled": False})).json
    assert changed["next_run_at"] is None
    assert (await ann.request("PATCH", path, {"name": "a/b"})).status == 422
    await pass_time(hub, s=48 * 3600)
    assert (await ann.get("/api/v1/tasks")).json == []
    assert (await ann.request("DELETE", path)).json == {"ok": True}
    assert (await ann.get(path)).json["code"] == "SCHEDULE_NOT_FOUND"


@pytest.mark.parametrize(
    ("fields", "path", "status"),
    [
        ({"name": "a/b"}, "name", 422),
        ({"name": "presets"}, "name", 422),
        ({"every": None}, "every", 422),
        ({"cron": "0 9 * * *"}, "every", 422),
        ({"every": None, "cron": "0 9 * *"}, "cron", 422),
        ({"timezone": "Mars/Olympus"}, "timezone", 422),
        ({"kind": "cron"}, "kind", 422),
        ({"task": {"input": "a", "deadline": "2027-02-01T00:00:00Z"}}, "task.deadline", 422),
        ({"task": {"input": "a", "depends_on": ["T-001"]}}, "task.depends_on", 422),
        ({"task": {"input": "a", "source": {"type": "user"}}}, "task.source.type", 422),
        ({"task": {"input": "a" * 70_000}}, "task", 413),
        ({"probe": {}}, "probe", 422),
        ({"probe": {"url": "https://example.com", "task": {"input": "a"}}}, "probe", 422),
        ({"probe": {"url": "ftp://example.com"}}, "probe.url", 422),
        ({"probe": {"url": "https://169.254.169.254/latest"}}, "probe.url", 422),
        ({"task": {"input": "a", "queue": "noq"}}, "task.queue", 422),
        ({"probe": {"task": {"input": "a", "sla": "2027-02-01T00:00:00Z"}}}, "probe.task.sla", 422),
        ({"probe": {"url": "https://example.com", "timeout": 10_000}}, "probe.timeout", 422),
    ],
)
async def test_what_makes_no_schedule_is_told_with_its_field(
    ann: Client, fields: dict[str, Any], path: str, status: int
) -> None:
    refused = await ann.post(SCHEDULES, {**HOURLY, **fields})
    assert refused.status == status, refused.json
    assert [error["path"] for error in refused.json["errors"]] == [path]
    assert (await ann.get(SCHEDULES)).json == []


async def test_a_template_may_say_that_it_is_of_a_schedule_and_of_which_channel(hub: GatewayHub, ann: Client) -> None:
    task = {"input": "a", "source": {"type": "schedule", "channel": "discord"}}
    schedule = (await ann.post(SCHEDULES, {**HOURLY, "task": task})).json
    ran = (await ann.post(f"{SCHEDULES}/{schedule['id']}/run", {})).json
    assert ran["source"] == {"type": "schedule", "id": schedule["id"], "channel": "discord"}


async def test_anothers_schedule_looks_like_none(ann: Client, bob: Client, admin: Client) -> None:
    schedule = (await ann.post(SCHEDULES, HOURLY)).json
    path = f"{SCHEDULES}/{schedule['id']}"
    assert (await bob.get(SCHEDULES)).json == []
    for answer in (
        await bob.get(path),
        await bob.request("PATCH", path, {"enabled": False}),
        await bob.request("DELETE", path),
        await bob.post(f"{path}/run", {}),
        await bob.get(f"{path}/next"),
    ):
        assert (answer.status, answer.json["code"]) == (404, "SCHEDULE_NOT_FOUND")
    assert (await admin.get(f"{path}?user=ann")).json["id"] == schedule["id"]
    assert [each["id"] for each in (await admin.get(f"{SCHEDULES}?user=*")).json] == [schedule["id"]]


async def test_a_key_that_is_bound_to_other_sources_makes_no_schedules(hub: GatewayHub, app: GatewayApp) -> None:
    bound = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, sources=(SourceType.USER,)))
    refused = await bound.post(SCHEDULES, HOURLY)
    assert (refused.status, refused.json["code"]) == (403, "FORBIDDEN")


async def test_a_probe_is_shown_as_it_was_written(ann: Client) -> None:
    task = {"input": "anything new?", "type": "look"}
    by_task = (await ann.post(SCHEDULES, {**HOURLY, "probe": {"task": task, "timeout": 5}})).json
    assert by_task["probe"] == {"task": task, "timeout": 5.0}
    probe = {"url": "https://example.com/new"}
    by_url = (await ann.request("PATCH", f"{SCHEDULES}/prices", {"probe": probe})).json
    assert by_url["probe"] == {**probe, "timeout": 60.0}
    assert (await ann.request("PATCH", f"{SCHEDULES}/prices", {"probe": None})).json["probe"] is None


async def test_the_next_runs_are_told(ann: Client) -> None:
    await ann.post(SCHEDULES, {**NIGHTLY, "enabled": False})
    await ann.post(SCHEDULES, HOURLY)
    assert (await ann.get(f"{SCHEDULES}/nightly/next?count=2")).json == ["2027-01-16T01:30:00Z", "2027-01-17T01:30:00Z"]
    assert (await ann.get(f"{SCHEDULES}/prices/next")).json[:2] == ["2027-01-15T09:00:00Z", "2027-01-15T10:00:00Z"]


async def test_a_schedule_can_be_tried_before_it_is_written_down(ann: Client) -> None:
    found = await ann.get(f"{SCHEDULES}/preview?cron=0%209%20*%20*%201-5&timezone=Asia/Tokyo&count=1")
    assert found.json == ["2027-01-18T00:00:00Z"]
    assert (await ann.get(f"{SCHEDULES}/preview?every=5m&count=1")).json == ["2027-01-15T08:05:00Z"]
    for query, path in (
        ("", "every"),
        ("?cron=x", "cron"),
        ("?every=5m&timezone=Mars/Olympus", "timezone"),
        ("?every=soon", "every"),
    ):
        refused = await ann.get(f"{SCHEDULES}/preview{query}")
        assert refused.status == 422
        assert [error["path"] for error in refused.json["errors"]] == [path]


async def test_the_zone_before_the_fields_counts_where_no_other_is_named(ann: Client) -> None:
    tokyo = await ann.post(SCHEDULES, {**HOURLY, "every": None, "cron": "CRON_TZ=Asia/Tokyo 0 9 * * *"})
    assert (tokyo.json["cron"], tokyo.json["timezone"]) == ("0 9 * * *", "Asia/Tokyo")
    assert tokyo.json["next_run_at"] == "2027-01-16T00:00:00Z"
    path = f"{SCHEDULES}/{tokyo.json['id']}"
    changed = (await ann.request("PATCH", path, {"cron": "TZ=Europe/Paris @daily"})).json
    assert (changed["cron"], changed["timezone"]) == ("@daily", "Europe/Paris")
    assert (await ann.request("PATCH", path, {"cron": "@hourly"})).json["timezone"] == "Europe/Paris"
    query = "cron=CRON_TZ%3DAsia/Tokyo%200%209%20*%20*%201-5&count=1"
    assert (await ann.get(f"{SCHEDULES}/preview?{query}")).json == ["2027-01-18T00:00:00Z"]
    same = await ann.get(f"{SCHEDULES}/preview?{query}&timezone=Asia/Tokyo")
    assert same.json == ["2027-01-18T00:00:00Z"]
    refused = await ann.get(f"{SCHEDULES}/preview?{query}&timezone=UTC")
    assert refused.status == 422
    assert "leave one of them out" in refused.json["detail"]
    unknown = await ann.post(SCHEDULES, {**HOURLY, "name": "b", "every": None, "cron": "TZ=Mars/Olympus @daily"})
    assert [error["path"] for error in unknown.json["errors"]] == ["timezone"]


async def test_presets_are_listed(ann: Client) -> None:
    found = (await ann.get(f"{SCHEDULES}/presets")).json
    assert [preset["name"] for preset in found] == ["every-5-minutes", "hourly", "daily", "weekly"]


async def test_what_became_of_due_runs_is_told_newest_first(hub: GatewayHub, ann: Client, bob: Client) -> None:
    await ann.post(SCHEDULES, HOURLY)
    assert (await ann.get(f"{SCHEDULES}/prices/runs")).json == []
    await pass_time(hub, s=3600)
    await pass_time(hub, s=3600)
    await pass_time(hub, s=3600)
    await ann.request("DELETE", "/api/v1/tasks/T-001")
    await pass_time(hub, s=3600)
    newest, skipped, first = (await ann.get(f"{SCHEDULES}/prices/runs")).json
    assert (first["ref"], first["status"], first["reason"]) == ("T-001", "cancelled", None)
    assert (skipped["task_id"], skipped["reason"], skipped["count"]) == (None, "unfinished", 2)
    assert (skipped["due_at"], skipped["at"]) == ("2027-01-15T10:00:00Z", "2027-01-15T11:00:00Z")
    assert (newest["ref"], newest["status"], newest["due_at"]) == ("T-002", "queued", "2027-01-15T12:00:00Z")
    assert (await bob.get(f"{SCHEDULES}/prices/runs")).status == 404


async def test_the_runs_of_a_schedule_are_listed_among_tasks(hub: GatewayHub, ann: Client, bob: Client) -> None:
    made = (await ann.post(SCHEDULES, HOURLY)).json
    await ann.post("/api/v1/tasks", {"input": "another"})
    for _ in range(2):
        await ann.post(f"{SCHEDULES}/prices/run")

    async def listed(client: Client, query: str) -> list[str]:
        return [task["ref"] for task in (await client.get(f"/api/v1/tasks?{query}")).json]

    for name in ("prices", made["id"]):
        assert await listed(ann, f"schedule={name}") == ["T-003", "T-002"]
        assert await listed(bob, f"schedule={name}") == []
    assert await listed(ann, "schedule=prices&q=T-003") == ["T-003"]
    assert await listed(ann, "schedule=prices&q=T-001") == []
    # One that is gone is found by its id
    await ann.request("DELETE", f"{SCHEDULES}/prices")
    assert await listed(ann, f"schedule={made['id']}") == ["T-003", "T-002"]
    assert await listed(ann, "schedule=prices") == []

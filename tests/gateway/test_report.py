"""The report: what happened since, read off the tasks and the live state."""

from typing import Any

import pytest

from taskyard.core.commands import CompleteTask, FailTask
from taskyard.core.daemon_commands import JoinDaemon, StartTask
from taskyard.core.task import Failure
from taskyard.gateway.rest import report
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
REPORT = "/api/v1/report"
TASKS = "/api/v1/tasks"
HOUR_MS = 3_600_000


async def told(client: Client, query: str = "") -> dict[str, Any]:
    answer = await client.get(REPORT + query)
    assert answer.status == 200, answer.json
    return dict(answer.json)


async def ran(hub: GatewayHub, client: Client, error: Failure | None = None, **fields: Any) -> dict[str, Any]:
    """A task that a daemon ran for half an hour, until it completed or failed for good."""
    task = dict((await client.post(TASKS, {"execution": {"max_attempts": 1, "timeout": 7200}, **fields})).json)
    await hub.decide(StartTask(1, "d_1", task["id"], 1))
    hub.wall_ms += HOUR_MS // 2
    if error is None:
        outcome = b'{"result":"r","files_changed":["a.py","b.py"]}'
        await hub.decide(CompleteTask("d_1", task["id"], 1, 1, outcome=outcome, summary="all fine"))
    else:
        await hub.decide(FailTask("d_1", task["id"], 1, error, 1))
    return task


@pytest.fixture
async def fleet(hub: GatewayHub, ann: Client) -> GatewayHub:
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac", slots=5))
    return hub


async def test_a_quiet_night_is_told_as_one(ann: Client) -> None:
    found = await told(ann)
    assert (found["user"], found["done"], found["failed"], found["waiting"], found["needs_person"]) == (
        "ann",
        [],
        [],
        [],
        [],
    )
    assert (found["hours"], found["month_hours"], found["truncated"]) == (0, 0, False)


async def test_what_is_done_is_told_with_its_summary_files_and_time(fleet: GatewayHub, ann: Client) -> None:
    await ran(fleet, ann, input="fix\nthe   thing")
    found = await told(ann)
    (done,) = found["done"]
    assert (done["ref"], done["title"], done["summary"]) == ("T-001", "fix the thing", "all fine")
    assert (done["files_changed"], done["took_s"], done["result_status"]) == (["a.py", "b.py"], 1800, "success")
    assert (found["done_total"], found["hours"]) == (1, 0.5)


async def test_what_was_before_is_not_told_and_a_try_counts_only_from_then_on(fleet: GatewayHub, ann: Client) -> None:
    await ran(fleet, ann, input="x" * 500)
    fleet.wall_ms += 12 * HOUR_MS + 1
    assert (await told(ann))["done_total"] == 0
    whole = await told(ann, "?since=2027-01-15T08:15:00Z")
    assert (whole["done_total"], whole["hours"]) == (1, 0.25)
    assert len(whole["done"][0]["title"]) == 120
    ahead = await told(ann, "?since=2027-01-15T20:30:30Z")
    assert ahead["since"] == ahead["until"]


async def test_failures_are_told_by_pattern_and_need_a_person(fleet: GatewayHub, ann: Client) -> None:
    for n in range(3):
        await ran(fleet, ann, Failure("BOOM", f"line {n} broke"), input="a", type=f"t{n}")
    await ran(fleet, ann, Failure("OTHER", "no"), input="b", type="t9")
    found = await told(ann)
    first, second = found["failed"]
    assert (first["code"], first["tasks"], first["same_daemon"]) == ("BOOM", 3, "mac")
    assert first["refs"] == ["T-003", "T-002", "T-001"]
    assert (second["tasks"], found["failed_total"]) == (1, 4)
    assert [need["what"].split(":")[0] for need in found["needs_person"]] == ["3 failed for good", "1 failed for good"]
    fleet.wall_ms += 24 * HOUR_MS
    later = await told(ann)
    assert (later["failed_total"], len(later["needs_person"])) == (0, 2)


async def test_what_waits_is_told_with_its_reason(hub: GatewayHub, ann: Client) -> None:
    await ann.post(TASKS, {"input": "ready"})
    await ann.post(TASKS, {"input": "after", "depends_on": ["T-001"]})
    await ann.post(TASKS, {"input": "later", "scheduled_for": "2099-01-01T00:00:00Z"})
    skipped = (await ann.post(TASKS, {"input": "out", "scheduled_for": "2099-01-01T00:00:00Z"})).json
    for _ in range(12):
        await ann.post(TASKS, {"input": "blocked", "depends_on": [skipped["id"]]})
    await ann.post(f"{TASKS}/{skipped['ref']}/skip", {})
    gone = (await ann.post(TASKS, {"input": "gone"})).json
    await ann.request("DELETE", f"{TASKS}/{gone['ref']}")
    found = await told(ann)
    assert [(wait["tasks"], wait["refs"][0]) for wait in found["waiting"]] == [
        (1, "T-001"),
        (12, "T-016"),
        (1, "T-003"),
        (1, "T-002"),
    ]
    assert len(found["waiting"][1]["refs"]) == 10
    assert (found["waiting_total"], found["skipped"], found["cancelled"]) == (15, 1, 1)
    whats = " ".join(need["what"] for need in found["needs_person"])
    assert "12 blocked by what they depend on" in whats
    assert "1 ready and stuck" in whats


async def test_an_open_breaker_needs_a_person(hub: GatewayHub, ann: Client) -> None:
    await ann.post("/api/v1/breakers/eng/open", {})
    (need,) = (await told(ann))["needs_person"]
    assert need["what"] == "The breaker of eng is open after 0 failures"
    assert need["do"] == "taskyard breakers reset eng, once the cause is gone"


async def test_no_more_is_looked_at_than_there_is_time_for(ann: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "LOOKED_AT_MAX", 4)
    monkeypatch.setattr(report, "PAGE_MAX", 2)
    for _ in range(3):
        await ann.post(TASKS, {"input": "a"})
    assert (await told(ann))["truncated"] is False
    await ann.post(TASKS, {"input": "a"})
    assert (await told(ann))["truncated"] is True


async def test_a_report_is_ones_own_unless_an_admin_names_another(
    fleet: GatewayHub, ann: Client, bob: Client, admin: Client
) -> None:
    await ran(fleet, ann, input="a")
    assert (await told(bob))["done_total"] == 0
    assert (await bob.get(f"{REPORT}?user=ann")).status == 403
    assert (await told(admin, "?user=ann"))["done_total"] == 1


async def test_what_was_imported_is_told_by_its_own_time_and_used_nobodys(ann: Client) -> None:
    created, ended = "2027-01-15T05:00:00Z", "2027-01-15T06:00:00Z"
    tried = [{"daemon": "elsewhere", "status": "success", "started_at": created, "ended_at": ended}]
    young = {"id": "b", "input": "x", "status": "completed", "created_at": created, "completed_at": ended}
    old = {"id": "a", "input": "x", "status": "completed", "created_at": "2026-01-01T00:00:00Z"}
    await ann.post("/api/v1/import", {"origin": "o", "tasks": [old, {**young, "attempts": tried}]})
    found = await told(ann)
    assert (found["done_total"], found["done"][0]["completed_at"], found["hours"]) == (1, ended, 0)


async def test_what_failed_elsewhere_is_not_said_of_a_daemon_here(ann: Client) -> None:
    failed = {"input": "x", "status": "permanently_failed", "created_at": "2027-01-15T05:00:00Z"}
    tried = [{"daemon": "unknown", "status": "failed"}]
    tasks = [{**failed, "id": id, "error": {"code": "E", "message": "no"}, "attempts": tried} for id in "ab"]
    await ann.post("/api/v1/import", {"origin": "o", "tasks": tasks})
    (failure,) = (await told(ann, "?since=2027-01-01T00:00:00Z"))["failed"]
    assert (failure["tasks"], failure["same_daemon"]) == (2, None)


@pytest.mark.parametrize("since", ["soon", "0.5", "2026-01-31T18:00:00", "1", "2040-01-01T00:00:00Z"])
async def test_a_time_that_is_none_is_refused(ann: Client, since: str) -> None:
    answer = await ann.get(f"{REPORT}?since={since}")
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "since")

"""`/api/queue`: tasks as Arvis clients list, retry and cancel them."""

import asyncio
from typing import Any

import pytest

from taskyard.core.commands import Tick
from taskyard.gateway.rest import jobs
from taskyard.vocabulary import Scope, Status
from taskyard.wire.jobs import JobStatus
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
JOBS = "/api/queue"
TASKS = "/api/v1/tasks"
FIELDS = {
    *("id", "ref", "agent", "type", "status", "priority", "attempts", "max_attempts", "error", "retry_after"),
    *("created_at", "started_at", "completed_at"),
}


async def listed(caller: Client, query: str = "") -> list[dict[str, Any]]:
    answer = await caller.get(f"{JOBS}{query}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json
    return found


async def refs(caller: Client, query: str = "") -> list[str]:
    return [job["ref"] for job in await listed(caller, query)]


async def worked(owner: Client, **ended: object) -> None:
    given = (await owner.post("/api/v1/claim", {"name": "a", "wait_s": 5}, hang_up=asyncio.Event())).json
    await owner.post(f"{TASKS}/{given['task']['id']}/complete", {"attempt": given["attempt"], **ended})


async def failed(owner: Client) -> dict[str, Any]:
    made = (await owner.post(TASKS, {"input": "a", "execution": {"max_attempts": 1}})).json
    await worked(owner, status="failed", error="no luck")
    found: dict[str, Any] = made
    return found


async def test_a_task_is_listed_as_a_job(owner: Client) -> None:
    made = (await owner.post(TASKS, {"input": "a", "type": "message", "priority": 9})).json
    (job,) = await listed(owner)
    assert job.keys() == FIELDS
    assert job == {
        **{name: made[name] for name in ("id", "ref", "type", "created_at")},
        **{"agent": "default", "status": "pending", "priority": 9, "attempts": 0, "max_attempts": 3, "error": None},
        **dict.fromkeys(("retry_after", "started_at", "completed_at")),
    }


async def test_a_failed_job_says_why_and_is_retried(owner: Client) -> None:
    for body in ({"action": "retry"}, None):
        made = await failed(owner)
        job = (await listed(owner, "?status=failed"))[0]
        assert (job["attempts"], job["max_attempts"], job["error"]) == (1, 1, "AGENT_REPORTED_FAILURE: no luck")
        assert job["started_at"] <= job["completed_at"]
        answer = await owner.request("PATCH", f"{JOBS}/{made['id']}", body)
        assert (answer.status, answer.json) == (200, {"ok": True})
        (job,) = await listed(owner, "?status=pending")
        assert (job["id"], job["attempts"], job["error"]) == (made["id"], 0, None)
        await worked(owner, status="completed")
    assert await refs(owner, "?status=completed") == ["T-002", "T-001"]


async def test_a_pending_job_is_cancelled_and_is_no_job_any_more(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    await ann.post(TASKS, {"input": "b", "depends_on": ["T-001"]})
    answer = await ann.request("DELETE", f"{JOBS}/T-001")
    assert (answer.status, answer.json) == (200, {"ok": True})
    assert await listed(ann) == []
    assert (await ann.get(f"{TASKS}/T-002")).json["status"] == "cancelled"


async def test_what_is_not_possible_is_refused_as_for_tasks_and_changes_nothing(ann: Client, bob: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    for caller, method, body, status, code in (
        (ann, "PATCH", {"action": "retry"}, 409, "INVALID_TRANSITION"),
        (ann, "PATCH", {"action": "stop"}, 422, "INVALID_INPUT"),
        (bob, "PATCH", None, 404, "TASK_NOT_FOUND"),
        (bob, "DELETE", None, 404, "TASK_NOT_FOUND"),
        (ann, "PUT", None, 405, "METHOD_NOT_ALLOWED"),
    ):
        answer = await caller.request(method, f"{JOBS}/T-001", body)
        assert (answer.status, answer.json["code"]) == (status, code), (method, body)
    assert (await ann.get(f"{JOBS}/T-001/more")).status == 404
    assert (await ann.get("/api/queue/")).status == 404
    assert [job["status"] for job in await listed(ann)] == ["pending"]
    assert await listed(bob) == []


async def test_a_job_is_named_by_what_stands_in_its_address_and_by_nothing_else(ann: Client) -> None:
    for named in ("T-1%2Flog", "{id}", "T-999"):
        answer = await ann.request("DELETE", f"{JOBS}/{named}")
        assert (answer.status, answer.json["code"]) == (404, "TASK_NOT_FOUND"), named


async def test_each_status_has_its_word_and_what_is_left_out_has_none(hub: GatewayHub, owner: Client) -> None:
    assert {*Status} - {*jobs.JOB_STATUS} == {Status.CANCELLED, Status.SKIPPED}
    # One that waits for its time, one for another, one that is blocked by it, one that came too late, one that runs
    await failed(owner)
    await owner.post(TASKS, {"input": "b", "depends_on": ["T-001"]})
    await owner.post(TASKS, {"input": "c", "scheduled_for": "2099-01-01T00:00:00Z"})
    await owner.post(TASKS, {"input": "d", "deadline": "2027-01-15T08:00:01Z", "type": "unserved"})
    hub.wall_ms += 1000
    await hub.decide(Tick())
    jobs_of = {job["ref"]: job for job in await listed(owner)}
    assert {ref: job["status"] for ref, job in jobs_of.items()} == {
        **{"T-001": "failed", "T-002": "pending", "T-003": "pending", "T-004": "failed"},
    }
    assert jobs_of["T-002"]["error"] is not None
    assert jobs_of["T-003"]["retry_after"] == "2099-01-01T00:00:00Z"
    assert jobs_of["T-004"]["error"] == jobs.TOO_LATE
    await owner.post(TASKS, {"input": "e"})
    await owner.post("/api/v1/claim", {"name": "a", "wait_s": 5}, hang_up=asyncio.Event())
    (running,) = await listed(owner, "?status=running")
    assert (running["ref"], running["attempts"]) == ("T-005", 1)
    assert await refs(owner, "?status=failed,running") == ["T-005", "T-004", "T-001"]
    unknown = await owner.get(f"{JOBS}?status=done")
    assert (unknown.status, unknown.json["errors"][0]["path"]) == (422, "status")
    assert all(status in unknown.json["detail"] for status in JobStatus)


async def test_an_agent_is_the_one_that_the_metadata_name_or_the_queue(ann: Client) -> None:
    for metadata in ({"agent": "conductor"}, {"agent": 7}, {"other": 1}, None):
        await ann.post(TASKS, {"input": "a", **({} if metadata is None else {"metadata": metadata})})
    assert [job["agent"] for job in await listed(ann)] == ["default", "default", "default", "conductor"]
    assert await refs(ann, "?agent=conductor") == ["T-001"]
    assert await refs(ann, "?agent=default") == ["T-004", "T-003", "T-002"]
    assert await refs(ann, "?agent=none") == []


async def test_what_a_schedule_says_of_its_agent_is_known_of_its_jobs(ann: Client) -> None:
    metadata = {"agent": "herald", "channel_id": "c1", "platform": "discord"}
    task = {"input": "a", "metadata": metadata}
    made = (await ann.post("/api/v1/schedules", {"name": "s", "every": "1h", "task": task})).json
    await ann.post(f"/api/v1/schedules/{made['id']}/run", {})
    (job,) = await listed(ann, "?agent=herald")
    assert (await ann.get(f"{TASKS}/{job['id']}")).json["metadata"] == metadata


@pytest.mark.parametrize("agent", ["", "&agent=default"])
async def test_a_long_list_comes_in_pages(ann: Client, agent: str) -> None:
    await ann.post(f"{TASKS}/batch", {"tasks": [{"input": str(number)} for number in range(5)]})
    seen, path = [], f"{JOBS}?limit=2{agent}"
    while path:
        answer = await ann.get(path)
        seen.append([job["ref"] for job in answer.json])
        path = answer.headers.get("link", "").partition(">")[0].lstrip("<")
    assert seen == [["T-005", "T-004"], ["T-003", "T-002"], ["T-001"]]


async def test_a_page_of_an_agents_jobs_is_picked_from_so_many_tasks_and_no_more(
    ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "EXAMINED_AT_ONCE", 2)
    monkeypatch.setattr(jobs, "EXAMINED_MAX", 4)
    await ann.post(TASKS, {"input": "a", "metadata": {"agent": "old"}})
    await ann.post(f"{TASKS}/batch", {"tasks": [{"input": str(number)} for number in range(4)]})
    first = await ann.get(f"{JOBS}?agent=old")
    assert first.json == []
    path = first.headers["link"].partition(">")[0].lstrip("<")
    assert [job["ref"] for job in (await ann.get(path)).json] == ["T-001"]


async def test_an_admin_lists_everybodys_jobs_and_cancels_one(hub: GatewayHub, ann: Client, bob: Client) -> None:
    admin = Client(ann.app, await hub.a_key(await hub.a_user("root"), Scope.ADMIN))
    for caller in (ann, bob):
        await caller.post(TASKS, {"input": "a"})
    assert await refs(admin, "?user=*") == ["T-001", "T-001"]
    assert (await admin.request("DELETE", f"{JOBS}/T-001?user=bob")).json == {"ok": True}
    assert (await refs(ann), await refs(bob)) == (["T-001"], [])

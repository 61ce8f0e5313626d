"""Imports and exports over HTTP: one's own only, all or none, and once."""

import asyncio
from typing import Any

import pytest

from taskyard.core.commands import Archive
from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Scope, Status
from tests.support.gateway_client import Client
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
IMPORT = "/api/v1/import"
EXPORT = "/api/v1/export"
TASKS = "/api/v1/tasks"
CREATED = "2026-03-04T16:51:00Z"
DONE = "2026-03-04T17:00:00Z"


def a_record(id: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "input": f"do {id}", "created_at": CREATED, **fields}


def a_piece(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"origin": "there", "tasks": list(tasks), **fields}


async def shown(client: Client, ref: str) -> dict[str, Any]:
    answer = await client.get(f"{TASKS}/{ref}")
    assert answer.status == 200, answer.json
    return dict(answer.json)


async def test_tasks_come_in_as_they_stood_and_once(ann: Client) -> None:
    piece = a_piece(
        a_record(
            "a",
            status="completed",
            completed_at=DONE,
            result={"n": 1},
            result_summary="fine",
            files_changed=["a.py"],
            attempts=[{"daemon": "mac", "status": "success", "started_at": CREATED, "ended_at": DONE}],
        ),
        a_record("b", depends_on=["a"], priority=9, metadata={"from": "x"}),
        a_record("c", depends_on=["b"], status="running", attempts=[{"daemon": "mac", "status": "running"}]),
    )
    looked = await ann.post(IMPORT, {**piece, "dry_run": True})
    assert (looked.status, looked.json) == (200, {"new": ["a", "b", "c"], "there": [], "rejected": [], "queues": []})
    assert (await ann.get(TASKS)).json == []
    taken = await ann.post(IMPORT, piece)
    assert taken.json == looked.json
    done, ready, waits = [await shown(ann, ref) for ref in ("T-001", "T-002", "T-003")]
    assert (done["status"], done["result"], done["result_summary"]) == ("completed", {"n": 1}, "fine")
    assert (done["created_at"], done["completed_at"], done["files_changed"]) == (CREATED, DONE, ["a.py"])
    assert (ready["status"], ready["priority_value"], ready["depends_on"]) == ("queued", 9, [done["id"]])
    assert (waits["status"], waits["attempts"][0]["status"]) == ("waiting", "lost")
    assert ready["context_input"][0]["result"] == {"n": 1}
    again = await ann.post(IMPORT, piece)
    assert again.json == {"new": [], "there": ["a", "b", "c"], "rejected": [], "queues": []}
    assert len((await ann.get(TASKS)).json) == 3


async def test_what_failed_and_a_breaker_come_in_with_what_is_said_of_them(ann: Client) -> None:
    opened, error = "2027-01-15T07:59:30Z", {"code": "BOOM", "message": "it broke", "details": {"line": 3}}
    failed = [a_record("a", status="permanently_failed", error=error), a_record("b", status="permanently_failed")]
    await ann.post(IMPORT, a_piece(*failed, breakers=[{"type": "eng", "failures": 5, "opened_at": opened}]))
    letters = (await ann.get("/api/v1/dead-letters")).json
    assert [letter["error"]["code"] for letter in letters] == ["AGENT_REPORTED_FAILURE", "BOOM"]
    assert [(one["type"], one["opened_at"]) for one in (await ann.get("/api/v1/breakers")).json] == [("eng", opened)]


async def test_what_was_archived_there_is_archived_here(hub: GatewayHub, ann: Client) -> None:
    young = "2027-01-15T07:00:00Z"
    await ann.post(IMPORT, a_piece(a_record("a", status="completed", completed_at=young, archived=True)))
    assert [record["ref"] for record in (await ann.get(EXPORT)).json] == ["T-001"], "until it is put there, too"
    await hub.decide(Archive(START_MS - 7 * 86_400_000, 0))
    assert (await ann.get(TASKS)).json == []
    assert [task["ref"] for task in (await ann.get(f"{TASKS}?archived=true")).json] == ["T-001"]
    assert (await ann.get(EXPORT)).json == []
    assert [record["ref"] for record in (await ann.get(f"{EXPORT}?archived=true")).json] == ["T-001"]


async def test_one_that_cannot_be_taken_refuses_all_and_is_named(ann: Client) -> None:
    piece = a_piece(a_record("a"), a_record("b", queue="nowhere"))
    looked = await ann.post(IMPORT, {**piece, "dry_run": True})
    assert [(one["index"], one["code"]) for one in looked.json["rejected"]] == [(1, "QUEUE_NOT_FOUND")]
    refused = await ann.post(IMPORT, piece)
    assert (refused.status, refused.json["code"]) == (404, "QUEUE_NOT_FOUND")
    assert refused.json["detail"].startswith("b: ")
    assert refused.json["errors"][0]["path"] == "tasks[1].queue"
    assert (await ann.get(TASKS)).json == []


async def test_a_wrong_shape_or_size_is_refused_with_its_place(ann: Client) -> None:
    unread = a_record("b")
    del unread["input"]
    answer = await ann.post(IMPORT, a_piece(a_record("a"), unread))
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "tasks[1].input")
    assert answer.json["detail"] == "b: `tasks[1].input` is required"
    large = a_record("a", status="completed", result="x" * 1_100_000)
    assert (await ann.post(IMPORT, a_piece(large))).status == 413
    files = a_record("a", status="completed", files_changed=["x" * 70_000])
    assert (await ann.post(IMPORT, a_piece(files))).json["errors"][0]["path"] == "tasks[0].files_changed"
    assert (await ann.post(IMPORT, a_piece(a_record("a", surprise=1)))).status == 422
    assert (await ann.get(TASKS)).json == []


async def test_a_look_names_every_task_of_a_wrong_shape_or_size(ann: Client) -> None:
    unread = a_record("b")
    del unread["input"]
    large = a_record("c", status="completed", result="x" * 1_100_000)
    answer = await ann.post(IMPORT, a_piece(a_record("a"), unread, large, dry_run=True))
    assert [(one["index"], one["code"]) for one in answer.json["rejected"]] == [(1, "INVALID_INPUT"), (2, "TOO_LARGE")]
    assert answer.json["rejected"][1]["detail"].startswith("`result` is 1,100,002 bytes; at most ")


async def test_an_import_is_the_callers_own_unless_an_admin_names_another(
    ann: Client, bob: Client, admin: Client
) -> None:
    await ann.post(IMPORT, a_piece(a_record("a")))
    stranger = a_piece(a_record("b", depends_on=["a"]), elsewhere={"a": {"created_at": CREATED}})
    assert (await bob.post(IMPORT, stranger)).json["code"] == "DEPENDENCY_NOT_FOUND"
    assert (await bob.post(IMPORT, a_piece(a_record("a")))).json["new"] == ["a"]
    assert (await bob.post(f"{IMPORT}?user=ann", a_piece(a_record("c")))).status == 403
    assert (await admin.post(f"{IMPORT}?user=ann", a_piece(a_record("a"), a_record("c")))).json["there"] == ["a"]
    assert [task["input"] for task in (await ann.get(TASKS)).json] == ["do c", "do a"]


async def test_an_admin_brings_queues_that_are_missing(admin: Client) -> None:
    queues = {"gpu": {"models": ["llama3"], "max_concurrent": 2}}
    piece = a_piece(a_record("a", queue="gpu", model="llama3"), queues=queues)
    assert (await admin.post(IMPORT, {**piece, "dry_run": True})).json["queues"] == ["gpu"]
    taken = (await admin.post(IMPORT, piece)).json
    assert (taken["new"], taken["queues"]) == (["a"], ["gpu"])
    again = (await admin.post(IMPORT, piece)).json
    assert (again["there"], again["queues"]) == (["a"], [])
    assert (await admin.get(TASKS)).json[0]["queue"] == "gpu"


async def test_an_export_has_ones_own_tasks_in_full_page_by_page(ann: Client, bob: Client) -> None:
    await bob.post(TASKS, {"input": "another's"})
    long = "x" * 50_000
    await ann.post(TASKS, {"input": long, "priority": 6, "context": {"a": [1]}})
    await ann.post(IMPORT, a_piece(a_record("c", status="completed", result=[1], decision_report={"decision": "d"})))
    first = await ann.get(f"{EXPORT}?limit=1")
    assert 'rel="next"' in first.headers["link"]
    records = (await ann.get(EXPORT)).json
    assert records[0] == first.json[0] == await shown(ann, "T-002")
    assert [(record["ref"], record["input"]) for record in records] == [("T-002", "do c"), ("T-001", long)]


async def test_an_agents_key_imports_and_exports_nothing(hub: GatewayHub, app: GatewayApp) -> None:
    agent = Client(app, await hub.a_key(await hub.a_user("bot"), Scope.AGENT))
    assert (await agent.post(IMPORT, a_piece(a_record("a")))).status == 403
    assert (await agent.get(EXPORT)).status == 403


async def test_whatever_it_was_every_page_of_an_imported_task_can_be_read(ann: Client) -> None:
    tried = [{"daemon": "elsewhere", "status": "failed", "error": {"code": "X", "message": "no"}, "usage": {}}]
    records = [a_record(status, status=status, attempts=tried, error=tried[0]["error"]) for status in Status]
    await ann.post(IMPORT, a_piece(*records))
    for task in (await ann.get(TASKS)).json:
        for page in ("", "/why", "/events", "/log"):
            assert (await ann.get(f"{TASKS}/{task['ref']}{page}")).status == 200
    assert (await ann.get(EXPORT)).json[0]["attempts"][0]["daemon_name"] == "elsewhere"


async def test_two_imports_of_the_same_at_once_are_one(ann: Client) -> None:
    piece = a_piece(*(a_record(f"t{n}") for n in range(50)))
    answers = await asyncio.gather(*(ann.post(IMPORT, piece) for _ in range(4)))
    assert sorted(len(answer.json["new"]) for answer in answers) == [0, 0, 0, 50]
    assert len((await ann.get(f"{TASKS}?limit=500")).json) == 50

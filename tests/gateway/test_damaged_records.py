"""What callers see of a damaged record of the past: each place that reads one says so, and none leaves it out."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from taskyard.core.settings import Settings
from taskyard.store.sqlite import SqliteStore
from tests.support.damage import AUDIT, KINDS, LOG, Damager
from tests.support.engines import Engine
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub, a_hub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
RECORD, RESULT = KINDS["a record with other bytes"], KINDS["a result with other bytes"]


@pytest.fixture
def damage(tmp_path: Path) -> Damager:
    return Damager(Engine.SQLITE, str(tmp_path / "taskyard.db"))


@pytest.fixture
async def hub(settings: Settings, damage: Damager) -> AsyncIterator[GatewayHub]:
    async with a_hub(settings, SqliteStore(damage.place, new_cluster_id="c_test")) as made:
        yield made


@pytest.fixture
async def ids(owner: Client) -> list[str]:
    """A completed task, a dead letter, and one that depends on the first."""
    found = []
    async with owner.daemon() as daemon:
        for message in ("well", "badly"):
            found.append((await owner.post(TASKS, {"input": message})).json["id"])
            (execute,) = await daemon.hear()
            about = {"task_id": execute["task"]["id"], "attempt": 1}
            if message == "well":
                daemon.say({"type": "task.completed", **about, "result": {"said": "well"}})
            else:
                daemon.say({"type": "task.failed", **about, "error": {"code": "INVALID_INPUT", "message": "no"}})
            await daemon.hear()
    heir = {"input": "then", "type": "later", "depends_on": [found[0]]}
    return [*found, (await owner.post(TASKS, heir)).json["id"]]


async def test_the_problem_names_the_task_and_what_to_do(owner: Client, ids: list[str], damage: Damager) -> None:
    damage.do(RECORD, id=ids[0])
    answer = await owner.get(f"{TASKS}/T-001")
    assert answer.status == 500
    assert answer.json == {
        "status": 500,
        "title": "A stored record is damaged",
        "code": "RECORD_DAMAGED",
        "detail": f"The record of task {ids[0]} (T-001) is not what was written: its checksum differs. Restore the "
        "database from a backup to read it again; `taskyard doctor --deep` lists every damaged record.",
    }
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("what", ["body", "outcome"])
async def test_what_has_its_checksum_and_cannot_be_read_is_damaged_too(
    hub: GatewayHub, owner: Client, ids: list[str], damage: Damager, what: str
) -> None:
    statement = f"UPDATE {{table}} SET content = x'5b5d', crc = {crc32(b'[]')} WHERE id = '{{id}}'"
    damage.do((statement, statement), table=what, id=ids[0])
    answer = await owner.get(f"{TASKS}/T-001")
    assert (answer.status, answer.json["code"]) == (500, "RECORD_DAMAGED")
    assert answer.json["detail"].startswith(f"The {what} of task {ids[0]} (T-001) cannot be read: ")
    assert hub.damage.count == 1


async def test_jobs_show_it_too_and_are_made_of_records_where_no_hub_is_judged_by_them(
    hub: GatewayHub, owner: Client, ids: list[str], damage: Damager, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage.do(RECORD, id=ids[0])
    answer = await owner.get("/api/queue")
    assert [job["ref"] for job in answer.json] == ["T-003", "T-002", "T-001"]
    assert answer.json[2]["error"].startswith("RECORD_DAMAGED")

    # A hub stops when a read finds an open task's record damaged: reading is all that may happen in it.
    statement = f"UPDATE {{table}} SET content = x'5b5d', crc = {crc32(b'[]')} WHERE id = '{{id}}'"
    damage.do((statement, statement), table="body", id=ids[2])
    read, found = hub.read, []

    async def watched(look: Any) -> Any:
        found.append(await read(look))
        return found[-1]

    monkeypatch.setattr(hub, "read", watched)
    for query in ("", "?agent=default"):
        answer = await owner.get(f"/api/queue{query}")
        assert (answer.status, answer.json["code"]) == (500, "RECORD_DAMAGED")
    assert [len(tasks) for tasks in found] == [3, 3]


async def test_of_anothers_task_nothing_is_told(bob: Client, ids: list[str], damage: Damager) -> None:
    damage.do(RECORD, id=ids[0])
    assert (await bob.get(f"{TASKS}/{ids[0]}")).json["code"] == "TASK_NOT_FOUND"
    assert (await bob.get(TASKS)).json == []


@pytest.mark.parametrize("kind", ["a record with other bytes", "a body with other bytes", "a column that is not UTF-8"])
async def test_a_list_shows_it_in_its_place(
    hub: GatewayHub, owner: Client, ids: list[str], damage: Damager, kind: str
) -> None:
    damage.do(KINDS[kind], id=ids[0])
    answer = await owner.get(TASKS)
    assert [one["ref"] for one in answer.json] == ["T-003", "T-002", "T-001"]
    shown = answer.json[2]
    assert (shown["status"], shown["title"]) == ("completed", "(damaged: it cannot be read)")
    assert shown["error"]["code"] == "RECORD_DAMAGED"
    assert ids[0] in shown["failure_reason"]
    assert hub.damage.count == 1


async def test_dead_letters_and_the_report_show_it_too(
    hub: GatewayHub, owner: Client, ids: list[str], damage: Damager
) -> None:
    damage.do(KINDS["a body with other bytes"], id=ids[1])
    (letter,) = (await owner.get("/api/v1/dead-letters")).json
    assert (letter["id"], letter["error"]["code"]) == (ids[1], "RECORD_DAMAGED")
    assert hub.damage.count == 1
    report = (await owner.get("/api/v1/report")).json
    assert (report["failed_total"], report["done_total"]) == (1, 1)


async def test_an_export_is_refused_rather_than_left_without_it(owner: Client, ids: list[str], damage: Damager) -> None:
    damage.do(RECORD, id=ids[0])
    answer = await owner.get("/api/v1/export")
    assert (answer.status, answer.json["code"]) == (500, "RECORD_DAMAGED")


async def test_a_task_shows_that_the_result_it_waited_for_is_damaged(
    hub: GatewayHub, owner: Client, ids: list[str], damage: Damager
) -> None:
    damage.do(RESULT, id=ids[0])
    answer = await owner.get(f"{TASKS}/{ids[2]}")
    assert answer.status == 200
    (told,) = answer.json["context_input"]
    assert told["ref"] == "T-001"
    assert told["note"] == (
        f"The result cannot be read: the outcome of task {ids[0]} is not what was written: its checksum differs."
    )
    assert hub.damage.count == 1


async def test_the_past_of_a_task_and_the_audit_name_what_is_damaged(
    owner: Client, admin: Client, ids: list[str], damage: Damager
) -> None:
    (newest,) = damage.read("SELECT max(seq) FROM commit_log")
    for seq in range(1, newest + 1):
        damage.do(LOG, seq=seq)
    answer = await owner.get(f"{TASKS}/{ids[0]}/events")
    assert answer.json["code"] == "RECORD_DAMAGED"
    assert answer.json["detail"].startswith(f"What happened to task {ids[0]} (T-001): commit ")
    damage.do(AUDIT)
    assert (await admin.get("/api/v1/audit")).json["detail"].startswith("Audit entry ")
    assert (await owner.get(f"{TASKS}/{ids[0]}")).status == 200, "its log is not what it is"


async def test_an_event_stream_across_a_damaged_commit_says_resync(
    owner: Client, ids: list[str], damage: Damager
) -> None:
    seen = (await owner.get(f"{TASKS}/{ids[0]}/events")).json[0]["id"]
    damage.do(LOG, seq=damage.read("SELECT max(seq) FROM commit_log")[0])
    async with owner.stream("/api/v1/events", {"last-event-id": seen}) as stream:
        assert (await stream.next())["status"] == 200
        told: list[Any] = []
        while not told:
            text = await stream.chunk()
            told = [line for line in text.split("\n") if line.startswith("event: ")]
    assert told == ["event: resync"]


async def test_health_and_metrics_say_how_many_were_met(
    hub: GatewayHub, owner: Client, admin: Client, ids: list[str], damage: Damager
) -> None:
    assert (await owner.get("/readyz")).json == {"status": "ready"}
    for task_id in ids[:2]:
        damage.do(RECORD, id=task_id)
        for _ in range(2):
            await owner.get(f"{TASKS}/{task_id}")
    answer = await owner.get("/readyz")
    assert (answer.status, answer.json) == (200, {"status": "ready", "damaged_records": 2})
    assert "taskyard_damaged_records_total 2.0" in (await admin.get("/metrics")).body.decode()

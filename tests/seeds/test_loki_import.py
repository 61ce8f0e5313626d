"""Loki's task queue, brought here: its files, its tasks' fields, its circuit breakers.

Real hubs on every engine are in `acceptance/test_imports.py`.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.cli.imports import loki
from taskyard.cli.imports.cargo import Cargo, arrange
from taskyard.wire.imports import Import
from tests.support.foreign_queues import LOKI_STATUSES, a_loki_directory, a_loki_task, written
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


@pytest.fixture
def hub() -> GatewayHub:
    return GatewayHub()


async def taken(client: Client, cargo: Cargo) -> dict[str, dict[str, Any]]:
    """The tasks as they stand here, by what they were called there."""
    piece = Import(origin=cargo.origin, tasks=arrange(cargo.tasks), queues=cargo.queues, breakers=cargo.breakers)
    answer = await client.post("/api/v1/import", msgspec.json.decode(msgspec.json.encode(piece)))
    assert answer.status == 200, answer.json
    found = (await client.get(f"{TASKS}?limit=500")).json
    whole = [(await client.get(f"{TASKS}/{task['ref']}")).json for task in found]
    return {task["metadata"].get("loki", {}).get("id", "-"): task for task in whole}


async def test_each_file_says_how_its_tasks_stand(ann: Client, tmp_path: Path) -> None:
    tasks = await taken(ann, loki.read(str(a_loki_directory(tmp_path))))
    assert {name: task["status"] for name, task in tasks.items()} == LOKI_STATUSES


async def test_a_task_that_depends_on_one_that_is_nowhere_waits_for_a_person_and_not_for_ever(
    ann: Client, tmp_path: Path
) -> None:
    tasks = await taken(ann, loki.read(str(a_loki_directory(tmp_path))))
    assert tasks["orphan"]["blocked_reason"] == f"{tasks['-']['ref']} ended as skipped"


async def test_the_schemas_fields_have_their_places(ann: Client, tmp_path: Path) -> None:
    task = (await taken(ann, loki.read(str(a_loki_directory(tmp_path)))))["waits"]
    assert task["payload"] == {"action": "implement", "target": "src/waits.py", "params": {"depth": 2}}
    assert (task["goal"], task["constraints"]) == ("Sign-in works", ["No third-party deps"])
    assert sorted(task["context"]) == ["architectureDecisions", "previousAttempts", "relatedFiles"]
    assert (task["type"], task["requirements"]["capabilities"]) == ("eng-backend", ["eng-backend"])
    execution = task["execution"]
    assert (execution["timeout"], execution["max_attempts"], execution["retry_delay"]) == (3600, 3, 60)
    assert execution["require_decision_report"] is True


async def test_retries_are_kept_and_count(ann: Client, tmp_path: Path) -> None:
    tasks = await taken(ann, loki.read(str(a_loki_directory(tmp_path))))
    assert [one["status"] for one in tasks["retried"]["attempts"]] == ["failed", "failed"]
    assert tasks["retried"]["attempts"][-1]["error"]["message"] == "timed out"
    assert tasks["retried"]["metadata"]["loki"]["retries"] == 2


async def test_a_finished_task_has_its_output_and_decision_report(ann: Client, tmp_path: Path) -> None:
    done = (await taken(ann, loki.read(str(a_loki_directory(tmp_path)))))["done"]
    assert (done["result"], done["decision_report"]["decision"]) == ("wrote it", "JWT")
    again = await ann.post(TASKS, {"input": "x", "idempotency_key": "key-of-done"})
    assert again.json["code"] == "IDEMPOTENCY_KEY_REUSED"


async def test_a_dead_letter_can_be_reviewed(ann: Client, tmp_path: Path) -> None:
    tasks = await taken(ann, loki.read(str(a_loki_directory(tmp_path))))
    ref, verdict = tasks["dead"]["ref"], {"verdict": "discard", "reason": "invalid"}
    assert (await ann.post(f"/api/v1/dead-letters/{ref}/review", verdict)).json["status"] == "cancelled"


async def test_a_breaker_that_was_open_is_tried_by_one_task(ann: Client, tmp_path: Path) -> None:
    await taken(ann, loki.read(str(a_loki_directory(tmp_path))))
    (breaker,) = (await ann.get("/api/v1/breakers")).json
    assert (breaker["type"], breaker["failures"], breaker["state"]) == ("eng-backend", 5, "half_open")


async def test_two_tasks_of_one_key_both_come_in_and_one_holds_it(ann: Client, tmp_path: Path) -> None:
    written(tmp_path / "completed.json", [a_loki_task("a", idempotencyKey="k")])
    written(tmp_path / "pending.json", [a_loki_task("b", idempotencyKey="k")])
    tasks = await taken(ann, loki.read(str(tmp_path)))
    assert [tasks[name]["idempotency_key"] for name in "ab"] == ["k", None]

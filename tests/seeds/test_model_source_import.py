"""The queues by model source, brought here: queue files, tasks, statuses, the archive, and corrupt files.

Real hubs on every engine are in `acceptance/test_imports.py`.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.cli.imports import model_queues
from taskyard.cli.imports.cargo import arrange
from taskyard.core.commands import Archive
from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Scope
from taskyard.wire.imports import Import
from tests.support.foreign_queues import a_directory_of_model_queues, a_queue_file, a_queued_task, written
from tests.support.gateway_client import Client
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


@pytest.fixture
def hub() -> GatewayHub:
    return GatewayHub()


@pytest.fixture
def admin(hub: GatewayHub, app: GatewayApp) -> Client:
    """Who may bring queues along."""
    return Client(app, hub.a_key(hub.a_user("root"), Scope.TASKS, Scope.ADMIN))


async def taken(client: Client, path: Path, **options: Any) -> dict[str, dict[str, Any]]:
    """The tasks as they stand here, by queue and ref there."""
    cargo = model_queues.read(str(path), **options)
    piece = Import(origin=cargo.origin, tasks=arrange(cargo.tasks), queues=cargo.queues)
    answer = await client.post("/api/v1/import", msgspec.json.decode(msgspec.json.encode(piece)))
    assert answer.status == 200, answer.json
    found = (await client.get(f"{TASKS}?limit=500")).json
    whole = [(await client.get(f"{TASKS}/{task['ref']}")).json for task in found]
    return {f"{task['queue']}/{task['metadata']['model_queues']['id']}": task for task in whole}


async def test_every_status_has_its_own_here(admin: Client, tmp_path: Path) -> None:
    tasks = await taken(admin, a_directory_of_model_queues(tmp_path))
    assert {name: task["status"] for name, task in tasks.items()} == {
        "ollama-local/T-000": "completed",
        "ollama-local/T-001": "completed",
        "ollama-local/T-002": "queued",
        "ollama-local/T-003": "waiting",
        "ollama-local/T-004": "queued",
        "ollama-local/T-005": "permanently_failed",
        "ollama-local/T-006": "blocked",
        "ollama-local/T-007": "skipped",
        "ollama-remote/T-001": "waiting",
        "ollama-remote/T-002": "queued",
    }


async def test_refs_that_each_queue_counts_for_itself_become_one_count(admin: Client, tmp_path: Path) -> None:
    tasks = await taken(admin, a_directory_of_model_queues(tmp_path))
    assert len({task["ref"] for task in tasks.values()}) == len(tasks)
    remote = tasks["ollama-remote/T-001"]
    assert remote["depends_on"] == [tasks["ollama-local/T-004"]["id"]]


async def test_a_result_is_handed_on_to_what_depends_on_it(admin: Client, tmp_path: Path) -> None:
    tasks = await taken(admin, a_directory_of_model_queues(tmp_path))
    (context,) = tasks["ollama-local/T-002"]["context_input"]
    assert (context["source_task"], context["result_summary"]) == (tasks["ollama-local/T-001"]["id"], "it is 42")


async def test_continue_goes_on_with_a_warning(admin: Client, tmp_path: Path) -> None:
    tasks = await taken(admin, a_directory_of_model_queues(tmp_path))
    assert "ended as permanently_failed" in tasks["ollama-remote/T-002"]["context_input"][0]["warning"]


async def test_the_queues_come_along_with_models_and_limit(admin: Client, tmp_path: Path) -> None:
    await taken(admin, a_directory_of_model_queues(tmp_path))
    queues = {queue["name"]: queue for queue in (await admin.get("/api/v1/queues")).json}
    assert (queues["ollama-local"]["models"], queues["ollama-local"]["max_concurrent"]) == (
        ["ollama/llama3", "ollama/qwen2.5"],
        1,
    )


async def test_what_was_archived_stays_archived(hub: GatewayHub, admin: Client, tmp_path: Path) -> None:
    await taken(admin, a_directory_of_model_queues(tmp_path))
    hub.decide(Archive(START_MS - 10 * 365 * 86_400_000, 0))
    archived = (await admin.get(f"{TASKS}?archived=true")).json
    assert [task["metadata"]["model_queues"]["id"] for task in archived] == ["T-000"]


async def test_more_than_twenty_that_were_added_at_once_are_served_in_order(admin: Client, tmp_path: Path) -> None:
    many = [a_queued_task(f"T-{n:03d}", "q") for n in range(1, 31)]
    written(tmp_path / "q.json", a_queue_file("q", ["m"], many[::-1]))
    tasks = await taken(admin, tmp_path)
    ids = [tasks[f"q/T-{n:03d}"]["id"] for n in range(1, 31)]
    assert ids == sorted(ids)


async def test_failed_after_its_retries_was_tried_once_more_than_it_was_retried(admin: Client, tmp_path: Path) -> None:
    task = (await taken(admin, a_directory_of_model_queues(tmp_path)))["ollama-local/T-005"]
    assert (len(task["attempts"]), task["execution"]["max_attempts"]) == (4, 4)
    assert task["error"]["message"] == "out of memory"


async def test_a_scale_from_1_to_4_is_mapped_to_levels(admin: Client, tmp_path: Path) -> None:
    scale = [a_queued_task(f"T-{n}", "q", priority=n) for n in (1, 2, 3, 4)]
    written(tmp_path / "q.json", a_queue_file("q", ["m"], scale))
    tasks = await taken(admin, tmp_path, urgent_first=True)
    assert [tasks[f"q/T-{n}"]["priority"] for n in (1, 2, 3, 4)] == ["critical", "high", "normal", "low"]


def test_a_corrupt_file_is_told_and_not_written_over(tmp_path: Path) -> None:
    a_directory_of_model_queues(tmp_path)
    broken = written(tmp_path / "cloud-nvidia.json", '{"version": "1.0",\n "tasks": [oops')
    cargo = model_queues.read(str(tmp_path))
    assert cargo.damaged[0].startswith(f"{broken}:2:12: ")
    assert broken.read_text().endswith("oops")
    assert len(cargo.tasks) == 10

"""What is read of queues by model source."""

from pathlib import Path

import pytest

from taskyard.cli.imports import model_queues
from taskyard.vocabulary import AttemptStatus, DependsPolicy, ResultStatus, Status
from tests.support.cargo import by_name, plain
from tests.support.foreign_queues import (
    a_directory_of_model_queues,
    a_queue_file,
    a_queued_task,
    written,
)


def test_every_queue_and_the_archive_are_read(tmp_path: Path) -> None:
    cargo = model_queues.read(str(a_directory_of_model_queues(tmp_path)))
    assert (cargo.damaged, cargo.notes) == ([], [])
    assert {name: (task.status, task.archived) for name, task in by_name(cargo).items()} == {
        "ollama-local/T-001": (Status.COMPLETED, False),
        "ollama-local/T-002": (Status.PENDING, False),
        "ollama-local/T-003": (Status.WAITING, False),
        "ollama-local/T-004": (Status.RUNNING, False),
        "ollama-local/T-005": (Status.PERMANENTLY_FAILED, False),
        "ollama-local/T-006": (Status.BLOCKED, False),
        "ollama-local/T-007": (Status.SKIPPED, False),
        "ollama-remote/T-001": (Status.WAITING, False),
        "ollama-remote/T-002": (Status.WAITING, False),
        "ollama-local/T-000": (Status.COMPLETED, True),
    }
    assert cargo.queues["ollama-local"].models == ["ollama/llama3", "ollama/qwen2.5"]
    assert cargo.queues["ollama-remote"].max_concurrent == 1


def test_what_a_queued_task_said_has_its_place(tmp_path: Path) -> None:
    tasks = by_name(model_queues.read(str(a_directory_of_model_queues(tmp_path))))
    done, failed, skipped = tasks["ollama-local/T-001"], tasks["ollama-local/T-005"], tasks["ollama-local/T-007"]
    assert (plain(done.result), done.result_summary, done.result_status) == ("42", "it is 42", ResultStatus.SUCCESS)
    assert [one.status for one in done.attempts] == [AttemptStatus.FAILED, AttemptStatus.SUCCESS]
    assert failed.error is not None
    assert (failed.error.message, len(failed.attempts)) == ("out of memory", 4)
    assert failed.execution is not None
    assert failed.execution.max_attempts == 4
    assert skipped.skipped_reason == "not needed"
    assert (tasks["ollama-local/T-002"].model, tasks["ollama-local/T-002"].queue) == ("ollama/qwen2.5", "ollama-local")
    assert plain(failed.metadata)["model_queues"]["id"] == "T-005"
    assert [tasks[f"ollama-local/T-00{n}"].order for n in (1, 2, 3)] == [1, 2, 3]


def test_what_a_task_depends_on_is_looked_for_in_its_own_queue_and_then_in_the_others(tmp_path: Path) -> None:
    tasks = by_name(model_queues.read(str(a_directory_of_model_queues(tmp_path))))
    assert tasks["ollama-local/T-002"].depends_on == ["ollama-local/T-001"]
    assert tasks["ollama-remote/T-001"].depends_on == ["ollama-local/T-004"]
    assert tasks["ollama-remote/T-002"].on_depends_fail is DependsPolicy.CONTINUE


def test_what_cannot_be_told_apart_or_found_leaves_its_heirs_to_a_person(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / f"{name}.json", a_queue_file(name, [], [a_queued_task("T-009", name)]))
    lost = [a_queued_task("T-001", "c", depends_on=["T-009", "T-404"])]
    written(tmp_path / "c.json", a_queue_file("c", [], lost))
    tasks = by_name(model_queues.read(str(tmp_path)))
    assert tasks["c/T-001"].depends_on == ["?/T-009", "c/T-404"]
    assert tasks["?/T-009"].skipped_reason == "which of these was meant cannot be told: a/T-009, b/T-009"
    assert tasks["c/T-404"].status is Status.SKIPPED


@pytest.mark.parametrize(("said", "meant"), [(0, 5), (3, 3), (-2, 1), (12, 10), (None, None), (7.4, 7)])
def test_a_bare_number_is_a_priority(tmp_path: Path, said: float | None, meant: int | None) -> None:
    written(tmp_path / "a.json", a_queue_file("a", [], [a_queued_task("T-1", "a", priority=said)]))
    assert model_queues.read(str(tmp_path)).tasks[0].priority == meant


@pytest.mark.parametrize(("said", "level"), [(1, "critical"), (2, "high"), (3, "normal"), (4, "low"), (9, "low")])
def test_a_scale_from_one_to_four_begins_with_the_most_urgent(tmp_path: Path, said: int, level: str) -> None:
    written(tmp_path / "a.json", a_queue_file("a", [], [a_queued_task("T-1", "a", priority=said)]))
    assert model_queues.read(str(tmp_path), urgent_first=True).tasks[0].priority == level


def test_what_is_bent_to_fit_is_told(tmp_path: Path) -> None:
    tasks = [a_queued_task(f"T-{n}", "a", priority=n) for n in (0, 4, 5, 500, -1)]
    written(tmp_path / "a.json", a_queue_file("a", [], tasks) | {"maxConcurrent": 0})
    assert model_queues.read(str(tmp_path)).notes == [
        f"{tmp_path}/a.json: `maxConcurrent` 0 cannot be; the queue gets 1.",
        "Priorities there are from 1 to 10; the nearest is taken for: a/T--1, a/T-500.",
    ]
    cargo = model_queues.read(str(tmp_path), urgent_first=True)
    assert cargo.notes[1].endswith("from 1 to 4; the nearest is taken for: a/T--1, a/T-5, a/T-500.")
    assert by_name(cargo)["a/T-0"].priority == 5


def test_an_error_may_have_the_shorter_name(tmp_path: Path) -> None:
    failed = a_queued_task("T-1", "a", status="failed", error="boom")
    written(tmp_path / "a.json", a_queue_file("a", [], [failed]))
    (task,) = model_queues.read(str(tmp_path)).tasks
    assert task.error is not None
    assert task.error.message == "boom"


def test_a_queue_without_a_name_is_called_as_its_file(tmp_path: Path) -> None:
    file = a_queue_file("x", [], [a_queued_task("odd", "x")]) | {"source": None, "maxConcurrent": None}
    written(tmp_path / "gpu.json", file | {"maxRetries": None})
    cargo = model_queues.read(str(tmp_path))
    assert list(cargo.queues) == ["gpu"]
    assert (cargo.queues["gpu"].max_concurrent, cargo.tasks[0].order) == (None, None)


def test_names_that_could_lead_elsewhere_and_statuses_that_are_none_are_damage(tmp_path: Path) -> None:
    written(tmp_path / "a.json", a_queue_file("../b", [], []))
    written(tmp_path / "b.json", a_queue_file("b", [], [a_queued_task("T-1", "b", status="lost")]))
    archived = a_queued_task("T-1", "c", status="odd")
    written(tmp_path / "archive" / "c" / "2026-03.json", [archived])
    first, second, third = model_queues.read(str(tmp_path)).damaged
    assert "a.json:1:1: '../b' is no name of a queue" in first
    assert "has the status 'lost'; there are: pending" in second
    assert "2026-03.json" in third


def test_a_task_in_its_queue_and_in_the_archive_is_taken_from_the_queue(tmp_path: Path) -> None:
    task = a_queued_task("T-1", "a")
    written(tmp_path / "a.json", a_queue_file("a", [], [task]))
    written(tmp_path / "archive" / "a" / "2026-03.json", [task | {"status": "done"}])
    cargo = model_queues.read(str(tmp_path))
    assert [one.status for one in cargo.tasks] == [Status.PENDING]
    assert "2026-03.json" in cargo.notes[0]

"""What importers read: directories as the documents describe them, broken ones, and hostile ones."""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from taskyard.cli.imports import loki, model_queues
from taskyard.cli.imports.cargo import BATCH_TASKS_MAX, Cargo, Circular, arrange, carry
from taskyard.cli.imports.circuit import toml_of
from taskyard.cli.imports.files import DEPTH_MAX, FILES_MAX, Damaged, NotADirectory, directory, placed
from taskyard.cli.imports.foreign import error_of, instant_of, metadata_of, origin_of, text_of
from taskyard.vocabulary import AttemptStatus, DependsPolicy, Level, ResultStatus, Status
from taskyard.wire.fields import FIELD_BYTES_MAX, INPUT_BYTES_MAX
from taskyard.wire.imports import CarriedTask, Import, ImportAnswer
from taskyard.wire.tasks import Rejected
from tests.cli.conftest import Cli
from tests.support.foreign_queues import (
    CLAIMED,
    ENDED,
    a_directory_of_model_queues,
    a_loki_directory,
    a_loki_task,
    a_queue_file,
    a_queued_task,
    written,
)
from tests.support.http_stub import Reply, StubHub


def by_name(cargo: Cargo) -> dict[str, CarriedTask]:
    return {task.id: task for task in cargo.tasks}


def plain(value: Any) -> Any:
    return msgspec.json.decode(value)


# --- Loki --------------------------------------------------------------------------------------------------


def test_every_file_of_lokis_queue_is_read_and_says_how_its_tasks_stand(tmp_path: Path) -> None:
    cargo = loki.read(str(a_loki_directory(tmp_path / ".loki")))
    assert cargo.damaged == []
    assert {name: task.status for name, task in by_name(cargo).items()} == {
        "done": Status.COMPLETED,
        "gone": Status.CANCELLED,
        "dead": Status.PERMANENTLY_FAILED,
        "runs": Status.RUNNING,
        "waits": Status.PENDING,
        "retried": Status.PENDING,
        "blocked": Status.PENDING,
        "orphan": Status.PENDING,
        "never-was": Status.SKIPPED,
    }


def test_a_loki_task_has_everything_in_its_place(tmp_path: Path) -> None:
    task = by_name(loki.read(str(a_loki_directory(tmp_path))))["waits"]
    assert (task.type, task.priority, task.depends_on) == ("eng-backend", 8, ["runs", "done"])
    assert task.requirements is not None
    assert task.requirements.capabilities == ["eng-backend"]
    assert (task.input, task.goal) == ("implement src/waits.py", "Sign-in works")
    assert task.constraints == ["No third-party deps"]
    assert plain(task.payload) == {"action": "implement", "target": "src/waits.py", "params": {"depth": 2}}
    assert plain(task.context)["relatedFiles"] == ["a.ts"]
    assert task.execution is not None
    assert (task.execution.timeout, task.execution.max_attempts, task.execution.retry_delay) == (3600, 3, 60)
    assert task.execution.require_decision_report
    kept = plain(task.metadata)["loki"]
    assert (kept["id"], kept["dependencies"], kept["maxRetries"]) == ("waits", ["runs", "done"], 3)
    assert kept["file"] == "pending.json"
    assert task.idempotency_key == "key-of-waits"


def test_tries_and_ends_of_loki_tasks_are_kept(tmp_path: Path) -> None:
    tasks = by_name(loki.read(str(a_loki_directory(tmp_path))))
    done, dead, gone = tasks["done"], tasks["dead"], tasks["gone"]
    assert [one.status for one in done.attempts] == [AttemptStatus.FAILED, AttemptStatus.SUCCESS]
    assert (plain(done.result), plain(done.decision_report)["decision"]) == ("wrote it", "JWT")
    assert (done.started_at, done.completed_at) == (instant_of(CLAIMED), instant_of(ENDED))
    assert dead.error is not None
    assert (dead.error.message, len(dead.attempts)) == ("it broke", 3)
    assert dead.attempts[-1].error == dead.error
    assert (gone.result_summary, gone.completed_at) == ("not needed", instant_of(ENDED))
    assert [one.status for one in tasks["runs"].attempts] == [AttemptStatus.RUNNING]
    assert [one.daemon for one in tasks["retried"].attempts] == ["agent-1", "agent-1"]


def test_what_has_no_place_of_its_own_is_kept_beside_a_task(tmp_path: Path) -> None:
    done = {"status": "success", "output": "o", "decisionReport": {}, "tokens": 12}
    written(tmp_path / "completed.json", [a_loki_task("a", result=done)])
    odd = {"action": "x", "constraints": ["c", 3], "goal": 7}
    written(tmp_path / "pending.json", [a_loki_task("b", result={"output": "early"}, payload=odd)])
    written(tmp_path / "dead-letter.json", [a_loki_task("c", result=["no"])])
    tasks = by_name(loki.read(str(tmp_path)))
    kept = {name: plain(task.metadata)["loki"].get("result") for name, task in tasks.items()}
    assert kept == {"a": {"status": "success", "tokens": 12}, "b": {"output": "early"}, "c": None}
    assert plain(tasks["c"].result) == ["no"]
    assert (plain(tasks["b"].payload), tasks["b"].constraints) == (odd, None)


def test_a_result_of_what_has_not_ended_is_kept_beside_it(tmp_path: Path) -> None:
    written(tmp_path / "a.json", a_queue_file("a", [], [a_queued_task("T-1", "a", result="half")]))
    assert plain(model_queues.read(str(tmp_path)).tasks[0].metadata)["model_queues"]["result"] == "half"


@pytest.mark.parametrize(
    ("retries", "stored", "base"),
    [(0, 60, 60), (1, 60, 60), (2, 120, 60), (3, 480, 60), (4, 3840, 60), (0, 90_000, 600), (9, 60, 60), (1, None, 60)],
)
def test_a_delay_that_was_multiplied_again_and_again_is_taken_back_to_where_it_began(
    tmp_path: Path, retries: int, stored: int | None, base: int
) -> None:
    task = a_loki_task("a", retries=retries, backoffSeconds=stored)
    written(tmp_path / "pending.json", [task])
    execution = loki.read(str(tmp_path)).tasks[0].execution
    assert execution is not None
    assert execution.retry_delay == base


def test_a_completed_task_that_says_it_failed_is_a_dead_letter(tmp_path: Path) -> None:
    failed = {"status": "failed", "output": "no disk"}
    written(tmp_path / "completed.json", [a_loki_task("a", result=failed, claimedAt=1_772_643_300)])
    task = loki.read(str(tmp_path)).tasks[0]
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error is not None
    assert task.error.message == "no disk"
    assert task.completed_at == instant_of(1_772_643_300)


def test_a_loki_task_may_say_little_and_say_it_oddly(tmp_path: Path) -> None:
    odd = {"id": 7, "priority": 99, "payload": "tidy up", "createdAt": "long ago", "result": [1], "idempotencyKey": -3}
    named = {"id": "n", "priority": "critical", "payload": {"constraints": "one", "goal": 3, "context": []}}
    written(tmp_path / "completed.json", [odd])
    written(tmp_path / "pending.json", [named, {"id": "r", "availableAt": ENDED, "retries": -1}])
    tasks = by_name(loki.read(str(tmp_path)))
    assert (tasks["7"].input, tasks["7"].priority, tasks["7"].created_at) == ("tidy up", 10, None)
    assert (plain(tasks["7"].result), tasks["7"].idempotency_key) == ([1], "-3")
    assert (tasks["n"].priority, tasks["n"].goal, tasks["n"].constraints) == (Level.CRITICAL, None, None)
    assert (tasks["n"].input, tasks["n"].type) == ("(no description)", "general")
    assert (tasks["r"].not_before, tasks["r"].attempts, tasks["r"].priority) == (instant_of(ENDED), [], None)


def test_a_task_in_two_files_is_taken_from_the_one_it_was_moved_to(tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    written(tmp_path / "in-progress.json", [a_loki_task("a", claimedBy="x")])
    cargo = loki.read(str(tmp_path))
    assert [task.status for task in cargo.tasks] == [Status.RUNNING]
    assert cargo.notes == [
        f"a is also in {tmp_path}/pending.json; it is taken from {tmp_path}/in-progress.json, where it is running."
    ]


def test_lokis_breakers_come_along_and_their_configuration_is_told(tmp_path: Path) -> None:
    cargo = loki.read(str(a_loki_directory(tmp_path)))
    (breaker,) = cargo.breakers
    assert (breaker.type, breaker.failures, breaker.opened_at) == ("eng-backend", 5, instant_of(ENDED))
    assert breaker.half_open_at is not None
    assert cargo.notes == [
        "Settings of breakers are the hub's; put into its taskyard.toml what Loki had:\n"
        "[breakers]\nfailure_threshold = 5\ncooldown = 300\nhalf_open_after = 60\n"
        '[breakers.overrides."ops-security"]\nfailure_threshold = 3'
    ]


def test_a_breaker_that_counts_or_lacks_its_time_is_read_too(tmp_path: Path) -> None:
    states = {"a": {"failures": 2, "lastFailure": ENDED}, "b": {"state": "half-open"}}
    written(tmp_path / "queue" / "pending.json", [])
    written(tmp_path / "state" / "orchestrator.json", {"circuitBreakers": states})
    counting, half = loki.read(str(tmp_path)).breakers
    assert (counting.opened_at, counting.failures) == (None, 2)
    assert half.opened_at is not None


@pytest.mark.parametrize(
    ("states", "said"),
    [
        ({"br-a": {"state": "OPEN"}}, "circuit-breakers.json:1:1: has no `circuitBreakers`"),
        ({"circuitBreakers": {"br-a": {"state": "ajar"}}}, "the breaker of 'br-a' is 'ajar'"),
    ],
    ids=["shape", "state"],
)
def test_breakers_that_cannot_be_made_out_are_damage(tmp_path: Path, states: object, said: str) -> None:
    written(tmp_path / "queue" / "pending.json", [])
    written(tmp_path / "state" / "circuit-breakers.json", states)
    written(tmp_path / "state" / "orchestrator.json", {"phase": "build"})
    (damage,) = loki.read(str(tmp_path)).damaged
    assert said in damage


def test_a_breakers_state_may_be_written_large(tmp_path: Path) -> None:
    written(tmp_path / "queue" / "pending.json", [])
    states = {"a": {"state": "OPEN"}, "b": {"state": "CLOSED"}}
    written(tmp_path / "state" / "circuit-breakers.json", {"circuitBreakers": states})
    assert [breaker.type for breaker in loki.read(str(tmp_path)).breakers] == ["a"]


def test_tasks_that_say_nothing_are_named(tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [{"id": "a", "action": "build", "target": "x"}, a_loki_task("b")])
    (note,) = loki.read(str(tmp_path)).notes
    assert note.startswith("No `action`, `target` or `goal` in its `payload` says what is to be done in: a.")


def test_a_configuration_that_says_nothing_is_not_told() -> None:
    assert toml_of(b"[1, 2]", "c.yaml") == ""
    assert toml_of(b"defaults: none\noverrides: 3", "c.yaml") == ""
    assert toml_of(b"defaults: {failureThreshold: true, other: 3}", "c.yaml") == ""


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"defaults:\n  a: [1, 2\n", "c.yaml:3:1: "),
        (b"a: \x00", "c.yaml: is no YAML"),
        (b"[" * 60_000, "c.yaml: is nested deeper"),
        (b"".join(b" " * n + b"- a:\n" for n in range(0, 600, 2)), "c.yaml"),
        (b"a: !!python/object:os.system {}", "c.yaml:1:4: "),
        (b"a: &a {x: 1}\nb: {<<: [*a, *a]}", "c.yaml:2:10: a configuration is read without aliases"),
        (b"a: " + b"9" * 5000, "c.yaml: is no YAML"),
    ],
    ids=["unclosed", "control", "brackets", "deep", "object", "aliases", "number"],
)
def test_a_configuration_that_cannot_be_read_says_where(content: bytes, said: str) -> None:
    with pytest.raises(Damaged, match=said):
        toml_of(content, "c.yaml")


def test_damaged_state_and_configuration_are_told_and_the_rest_is_read(tmp_path: Path) -> None:
    a_loki_directory(tmp_path)
    written(tmp_path / "state" / "circuit-breakers.json", '{"circuitBreakers": [}')
    written(tmp_path / "config" / "circuit-breakers.yaml", "a: [")
    cargo = loki.read(str(tmp_path))
    assert [damage.split("/")[-1].split(":")[0] for damage in cargo.damaged] == [
        "circuit-breakers.json",
        "circuit-breakers.yaml",
    ]
    os.symlink("/etc", tmp_path / "elsewhere")
    (tmp_path / "state" / "circuit-breakers.json").unlink()
    (tmp_path / "state").rmdir()
    os.symlink("elsewhere", tmp_path / "state")
    assert any("state: is no directory of its own" in damage for damage in loki.read(str(tmp_path)).damaged)


# --- queues by model source --------------------------------------------------------------------------------


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


# --- broken and hostile ------------------------------------------------------------------------------------


def test_a_broken_file_is_named_with_line_and_column_and_the_others_are_read(tmp_path: Path) -> None:
    a_loki_directory(tmp_path)
    broken = written(tmp_path / "queue" / "dead-letter.json", '{"tasks": [\n  {"id": "dead",\n   "type": oops}]}')
    cargo = loki.read(str(tmp_path))
    assert cargo.damaged[0].startswith(f"{broken}:3:12: ")
    assert cargo.left_out == ["Left out, since they depend on what could not be read: blocked, orphan."]
    assert "dead" not in by_name(cargo)
    assert "blocked" not in by_name(cargo), "it depends on what could not be read"
    assert "waits" in by_name(cargo)
    assert broken.read_text().endswith("oops}]}")


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"tasks": [\n  {"id": "a"},\n  {"id": "b", "retries": "many"}\n]}', ":3:3: Expected `int | null`"),
        ('{"tasks": [', ":1:12: "),
        ("", ":1:1: "),
        ('{"tasks": 3}', ":1:1: "),
        ('{"task": []}', ":1:1: has no `tasks`"),
        ('[{"type": "x"}]', ":1:2: "),
        ("[" * (DEPTH_MAX + 9), "nested deeper"),
        ('{"tasks": [{"id": "é", "x": }]}', ":1:29: "),
    ],
    ids=["shape", "cut", "empty", "no-list", "no-tasks", "no-id", "deep", "letters"],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, content: str, place: str) -> None:
    written(tmp_path / "pending.json", content)
    (damage,) = loki.read(str(tmp_path)).damaged
    assert place in damage


def test_only_regular_files_of_a_sane_size_are_read(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("[]")
    os.symlink(tmp_path / "real.json", tmp_path / "pending.json")
    os.mkfifo(tmp_path / "completed.json")
    (tmp_path / "cancelled.json").mkdir()
    with (tmp_path / "dead-letter.json").open("wb") as file:
        file.truncate(1 << 30)
    damaged = "\n".join(loki.read(str(tmp_path)).damaged)
    assert "pending.json: is a link, and none is followed" in damaged
    assert "completed.json: is no regular file" in damaged
    assert "cancelled.json: is no regular file" in damaged
    assert "dead-letter.json: has 1,073,741,824 bytes" in damaged


def test_a_queue_or_an_archive_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    os.symlink("/etc", tmp_path / "archive")
    assert "archive: is no directory of its own" in model_queues.read(str(tmp_path)).damaged[0]
    os.symlink("/etc", tmp_path / "queue")
    with pytest.raises(Damaged, match="queue: is no directory of its own"):
        loki.read(str(tmp_path))


def test_a_directory_without_a_queue_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NotADirectory, match="holds neither `queue`"):
        loki.read(str(tmp_path))
    with pytest.raises(NotADirectory, match="holds no queue's file"):
        model_queues.read(str(tmp_path))
    with pytest.raises(NotADirectory, match="No such file"):
        loki.read(str(tmp_path / "nowhere"))


def test_json_of_something_else_is_no_queue(tmp_path: Path) -> None:
    written(tmp_path / "package.json", {"name": "app", "scripts": {}})
    written(tmp_path / "tsconfig.json", {"compilerOptions": {}})
    with pytest.raises(NotADirectory, match=r"no queue's file: none of package\.json, tsconfig\.json has `tasks`"):
        model_queues.read(str(tmp_path))
    written(tmp_path / "gpu.json", a_queue_file("gpu", [], []))
    cargo = model_queues.read(str(tmp_path))
    assert (list(cargo.queues), len(cargo.damaged)) == (["gpu"], 2)


def test_a_file_that_is_written_to_meanwhile_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "pending.json", [])
    really_read = os.read

    def read_while_somebody_writes(fd: int, size: int) -> bytes:
        content = really_read(fd, size)
        os.utime(path, ns=(1, 1))
        return content

    monkeypatch.setattr(os, "read", read_while_somebody_writes)
    with directory(str(tmp_path)) as found, pytest.raises(Damaged, match="written to while it was read"):
        found.read("pending.json")


def test_a_directory_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda fd: [f"{n}.json" for n in range(FILES_MAX + 1)])
    with directory(str(tmp_path)) as found, pytest.raises(Damaged, match="has 10,001 files"):
        found.names(".json")


def test_a_place_is_counted_in_letters_from_one() -> None:
    assert placed("é\nab".encode(), "f", 0) == "f:1:1"
    assert placed("é\nab".encode(), "f", 4) == "f:2:2"


# --- words and times ---------------------------------------------------------------------------------------


def test_times_are_read_in_either_form_and_nothing_else() -> None:
    assert instant_of("2026-03-04T16:51:00") == instant_of("2026-03-04T16:51:00Z") == instant_of(1772643060)
    assert instant_of(1772643060000) == instant_of(1772643060.0)
    assert [instant_of(said) for said in (None, "soon", True, -5, 1e300, [])] == [None] * 6


def test_errors_are_read_in_any_form() -> None:
    assert error_of(None) is error_of("") is None
    said = [error_of(one) for one in ("no", {"message": "m", "code": "C"}, {"message": "m"}, {"x": 1})]
    assert [(one.code, one.message) for one in said if one is not None] == [
        ("IMPORTED_FAILURE", "no"),
        ("C", "m"),
        ("IMPORTED_FAILURE", "m"),
        ("IMPORTED_FAILURE", '{"x":1}'),
    ]


def test_what_is_kept_beside_a_task_is_bounded() -> None:
    raw = metadata_of("loki", {"id": "a", "long": "x" * 100_000, "payload": 1}, left_out=("payload",))
    assert len(bytes(raw)) < FIELD_BYTES_MAX
    assert plain(raw) == {"loki": {"id": "a"}, "left_out": 1}
    many = metadata_of("loki", {f"k{n}": "x" * 100 for n in range(20_000)}, left_out=())
    assert FIELD_BYTES_MAX - 1000 < len(bytes(many)) < FIELD_BYTES_MAX
    assert len(text_of("é" * INPUT_BYTES_MAX).encode()) <= INPUT_BYTES_MAX


def test_a_directory_is_known_by_its_path_unless_it_is_given_a_name(tmp_path: Path) -> None:
    assert origin_of("loki", str(tmp_path / "a" / ".."), None) == f"loki:{tmp_path.resolve()}"
    assert origin_of("loki", "anywhere", "mine") == "mine"
    assert len(origin_of("loki", "/" + "long/" * 100, None)) < 255


# --- carrying ----------------------------------------------------------------------------------------------


class Taker:
    """Takes what it is given, and remembers how it came."""

    def __init__(self, *, there: tuple[str, ...] = (), refuses: str | None = None) -> None:
        self.there = set(there)
        self.refuses = refuses
        self.pieces: list[Import] = []

    def import_piece(self, piece: Import) -> ImportAnswer:
        self.pieces.append(piece)
        names = [task.id for task in piece.tasks]
        new = [name for name in names if name not in self.there]
        if not piece.dry_run:
            self.there.update(new)
        rejected = [
            Rejected(index=names.index(n), status=422, code="X", detail="no") for n in names if n == self.refuses
        ]
        return ImportAnswer(new=new, there=[name for name in names if name not in new], rejected=rejected)


def a_task(id: str, *depends_on: str, **fields: Any) -> CarriedTask:
    return CarriedTask(id=id, input="do it", depends_on=list(depends_on), **fields)


def test_a_large_import_comes_in_pieces_each_after_what_it_needs() -> None:
    chain = [a_task(f"t{n}", *([f"t{n + 1}"] if n < 2500 else [])) for n in range(2501)]
    taker = Taker(there=("t7",))
    told: list[tuple[int, int]] = []
    carried = carry(taker, Cargo(origin="o", tasks=chain), dry_run=False, told=lambda *at: told.append(at))  # type: ignore[arg-type]
    assert (carried.new, carried.there) == (2500, 1)
    taken = [piece for piece in taker.pieces if not piece.dry_run]
    assert [len(piece.tasks) for piece in taken] == [BATCH_TASKS_MAX, BATCH_TASKS_MAX, 500]
    assert [piece.open_left for piece in taken] == [2500, 1500, 500]
    assert list(taken[1].elsewhere) == ["t1501"]
    assert told == [(1000, 2500), (2000, 2500), (2500, 2500)]


def test_large_tasks_make_small_pieces() -> None:
    large = msgspec.Raw(b'"' + b"x" * 3_000_000 + b'"')
    tasks = [a_task(f"t{n}", result=large) for n in range(3)]
    taker = Taker()
    carry(taker, Cargo(origin="o", tasks=tasks), dry_run=True, told=lambda *_: None)  # type: ignore[arg-type]
    assert [len(piece.tasks) for piece in taker.pieces] == [2, 1]


def test_what_somebody_else_has_brought_meanwhile_is_counted_as_there() -> None:
    class Contested(Taker):
        def import_piece(self, piece: Import) -> ImportAnswer:
            if not piece.dry_run:
                self.there.add("b")
            return super().import_piece(piece)

    cargo = Cargo(origin="o", tasks=[a_task("a"), a_task("b"), a_task("c")])
    carried = carry(Contested(there=("c",)), cargo, dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert (carried.new, carried.there) == (1, 2)


def test_nothing_is_taken_if_anything_is_in_the_way() -> None:
    taker = Taker(refuses="b")
    carried = carry(taker, Cargo(origin="o", tasks=[a_task("a"), a_task("b")]), dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert carried.rejected == ["b: no"]
    assert all(piece.dry_run for piece in taker.pieces)


@pytest.mark.parametrize(
    ("fields", "said"), [({"goal": "a\0b"}, "U+0000"), ({"title": 5}, "Expected `str | null`")], ids=["nul", "shape"]
)
def test_what_no_hub_reads_is_named_before_any_is_asked(fields: dict[str, Any], said: str) -> None:
    taker, cargo = Taker(), Cargo(origin="o", tasks=[a_task("a"), a_task("b", **fields)], files={"b": "q/b.json"})
    carried = carry(taker, cargo, dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert taker.pieces == []
    assert carried.rejected[0].startswith("b in q/b.json: ")
    assert said in carried.rejected[0]


def test_an_import_of_no_task_still_brings_its_breakers() -> None:
    taker = Taker()
    carry(taker, Cargo(origin="o"), dry_run=False, told=lambda *_: None)  # type: ignore[arg-type]
    assert [piece.dry_run for piece in taker.pieces] == [True, False]


def test_a_circle_is_named() -> None:
    with pytest.raises(Circular, match="a, b"):
        arrange([a_task("a", "b"), a_task("b", "a"), a_task("c")])
    assert [task.id for task in arrange([a_task("child", parent_task_id="p"), a_task("p")])] == ["p", "child"]


# --- the commands ------------------------------------------------------------------------------------------


def everything_is_new(hub: StubHub, names: list[str]) -> None:
    looked = Reply(body={"new": names, "there": ["x"], "rejected": []})
    hub.on("POST", "import", looked, Reply(body={"new": names, "there": [], "rejected": []}))


def test_an_import_looks_first_then_takes_and_says_what_came_of_it(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    everything_is_new(hub, ["a"])
    assert cli("import", "loki", str(tmp_path)) == (0, "1 task was taken in; 1 is there already.\n", "")
    assert [call.body["dry_run"] for call in hub.calls] == [True, False]


def test_a_dry_run_takes_nothing(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "a.json", a_queue_file("a", [], [a_queued_task("T-1", "a")]))
    everything_is_new(hub, ["a/T-1"])
    said = cli("import", "model-queues", str(tmp_path), "--dry-run", "--origin", "mine")
    assert said.out == "1 task would be taken in; 1 is there already.\n"
    assert [(call.body["dry_run"], call.body["origin"]) for call in hub.calls] == [(True, "mine")]


@pytest.mark.parametrize(("arguments", "verb"), [((), "were"), (("--dry-run",), "would be")])
def test_queues_that_are_made_are_named(
    hub: StubHub, cli: Cli, tmp_path: Path, arguments: tuple[str, ...], verb: str
) -> None:
    written(tmp_path / "gpu.json", a_queue_file("gpu", [], [a_queued_task("T-1", "gpu")]))
    hub.on("POST", "import", *[Reply(body={"new": ["gpu/T-1"], "there": [], "rejected": [], "queues": ["gpu"]})] * 2)
    assert cli("import", "model-queues", str(tmp_path), *arguments).err == f"Queues that {verb} made: gpu.\n"


def test_a_corrupt_file_makes_it_done_in_part(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    written(tmp_path / "completed.json", "[\n{]")
    everything_is_new(hub, ["a"])
    said = cli("import", "loki", str(tmp_path))
    assert said.code == 6
    assert "completed.json:2:2: " in said.err


@pytest.mark.parametrize("kind", ["loki", "model-queues"])
def test_tasks_of_the_same_name_in_one_file_are_told_and_the_first_is_taken(
    hub: StubHub, cli: Cli, tmp_path: Path, kind: str
) -> None:
    if kind == "loki":
        path = written(tmp_path / "pending.json", [a_loki_task("a", priority=n) for n in (3, 4, 5)])
    else:
        tasks = [a_queued_task("a", "q", priority=n) for n in (3, 4, 5)]
        path = written(tmp_path / "q.json", a_queue_file("q", [], tasks))
    everything_is_new(hub, ["a" if kind == "loki" else "q/a"])
    said = cli("import", kind, str(tmp_path))
    name = hub.calls[-1].body["tasks"][0]["id"]
    assert said.code == 6
    assert said.err == f"{path} has {name} more than once: the first one is taken, the others are left out.\n"
    assert [task["priority"] for task in hub.calls[-1].body["tasks"]] == [3]


def test_what_is_in_the_way_is_told_and_is_a_no(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task(f"a{n:02d}") for n in range(30)])
    rejected = [{"index": n, "status": 422, "code": "X", "detail": "cannot be"} for n in range(30)]
    hub.on("POST", "import", Reply(body={"new": [], "there": [], "rejected": rejected}))
    said = cli("import", "loki", str(tmp_path))
    assert (said.code, said.out) == (1, "Nothing was taken in. 10 more are in the way.\n")
    assert f"In the way: a00 in {tmp_path}/pending.json: cannot be" in said.err


def test_what_is_said_in_passing_has_an_end(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "in-progress.json", [a_loki_task("a")])
    written(
        tmp_path / "pending.json",
        [a_loki_task("a")] * 25 + [a_loki_task(f"b{n}", dependencies=["x"]) for n in range(25)],
    )
    written(tmp_path / "completed.json", "[")
    everything_is_new(hub, ["a"])
    said = cli("import", "loki", str(tmp_path)).err
    assert said.count("/pending.json; it is taken from") == 20
    assert "5 more such remarks" in said
    assert "and 5 more." in said


def test_too_many_to_be_pending_is_a_limit(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    rejected = [{"index": 0, "status": 400, "code": "TOO_MANY_PENDING", "detail": "You have 50 of at most 50."}]
    hub.on("POST", "import", Reply(body={"new": [], "there": [], "rejected": rejected}))
    assert cli("import", "loki", str(tmp_path)).code == 5


@pytest.mark.parametrize("arguments", [("loki",), ("model-queues",), ("yard",)])
def test_what_is_not_there_is_a_no(hub: StubHub, cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    said = cli("import", *arguments, str(tmp_path / "nowhere"))
    assert said.code == 1
    assert "No such file" in said.err
    assert hub.calls == []


@pytest.mark.parametrize("origin", ["", "x" * 300])
def test_an_origin_is_a_name(hub: StubHub, cli: Cli, tmp_path: Path, origin: str) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    said = cli("import", "loki", str(tmp_path), "--origin", origin)
    assert said.code == 2
    assert "a name has 1 to" in said.err
    assert hub.calls == []


def test_a_name_makes_no_lines_of_its_own(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    name = "a\nAll is well."
    written(tmp_path / "in-progress.json", [a_loki_task(name), a_loki_task(name)])
    written(tmp_path / "pending.json", [a_loki_task(name), a_loki_task("b", payload={}), {"id": "c\nd"}])
    rejected = [{"index": 0, "status": 422, "code": "X", "detail": "cannot be"}]
    hub.on("POST", "import", Reply(body={"new": [], "there": [], "rejected": rejected}))
    said = cli("import", "loki", str(tmp_path)).err.splitlines()
    assert len(said) == 4, said


def test_a_mark_of_the_order_of_bytes_is_none_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "pending.json").write_bytes(b'\xef\xbb\xbf[{"id": "a", "payload": "x"}]')
    assert [task.id for task in loki.read(str(tmp_path)).tasks] == ["a"]


def test_programs_are_told_in_json(hub: StubHub, cli: Cli, tmp_path: Path) -> None:
    written(tmp_path / "pending.json", [a_loki_task("a")])
    everything_is_new(hub, ["a"])
    said = plain(cli("import", "loki", str(tmp_path), "--json").out)
    assert said == {
        "new": 1,
        "there": 1,
        "damaged": [],
        "left_out": [],
        "rejected": [],
        "notes": [],
        "dry_run": False,
        "queues": [],
        "limited": False,
    }

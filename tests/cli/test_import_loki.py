"""What is read of Loki's queue."""

import os
from pathlib import Path

import pytest

from taskyard.cli.imports import loki, model_queues
from taskyard.cli.imports.circuit import toml_of
from taskyard.cli.imports.files import Damaged
from taskyard.cli.imports.foreign import instant_of
from taskyard.vocabulary import AttemptStatus, Level, Status
from tests.support.cargo import by_name, plain
from tests.support.foreign_queues import (
    CLAIMED,
    ENDED,
    a_loki_directory,
    a_loki_task,
    a_queue_file,
    a_queued_task,
    written,
)


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

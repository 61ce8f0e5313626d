"""The judge is judged: a clean history passes every rule, and each rule sees the one thing it is there for."""

from dataclasses import dataclass, field, replace

import pytest

from tests.acceptance.history import NS, Fault, History, Kind, Run, Submission, violations
from tests.support.fleet import result_of

pytestmark = pytest.mark.takes(1)

PID, OTHER = 100, 200


@dataclass
class Attempt:
    number: int
    status: str = "success"
    late_result: str | None = None


@dataclass
class Answered:
    id: str
    status: str = "completed"
    result: str | None = None
    attempts: list[Attempt] = field(default_factory=list)


def answered(task: str, *, attempt: int = 1, pid: int = PID) -> Answered:
    return Answered(task, result=result_of(task, attempt, pid), attempts=[Attempt(attempt)])


def a_run(task: str, start: float, end: float | None, *, attempt: int = 1, pid: int = PID, seen: int = 0) -> Run:
    return Run(task, attempt, pid, "d1", round(start * NS), None if end is None else round(end * NS), seen=seen)


def clean() -> History:
    """Two exclusive tasks one after the other, the second waiting for the first, while a hub is killed."""
    return History(
        runs=[a_run("a", 1, 2), a_run("b", 3, 4, seen=1)],
        faults=[Fault(Kind.HUB_KILL, 1, round(1.5 * NS), round(1.9 * NS))],
        acknowledged=[Submission("k1", "a", "press"), Submission("k2", "b", "press", ("a",))],
        tasks={"a": answered("a"), "b": answered("b")},
        events={"a": [("1-1-0", "task.completed")], "b": [("1-2-0", "task.completed")]},
        streamed=[("1-1-0", "a"), ("1-2-0", "b")],
    )


def broken_rules(history: History) -> set[str]:
    return set(violations(history))


def test_a_clean_history_breaks_no_rule() -> None:
    assert broken_rules(clean()) == set()


def test_an_acknowledged_task_that_is_gone_or_unfinished_is_lost() -> None:
    history = clean()
    history.tasks = {"b": answered("b")}
    assert "acknowledged tasks lost" in broken_rules(history)
    history.tasks = {"a": replace(answered("a"), status="permanently_failed"), "b": answered("b")}
    assert "acknowledged tasks lost" in broken_rules(history)


def test_a_key_with_two_tasks_and_a_task_nobody_asked_for_are_seen() -> None:
    history = clean()
    history.acknowledged = [*history.acknowledged, Submission("k1", "c")]
    assert "keys with other than one task" in broken_rules(history)
    history = clean()
    history.tasks = {**history.tasks, "ghost": answered("ghost")}
    history.events = {**history.events, "ghost": [("1-3-0", "task.completed")]}
    assert "keys with other than one task" in broken_rules(history)


def test_a_ref_that_was_given_to_two_tasks_is_seen_also_if_the_loss_of_the_first_was_reported() -> None:
    history = clean()
    history.acknowledged = [
        replace(history.acknowledged[0], ref="T-001"),
        replace(history.acknowledged[1], ref="T-002"),
    ]
    assert broken_rules(history) == set()
    history.acknowledged.append(Submission("k3", "c", ref="T-002"))
    assert broken_rules(history) == {"acknowledged tasks lost", "refs given twice"}
    history.reported = frozenset({"c"})
    assert broken_rules(history) == {"refs given twice"}


def test_a_task_that_is_begun_again_after_its_end_is_seen_whatever_happened_to_its_daemon() -> None:
    history = clean()
    history.runs.append(a_run("a", 3, 4, attempt=2, pid=OTHER))
    history.faults.append(Fault(Kind.DAEMON_KILL, PID, 5 * NS, 6 * NS))
    history.faults.append(Fault(Kind.DAEMON_STOP, PID, round(2.5 * NS), round(2.9 * NS)))
    history.tasks["a"].attempts[0].late_result = "kept"
    assert "starts after the end" in broken_rules(history)


def test_what_is_still_counted_when_all_has_ended_is_seen() -> None:
    history = clean()
    history.left_open = ["d1 holds a"]
    assert broken_rules(history) == {"left open"}


def test_two_ends_of_a_task_are_seen() -> None:
    history = clean()
    history.events = {**history.events, "a": [("1-1-0", "task.completed"), ("1-1-1", "task.completed")]}
    assert "tasks completed twice" in broken_rules(history)


def test_an_attempt_begun_by_two_processes_is_seen() -> None:
    history = clean()
    history.runs.append(a_run("a", 1.2, 2, pid=OTHER))
    assert "attempts started twice" in broken_rules(history)


def test_a_second_attempt_beside_a_healthy_first_one_is_seen() -> None:
    history = clean()
    history.runs.append(a_run("a", 1.2, 1.6, attempt=2, pid=OTHER))
    assert "restarts of what still ran" in broken_rules(history)


def test_a_second_attempt_after_a_death_is_allowed() -> None:
    history = clean()
    history.runs[0] = a_run("a", 1, None)
    history.runs.append(a_run("a", 1.7, 2, attempt=2, pid=OTHER))
    history.faults.append(Fault(Kind.DAEMON_KILL, PID, round(1.5 * NS), round(1.6 * NS)))
    history.runs[1] = a_run("b", 3, 4, pid=OTHER, seen=1)
    history.tasks = {
        "a": Answered("a", result=result_of("a", 2, OTHER), attempts=[Attempt(1, "lost"), Attempt(2)]),
        "b": answered("b", pid=OTHER),
    }
    assert broken_rules(history) == set()


def test_an_older_attempt_that_its_process_begins_when_it_comes_to_is_allowed() -> None:
    history = clean()
    history.runs[0] = a_run("a", 1.7, 2, attempt=2, pid=OTHER)
    history.runs.append(a_run("a", 2.51, 2.6, attempt=1))
    kept = Answered("a", result=result_of("a", 2, OTHER), attempts=[Attempt(1, "lost", "kept"), Attempt(2)])
    history.tasks = {**history.tasks, "a": kept}
    assert "restarts of what still ran" in broken_rules(history)
    history.faults.append(Fault(Kind.DAEMON_STOP, PID, round(1.1 * NS), round(2.5 * NS)))
    assert "restarts of what still ran" not in broken_rules(history)


def test_exclusive_work_that_its_daemon_stopped_while_the_hub_was_away_is_begun_anew() -> None:
    history = clean()
    history.runs[0] = a_run("a", 1, None)
    history.runs[0].stopped = round(1.8 * NS)
    history.runs.append(a_run("a", 2, 2.5, attempt=2, pid=OTHER))
    assert "restarts of what still ran" not in broken_rules(history)
    history.acknowledged[0] = Submission("k1", "a")
    assert "restarts of what still ran" in broken_rules(history)


def test_a_result_that_is_nowhere_is_seen_and_a_late_one_is_not_lost() -> None:
    history = clean()
    kept = Answered("a", result=result_of("a", 2, OTHER), attempts=[Attempt(1, "lost"), Attempt(2)])
    history.tasks = {**history.tasks, "a": kept}
    history.runs.append(a_run("a", 1.8, 1.9, attempt=2, pid=OTHER))
    assert "results lost" in broken_rules(history)
    kept.attempts[0].late_result = "kept"
    assert "results lost" not in broken_rules(history)


def test_a_result_that_no_run_gave_is_seen() -> None:
    history = clean()
    history.tasks = {**history.tasks, "a": replace(answered("a"), result="made up")}
    assert "results from nowhere" in broken_rules(history)


def test_a_start_before_its_dependency_ended_is_seen() -> None:
    history = clean()
    history.runs[1] = a_run("b", 1.9, 4, seen=1)
    assert "starts before a dependency" in broken_rules(history)
    history.runs[1] = a_run("b", 3, 4, seen=0)
    assert "starts before a dependency" in broken_rules(history)


def test_exclusive_tasks_that_overlap_are_seen() -> None:
    history = clean()
    history.acknowledged[1] = Submission("k2", "b", "press")
    history.runs[1] = a_run("b", 1.9, 4)
    assert "overlaps of exclusive tasks" in broken_rules(history)


def test_an_exclusive_task_whose_process_is_stopped_does_not_run() -> None:
    history = clean()
    history.acknowledged[1] = Submission("k2", "b", "press")
    history.runs = [a_run("a", 1, 5.1), a_run("b", 3, 4, pid=OTHER)]
    history.faults.append(Fault(Kind.DAEMON_STOP, PID, round(1.5 * NS), 5 * NS))
    history.tasks = {"a": answered("a"), "b": answered("b", pid=OTHER)}
    assert broken_rules(history) == set()
    history.runs[0] = a_run("a", 1, 8)
    history.runs[1] = a_run("b", 6, 7, pid=OTHER)
    assert broken_rules(history) == {"overlaps of exclusive tasks"}


@pytest.mark.parametrize("streamed", [[("1-1-0", "a")], [("1-1-0", "a"), ("1-1-0", "a"), ("1-2-0", "b")]])
def test_a_gap_and_a_repeat_in_the_stream_are_seen(streamed: list[tuple[str, str]]) -> None:
    history = clean()
    history.streamed = streamed
    assert broken_rules(history) == {"gaps or repeats in the stream"}


def test_faults_that_met_no_work_fail_the_run() -> None:
    history = clean()
    history.faults = [Fault(Kind.HUB_KILL, 1, 5 * NS, 6 * NS)]
    assert broken_rules(history) == {"runs that proved nothing"}
    history.faults = []
    assert broken_rules(history) == {"runs that proved nothing"}
    hit, missed = clean().faults[0], Fault(Kind.HUB_KILL, 1, 5 * NS, 6 * NS)
    history.faults = [hit, hit, missed]
    assert broken_rules(history) == set()
    history.faults = [hit, missed, missed]
    assert broken_rules(history) == {"runs that proved nothing"}

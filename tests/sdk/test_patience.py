"""When a wait ends although its task has not, and what it says then."""

from typing import Any

import msgspec
import pytest

from taskyard.sdk.answers import TaskRecord, Why
from taskyard.sdk.errors import TaskStuck, TaskyardError, WaitTimeout
from taskyard.sdk.patience import STUCK_AFTER_S, WAITING_POLL_S, Patience
from taskyard.sdk.requests import WAIT_S_MAX
from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub, a_task, problem

ID = "01900000-0000-7000-8000-000000000002"
BLOCKED = {
    "task": "T-002",
    "status": "blocked",
    "summary": "Blocked by a dependency: it depends on T-001 (failed), and will not run without.",
    "reasons": [{"code": "DEPENDENCY_FAILED", "message": "…", "would_help": "retrying T-001"}],
}
FOR_NOBODY = {
    "task": "T-002",
    "status": "queued",
    "summary": "No daemon can run it: none of the daemons you may use has ever offered gpu.",
    "reasons": [{"code": "NO_ELIGIBLE_DAEMON", "message": "…", "would_help": None}],
}
ITS_TURN = {
    "task": "T-002",
    "status": "queued",
    "summary": "Waits for a free slot: mac is full.",
    "reasons": [{"code": "NO_FREE_SLOT", "message": "…"}],
}


class Hands:
    """A clock that a test puts forward."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def a_record(**fields: Any) -> TaskRecord:
    return msgspec.convert(a_task(**fields), TaskRecord)


def why(answer: dict[str, Any]) -> Why:
    return msgspec.convert(answer, Why)


def patient(clock: Hands, **terms: Any) -> Patience:
    return Patience(**{"timeout_s": None, "watched": False, **terms}, clock=clock)


def test_a_task_that_no_known_daemon_can_run_is_given_up_once_that_has_lasted() -> None:
    clock, task = Hands(), a_record()
    patience = patient(clock)
    assert not patience.doubts(task)
    assert patience.next_poll_s(task) == WAIT_S_MAX
    clock.at += WAIT_S_MAX
    assert not patience.doubts(task)
    assert patience.next_poll_s(task) == STUCK_AFTER_S - WAIT_S_MAX
    clock.at += STUCK_AFTER_S - WAIT_S_MAX
    assert patience.doubts(task)
    with pytest.raises(TaskStuck) as told:
        patience.judge(task, why(FOR_NOBODY))
    assert (told.value.code, told.value.why) == ("NO_ELIGIBLE_DAEMON", FOR_NOBODY["summary"])
    assert str(told.value) == f"T-002 cannot go on by itself. {FOR_NOBODY['summary']}"


@pytest.mark.parametrize("told", [None, ITS_TURN])
def test_a_task_that_waits_for_its_turn_is_waited_for(told: dict[str, Any] | None) -> None:
    clock, task = Hands(), a_record()
    patience = patient(clock, stuck_after_s=5)
    assert not patience.doubts(task)
    clock.at += 5
    assert patience.doubts(task)
    patience.judge(task, None if told is None else why(told))
    assert not patience.doubts(task)
    clock.at += 4.9
    assert not patience.doubts(task)


@pytest.mark.parametrize(
    "better",
    [{"estimated_start": "2026-01-01T00:00:00Z"}, {"waiting_for_daemon": "mac"}, {"status": "running"}],
)
def test_the_time_begins_anew_when_a_start_is_foreseen_in_between(better: dict[str, Any]) -> None:
    clock = Hands()
    patience = patient(clock, stuck_after_s=5)
    assert not patience.doubts(a_record())
    clock.at += 4
    assert not patience.doubts(a_record(**better))
    clock.at += 4
    assert not patience.doubts(a_record())


def test_a_blocked_task_is_given_up_at_once_also_where_the_hub_cannot_say_why() -> None:
    patience, task = patient(Hands()), a_record(status="blocked")
    assert patience.doubts(task)
    with pytest.raises(TaskStuck, match=r"T-002 cannot go on by itself\. It is blocked\.") as told:
        patience.judge(task, None)
    assert (told.value.code, told.value.why) == (None, None)


def test_one_that_wants_to_wait_all_the_same_does() -> None:
    patience = patient(Hands(), stuck_after_s=None)
    assert not patience.doubts(a_record(status="blocked"))
    assert not patience.doubts(a_record())
    assert patience.next_poll_s(a_record(status="waiting")) == WAIT_S_MAX


def test_a_task_that_waits_for_others_is_looked_at_more_often() -> None:
    assert patient(Hands()).next_poll_s(a_record(status="waiting")) == WAITING_POLL_S


def test_a_poll_is_never_without_any_length() -> None:
    patience = patient(Hands(), stuck_after_s=0)
    assert patience.doubts(a_record())
    assert patience.next_poll_s(a_record()) == 0.05


# --- through both clients ----------------------------------------------------------------------------------


def test_a_wait_for_a_blocked_task_ends_with_what_blocks_it(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "tasks/T-002", Reply(body=a_task(status="waiting")))
    hub.on("GET", f"tasks/{ID}", Reply(body=a_task(status="blocked")))
    hub.on("GET", f"tasks/{ID}/why", Reply(body=BLOCKED))
    task = driver.do(driver.client.task("T-002"))
    with pytest.raises(TaskStuck, match=r"will not run without\. What helps: retrying T-001\.$") as told:
        driver.do(task.wait())
    assert (told.value.code, told.value.why) == ("DEPENDENCY_FAILED", BLOCKED["summary"])
    assert isinstance(told.value, TaskyardError)
    assert task.status == "blocked"


def test_a_wait_for_what_no_daemon_can_run_ends(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "tasks/T-002", Reply(body=a_task()))
    hub.on("GET", f"tasks/{ID}/why", Reply(body=FOR_NOBODY))
    task = driver.do(driver.client.task("T-002"))
    with pytest.raises(TaskStuck, match="none of the daemons you may use has ever offered gpu"):
        driver.do(task.wait(stuck_after=0))


def test_a_wait_goes_on_where_the_hub_cannot_say_what_holds_its_task(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "tasks/T-002", Reply(body=a_task()))
    hub.on("GET", f"tasks/{ID}", Reply(body=a_task(status="completed")))
    hub.on("GET", f"tasks/{ID}/why", problem(404, "NOT_FOUND", "an older hub"))
    task = driver.do(driver.client.task("T-002"))
    assert driver.do(task.wait(stuck_after=0)).succeeded


def test_a_wait_that_takes_too_long_says_what_holds_its_task(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "tasks/T-002", Reply(body=a_task()))
    hub.on("GET", f"tasks/{ID}", Reply(body=a_task()))
    hub.on("GET", f"tasks/{ID}/why", Reply(body=ITS_TURN))
    task = driver.do(driver.client.task("T-002"))
    with pytest.raises(WaitTimeout) as told:
        driver.do(task.wait(timeout=0))
    assert told.value.why == "Waits for a free slot: mac is full."
    assert str(told.value) == "T-002 is still queued. Waits for a free slot: mac is full."

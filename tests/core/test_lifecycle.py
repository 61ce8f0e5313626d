"""The table of a task's life, tested whole."""

import ast
from pathlib import Path

import pytest

from taskyard.core.lifecycle import BEGINNINGS, EVENT_OF, TRANSITIONS, IllegalTransition, begin, move, possible
from taskyard.core.task import Kind, Task, Terms
from taskyard.vocabulary import ENDED, FINAL, Status
from tests.support.harness import HubHarness

S = Status
CORE = Path(__file__).resolve().parents[2] / "src" / "taskyard" / "core"

# As the specification lists it, in its words; the code has its own table.
SPECIFIED = {
    "pending": "queued skipped cancelled stale permanently_failed completed",
    "waiting": "pending queued blocked skipped cancelled stale",
    "blocked": "waiting pending queued skipped cancelled stale",
    "queued": "scheduled pending skipped cancelled stale permanently_failed completed",
    "scheduled": "running queued completed failed cancelled",
    "running": "completed failed timeout cancelled queued pending",
    "failed": "queued pending permanently_failed",
    "timeout": "queued pending permanently_failed",
    "permanently_failed": "queued pending cancelled",
    "skipped": "waiting pending queued blocked",
    "completed": "",
    "cancelled": "",
    "stale": "",
}


def a_task(status: Status) -> Task:
    return Task(id="t", user_id="ann", number=1, kind=Kind(), terms=Terms(), created_at=0, status=status)


@pytest.mark.parametrize("to", Status)
@pytest.mark.parametrize("was", Status)
def test_a_status_leads_only_to_what_the_specification_lists(was: Status, to: Status) -> None:
    hub = HubHarness()
    task = a_task(was)
    turn = hub.core.turn(hub.now)
    if to in SPECIFIED[was].split():
        move(turn, task, to)
        assert task.status is to
    else:
        with pytest.raises(IllegalTransition, match=f"T-001 cannot go from {was} to {to}"):
            move(turn, task, to)
        assert task.status is was
        assert hub.state.ledger.touched == {}


def test_every_status_is_in_the_table_and_has_an_event() -> None:
    assert set(TRANSITIONS) == set(EVENT_OF) == set(Status)


def test_completed_cancelled_and_stale_never_change() -> None:
    assert {status for status, after in TRANSITIONS.items() if not after} == FINAL


@pytest.mark.parametrize("status", Status)
def test_a_task_begins_only_where_a_new_task_can_be(status: Status) -> None:
    hub = HubHarness()
    turn = hub.core.turn(hub.now)
    task = a_task(S.PENDING)
    if status in BEGINNINGS:
        begin(turn, task, status, b"{}")
        assert task.status is status
    else:
        with pytest.raises(AssertionError, match="I1"):
            begin(turn, task, status, b"{}")


def test_every_move_is_stamped_with_its_time() -> None:
    hub = HubHarness()
    wall = hub.now.wall
    turn = hub.core.turn(hub.now)
    stamps = {S.QUEUED: "queued_at", S.SCHEDULED: "scheduled_at", S.RUNNING: "started_at", S.COMPLETED: "completed_at"}
    for was, to in ((S.PENDING, S.QUEUED), (S.QUEUED, S.SCHEDULED), (S.SCHEDULED, S.RUNNING), (S.RUNNING, S.COMPLETED)):
        task = a_task(was)
        move(turn, task, to)
        assert getattr(task, stamps[to]) == wall


def test_a_task_that_is_brought_back_has_not_completed() -> None:
    hub = HubHarness()
    task = a_task(S.PERMANENTLY_FAILED)
    task.completed_at = 5
    move(hub.core.turn(hub.now), task, S.QUEUED)
    assert task.completed_at is None


def test_one_end_may_follow_another() -> None:
    hub = HubHarness()
    task = a_task(S.PERMANENTLY_FAILED)
    move(hub.core.turn(hub.now), task, S.CANCELLED)
    assert task.status in ENDED
    assert task.completed_at == hub.now.wall


def test_a_refusal_can_say_what_is_possible() -> None:
    assert possible(S.SKIPPED) == "waiting, pending, queued, blocked"


def test_nothing_but_the_lifecycle_sets_a_tasks_status() -> None:
    found = []
    for path in sorted(CORE.glob("*.py")):
        if path.stem == "lifecycle":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            flat = [e for t in targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
            found += [
                f"{path.name}:{target.lineno}"
                for target in flat
                if isinstance(target, ast.Attribute)
                and target.attr == "status"
                # An attempt has a status of its own, which `attempts.py` and its neighbours set; so has a delivery.
                and not (isinstance(target.value, ast.Name) and target.value.id in ("attempt", "delivery"))
            ]
    assert not found, f"ask lifecycle.move for it: {found}"

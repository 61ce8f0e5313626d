"""The life of a task: THE transition table, and the only place a status is set.

Every task begins in one of `BEGINNINGS` and goes on only along `TRANSITIONS`; a pair that is not listed
raises, so that a mistake stops at its cause instead of becoming a row. `failed` and `timeout` are passed
through within one step: the attempt ended badly and `retry.py` decides at once what follows; they are seen
in the events, never in a row. `completed`, `cancelled` and `stale` lead nowhere: no late message and no sweep
changes what has ended.

Rule: nothing outside this file assigns `task.status`. What a status entails (a place in a lane, a timer, a
slot) is the business of the file that asks for the change.
"""

from collections.abc import Mapping
from typing import Final

from taskyard.core.changes import Data
from taskyard.core.state import Turn
from taskyard.core.targets import note_target
from taskyard.core.task import Task
from taskyard.vocabulary import ENDED, HELD, EventName, Status

S = Status
# Python 3.11 looks up a member of an enum by a call. What every task passes through is named here once.
QUEUED, SCHEDULED, RUNNING = S.QUEUED, S.SCHEDULED, S.RUNNING
TASK_CREATED, TASK_QUEUED = EventName.TASK_CREATED, EventName.TASK_QUEUED

TRANSITIONS: Final[Mapping[Status, tuple[Status, ...]]] = {
    # A result of an attempt already called lost may still come while nothing newer was sent out.
    S.PENDING: (S.QUEUED, S.SKIPPED, S.CANCELLED, S.STALE, S.PERMANENTLY_FAILED, S.COMPLETED),
    S.WAITING: (S.PENDING, S.QUEUED, S.BLOCKED, S.SKIPPED, S.CANCELLED, S.STALE),
    S.BLOCKED: (S.WAITING, S.PENDING, S.QUEUED, S.SKIPPED, S.CANCELLED, S.STALE),
    S.QUEUED: (S.SCHEDULED, S.PENDING, S.SKIPPED, S.CANCELLED, S.STALE, S.PERMANENTLY_FAILED, S.COMPLETED),
    S.SCHEDULED: (S.RUNNING, S.QUEUED, S.COMPLETED, S.FAILED, S.CANCELLED),
    S.RUNNING: (S.COMPLETED, S.FAILED, S.TIMEOUT, S.CANCELLED, S.QUEUED, S.PENDING),
    S.FAILED: (S.QUEUED, S.PENDING, S.PERMANENTLY_FAILED),
    S.TIMEOUT: (S.QUEUED, S.PENDING, S.PERMANENTLY_FAILED),
    S.PERMANENTLY_FAILED: (S.QUEUED, S.PENDING, S.CANCELLED),
    S.SKIPPED: (S.WAITING, S.PENDING, S.QUEUED, S.BLOCKED),
    S.COMPLETED: (),
    S.CANCELLED: (),
    S.STALE: (),
}

UNHELD: Final = frozenset(TRANSITIONS) - ENDED - HELD
# Open, and no daemon has it: what a user's limit on pending tasks counts (`User.pending`).

BEGINNINGS: Final = (S.PENDING, S.WAITING, S.BLOCKED, S.QUEUED, S.SKIPPED)

EVENT_OF: Final[Mapping[Status, EventName]] = {
    S.PENDING: EventName.TASK_PENDING,
    S.WAITING: EventName.TASK_WAITING,
    S.BLOCKED: EventName.TASK_BLOCKED,
    S.QUEUED: EventName.TASK_QUEUED,
    S.SCHEDULED: EventName.TASK_SCHEDULED,
    S.RUNNING: EventName.TASK_STARTED,
    S.FAILED: EventName.TASK_FAILED,
    S.TIMEOUT: EventName.TASK_FAILED,
    S.PERMANENTLY_FAILED: EventName.TASK_PERMANENTLY_FAILED,
    S.SKIPPED: EventName.TASK_SKIPPED,
    S.COMPLETED: EventName.TASK_COMPLETED,
    S.CANCELLED: EventName.TASK_CANCELLED,
    S.STALE: EventName.TASK_STALE,
}


class IllegalTransition(Exception):
    """A mistake in the core: the table does not list this pair."""

    def __init__(self, task: Task, to: Status) -> None:
        super().__init__(f"{task.ref} cannot go from {task.status} to {to}")


def begin(turn: Turn, task: Task, status: Status, body: bytes) -> None:
    """A new task enters the yard in its first status."""
    assert status in BEGINNINGS, "I1: every task begins in a listed status"
    turn.state.ledger.create(task, body)
    task.status = status
    turn.state.users[task.user_id].pending += status in UNHELD
    note_target(turn.state, task)
    turn.record(TASK_CREATED, task, None, status)
    if status is QUEUED:
        task.queued_at = turn.now.wall
        turn.record(TASK_QUEUED, task, None, status, queue_facts(turn, task))


def arrive(turn: Turn, task: Task, status: Status, body: bytes, *, data: Data) -> None:
    """A task that ended elsewhere enters the yard as history (`imports.py`)."""
    assert status in ENDED, "I1: what arrives as history has ended"
    turn.state.ledger.create(task, body)
    task.status = status
    turn.record(EventName.TASK_IMPORTED, task, None, status, data)


def move(turn: Turn, task: Task, to: Status, *, event: EventName | None = None, data: Data | None = None) -> None:
    """Change a task's status, along the table only. `event` names a cause the target status does not tell."""
    was = task.status
    if to not in TRANSITIONS[was]:
        raise IllegalTransition(task, to)
    turn.state.ledger.touch(task)
    task.status = to
    change = (to in UNHELD) - (was in UNHELD)
    if change:
        turn.state.users[task.user_id].pending += change
    wall = turn.now.wall
    if to is QUEUED:
        task.queued_at = wall
        if event is None:
            data = {**queue_facts(turn, task), **(data or {})}
    elif to is SCHEDULED:
        task.scheduled_at = wall
    elif to is RUNNING:
        task.started_at = wall
    elif to in ENDED:
        task.completed_at = wall
        note_target(turn.state, task)
    if was in ENDED and to not in ENDED:
        task.completed_at = None
        note_target(turn.state, task)
    turn.record(event or EVENT_OF[to], task, was, to, data)


def queue_facts(turn: Turn, task: Task) -> Data:
    """How many of its user's tasks are queued, this one among them, and how many seconds it takes to start them."""
    user = turn.state.users[task.user_id]
    depth = user.waiting + 1
    wait_ms = user.pace.wait_ms(depth, turn.now.mono)
    return {"queue_depth": depth, "estimated_wait": None if wait_ms is None else wait_ms / 1000}


def possible(status: Status) -> str:
    """What a task in this status can become, for a refusal's sentence."""
    return ", ".join(TRANSITIONS[status])

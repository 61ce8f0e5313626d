"""How a task ends: its status, and everything that must not outlive it.

Every end of every task passes through `end`: timers stop, its key is freed if nobody may rely on it any more, and
its dependants are told. Slots are not freed here: an attempt's end does that (`attempts.py`), before.
"""

from typing import Final

from taskyard.core.changes import Data
from taskyard.core.commands import Known
from taskyard.core.lifecycle import move
from taskyard.core.occurrences import hear_end
from taskyard.core.state import State, Turn
from taskyard.core.suspects import let_go
from taskyard.core.task import Echo, Task, Trouble
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import CONTENT_KEY_PREFIX, ENDED, HELD, HOOK_KEY_PREFIX, Status

KEEPS_KEY: Final = frozenset({Status.COMPLETED, Status.PERMANENTLY_FAILED})
"""A second submission finds these for as long as they are in history."""
KEEPS_KEY_FOR_A_DAY: Final = frozenset({Status.CANCELLED, Status.SKIPPED})
"""These too, if the key was given and not made of the content: the first request may still be on its way."""
DAY_MS: Final = 24 * 3600 * 1000

# Python 3.11 looks up a member of an enum by a call. What every end asks for is named here once.
WALL, BEGIN, MONO, CRITICAL_WAIT = Clock.WALL, Due.BEGIN, Clock.MONO, Due.CRITICAL_WAIT


def end(turn: Turn, task: Task, status: Status, *, data: Data | None = None) -> None:
    """The task ends (a new task that is skipped at birth has its status already)."""
    assert task.status not in HELD or task.id not in turn.state.users[task.user_id].live, (
        "I3: no slot outlives its task"
    )
    if task.status is not status:
        move(turn, task, status, data=data)
    _stop_timers(turn, task)
    if task.key is not None and not keeps_key(task, turn.now.wall):
        holder = turn.state.keys.get((task.user_id, task.key))
        if holder == task.id:
            del turn.state.keys[task.user_id, task.key]
    for dependency in task.depends or ():
        unlist(turn.state.dependants, dependency.id, task.id)
    if task.parent_id is not None:
        unlist(turn.state.children, task.parent_id, task.id)
    if task.schedule_id is not None:
        hear_end(turn, task, task.schedule_id, status)
    announce(turn, task.id, status)


def keep_cancel_reason(task: Task, reason: str | None) -> None:
    """For whoever asks later why it was cancelled; its events are gone some day."""
    if reason:
        trouble = task.trouble = task.trouble or Trouble()
        trouble.cancel_reason = reason


def keeps_key(task: Task, now_ms: int) -> bool:
    """Whether an ended task's idempotency key still names it."""
    key, status = task.key or "", task.status
    if status in KEEPS_KEY or key.startswith(HOOK_KEY_PREFIX):
        return True
    if status not in KEEPS_KEY_FOR_A_DAY or key == f"{CONTENT_KEY_PREFIX}{task.digest}":
        return False
    # A task that was skipped as it came in has no other instant.
    ended_at = task.created_at if task.completed_at is None else task.completed_at
    return now_ms < ended_at + DAY_MS


def announce(turn: Turn, task_id: str, outcome: Status | None) -> None:
    """Let the dependants hear what became of a task."""
    heirs = turn.state.dependants.get(task_id)
    if heirs:
        turn.state.echoes.append(Echo(task_id, outcome, turn.now.wall, list(heirs)))


def unlist(index: dict[str, dict[str, None]], whose: str, task_id: str) -> None:
    """Take a task off a list of dependants or children; an empty list is not kept."""
    listed = index.get(whose)
    if listed is not None:
        listed.pop(task_id, None)
        if not listed:
            del index[whose]


def holder_of(state: State, known: Known, user_id: str, key: str, now_ms: int) -> Task | None:
    """The task that holds a user's idempotency key. What was read may have ended since, and freed it."""
    task_id = state.keys.get((user_id, key)) or known.keys.get(key)
    if task_id is None:
        return None
    task = state.tasks.get(task_id) or known.tasks.get(task_id)
    assert task is not None, "I6: an idempotency key names a task"
    return None if task.status in ENDED and not keeps_key(task, now_ms) else task


def _stop_timers(turn: Turn, task: Task) -> None:
    timers = turn.state.timers
    timers.cancel(WALL, BEGIN, task.id)
    timers.cancel(MONO, CRITICAL_WAIT, task.id)
    if task.deadline is not None:
        timers.cancel(Clock.WALL, Due.DEADLINE, task.id)
        timers.cancel(Clock.WALL, Due.ESCALATION, task.id)
    if task.sla is not None:
        timers.cancel(Clock.WALL, Due.SLA, task.id)
    if task.trouble is not None:
        timers.cancel(Clock.WALL, Due.AVOIDANCE, task.id)
        timers.cancel(Clock.MONO, Due.SUSPECT, task.id)
        if task.trouble.suspect:
            let_go(turn, task)

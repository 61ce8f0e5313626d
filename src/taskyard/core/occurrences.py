"""What schedules hear of the tasks that they made: which are unfinished, and what became of the last one.

Tasks tell of themselves here when they begin, end and are brought back. What follows from a probe's end is decided in
`due_runs.py`, after the command at hand. A schedule may be gone by then, or be told of a task that it made long ago.
"""

from typing import Final

from msgspec import Raw, Struct
from msgspec.json import Decoder
from msgspec.structs import replace

from taskyard.core.schedule_records import Occurrence, Probing, RunsRecord
from taskyard.core.state import State, Turn
from taskyard.core.task import Task
from taskyard.vocabulary import Keeps, Status
from taskyard.vocabulary.schedules import SkipReason

REMEMBERED_MAX: Final = 50
# Some 5 kB, which every run writes anew when it begins and when it ends.
EMPTY: Final = frozenset({b"", b"null", b"false", b"0", b'""', b"[]", b"{}"})
# What says that there is nothing to do.


class _Outcome(Struct):
    result: Raw = Raw(b"null")


_outcome: Final = Decoder(_Outcome)


def begin(turn: Turn, task: Task, schedule_id: str) -> None:
    """A task that a schedule makes is about to take its place."""
    runs = listen(turn.state, task, schedule_id)
    assert runs is not None, "I9: a schedule that makes a task is there"
    if runs.probing is not None and task.id == runs.probing.task_id:
        return
    runs.made += 1
    runs.last_run_at = turn.now.wall
    runs.last_task_id, runs.last_outcome = task.id, None
    keep_runs(turn, schedule_id, runs)


def listen(state: State, task: Task, schedule_id: str) -> RunsRecord | None:
    """It is unfinished from here on: new, brought back, or found at a start."""
    runs = state.schedule_runs.get(schedule_id)
    if runs is not None:
        state.unfinished.setdefault(schedule_id, {})[task.id] = None
    return runs


def reopen(turn: Turn, task: Task, schedule_id: str) -> None:
    """A person brings it back."""
    runs = listen(turn.state, task, schedule_id)
    if runs is not None and runs.last_task_id == task.id:
        runs.last_outcome = None
        keep_runs(turn, schedule_id, runs)


def hear_end(turn: Turn, task: Task, schedule_id: str, status: Status) -> None:
    runs = turn.state.schedule_runs.get(schedule_id)
    if runs is None:
        return
    unfinished = turn.state.unfinished.get(schedule_id, {})
    unfinished.pop(task.id, None)
    if not unfinished:
        turn.state.unfinished.pop(schedule_id, None)
    if runs.probing is not None and task.id == runs.probing.task_id:
        _answer(turn, task, status, runs.probing)
        turn.state.probed.append(schedule_id)
    elif task.id == runs.last_task_id:
        runs.last_outcome = status
    else:
        return
    keep_runs(turn, schedule_id, runs)


def remember(runs: RunsRecord, newest: Occurrence) -> None:
    """What became of a due run, for whoever looks back. Skips in a row for the same reason are one."""
    recent = runs.recent
    last = recent[-1] if recent else None
    if last is not None and last.reason is not None and (last.reason, last.code) == (newest.reason, newest.code):
        recent[-1] = replace(last, at=newest.at, count=last.count + newest.count)
        return
    recent.append(newest)
    del recent[:-REMEMBERED_MAX]


def keep_runs(turn: Turn, schedule_id: str, runs: RunsRecord) -> None:
    turn.state.ledger.kept[Keeps.SCHEDULE_RUNS, schedule_id] = runs


def is_empty(said: bytes) -> bool:
    """Whether this piece of JSON says that there is nothing."""
    return said.strip() in EMPTY


def _answer(turn: Turn, task: Task, status: Status, probing: Probing) -> None:
    probing.is_answered = True
    if status is not Status.COMPLETED:
        probing.objection = SkipReason.PROBE_FAILED
        probing.code = status if task.error is None else task.error.code
    elif is_empty(bytes(_outcome.decode(turn.state.ledger.outcomes.get(task.id, b"{}")).result)):
        probing.objection = SkipReason.PROBE_SAID_NO

"""What follows for those who wait when a task ends, or opens again.

A dependency's end reaches its dependants as an `Echo`: completed lets them go on, a bad end blocks, skips or warns them
by their own policy, cancelled cancels them. A blocked task is a bad end to its own dependants until it is
unblocked. An echo is heard by at most `cascade_rows_max` tasks per turn, so that one task with a hundred thousand
dependants does not hold up a commit; what a crash leaves unheard is found again at start (`unheard`).
"""

from collections import deque

from taskyard.core.commands import HearEnded
from taskyard.core.endings import announce, end, keep_cancel_reason, unlist
from taskyard.core.readiness import ended_as, settle
from taskyard.core.state import State, Turn
from taskyard.core.task import Dependency, Echo, Note, Task, Trouble
from taskyard.vocabulary import ENDED, FINAL, DependsPolicy, Status

HOPING = (Status.WAITING, Status.BLOCKED)


def listen(state: State, task: Task) -> None:
    """From now on this open task hears what becomes of its dependencies, unless that is past changing."""
    for dependency in task.depends or ():
        if dependency.outcome not in FINAL:
            state.dependants.setdefault(dependency.id, {})[task.id] = None
    if task.parent_id is not None:
        state.children.setdefault(task.parent_id, {})[task.id] = None


def outcome_of(task: Task) -> Status | None:
    """What a task is to those who depend on it; None: it may still complete by itself."""
    return task.status if task.status in ENDED or task.status is Status.BLOCKED else None


def spread(turn: Turn) -> None:
    """Let echoes be heard, up to the turn's share of rows."""
    state, left = turn.state, turn.state.settings.cascade_rows_max
    while state.echoes and left:
        echo = state.echoes[0]
        if echo.heard == len(echo.heirs):
            state.echoes.popleft()
            continue
        heir = state.tasks.get(echo.heirs[echo.heard])
        echo.heard += 1
        left -= 1
        if heir is not None and heir.status in HOPING:
            _hear(turn, heir, echo)


def _hear(turn: Turn, task: Task, echo: Echo) -> None:
    dependency = next((d for d in task.depends or () if d.id == echo.task_id), None)
    assert dependency is not None, "I8: a task hears of what it depends on, and of nothing else"
    _note_outcome(turn, task, dependency, echo)
    if echo.outcome is Status.CANCELLED and task.terms.on_depends_fail is not DependsPolicy.CONTINUE:
        keep_cancel_reason(task, ended_as(turn, dependency))
        end(turn, task, Status.CANCELLED, data={"because": echo.task_id})
        return
    settle(turn, task)


def _note_outcome(turn: Turn, task: Task, dependency: Dependency, echo: Echo) -> None:
    turn.state.ledger.touch(task)
    dependency.outcome, dependency.at = echo.outcome, echo.at
    if echo.outcome in FINAL:
        unlist(turn.state.dependants, dependency.id, task.id)
    goes_on = task.terms.on_depends_fail is DependsPolicy.CONTINUE
    if goes_on and echo.outcome not in (None, Status.COMPLETED):
        warn(turn, task, dependency)


def warn(turn: Turn, task: Task, dependency: Dependency) -> None:
    """`continue`: the task runs all the same, and is told what it will not get."""
    trouble = task.trouble = task.trouble or Trouble()
    message = f"{ended_as(turn, dependency)}; going on without its result"
    trouble.notes = [
        *(n for n in trouble.notes if n.source_task != dependency.id),
        Note("dependency_failed", message, turn.now.wall, dependency.id),
    ]


def heirs_of(state: State, *task_ids: str) -> list[str]:
    """All that a cancellation of these tasks will cancel besides, nearest first."""
    found: dict[str, None] = dict.fromkeys(task_ids)
    front = deque(task_ids)
    while front:
        for heir_id in state.dependants.get(front.popleft(), ()):
            heir = state.tasks[heir_id]
            if heir_id not in found and heir.terms.on_depends_fail is not DependsPolicy.CONTINUE:
                found[heir_id] = None
                front.append(heir_id)
    return list(found)[len(dict.fromkeys(task_ids)) :]


def _hoped_for(state: State) -> dict[str, dict[Status | None, None]]:
    """What open tasks hope to hear of, with what they have heard of it."""
    hoped: dict[str, dict[Status | None, None]] = {}
    for task in state.tasks.values():
        for dependency in (task.depends or ()) if task.status in HOPING else ():
            if dependency.outcome not in FINAL:
                hoped.setdefault(dependency.id, {})[dependency.outcome] = None
    return hoped


def unheard(state: State) -> list[str]:
    """After a start, to be looked up: what open tasks hope for and that is not open itself."""
    return [task_id for task_id in _hoped_for(state) if task_id not in state.tasks]


def reopen(turn: Turn, task: Task) -> None:
    """A dead letter or skipped task is open again: its dependants may hope again."""
    listen(turn.state, task)
    announce(turn, task.id, None)


def hear_ended(turn: Turn, command: HearEnded) -> None:
    """After a start: news that a crash kept from being heard. A task that is nowhere counts as cancelled."""
    known = command.known
    for task_id, heard in _hoped_for(turn.state).items():
        task = turn.state.tasks.get(task_id) or known.tasks.get(task_id)
        if task is None and task_id not in known.asked:
            continue
        outcome = Status.CANCELLED if task is None else outcome_of(task)
        if any(each is not outcome for each in heard):
            announce(turn, task_id, outcome)

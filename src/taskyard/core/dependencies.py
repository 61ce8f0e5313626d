"""What follows for those who wait when a task ends, or opens again.

A dependency's end reaches its dependants as an `Echo`: completed lets them go on, a bad end blocks, skips or warns them
by their own policy, cancelled cancels them. A blocked task is a bad end to its own dependants until it is
unblocked. An echo is heard by at most `cascade_rows_max` tasks per turn, so that one task with a hundred thousand
dependants does not hold up a commit; what a crash leaves unheard is found again at start (`unheard`).
"""

from taskyard.core.commands import HearEnded
from taskyard.core.endings import announce, end, stop_listening
from taskyard.core.readiness import name_of, settle
from taskyard.core.state import Echo, State, Turn
from taskyard.core.task import Dependency, Note, Task, Trouble
from taskyard.vocabulary import ENDED, FINAL, DependsPolicy, Status

HOPING = (Status.WAITING, Status.BLOCKED)


def listen(state: State, task: Task) -> None:
    """From now on this open task hears what becomes of its dependencies, unless that is past changing."""
    for dependency in task.depends or ():
        if dependency.outcome not in FINAL:
            state.dependants.setdefault(dependency.id, {})[task.id] = None


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
    was_blocked = task.status is Status.BLOCKED
    for dependency in task.depends or ():
        if dependency.id == echo.task_id:
            _note_outcome(turn, task, dependency, echo)
    if echo.outcome is Status.CANCELLED and task.terms.on_depends_fail is not DependsPolicy.CONTINUE:
        end(turn, task, Status.CANCELLED, data={"because": echo.task_id})
        return
    settle(turn, task)
    is_blocked = task.status is Status.BLOCKED
    if is_blocked != was_blocked and task.status not in ENDED:
        announce(turn, task.id, Status.BLOCKED if is_blocked else None)


def _note_outcome(turn: Turn, task: Task, dependency: Dependency, echo: Echo) -> None:
    turn.state.ledger.touch(task)
    dependency.outcome, dependency.at = echo.outcome, echo.at
    if echo.outcome in FINAL:
        stop_listening(turn, task.id, dependency.id)
    goes_on = task.terms.on_depends_fail is DependsPolicy.CONTINUE
    if goes_on and echo.outcome not in (None, Status.COMPLETED):
        warn(turn, task, dependency)


def warn(turn: Turn, task: Task, dependency: Dependency) -> None:
    """`continue`: the task runs all the same, and is told what it will not get."""
    trouble = task.trouble = task.trouble or Trouble()
    message = f"{name_of(turn, dependency.id)} ended as {dependency.outcome}; going on without its result"
    trouble.notes = [
        *(n for n in trouble.notes if n.source_task != dependency.id),
        Note("dependency_failed", message, turn.now.wall, dependency.id),
    ]


def heirs_of(state: State, task_id: str) -> list[str]:
    """All that a cancellation of this task will cancel, nearest first."""
    found: dict[str, None] = {}
    front = [task_id]
    while front:
        for heir_id in state.dependants.get(front.pop(0), ()):
            heir = state.tasks[heir_id]
            if heir_id not in found and heir.terms.on_depends_fail is not DependsPolicy.CONTINUE:
                found[heir_id] = None
                front.append(heir_id)
    return list(found)


def unheard(state: State) -> list[str]:
    """Dependencies that open tasks still wait for but that are not open themselves: after a start, to be looked up."""
    return list(
        {
            dependency.id: None
            for task in state.tasks.values()
            if task.status is Status.WAITING
            for dependency in task.depends or ()
            if dependency.outcome is None and dependency.id not in state.tasks
        }
    )


def reopen(turn: Turn, task: Task) -> None:
    """A dead letter or skipped task is open again: its dependants may hope again."""
    listen(turn.state, task)
    announce(turn, task.id, None)


def hear_ended(turn: Turn, command: HearEnded) -> None:
    """After a start: ends that a crash kept from being heard. A task that is nowhere counts as cancelled."""
    for task_id in unheard(turn.state):
        found = command.known.tasks.get(task_id)
        announce(turn, task_id, Status.CANCELLED if found is None else found.status)

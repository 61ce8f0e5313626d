"""Where chains of blocked tasks begin, and what would free them."""

from collections import deque
from collections.abc import Mapping
from typing import Final

from taskyard.core.revival import RETRIED
from taskyard.core.sentences import counted, listed
from taskyard.core.state import State, Turn
from taskyard.core.task import Dependency, Task
from taskyard.vocabulary import Status

Names = Mapping[str, str]
"""Ids of tasks to their refs, for those the core no longer holds."""

CHAIN_MAX: Final = 1000
"""Tasks that are looked at to find where chains begin."""
FREED_MAX: Final = 1000
"""Tasks that are counted, of those that a retry would free."""


def failed_roots(state: State, task: Task) -> list[Dependency]:
    """What ended badly at the beginning of the chains that hold a blocked task, as far as they are followed."""
    found: dict[str, Dependency] = {}
    front, seen = deque([task]), {task.id}
    while front and len(seen) < CHAIN_MAX:
        bad = [each for each in front.popleft().depends or () if each.outcome not in (None, Status.COMPLETED)]
        found |= {each.id: each for each in bad if each.outcome is not Status.BLOCKED}
        blocked = [each.id for each in bad if each.outcome is Status.BLOCKED and each.id not in seen]
        seen.update(blocked)
        front.extend(state.tasks[task_id] for task_id in blocked)
    return list(found.values())


def freed_by(state: State, task_ids: list[str], most: int) -> int:
    """How many open tasks wait for these, and for nothing else that ended badly; of more than `most`, that."""
    freed, front = set(task_ids), deque(task_ids)
    while front and len(freed) < most + len(task_ids):
        for heir_id in state.dependants.get(front.popleft(), ()):
            if heir_id not in freed and not _is_blocked_by_others(state.tasks[heir_id], freed):
                freed.add(heir_id)
                front.append(heir_id)
    return min(most, len(freed) - len(task_ids))


def _is_blocked_by_others(task: Task, freed: set[str]) -> bool:
    return any(each.outcome not in (None, Status.COMPLETED) and each.id not in freed for each in task.depends or ())


def rescue(turn: Turn, roots: list[Dependency], names: Names) -> str:
    """Retrying what failed, where that is possible, and how many tasks it would free."""
    again = [each for each in roots if each.outcome in RETRIED]
    if not again:
        return ""
    freed = freed_by(turn.state, [each.id for each in again], FREED_MAX)
    more = "at least " if freed == FREED_MAX else ""
    frees = f", which frees {more}{counted(freed, 'task')}" if freed > 1 else ""
    return f"retrying {named(turn, again, names)}{frees}"


def named(turn: Turn, depends: list[Dependency], names: Names) -> str:
    return listed([f"{ref_in(turn, each.id, names)} ({each.outcome})" for each in depends])


def unnamed(turn: Turn, task: Task, names: Names) -> tuple[str, ...]:
    told = [*(task.depends or ()), *(failed_roots(turn.state, task) if task.status is Status.BLOCKED else ())]
    return tuple(dict.fromkeys(each.id for each in told if each.id not in turn.state.tasks and each.id not in names))


def ref_in(turn: Turn, task_id: str, names: Names) -> str:
    task = turn.state.tasks.get(task_id)
    return names.get(task_id, task_id) if task is None else task.ref

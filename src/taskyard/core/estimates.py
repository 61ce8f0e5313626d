"""How long a task will take: what it says itself, else what its like took lately, else a fixed guess.

"Lately" is a moving average per user and type, of attempts that succeeded. It is soft: after a restart the guess
stands in until the first task has completed again.
"""

from typing import Final

from taskyard.core.settings import Priorities
from taskyard.core.state import Turn, User
from taskyard.core.task import Task, ms_of

WEIGHT: Final = 4
# The newest of its type counts a quarter, so that a handful of tasks is "lately".
TYPES_MAX: Final = 256
# Types remembered per user; past these the one heard of first is forgotten.
OVERDUE: Final = 10
# A task that runs longer than it should is expected to end within this part of what it should have taken.


def note_duration(user: User, type: str, took_ms: int) -> None:
    before = user.lately.get(type, took_ms)
    user.lately[type] = before + (took_ms - before) // WEIGHT
    if len(user.lately) > TYPES_MAX:
        del user.lately[next(iter(user.lately))]


def estimated_ms(user: User, type: str, own_ms: int | None, numbers: Priorities) -> int:
    if own_ms is not None:
        return own_ms
    return user.lately.get(type, ms_of(numbers.estimated_s))


def remaining_ms(turn: Turn, task: Task) -> int:
    """How long a held task will presumably go on: at most until its time is up."""
    user = turn.state.users[task.user_id]
    whole = estimated_ms(user, task.kind.needs.type, task.terms.estimated_ms, turn.state.settings.priorities)
    attempt = task.newest
    if attempt is None or attempt.started_at is None:
        return whole
    ran = turn.now.mono - turn.state.begun[task.id]
    return max(min(max(whole - ran, whole // OVERDUE), attempt.timeout_ms - ran), 0)

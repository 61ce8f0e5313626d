"""How long a task will take: what it says itself, else what its like took lately, else a fixed guess.

"Lately" is a moving average per user and type, of attempts that succeeded. It is soft: after a restart the guess
stands in until the first task has completed again.
"""

from typing import Final

from taskyard.core.settings import Priorities
from taskyard.core.state import User
from taskyard.core.task import ms_of

WEIGHT: Final = 4
# The newest of its type counts a quarter, so that a handful of tasks is "lately".
TYPES_MAX: Final = 256
# Types remembered per user; past these the one heard of first is forgotten.


def note_duration(user: User, type: str, took_ms: int) -> None:
    before = user.lately.get(type, took_ms)
    user.lately[type] = before + (took_ms - before) // WEIGHT
    if len(user.lately) > TYPES_MAX:
        del user.lately[next(iter(user.lately))]


def estimated_ms(user: User, type: str, own_ms: int | None, numbers: Priorities) -> int:
    if own_ms is not None:
        return own_ms
    return user.lately.get(type, ms_of(numbers.estimated_s))

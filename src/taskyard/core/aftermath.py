"""What the policies learn from: every grant, every start, and every end of an attempt.

A policy that watches attempts (breakers, cooling queues, used time) is a function in one of these tuples. They are
called from the one place where a slot is taken, where the work begins, and where the slot is given back
(`attempts.py`), after the counts and before anybody is woken.
"""

from collections.abc import Callable
from typing import Final

from taskyard.core import breakers, cooling, preemption, pressure, usage
from taskyard.core.state import Daemon, Turn
from taskyard.core.task import Attempt, Task

Hook = Callable[[Turn, Task, Attempt, Daemon], None]

ON_GRANT: Final[tuple[Hook, ...]] = (
    breakers.become_probe,
    cooling.begin_probe,
    pressure.note_grant,
)
"""An attempt was granted just now; its clock has not begun."""
ON_START: Final[tuple[Hook, ...]] = (preemption.note_low,)
"""Its daemon said that the work began."""
ON_END: Final[tuple[Hook, ...]] = (breakers.learn, usage.charge, cooling.end_probe, preemption.yielded)
"""The attempt has its end: `status` and `error` say which."""


def granted(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    for hook in ON_GRANT:
        hook(turn, task, attempt, daemon)


def started(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    for hook in ON_START:
        hook(turn, task, attempt, daemon)


def ended(turn: Turn, task: Task, attempt: Attempt, daemon: Daemon) -> None:
    for hook in ON_END:
        hook(turn, task, attempt, daemon)

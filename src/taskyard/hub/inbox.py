"""What waits to be decided, bounded by number and by bytes. Whatever ends work goes first and is never refused for want
of room to those who ask for it; new work waits behind it.

A command counts from the moment it comes in until it is taken to be decided, and on while the store is asked what it
names: else a slow reader would let everything in. There is one inbox per life of the state. A look-up that outlives
its state is counted off the inbox it came from, and the new one never hears of it.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from taskyard.core.changes import Ledger
from taskyard.core.commands import Command, CompleteTask, ReportProgress, SaveCheckpoint, SubmitTasks

NEW_COMMANDS_MAX: Final = 10_000
NEW_BYTES_MAX: Final = 64 * 1024 * 1024
URGENT_COMMANDS_MAX: Final = 100_000
URGENT_BYTES_MAX: Final = 256 * 1024 * 1024
# What daemons say while the disk stalls; the one that says more is cut off and comes back with its list.
NEW_LOOKUPS_MAX: Final = 256
# New work that may wait for the store at a time: all of it is decided without asking again whether there is room.
GATHERED_ROWS_MAX: Final = 4096
GATHERED_BYTES_MAX: Final = 32 * 1024 * 1024
# What one batch may hold before new work waits for the commit: 20 to 40 ms of writing.

_WEIGHTS: Final[dict[type, Callable[[Any], int]]] = {
    SubmitTasks: lambda command: sum(len(draft.body) for draft in command.drafts),
    CompleteTask: lambda command: len(command.outcome or b""),
    SaveCheckpoint: lambda command: len(command.data),
    ReportProgress: lambda command: len(command.log or ""),
}


class Waiting:
    """One line, and how much there is to be decided."""

    __slots__ = ("bytes", "count", "line")

    def __init__(self) -> None:
        self.line: deque[tuple[Command, int]] = deque()
        """Each with its weight."""
        self.count = 0
        self.bytes = 0

    def add(self, command: Command, weight: int) -> None:
        self.line.append((command, weight))
        self.count += 1
        self.bytes += weight

    def take(self) -> Command:
        command, weight = self.line.popleft()
        self.count -= 1
        self.bytes -= weight
        return command


class Inbox:
    def __init__(self) -> None:
        self._urgent = Waiting()
        self._new = Waiting()
        self._lookups = 0

    @property
    def urgent(self) -> int:
        """How many wait that are no new work."""
        return self._urgent.count

    def submit(self, command: SubmitTasks) -> bool:
        """Take new work; False: more waits already than may."""
        weight = _weight(command)
        if self._new.count >= NEW_COMMANDS_MAX or self._new.bytes + weight > NEW_BYTES_MAX:
            return False
        self._new.add(command, weight)
        return True

    def hurry(self, command: Command) -> None:
        """Take what a caller waits for and new work has to wait behind; callers are as many as connections."""
        self._urgent.add(command, _weight(command))

    def hear(self, command: Command) -> bool:
        """Take what a daemon says; False: they have said more than can be kept."""
        weight = _weight(command)
        if self._urgent.count >= URGENT_COMMANDS_MAX or self._urgent.bytes + weight > URGENT_BYTES_MAX:
            return False
        self._urgent.add(command, weight)
        return True

    def take(self, has_room: Callable[[], bool]) -> Command | None:
        """The next to decide; new work only while the batch has room for it."""
        if self._urgent.line:
            return self._urgent.take()
        if self._new.line and self._lookups < NEW_LOOKUPS_MAX and has_room():
            return self._new.take()
        return None

    def look_up(self, command: Command) -> None:
        """It was taken, but has to wait for the store: it counts on."""
        self._count_looked_up(command, 1)

    def looked_up(self, command: Command) -> None:
        self._count_looked_up(command, -1)

    def _count_looked_up(self, command: Command, change: int) -> None:
        is_new = isinstance(command, SubmitTasks)
        waiting = self._new if is_new else self._urgent
        self._lookups += change * is_new
        waiting.count += change
        waiting.bytes += change * _weight(command)


def has_room(gathered: Ledger) -> bool:
    """New work waits for the disk; what ends work never does."""
    return len(gathered.touched) < GATHERED_ROWS_MAX and gathered.bodies_bytes < GATHERED_BYTES_MAX


def _weight(command: Command) -> int:
    weigh = _WEIGHTS.get(type(command))
    return 0 if weigh is None else weigh(command)

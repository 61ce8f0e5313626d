"""Where tasks wait that the hub does not have yet: in memory, or on disk.

One batch is out at a time. `settle` ends it: what is to be sent again stands first again, in its order; the rest is
gone.
"""

from collections import deque
from collections.abc import Sequence
from typing import Protocol, cast

from taskyard.sdk.request import given
from taskyard.sdk.spool import BufferFull, Place, Spool
from taskyard.sdk.submission import NewTask, wire_shape


class Shelf(Protocol):
    def __len__(self) -> int:
        """What the hub does not have, with what is out."""

    def add(self, tasks: Sequence[NewTask]) -> None:
        """All of them, or none and `BufferFull`."""

    def take(self, count: int) -> list[NewTask]: ...

    def settle(self, kept: Sequence[int]) -> None:
        """The batch that is out has ended, but for these places in it."""

    def leave(self) -> list[NewTask]:
        """It is over: what would be lost."""


class MemoryShelf:
    def __init__(self, tasks_max: int) -> None:
        self._tasks_max = tasks_max
        self._waiting: deque[NewTask] = deque()
        self._out: list[NewTask] = []

    def __len__(self) -> int:
        return len(self._waiting) + len(self._out)

    def add(self, tasks: Sequence[NewTask]) -> None:
        if len(self) + len(tasks) > self._tasks_max:
            raise BufferFull(f"{len(self)} tasks wait to be sent, and at most {self._tasks_max} are kept.")
        self._waiting.extend(tasks)

    def take(self, count: int) -> list[NewTask]:
        self._out = [self._waiting.popleft() for _ in range(min(count, len(self._waiting)))]
        return list(self._out)

    def settle(self, kept: Sequence[int]) -> None:
        self._waiting.extendleft(self._out[index] for index in sorted(kept, reverse=True))
        self._out = []

    def leave(self) -> list[NewTask]:
        left = list(self._waiting)
        self._waiting.clear()
        return left


class SpoolShelf:
    """What is left at the end, or by a crash, is there again when the same spool is opened."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._again: deque[tuple[Place, NewTask]] = deque()
        self._out: list[tuple[Place, NewTask]] = []

    def __len__(self) -> int:
        return len(self._spool)

    def add(self, tasks: Sequence[NewTask]) -> None:
        self._spool.append([wire_shape(given(**task)) for task in tasks])

    def take(self, count: int) -> list[NewTask]:
        self._out = [self._again.popleft() for _ in range(min(count, len(self._again)))]
        self._out += [(place, cast("NewTask", task)) for place, task in self._spool.take(count - len(self._out))]
        return [task for _, task in self._out]

    def settle(self, kept: Sequence[int]) -> None:
        stays = set(kept)
        try:
            self._spool.settle([place for index, (place, _) in enumerate(self._out) if index not in stays])
        except OSError:
            # What is not written down was not done: all of it is sent again, which their keys make harmless.
            stays = set(range(len(self._out)))
            raise
        finally:
            self._again.extendleft(self._out[index] for index in sorted(stays, reverse=True))
            self._out = []

    def leave(self) -> list[NewTask]:
        self._spool.close()
        return []

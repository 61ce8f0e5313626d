"""Timers in two heaps, one per clock: the only thing that makes time pass in the core.

There is no polling: the shell asks `next_due` how long it may sleep and sends a `Tick` then. A timer is
named by (what, of whom); setting it again replaces it, cancelling is forgetting the name. The heap entry
stays behind and is dropped when it surfaces, or all at once when most entries are such leftovers: at
twenty thousand attempts a second with five-minute timeouts the leftovers would otherwise be millions.
"""

from enum import IntEnum
from heapq import heapify, heappop, heappush

COMPACT_ABOVE = 1024
# Below this a heap of leftovers costs less than looking at it.


class Clock(IntEnum):
    WALL = 0
    MONO = 1


class Due(IntEnum):
    """What a timer is for. `hub.py` maps each to the function that acts."""

    ATTEMPT = 0
    LEASE = 1
    BEGIN = 2
    DEADLINE = 3
    ESCALATION = 4
    SLA = 5
    CRITICAL_WAIT = 6
    AVOIDANCE = 7
    SUSPECT = 8
    AGEING = 9
    WAKE = 10
    """Somebody sleeps on something that ends by itself."""
    PROBE = 11
    """A task tries whether its queue's provider answers again."""
    PREEMPTION = 12
    """A user's low task has run long enough to make room for a critical one."""
    DELIVERY = 20
    """A notification that could not be delivered is given up."""
    SCHEDULE = 13
    """A schedule's next run."""
    SCHEDULE_PROBE = 14
    """A due run has waited for its probe as long as it may."""
    SCHEDULE_ASK = 15
    """A probe that was asked before a restart is asked again."""


Name = tuple[Due, str | tuple[str, ...]]
"""What, and of whom: a task's, daemon's or user's id, or the name of what is slept on."""
_Entry = tuple[int, int, Name]


class Timers:
    __slots__ = ("_due", "_heaps", "_set")

    def __init__(self) -> None:
        self._heaps: tuple[list[_Entry], list[_Entry]] = ([], [])
        self._due: tuple[dict[Name, _Entry], dict[Name, _Entry]] = ({}, {})
        self._set = 0

    def set(self, clock: Clock, due: Due, whose: str | tuple[str, ...], at: int) -> None:
        self._set += 1
        name = (due, whose)
        entry = (at, self._set, name)
        self._due[clock][name] = entry
        heap = self._heaps[clock]
        heappush(heap, entry)
        if len(heap) > COMPACT_ABOVE and len(heap) > 2 * len(self._due[clock]):
            heap[:] = self._due[clock].values()
            heapify(heap)

    def cancel(self, clock: Clock, due: Due, whose: str | tuple[str, ...]) -> None:
        self._due[clock].pop((due, whose), None)

    def is_set(self, clock: Clock, due: Due, whose: str | tuple[str, ...]) -> bool:
        return (due, whose) in self._due[clock]

    def due_at(self, clock: Clock, due: Due, whose: str | tuple[str, ...]) -> int | None:
        entry = self._due[clock].get((due, whose))
        return None if entry is None else entry[0]

    def plan(self, clock: Clock) -> dict[Name, int]:
        """Everything that is set, with its instant; for checks and explanations."""
        return {name: entry[0] for name, entry in self._due[clock].items()}

    def next_due(self, clock: Clock) -> int | None:
        """The earliest instant on this clock at which something is to be done."""
        heap, live = self._heaps[clock], self._due[clock]
        while heap and live.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def take_due(self, clock: Clock, now: int) -> Name | None:
        """The earliest timer that is due, once."""
        at = self.next_due(clock)
        if at is None or at > now:
            return None
        entry = heappop(self._heaps[clock])
        del self._due[clock][entry[2]]
        return entry[2]

    def __len__(self) -> int:
        return len(self._due[Clock.WALL]) + len(self._due[Clock.MONO])

"""Who waits: lanes of alike tasks, in lines of lanes that the same daemons could serve.

A *lane* holds tasks that no rule can tell apart: same user, kind, level. If its head may not run, none
behind it may, so only heads are ever looked at. A *line* holds the lanes that the same set of daemons could
serve; a freed slot wakes only the lines of its daemon. A decision therefore costs the same with ten tasks
waiting and with a million: it looks at the best lane of each woken line, never at tasks behind a head.

A task with something of its own (a daemon to avoid, an exclusive key, a suspicion) has a `Special` and
thereby a lane, and if need be a line, of its own.

Inside a lane the order is `value`, then age. Among the lanes of a line, per level, the order is whose turn it
is (`fairness.py`), then the same. Both are heaps with leftovers: a task or lane that moved leaves its entry
behind, recognised as such when it surfaces. A lane that a rule of `scheduler.py` holds back sleeps under the
name of what blocks it, out of every heap, until that is released.

This file orders; it decides nothing about who may run.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import chain
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from taskyard.core.fairness import Rank, rank_of
from taskyard.core.placement import could_serve
from taskyard.core.task import Kind, Needs, Task
from taskyard.vocabulary import RANK, Level, Status

if TYPE_CHECKING:
    from taskyard.core.state import Daemon, User

LEFTOVERS_MAX: Final = 64
LINES_MAX: Final = 1024
# Lines kept though empty, so that a task that finds its line again costs no look at the fleet.

Blocker = tuple[str, ...]
"""The name of what a lane sleeps on, e.g. ("exclusive", user, key)."""


class Special(Struct, frozen=True, gc=False):
    """What sets a task apart from its kind."""

    avoided: tuple[str, ...] = ()
    """Daemons it must not go to for now."""
    shunned: tuple[str, ...] = ()
    """Daemons it had better not go to."""
    exclusive: str | None = None
    suspect: str | None = None
    """Its own id, if it must run alone."""


PLAIN: Final = Special()
QUEUED: Final = Status.QUEUED
LaneKey = tuple[Kind, Level, Special]
LineKey = tuple[str | None, Needs, tuple[str, ...], str | None]


def special_of(task: Task) -> Special:
    trouble, exclusive = task.trouble, task.terms.exclusive
    if trouble is None:
        return PLAIN if exclusive is None else Special(exclusive=exclusive)
    return Special(
        avoided=tuple(a.daemon_id for a in trouble.avoid if a.firm),
        shunned=tuple(a.daemon_id for a in trouble.avoid if not a.firm),
        exclusive=exclusive,
        suspect=task.id if trouble.suspect else None,
    )


def key_of(task: Task) -> LaneKey:
    return task.kind, task.level, special_of(task)


_Place = tuple[int, str, int, Task]


class Lane:
    """Alike tasks of one user, best first."""

    __slots__ = (
        "_arrived",
        "_pushed",
        "_returned",
        "blocker",
        "entry",
        "key",
        "kind",
        "level",
        "line",
        "size",
        "special",
        "user",
    )

    def __init__(self, user: "User", key: LaneKey, line: "Line") -> None:
        self.user = user
        self.key = key
        self.kind, self.level, self.special = key
        self.line = line
        self.size = 0
        self.blocker: Blocker | None = None
        """What it sleeps on; None while it is in its line."""
        self.entry: Entry | None = None
        """Its one valid entry in its line's heap, while it has one."""
        self._arrived: deque[_Place] = deque()
        """Those that came in their order, as nearly all do: taken from the front without any sorting."""
        self._returned: list[_Place] = []
        """A heap of those that belong before one that came earlier."""
        self._pushed = 0

    def push(self, task: Task) -> None:
        self.size += 1
        # The count parts a task brought back from the store from what its older record left here.
        self._pushed += 1
        place = (-task.value, task.id, self._pushed, task)
        if not self._arrived or self._arrived[-1] < place:
            self._arrived.append(place)
        else:
            heappush(self._returned, place)
        if len(self._arrived) + len(self._returned) > 2 * self.size + LEFTOVERS_MAX:
            self._arrived = deque(sorted({place[1]: place for place in self._places()}.values()))
            self._returned = []

    def head(self) -> Task:
        """The next task; the lane must not be empty."""
        arrived, returned = self._arrived, self._returned
        while True:
            is_arrived = not returned or (bool(arrived) and arrived[0] < returned[0])
            place = arrived[0] if is_arrived else returned[0]
            if self._is_here(place):
                return place[3]
            if is_arrived:
                arrived.popleft()
            else:
                heappop(returned)

    def _places(self) -> Iterator[_Place]:
        return (place for place in chain(self._arrived, self._returned) if self._is_here(place))

    def _is_here(self, place: _Place) -> bool:
        task = place[3]
        return (
            task.status is QUEUED
            and task.value == -place[0]
            and task.level is self.level
            and ((special := special_of(task)) is self.special or special == self.special)
        )

    def tasks(self) -> Iterator[Task]:
        """All of them, in no order; for explanations and checks, never for a decision."""
        return iter({place[1]: place[3] for place in self._places()}.values())


Order = tuple[Rank, int, str]
Entry = tuple[Order, int, Lane]


def order_of(lane: Lane) -> Order:
    """Among lanes of one level the smallest goes first: whose turn it is, then number, then age."""
    head = lane.head()
    return rank_of(lane.user), -head.value, head.id


class Line:
    """Lanes that the same daemons could serve."""

    __slots__ = ("_awake", "_entries", "_heaps", "key", "needs", "servers")

    def __init__(self, key: LineKey) -> None:
        self.key = key
        self.needs = key[1]
        self.servers: list[Daemon] = []
        """Daemons that could run its tasks, full or not, there or not (`placement.py`)."""
        self._awake: tuple[dict[Lane, None], ...] = tuple({} for _ in RANK)
        """Per level: the lanes that may be looked at."""
        self._heaps: tuple[list[Entry], ...] = tuple([] for _ in RANK)
        """Per level: the same lanes in order, while there are several."""
        self._entries = 0

    def is_waiting(self) -> bool:
        return any(self._awake)

    def has(self, lane: Lane) -> bool:
        return lane in self._awake[RANK[lane.level]]

    def has_room(self) -> bool:
        return any(daemon.has_room() for daemon in self.servers)

    def is_served(self) -> bool:
        """Some daemon is there that takes its tasks, if not now then when it has room."""
        return any(daemon.is_open for daemon in self.servers)

    def awake(self, rank: int) -> list[Lane]:
        """Its lanes of one level, in no order; for news, never for a decision."""
        return list(self._awake[rank])

    def join(self, lane: Lane) -> None:
        awake = self._awake[RANK[lane.level]]
        awake[lane] = None
        if len(awake) == 2:
            # A lane by itself was not kept in order.
            for each in awake:
                self.rank(each)
        else:
            self.rank(lane)

    def part(self, lane: Lane) -> None:
        del self._awake[RANK[lane.level]][lane]
        lane.entry = None

    def rank(self, lane: Lane) -> None:
        """Put a lane where it now belongs: it is new, has a better head, or its user's turn came nearer."""
        rank = RANK[lane.level]
        awake = self._awake[rank]
        if len(awake) < 2:
            return
        self._entries += 1
        lane.entry = (order_of(lane), self._entries, lane)
        heap = self._heaps[rank]
        heappush(heap, lane.entry)
        if len(heap) > 2 * len(awake) + LEFTOVERS_MAX:
            heap[:] = [entry for entry in heap if entry[2].entry is entry]
            heapify(heap)

    def first(self) -> Lane | None:
        """The lane whose turn it is, of the highest level that has one."""
        for rank, awake in enumerate(self._awake):
            if awake:
                return self.best(rank)
        return None

    def best(self, rank: int) -> Lane | None:
        """The lane of this level whose turn it is.

        A lane whose head left or whose user was served since is ranked anew when it surfaces: it can only have
        moved back. What moves a lane forward ranks it at once.
        """
        awake = self._awake[rank]
        if len(awake) < 2:
            return next(iter(awake), None)
        heap = self._heaps[rank]
        while True:
            order, _, lane = heap[0]
            if lane.entry is not heap[0]:
                heappop(heap)
            elif order_of(lane) != order:
                heappop(heap)
                self.rank(lane)
            else:
                return lane


class Yard:
    """All lanes and lines, and which of them have to be looked at."""

    __slots__ = ("_fleet", "_sleeping", "lines", "waiting", "woken")

    def __init__(self, fleet: "dict[str, Daemon]") -> None:
        self.lines: dict[LineKey, Line] = {}
        self.woken: dict[LineKey, Line] = {}
        """Lines in which something changed since the scheduler last looked."""
        self.waiting = 0
        self._fleet = fleet
        self._sleeping: dict[Blocker, dict[int, Lane]] = {}

    def enter(self, user: "User", task: Task) -> None:
        """A task became ready."""
        key = key_of(task)
        lane = user.lanes.get(key)
        is_new = lane is None
        if lane is None:
            lane = user.lanes[key] = Lane(user, key, self.line_for(user, key))
        lane.push(task)
        self.waiting += 1
        if lane.blocker is None:
            if is_new:
                lane.line.join(lane)
            elif lane.head() is task:
                lane.line.rank(lane)
            self.woken[lane.line.key] = lane.line

    def leave(self, user: "User", task: Task) -> None:
        """A ready task goes elsewhere. Call it before anything that `key_of` reads has changed."""
        self.shorten(user.lanes[key_of(task)])

    def shorten(self, lane: Lane) -> None:
        """One of the lane's tasks left it."""
        self.waiting -= 1
        lane.size -= 1
        if lane.size == 0:
            self._remove(lane)

    def refresh(self, user: "User") -> None:
        """The user's turn came nearer: put its lanes where they now belong."""
        for lane in user.lanes.values():
            if lane.blocker is None:
                lane.line.rank(lane)

    def sleep(self, lane: Lane, blocker: Blocker) -> None:
        lane.blocker = blocker
        lane.line.part(lane)
        self._sleeping.setdefault(blocker, {})[id(lane)] = lane

    def wake(self, blocker: Blocker) -> None:
        """What these lanes slept on is gone."""
        for lane in self._sleeping.pop(blocker, {}).values():
            self._awaken(lane)

    def wake_daemon(self, daemon: "Daemon") -> None:
        """It has, or may have, room."""
        for line in daemon.lines:
            if line.is_waiting():
                self.woken[line.key] = line

    def line_for(self, user: "User", key: LaneKey) -> Line:
        kind, _, special = key
        audience = user.id if user.owns_daemons else None
        line_key = (audience, kind.needs, special.avoided, special.suspect)
        line = self.lines.get(line_key)
        if line is None:
            self._prune()
            line = self.lines[line_key] = Line(line_key)
            for daemon in self._fleet.values():
                if could_serve(line, daemon):
                    line.servers.append(daemon)
                    daemon.lines.append(line)
        return line

    def enlist(self, daemon: "Daemon") -> None:
        """A daemon is new, or not what it was: find the lines it could serve."""
        for line in daemon.lines:
            line.servers.remove(daemon)
        daemon.lines = [line for line in self.lines.values() if could_serve(line, daemon)]
        for line in daemon.lines:
            line.servers.append(daemon)

    def rehouse(self, user: "User") -> None:
        """The user got its first own daemon: its lanes move to lines that include it."""
        for lane in user.lanes.values():
            line = self.line_for(user, lane.key)
            if lane.blocker is None:
                lane.line.part(lane)
                line.join(lane)
                self.woken[line.key] = line
            lane.line = line

    def _awaken(self, lane: Lane) -> None:
        lane.blocker = None
        lane.line.join(lane)
        self.woken[lane.line.key] = lane.line

    def _remove(self, lane: Lane) -> None:
        del lane.user.lanes[lane.key]
        if lane.blocker is None:
            lane.line.part(lane)
        else:
            asleep = self._sleeping[lane.blocker]
            del asleep[id(lane)]
            if not asleep:
                del self._sleeping[lane.blocker]

    def _prune(self) -> None:
        """Forget lines nobody waits in, once there are many: each odd requirement once made one."""
        if len(self.lines) < LINES_MAX:
            return
        housed = {id(lane.line) for asleep in self._sleeping.values() for lane in asleep.values()}
        for key, line in list(self.lines.items()):
            if not line.is_waiting() and id(line) not in housed:
                del self.lines[key]
                self.woken.pop(key, None)
                for daemon in line.servers:
                    daemon.lines.remove(line)

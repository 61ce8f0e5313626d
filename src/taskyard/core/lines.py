"""A line: the lanes that the same daemons could serve, of one queue, in one pool.

A pool is the shared daemons, or one user's own. Who could use both waits in a line of each. What holds back a whole
line (its queue is paused, full, cooling down) puts the line to sleep; what holds back one user's work puts their lanes
to sleep; and a freed slot wakes only the lines of its daemon. In a line, per level, the order is whose turn it is
(`fairness.py`), then that user's own: number, then age (`lanes.py`).

This file orders; it decides nothing about who may run.
"""

from typing import TYPE_CHECKING, Final

from taskyard.core.lanes import Blocker, Lane, LaneKey, place_of
from taskyard.core.ordered import Ordered
from taskyard.core.placement import standing_of
from taskyard.core.task import Attempt, Needs, Task
from taskyard.core.turns import ASIDE, Turns
from taskyard.vocabulary import RANK, Level

if TYPE_CHECKING:
    from taskyard.core.state import Daemon, User

CRITICAL: Final = RANK[Level.CRITICAL]

LineKey = tuple[str, str, Needs, tuple[str, ...], str | None]
"""Pool, queue, needs, daemons avoided, suspect."""


def line_key(pool: str, key: LaneKey) -> LineKey:
    kind, _, special = key
    return pool, kind.queue, kind.needs, special.avoided, special.suspect


class Party:
    """One user's lanes in one line, ordered at one level."""

    __slots__ = ("_alone", "_ranked", "line", "place", "rank", "size", "turns", "user")

    def __init__(self, line: "Line", user: "User", rank: int) -> None:
        self.line = line
        self.user = user
        self.rank = rank
        self.size = 0
        """How many lanes."""
        self.turns = line.parties[rank]
        """Among whom it waits for its turn."""
        self.place = ASIDE
        """The turn under which it stands there."""
        self._alone: Lane | None = None
        """Its lane, as long as there is only one, as most of the time."""
        self._ranked: tuple[Ordered[Lane], Ordered[Lane]] | None = None
        """Several, by number and by age."""

    def put(self, lane: Lane) -> None:
        """A lane joins, or got a better head."""
        if self.size == 0:
            self._alone, self.size = lane, 1
        else:
            by_number, by_age = self._ranked or self._rank()
            by_number.put(lane)
            by_age.put(lane)
            self.size = len(by_number)

    def _rank(self) -> tuple[Ordered[Lane], Ordered[Lane]]:
        """Its lane has company from now on."""
        ranked = self._ranked = Ordered(Lane.best), Ordered(Lane.eldest)
        for lane in self.lanes():
            for ordered in ranked:
                ordered.put(lane)
        self._alone = None
        return ranked

    def drop(self, lane: Lane) -> None:
        self.size -= 1
        if self._ranked is not None:
            for ordered in self._ranked:
                ordered.drop(lane)
            if self.size == 1:
                self._alone, self._ranked = self._ranked[0].first(), None

    def lanes(self) -> list[Lane]:
        """All of them; the party must not be empty."""
        if self._alone is not None:
            return [self._alone]
        assert self._ranked is not None, "I5: a party is gone with its last lane"
        return list(self._ranked[0])

    def first(self, aged_before: int) -> Lane:
        """The lane whose head is next; the party must not be empty."""
        if self._alone is not None:
            return self._alone
        assert self._ranked is not None, "I5: a party is gone with its last lane"
        by_number, by_age = self._ranked
        eldest = by_age.first()
        if eldest is not None and eldest.eldest()[0] < aged_before:
            return eldest
        best = by_number.first()
        assert best is not None, "I5: a party is gone with its last lane"
        return best


Order = tuple[int, bool, int, str]


def order_of(party: Party, aged_before: int) -> Order:
    """Among the parties of several lines: whose turn it is, then what that user would have first."""
    return party.user.turn, *place_of(party.first(aged_before).head(aged_before), aged_before)


class Line:
    """Lanes that the same daemons could serve."""

    __slots__ = ("blocker", "key", "needs", "parties", "pool", "queue", "servers", "suspect", "waiting")

    def __init__(self, key: LineKey, pool: "Pool") -> None:
        self.key = key
        self.pool = pool
        self.queue, self.needs, self.suspect = key[1], key[2], key[4]
        self.blocker: Blocker | None = None
        """What the whole line sleeps on."""
        self.servers: list[Daemon] = []
        """Daemons of its pool that could run its tasks, full or not, there or not (`placement.py`)."""
        self.waiting = [0] * len(RANK)
        """Per level: how many parties."""
        self.parties: tuple[Turns, ...] = tuple(Turns() for _ in RANK)
        """Per level: the users who have a lane here that may be looked at."""

    def is_waiting(self) -> bool:
        return any(self.waiting)

    def is_served_by_all(self) -> bool:
        """Any daemon of its pool would do, as most of the time: then the pool knows the best without asking each."""
        return len(self.servers) == len(self.pool.daemons)

    def has_room(self) -> bool:
        if self.is_served_by_all():
            return self.pool.roomiest() is not None
        for daemon in self.servers:  # noqa: SIM110 - asked at every decision, and a generator costs more than the answer
            if daemon.has_room():
                return True
        return False

    def is_served(self) -> bool:
        """Some daemon is there that takes its tasks, if not now then when it has room."""
        return any(daemon.is_open for daemon in self.servers)

    def lanes(self) -> list[Lane]:
        """All that may be looked at, in no order; for news, never for a decision."""
        return [lane for parties in self.parties for party in parties for lane in party.lanes()]


class Pool:
    """The slots that compete for the same work: those of the shared daemons, or of one user's own.

    Only daemons that are there count, with what they hold: a daemon that went away took its slots with it.
    """

    __slots__ = ("_roomy", "claiming", "daemons", "eased", "id", "queues", "running", "slots", "starved", "woken")

    def __init__(self, id: str) -> None:
        self.id = id
        self.daemons: dict[str, Daemon] = {}
        self.slots = 0
        self.claiming = 0
        """How many of these are agents' that claim: of them none is kept for critical work."""
        self.running = [0] * len(RANK)
        """Live attempts per level, as they were granted."""
        self.queues: dict[str, int] = {}
        """Live attempts per queue, also of daemons that are away: they may be at work."""
        self.woken: dict[LineKey, Line] = {}
        """Lines in which something changed since the scheduler last looked."""
        self.starved: dict[LineKey, Line] = {}
        """Lines with a task and a free slot whose level has no room: any end in the pool may help them."""
        self._roomy: Ordered[Daemon] = Ordered(standing_of)
        """Daemons that have room, and some that had when they were last looked at."""
        self.eased: dict[Daemon, None] = {}
        """Those that have less to do than when they were last looked at, or may: they would be passed over."""

    def recount(self) -> None:
        """A daemon came, went, or is not what it was."""
        there = [daemon.record for daemon in self.daemons.values() if daemon.is_open]
        self.slots = sum(record.slots for record in there)
        self.claiming = sum(record.slots for record in there if record.pulls)
        self.running, self.queues = [0] * len(RANK), {}
        self._roomy, self.eased = Ordered(standing_of), dict.fromkeys(self.daemons.values())
        for daemon in self.daemons.values():
            for task in daemon.holding.values():
                attempt = task.newest
                assert attempt is not None, "I2: a held task has an attempt"
                if attempt.in_place is None:
                    self.count(daemon, task, attempt, 1)

    def roomiest(self) -> "Daemon | None":
        """Of those that have room, the one to be asked first. A thousand daemons cost no more than ten."""
        roomy = self._roomy
        if self.eased:
            for daemon in self.eased:
                roomy.put(daemon)
            self.eased = {}
        while (first := roomy.first()) is not None and not first.has_room():
            roomy.drop(first)
        return first

    def count(self, daemon: "Daemon", task: Task, attempt: Attempt, change: int) -> None:
        queue = task.kind.queue
        self.queues[queue] = self.queues.get(queue, 0) + change
        if daemon.is_open:
            self.running[RANK[attempt.level]] += change

    @property
    def others_running(self) -> int:
        """Live attempts that are not critical."""
        return sum(self.running) - self.running[CRITICAL]

    @property
    def others_claimed(self) -> int:
        """Those of them that were given to claims and not taken yet."""
        claims = [daemon for daemon in self.daemons.values() if daemon.record.pulls and daemon.is_open]
        given = [task.newest for daemon in claims for task in daemon.holding.values()]
        return sum(attempt is not None and RANK[attempt.level] != CRITICAL for attempt in given)

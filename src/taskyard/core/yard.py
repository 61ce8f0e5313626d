"""All lanes and lines, and which of them have to be looked at."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from taskyard.core.lanes import Blocker, Lane, LaneKey, key_of
from taskyard.core.lines import CRITICAL, Line, LineKey, Party, Pool, line_key
from taskyard.core.placement import SHARED, could_serve
from taskyard.core.task import Task
from taskyard.vocabulary import RANK, Level

if TYPE_CHECKING:
    from taskyard.core.state import Daemon, User

LINES_MAX: Final = 1024
# Lines kept though empty, so that a task that finds its line again costs no look at the fleet.
HIGH: Final = RANK[Level.HIGH]


def rank_in(lane: Lane, pool: Pool) -> int:
    """Where a lane is ordered in this pool: its level, unless its user has called enough critical there."""
    is_demoted = lane.rank == CRITICAL and lane.user.is_over_critical and pool.id == SHARED
    return HIGH if is_demoted else lane.rank


class Yard:
    __slots__ = (
        "_asleep",
        "_lines_asleep",
        "_numbers",
        "_places_asleep",
        "_unplaced",
        "_urgent_asleep",
        "lines",
        "places",
        "pools",
        "stirred",
        "urgent",
        "waiting",
        "woken",
    )

    def __init__(self) -> None:
        self.lines: dict[LineKey, Line] = {}
        self.pools: dict[str, Pool] = {SHARED: Pool(SHARED)}
        self.woken: dict[str, Pool] = {}
        """Pools with lines that have to be looked at."""
        self.waiting = 0
        """Ready tasks in all lanes."""
        self.stirred: dict[str, User] = {}
        """Users of whom more or fewer tasks wait than when that was last looked at (`pressure.py`)."""
        self.urgent: dict[str, None] = {}
        """Users whose critical work was looked at, or may be helped, since the last look for room (`preemption.py`)."""
        self.places: dict[str, None] = {}
        """Parents whose place, should they wait for their sub-tasks, may be taken (`in_place.py`)."""
        self._places_asleep: dict[Blocker, dict[str, None]] = {}
        self._urgent_asleep: dict[Blocker, dict[str, None]] = {}
        self._unplaced: dict[LineKey, dict[str, None]] = {}
        """Parents whose sub-tasks no daemon of these lines could take."""
        self._asleep: dict[Blocker, dict[int, Lane]] = {}
        self._lines_asleep: dict[Blocker, dict[LineKey, Line]] = {}
        self._numbers = 0

    @property
    def shared(self) -> Pool:
        return self.pools[SHARED]

    @property
    def has_sleepers(self) -> bool:
        return bool(self._asleep or self._lines_asleep or self._places_asleep or self._urgent_asleep)

    # Tasks come and go.

    def enter(self, user: "User", task: Task) -> None:
        """A task became ready."""
        key = key_of(task)
        lane = user.lanes.get(key)
        self.waiting += 1
        user.waiting += 1
        self.stirred[user.id] = user
        if task.parent_id is not None:
            self.places[task.parent_id] = None
        if lane is None:
            self._numbers += 1
            lane = user.lanes[key] = Lane(user, key, self._numbers)
            lane.push(task)
            self._seat(lane)
            return
        lane.push(task)
        if lane.blocker is None:
            # By itself in one pool, it may have company in another, where its owner's critical work counts as high.
            crowded = [party for party in lane.parties if party.size > 1]
            if crowded and task in lane.heads():
                for party in crowded:
                    party.put(lane)
            self._wake_lines(lane)

    def leave(self, user: "User", task: Task) -> None:
        """A ready task goes elsewhere. Call it before anything that `key_of` reads has changed."""
        self.shorten(user.lanes[key_of(task)])

    def shorten(self, lane: Lane) -> None:
        """One of the lane's tasks left it."""
        self.waiting -= 1
        lane.size -= 1
        user = lane.user
        user.waiting -= 1
        self.stirred[user.id] = user
        # Whoever was told to go for it can go for the next one.
        self.heed(lane)
        if lane.size == 0:
            del lane.user.lanes[lane.key]
            if lane.blocker is None:
                self._unseat(lane)
            else:
                self._forget_sleeper(lane, lane.blocker)

    # Whose turn it is.

    def refresh(self, user: "User") -> None:
        """The user's turn came nearer: put its parties where they now belong."""
        turn = user.turn
        for party in user.parties.values():
            party.turns.move(party, turn)

    def regrade(self, user: "User", *, is_over: bool) -> None:
        """Critical work of this user in the shared pool is ordered as high from now on (`is_over`), or no longer."""
        if user.is_over_critical == is_over:
            return
        user.is_over_critical = is_over
        for lane in [each for each in user.lanes.values() if each.rank == CRITICAL and each.blocker is None]:
            self._unseat(lane)
            self._seat(lane)

    # Sleeping and waking.

    def sleep(self, lane: Lane, blocker: Blocker) -> None:
        self.heed(lane)
        self._unseat(lane)
        lane.blocker = blocker
        self._asleep.setdefault(blocker, {})[lane.number] = lane

    def sleep_line(self, line: Line, blocker: Blocker) -> None:
        line.blocker = blocker
        self._lines_asleep.setdefault(blocker, {})[line.key] = line

    def sleep_place(self, parent_id: str, blocker: Blocker) -> None:
        """A parent's place stays empty until this is gone."""
        self._places_asleep.setdefault(blocker, {})[parent_id] = None

    def sleep_urgent(self, user_id: str, blocker: Blocker) -> None:
        """Nobody has to make room for a user's critical work until this is gone."""
        self._urgent_asleep.setdefault(blocker, {})[user_id] = None

    def await_daemon(self, parent_id: str, line: Line) -> None:
        """A parent's place stays empty until a daemon of this line has room."""
        self._unplaced.setdefault(line.key, {})[parent_id] = None

    def heed(self, lane: Lane) -> None:
        """A lane does not get on: if it is critical, somebody may have to make room for it."""
        if lane.rank == CRITICAL:
            self.urgent[lane.user.id] = None

    def wake(self, blocker: Blocker) -> None:
        """What these lanes and lines slept on is gone, or may be."""
        for lane in self._asleep.pop(blocker, {}).values():
            lane.blocker = None
            self._seat(lane)
        for line in self._lines_asleep.pop(blocker, {}).values():
            line.blocker = None
            self.look_at(line)
        self.places.update(self._places_asleep.pop(blocker, {}))
        self.urgent.update(self._urgent_asleep.pop(blocker, {}))

    def wake_user(self, user_id: str) -> None:
        """What this user may have changed."""
        asleep = (*self._asleep, *self._places_asleep, *self._urgent_asleep)
        for blocker in [each for each in asleep if len(each) > 1 and each[1] == user_id]:
            self.wake(blocker)

    def wake_all(self) -> None:
        """A rule changed: look at everything anew."""
        for blocker in [*self._asleep, *self._lines_asleep, *self._places_asleep, *self._urgent_asleep]:
            self.wake(blocker)
        for line in self.lines.values():
            self.look_at(line)
            self.urgent.update((party.user.id, None) for parties in line.parties[: HIGH + 1] for party in parties)

    def look_at(self, line: Line) -> None:
        line.pool.woken[line.key] = line
        self.woken[line.pool.id] = line.pool

    def wake_daemon(self, daemon: "Daemon") -> None:
        """It has, or may have, room; and so may a level of its pool."""
        for line in daemon.lines:
            if line.is_waiting():
                self.look_at(line)
        pool = daemon.pool
        assert pool is not None, "I2: what is held is held in a pool"
        pool.eased[daemon] = None
        if pool.starved or self._urgent_asleep:
            self._wake_pool(pool)
        if self._unplaced:
            for line in daemon.lines:
                self.places.update(self._unplaced.pop(line.key, {}))

    def sleepers(self, blocker: Blocker) -> Iterable[Lane]:
        """Who sleeps on this; for checks."""
        return self._asleep.get(blocker, {}).values()

    # The fleet.

    def enlist(self, daemon: "Daemon", users: "Iterable[User]") -> None:
        """A daemon is new, or not what it was: find the lines it could serve, and count its pool anew."""
        left = daemon.pool
        self.dismiss(daemon)
        pool_id = SHARED if daemon.record.shared else daemon.record.user_id
        is_first = pool_id not in self.pools or not self.pools[pool_id].daemons
        pool = daemon.pool = self.pools.setdefault(pool_id, Pool(pool_id))
        pool.daemons[daemon.id] = daemon
        if left is not None and left is not pool:
            self._vacate(left, daemon, users)
        if is_first:
            self._rehouse(user for user in users if pool_id in (SHARED, user.id))
        # Lines that were made for those who moved in just now know it already.
        made = {line.key for line in daemon.lines}
        daemon.lines = [line for line in self.lines.values() if line.pool is pool and could_serve(line, daemon)]
        for line in daemon.lines:
            if line.key not in made:
                line.servers.append(daemon)
        pool.recount()

    def dismiss(self, daemon: "Daemon") -> None:
        """Whatever it was before, it serves nobody now."""
        for line in daemon.lines:
            line.servers.remove(daemon)
        daemon.lines = []
        if daemon.pool is not None:
            del daemon.pool.daemons[daemon.id]
            daemon.pool.recount()
            daemon.pool = None

    def forget(self, daemon: "Daemon", users: "Iterable[User]") -> None:
        """Remove a daemon that holds nothing."""
        pool = daemon.pool
        assert pool is not None, "I2: what is held is held in a pool"
        self.dismiss(daemon)
        self._vacate(pool, daemon, users)

    def recount(self, daemon: "Daemon") -> None:
        """It came, went away, or takes nothing more."""
        pool = daemon.pool
        assert pool is not None, "I2: what is held is held in a pool"
        pool.recount()
        self._wake_pool(pool)

    def _wake_pool(self, pool: Pool) -> None:
        """A daemon or a level of it has, or may have, room."""
        for line in pool.starved.values():
            self.look_at(line)
        pool.starved = {}
        self.urgent.update(self._urgent_asleep.pop(("room", pool.id), {}))

    def _vacate(self, pool: Pool, daemon: "Daemon", users: "Iterable[User]") -> None:
        """It belongs to another pool now and took with it what it holds: that counts in this one no longer."""
        for queue in {task.kind.queue: None for task in daemon.holding.values()}:
            self.wake(("queue", queue, pool.id))
        self._wake_pool(pool)
        if not pool.daemons:
            self._rehouse(user for user in users if pool.id in (SHARED, user.id))

    def _rehouse(self, users: "Iterable[User]") -> None:
        """These users have a pool to wait in that they had not, or one less."""
        for user in users:
            for lane in [lane for lane in user.lanes.values() if lane.blocker is None]:
                self._unseat(lane)
                self._seat(lane)

    # Where a lane waits.

    def pools_for(self, user: "User") -> list[Pool]:
        """Its own daemons first, if it has any; then the shared ones, if there are any or it has none."""
        own, shared = self.pools.get(user.id), self.pools[SHARED]
        if own is None or not own.daemons:
            return [shared]
        return [own, shared] if shared.daemons else [own]

    def lines_for(self, user: "User", key: LaneKey) -> list[Line]:
        pools = self.pools_for(user)
        if len(self.lines) >= LINES_MAX and any(line_key(pool.id, key) not in self.lines for pool in pools):
            # Before the first of them is made: an empty one would be forgotten while the second is.
            self._prune()
        return [self._line(pool, key) for pool in pools]

    def lines_seen_by(self, user: "User", key: LaneKey) -> list[Line]:
        """The same for a question, which changes nothing: a line that is not there is not kept either."""
        return [
            self.lines.get(name) or self._made(name, pool)
            for pool in self.pools_for(user)
            for name in (line_key(pool.id, key),)
        ]

    def _seat(self, lane: Lane) -> None:
        """Put a lane into its lines, and have them looked at."""
        user = lane.user
        for line in self.lines_for(user, lane.key):
            rank = rank_in(lane, line.pool)
            party = user.parties.get((line.key, rank))
            if party is None:
                party = user.parties[line.key, rank] = Party(line, user, rank)
                line.waiting[rank] += 1
                party.turns.add(party)
            party.put(lane)
            lane.parties.append(party)
        self.heed(lane)
        self._wake_lines(lane)

    def _unseat(self, lane: Lane) -> None:
        for party in lane.parties:
            party.drop(lane)
            if not party.size:
                party.turns.drop(party)
                party.line.waiting[party.rank] -= 1
                del lane.user.parties[party.line.key, party.rank]
        lane.parties = []

    def _wake_lines(self, lane: Lane) -> None:
        for party in lane.parties:
            self.look_at(party.line)

    def _forget_sleeper(self, lane: Lane, blocker: Blocker) -> None:
        asleep = self._asleep[blocker]
        del asleep[lane.number]
        if not asleep:
            del self._asleep[blocker]

    def _line(self, pool: Pool, key: LaneKey) -> Line:
        name = line_key(pool.id, key)
        line = self.lines.get(name)
        if line is None:
            line = self.lines[name] = self._made(name, pool)
            for daemon in line.servers:
                daemon.lines.append(line)
        return line

    def _made(self, name: LineKey, pool: Pool) -> Line:
        line = Line(name, pool)
        line.servers = [daemon for daemon in pool.daemons.values() if could_serve(line, daemon)]
        return line

    def _prune(self) -> None:
        """Forget lines nobody waits in, once there are many: each odd requirement once made one."""
        for key, line in list(self.lines.items()):
            if not line.is_waiting() and line.blocker is None and key not in self._unplaced:
                del self.lines[key]
                line.pool.woken.pop(key, None)
                line.pool.starved.pop(key, None)
                for daemon in line.servers:
                    daemon.lines.remove(line)

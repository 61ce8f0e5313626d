"""The hub around the core, with virtual time in place of threads: inbox, look-ups, group commit, release in order.

It follows the rules of the real loop. Commands are decided as they come, also while a batch is being written; when
the committer is idle the next batch is cut. What a command names and memory no longer holds is looked up first. Effects
leave after their commit; per session they leave in one line in which nothing overtakes, also not a cancel the
`task.execute` whose body is still being read. After a failed commit everything later is dropped, callers hear
`None` (503), and the state is loaded anew as soon as the disk answers; then every daemon is sent away to come back
with its list.
"""

from itertools import count

from taskyard.core.changes import Batch
from taskyard.core.commands import NOTHING, Command, HearEnded, Tick
from taskyard.core.daemon_commands import Beat, JoinDaemon
from taskyard.core.effects import Effect, Progressed, Reply
from taskyard.core.hub import Core
from taskyard.core.lookups import ROUNDS_MAX, Lookup, merge, missing
from taskyard.core.settings import Settings
from taskyard.core.state import Now
from taskyard.hub.release import Parcel
from taskyard.hub.revisit import known_of, state_of
from taskyard.store.committer import Committer, Release
from taskyard.store.memory import MemoryStore
from taskyard.store.port import StoreUnavailable
from tests.simulation.clockwork import Clockwork
from tests.simulation.faults import Faults
from tests.simulation.history import History
from tests.simulation.network import Wire
from tests.simulation.sessions import Item, Sessions

WALL_OFFSET = 1_800_000_000_000
PROBE_MS = 100
PROBE_MS_MAX = 5_000


class Hub:
    """One hub over many lives: `life` tells the events of an earlier one, which then do nothing."""

    def __init__(self, clock: Clockwork, history: History, faults: Faults, settings: Settings) -> None:
        self.clock = clock
        self.history = history
        self.faults = faults
        self.settings = settings
        # Daemons are told what is sealed of them, and a life must go the same way again.
        self.store = MemoryStore(takeover_ids=map("takeover {}".format, count(1)))
        self.reader = self.store.reader()
        self.core: Core
        self.committer: Committer
        self.life = 0
        self.is_up = False
        self.is_shut = False
        """Waiting for the disk after a failed commit."""
        self.paused_from: int | None = None
        self.wall_offset = WALL_OFFSET
        self.sessions = Sessions(clock, history, self.reader, self.tell, settings)
        self._inbox: list[Command] = []
        self._effects: list[Effect] = []
        self._lookups: dict[int, int] = {}
        self._asked = 0
        self._batches = 0
        self._wake_at: int | None = None
        self._lag_ms = 0
        self._probe_ms = PROBE_MS

    @property
    def now(self) -> Now:
        return Now(self.clock.now + self.wall_offset, self.clock.now)

    # Lives

    def boot(self) -> None:
        """A process starts: open the store, load, hear what was missed."""
        if self.is_up:
            return
        self.store.open()
        self.is_up = True
        self.is_shut = False
        self._load()

    def _load(self) -> None:
        image = self.store.load()
        identity = image.identity
        state = state_of(image, self.settings, identity, self.now)
        self.core = Core(state, self.clock.rng)
        self.committer = Committer(durable_seq=identity.seq)
        self.sessions.begin(identity)
        self.life += 1
        self._inbox, self._effects, self._lookups = [HearEnded(NOTHING)], [], {}
        self._wake_at, self._lag_ms, self._probe_ms = None, 0, PROBE_MS
        self.history.hub_loaded(state)
        self._wake_in(0)

    def crash(self) -> None:
        """The process is gone, at whatever point it was."""
        if not self.is_up:
            return
        self.is_up = False
        self.life += 1
        self.paused_from = None
        self.store.crash()
        self.sessions.crash()
        self.history.hub_crashed()
        self.clock.later(50 + self.clock.about(2_000), self.boot)

    def pause(self, ms: int) -> None:
        if self.is_up and self.paused_from is None:
            self.paused_from = self.clock.now
            self.clock.later(ms, self._resume, self.clock.now)

    def _resume(self, paused_from: int) -> None:
        if paused_from == self.paused_from:
            self._lag_ms = self.clock.now - paused_from
            self.paused_from = None
            self._wake_in(0)

    def has_unwritten(self) -> bool:
        """Whether memory is ahead of the disk, or about to be."""
        return bool(self._effects or self._inbox or self._lookups)

    # In

    def accept(self, wire: Wire, user_id: str) -> None:
        self.sessions.accept(wire, user_id)

    def hear(self, wire: Wire, frame: bytes) -> None:
        self.sessions.hear(wire, frame, self.now.wall)

    def hung_up(self, wire: Wire, code: int | None, reason: str) -> None:
        self.sessions.leave(wire.number)

    def tell(self, command: Command) -> bool:
        """Into the inbox; False if nobody takes commands now."""
        if not self.is_up or self.is_shut:
            return False
        self._inbox.append(command)
        self._wake_in(self.clock.between(0, 2))
        return True

    def mention(self, command: Command) -> None:
        """Into the inbox without waking anybody: it is decided with what comes next."""
        if self.is_up and not self.is_shut:
            self._inbox.append(command)

    # The loop

    def _wake_in(self, ms: int) -> None:
        at = self.clock.now + ms
        if self._wake_at is None or at < self._wake_at:
            self._wake_at = at
            self.clock.later(ms, self._turn, self.life, at)

    def _turn(self, life: int, at: int) -> None:
        if life != self.life or at != self._wake_at:
            return
        self._wake_at = None
        if self.is_shut or self.paused_from is not None:
            return
        now = self.now
        if self._lag_ms or self.core.next_due_ms(now) == 0:
            self._handle(Tick(self._lag_ms))
            self._lag_ms = 0
        inbox, self._inbox = self._inbox, []
        for command in inbox:
            self._route(command, 0)
        turn = self.core.turn(now)
        self.core.dispatch(turn)
        self._effects += turn.effects
        self.history.decided(self.core.state)
        if self.core.next_due_ms(now) != 0:
            self.history.check("settled", turn)
        self._pump()
        due_ms = self.core.next_due_ms(now)
        if due_ms is not None:
            self._wake_in(max(due_ms, 1))

    def _route(self, command: Command, rounds: int, since: int | None = None) -> None:
        """Decide it, or first look up what it names; `since`: when the first of its look-ups began."""
        lookup = missing(self.core.state, command)
        if lookup is None or rounds >= ROUNDS_MAX:
            self._handle(command)
            return
        self._asked += 1
        # Whatever ended by now is on disk for this look-up to find; what ends later must stay in memory.
        self._lookups[self._asked] = self.committer.durable_seq if since is None else since
        self.clock.later(self._reading_ms(), self._look, self.life, self._asked, command, lookup, rounds)

    def _look(self, life: int, asked: int, command: Command, lookup: Lookup, rounds: int) -> None:
        if life != self.life:
            return
        found = known_of(lookup, self.reader)
        command.known = merge(command.known, lookup, found)  # type: ignore[union-attr]
        self.clock.later(self._reading_ms(), self._found, life, asked, command, rounds + 1)

    def _found(self, life: int, asked: int, command: Command, rounds: int) -> None:
        if life != self.life:
            return
        if self.paused_from is not None:
            self.clock.later(50, self._found, life, asked, command, rounds)
            return
        self._route(command, rounds, self._lookups.pop(asked))
        self._wake_in(0)

    def _handle(self, command: Command) -> None:
        self.history.commanded(self.clock.steps, self.clock.now, command)
        self._effects += self.core.handle(command, self.now)
        if isinstance(command, Beat | JoinDaemon):
            self.history.heard_of(command)

    # Commit

    def _pump(self) -> None:
        while self.committer.idle and not self.is_shut and self.is_up:
            effects, self._effects = self._effects, []
            self._batches += 1
            batch = self.core.cut(batch_id=f"b{self._batches}", now=self.now)
            out = self.committer.begin(batch, effects)
            if isinstance(out, Release):
                if effects:
                    self._release(out)
                return
            self._begin_write(out)

    def _begin_write(self, batch: Batch) -> None:
        self.history.batch_begun(batch)
        self.clock.later(self.clock.between(0, 8), self._write, self.life, batch)

    def _write(self, life: int, batch: Batch) -> None:
        if life != self.life:
            return
        clock, faults = self.clock, self.faults
        if clock.happens(faults.crash_at_commit):
            self._crash_at_commit(batch)
            return
        if clock.happens(faults.commit_fails):
            self.history.struck("commit fails")
            self.store.fail_next(StoreUnavailable("no room"))
        elif clock.happens(faults.commit_ambiguous):
            self.history.struck("commit ambiguous")
            self.store.lose_next_answer()
        clock.later(clock.between(0, 4), self._answered, life, self._commit(batch))

    def _commit(self, batch: Batch) -> bool:
        try:
            self.store.write(batch)
        except StoreUnavailable:
            is_known = False
        else:
            is_known = True
        if self.reader.position() == batch.seq:
            for row in batch.changed:
                self.clock.note(row.record)
            self.history.committed(batch)
        return is_known

    def _crash_at_commit(self, batch: Batch) -> None:
        """Before the write, or after it and before anyone heard of it."""
        self.history.struck("crash at commit")
        if self.clock.happens(0.5):
            self._commit(batch)
        self.crash()

    def _answered(self, life: int, is_known: bool) -> None:
        if life != self.life:
            return
        if self.paused_from is not None:
            self.clock.later(50, self._answered, life, is_known)
            return
        if is_known:
            self._committed()
        else:
            self._failed()

    def _committed(self) -> None:
        release = self.committer.committed()
        self._release(release)
        if self.is_up and not self.is_shut:
            self.core.forget(through_seq=min((self.committer.durable_seq, *self._lookups.values())))
            self._pump()

    def _failed(self) -> None:
        """Nothing later than the last commit ever was: drop it all, wait for the disk, begin anew."""
        self._drop(self.committer.failed() + self._effects)
        self._effects, self._inbox = [], []
        self.life += 1
        self.is_shut = True
        self.history.hub_crashed()
        self.clock.later(self._probe_ms, self._probe, self.life)

    def _drop(self, effects: list[Effect]) -> None:
        """Whoever waits for one of these hears that nobody knows, with everybody else, in `hub_crashed`."""

    def _probe(self, life: int) -> None:
        if life != self.life:
            return
        if self.clock.happens(self.faults.commit_fails * 20):
            self._probe_ms = min(self._probe_ms * 2, PROBE_MS_MAX)
            self.clock.later(self._probe_ms, self._probe, life)
            return
        self.store.probe()
        self.is_shut = False
        self.sessions.send_away()
        self._load()

    # Out

    def _release(self, release: Release) -> None:
        history, life = self.history, self.life
        history.released(release)
        parcel = self.sessions.parcel(release)
        unread: list[Item] = []
        for effect in release.effects:
            if self.clock.happens(self.faults.crash_in_release):
                history.struck("crash in release")
                self.crash()
                return
            if isinstance(effect, Reply):
                history.answer(effect.to, effect.answer)
            elif not isinstance(effect, Progressed):
                self.sessions.put(effect, parcel, unread)
        if unread:
            self.clock.later(self._reading_ms(), self._fill, life, parcel, unread)

    def _reading_ms(self) -> int:
        """Readers read beside the loop; now and then the disk is busy."""
        return self.clock.between(20, 400) if self.clock.happens(0.1) else self.clock.between(0, 10)

    def _fill(self, life: int, parcel: Parcel, unread: list[Item]) -> None:
        if life == self.life:
            self.sessions.fill(parcel, unread)

"""Plays a command log into a core over a store, with the real committer between them.

PostgreSQL notes each opening in its log of commits. The others are given the same note here, so that a number means the
same commit on all of them, and what they hold can be compared byte by byte.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import chain, repeat
from typing import Final

from taskyard.core.changes import Batch
from taskyard.core.commands import NOTHING, Command, Tick
from taskyard.core.effects import Effect, Reply
from taskyard.core.hub import Core
from taskyard.core.lookups import ROUNDS_MAX, merge, missing
from taskyard.core.settings import Settings
from taskyard.core.state import Now
from taskyard.hub.revisit import known_of, state_of
from taskyard.store.committer import Committer, Release
from taskyard.store.port import Reader, Store
from tests.simulation.command_log import CommandLog, Cut, Dispatched, Entry, Loaded, Told, Written

AFTER_THE_LAST_ROLL: Final = 0.5
TICKS_MAX: Final = 1_000


class ListedDice:
    def __init__(self, rolls: list[float]) -> None:
        self._rolls = chain(rolls, repeat(AFTER_THE_LAST_ROLL))

    def random(self) -> float:
        return next(self._rolls)


class Replay:
    """One hub after another over one store, which `opened` makes again for each."""

    def __init__(self, log: CommandLog, opened: Callable[[], Store], settings: Settings) -> None:
        self.settings = settings
        self.store = opened()
        self.core: Core
        self.now: Now
        self.wrote: set[str] = set()
        """Which kinds of change the commits had."""
        self.answered: tuple[str, ...] = ()
        """The names of the requests that were answered last: when older ones go is an engine's own affair."""
        self.said: list[Effect] = []
        """All that left a core, in order."""
        self._log = log
        self._opened = opened
        self._dice = ListedDice(log.rolls)
        self._reader: Reader
        self._committer: Committer
        self._effects: list[Effect] = []
        self._seq = self._written_at = 0
        """Of the last commit, with its instant."""

    def run(self, *, commits_per_look: int) -> Iterator[None]:
        """Stops for a look after so many commits, and at the end; nothing is under way then."""
        commits = 0
        for entry in self._log.entries:
            self._play(entry)
            if isinstance(entry, Written):
                commits += 1
                if commits % commits_per_look == 0:
                    self._settle()
                    yield
        self._settle()
        yield

    def close(self) -> None:
        if self._seq:
            self._reader.close()
        self.store.close()

    # --- entries ---

    def _play(self, entry: Entry) -> None:
        match entry:
            case Loaded(now, is_new_process):
                self._load(now, is_new_process=is_new_process)
            case Told(now, command):
                self.now = now
                self._tell(deepcopy(command))
            case Dispatched(now):
                self.now = now
                self._dispatch()
            case Cut(now, batch_id):
                self.now = now
                self._cut(batch_id)
            case Written():
                self._write()

    def _load(self, now: Now, *, is_new_process: bool) -> None:
        if is_new_process:
            self._open()
        image = self.store.load()
        identity = image.identity
        state = state_of(image, self.settings, identity, now)
        self.now = now
        self.core = Core(state, self._dice)
        self._committer = Committer(durable_seq=identity.seq)
        self._effects = []

    def _open(self) -> None:
        self.close()
        self.store = self._opened()
        identity = self.store.open()
        if identity.seq == self._seq:
            self.store.write(Batch(identity.seq + 1, identity.epoch, f"opened {identity.epoch}", self._written_at))
        self._seq += 1
        self._reader = self.store.reader()

    def _tell(self, command: Command) -> None:
        """As the loop does it: first look up what it names and memory no longer holds, here in this very store."""
        if hasattr(command, "known"):
            command.known = NOTHING
        for _ in range(ROUNDS_MAX):
            lookup = missing(self.core.state, command)
            if lookup is None:
                break
            found = known_of(lookup, self._reader)
            command.known = merge(command.known, lookup, found)  # type: ignore[union-attr]
        self._effects += self.core.handle(command, self.now)

    def _dispatch(self) -> None:
        """After whatever is due: with another word between its commands a life has other timers than the recorded."""
        if self.core.next_due_ms(self.now) == 0:
            self._tell(Tick())
        turn = self.core.turn(self.now)
        self.core.dispatch(turn)
        self._effects += turn.effects

    def _cut(self, batch_id: str) -> None:
        self._write()
        effects, self._effects = self._effects, []
        batch = self.core.cut(batch_id=batch_id, now=self.now)
        out = self._committer.begin(batch, effects)
        if isinstance(out, Release):
            self.said += out.effects
            return
        replies = [effect for effect in effects if isinstance(effect, Reply)]
        batch.requests = [(f"{batch_id}/{reply.to}", repr(reply.answer).encode()) for reply in replies]

    def _write(self) -> None:
        """What is in flight, if anything is."""
        if self._committer.in_flight is None:
            return
        batch = self._committer.in_flight.batch
        self.store.write(batch)
        self.store.tend()
        self.said += self._committer.committed().effects
        self.core.forget(through_seq=batch.seq)
        self.answered = tuple(name for name, _ in batch.requests) or self.answered
        self.wrote |= {name for name in batch.__struct_fields__ if getattr(batch, name)}
        self._seq, self._written_at = batch.seq, batch.at

    def _settle(self) -> None:
        """Decide what is due, and write whatever was decided."""
        for _ in range(TICKS_MAX):
            self._dispatch()
            if self.core.next_due_ms(self.now) != 0:
                break
        self._cut(f"settled {self._seq}")
        self._write()

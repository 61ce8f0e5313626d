"""What the world has seen, kept apart from the hub that made it: the checkers compare the two.

Durable rows come from the batches that the disk took. Spawns come from the fake work, with the instants at which it
really ran. Acknowledgements are what clients and daemons were told. Nothing here is read by the hub.
"""

from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from taskyard.core.changes import Batch
from taskyard.core.commands import Command
from taskyard.core.daemon_commands import Beat, JoinDaemon
from taskyard.core.effects import Answer, Effect
from taskyard.core.state import State
from taskyard.core.task import Task
from taskyard.store.committer import Release
from taskyard.store.records import TASK
from tests.simulation.clockwork import Clockwork

if TYPE_CHECKING:
    from tests.simulation.fleet import GoodDaemon

LAST_COMMANDS = 20
Key = tuple[str, int]


class Violation(AssertionError):
    """A promise was broken."""


def expect(is_so: bool, message: str) -> None:
    if not is_so:
        raise Violation(message)


class Spawn(Struct):
    """One start of real work. `ended` is None while a process of it lives."""

    task_id: str
    attempt: int
    daemon: str
    at: int
    exclusive: tuple[str, str] | None
    timeout_ms: int
    ended: int | None = None
    outcome: str | None = None
    """What it said of itself, once it said so."""
    type: str = "general"


class Acked(Struct):
    """A task whose creation a client was told of."""

    user_id: str
    key: str | None
    digest: str | None


Hook = Callable[..., None]


class History:
    def __init__(self, clock: Clockwork) -> None:
        self.clock = clock
        self.commands: deque[tuple[int, int, Command]] = deque(maxlen=LAST_COMMANDS)
        self.durable: dict[str, Task] = {}
        """Every task as its last commit wrote it."""
        self.durable_seq = 0
        self.outcomes: Counter[str] = Counter()
        self.completions: Counter[str] = Counter()
        self.late: dict[Key, None] = {}
        self.spawns: dict[Key, Spawn] = {}
        self.running: dict[Key, Spawn] = {}
        self.good: dict[str, GoodDaemon] = {}
        """By daemon id, once the hub gave one."""
        self.assigned: dict[Key, str] = {}
        self.executed: dict[tuple[int, str, int], None] = {}
        self.cancelled_first: dict[tuple[int, str, int], None] = {}
        self.heard: dict[str, int] = {}
        """When each daemon was last heard."""
        self._heard_before: dict[str, int] = {}
        self._cut_at = 0
        """When the batch that is being written was cut."""
        self.speaks: dict[int, str] = {}
        """Which daemon is at the other end of a session."""
        self.loaded_at = 0
        self.jumped_at = 0
        """When the hub's wall clock first jumped."""
        self.acked: dict[str, Acked] = {}
        self.cancels: dict[str, bool] = {}
        """Tasks somebody asked to end; True once that was acknowledged."""
        self.faults: Counter[str] = Counter()
        self.hits = 0
        """Faults that met work in flight."""
        self.kills: list[Key] = []
        """The attempts of which a daemon's process died."""
        self.in_flight: Batch | None = None
        self.answers: dict[int, Callable[[Answer | None], None]] = {}
        self.turns = 0
        self.state: State | None = None
        self.on: dict[str, tuple[Hook, ...]] = {}

    def check(self, moment: str, *facts: object) -> None:
        for checker in self.on.get(moment, ()):
            checker(self, *facts)

    # The hub

    def commanded(self, step: int, now: int, command: Command) -> None:
        self.commands.append((step, now, command))

    def decided(self, state: State) -> None:
        self.state = state
        self.check("decided", state)

    def hub_loaded(self, state: State) -> None:
        self.state = state
        self.loaded_at = self.clock.now
        self.check("loaded", state)

    def hub_crashed(self) -> None:
        """Nobody who waits for an answer gets one."""
        self.in_flight = None
        waiting, self.answers = self.answers, {}
        for answer in waiting.values():
            answer(None)

    def batch_begun(self, batch: Batch) -> None:
        self.in_flight, self._cut_at = batch, self.clock.now

    def committed(self, batch: Batch) -> None:
        self.in_flight = None
        self.durable_seq = batch.seq
        for task_id, _ in batch.outcomes:
            self.outcomes[task_id] += 1
        for event in batch.events:
            if event.name == "task.completed" and event.task_id is not None:
                self.completions[event.task_id] += 1
        self.late.update(((late.task_id, late.attempt), None) for late in batch.late)
        rows = (*batch.created, *batch.changed, *batch.ended, *batch.revived, *batch.amended)
        changed = [(self.durable.get(row.task.id), TASK.decode(row.record)) for row in rows]
        self.durable.update((task.id, task) for _, task in changed)
        for old, task in changed:
            self.check("written", old, task)
        self.check("committed", batch)

    def released(self, release: Release) -> None:
        self.check("released", release)

    def sent(self, session: int, effect: Effect) -> None:
        self.check("sent", session, effect)

    def heard_of(self, command: Beat | JoinDaemon) -> None:
        self._heard_before[command.daemon_id] = self.heard.get(command.daemon_id, 0)
        self.heard[command.daemon_id] = self.clock.now
        self.speaks[command.session] = command.daemon_id

    def heard_when_cut(self, daemon_id: str) -> int:
        """When the daemon had last been heard when the batch in flight was decided."""
        heard = self.heard.get(daemon_id, 0)
        return heard if heard <= self._cut_at else self._heard_before[daemon_id]

    def answer(self, to: int, answer: Answer | None) -> None:
        waiting = self.answers.pop(to, None)
        if waiting is not None:
            waiting(answer)

    # The work

    def spawned(self, spawn: Spawn) -> None:
        self.check("spawned", spawn)
        self.spawns[spawn.task_id, spawn.attempt] = spawn
        self.running[spawn.task_id, spawn.attempt] = spawn

    def ended(self, key: Key, outcome: str | None) -> None:
        spawn = self.running.pop(key)
        spawn.ended, spawn.outcome = self.clock.now, outcome

    # Faults

    def killed(self, key: Key) -> None:
        """A daemon's process dies of this work."""
        self.struck("poison")
        self.kills.append(key)

    def struck(self, fault: str) -> None:
        """A fault happened; it counts as a hit if it met something under way."""
        self.faults[fault] += 1
        if self.running or self.in_flight is not None:
            self.hits += 1

"""What the hub of a simulated life was told, when it cut its batches, and which of them came to be on disk.

Played again, the log needs no world around it: the same commands at the same instants with the same dice.
"""

from collections.abc import Iterator
from copy import deepcopy

from msgspec import Struct

from taskyard.core.changes import Batch
from taskyard.core.commands import Command, ReportProgress, SaveCheckpoint
from taskyard.core.daemon_commands import StartTask
from taskyard.core.effects import Effect
from taskyard.core.hub import Core
from taskyard.core.state import Now, State, Turn
from taskyard.core.yard_commands import (
    ChangeHook,
    ChangeUser,
    CreateHook,
    CreateKey,
    DeleteHook,
    DeleteQueue,
    DeleteTemplate,
    OpenBreaker,
    PauseQueue,
    PutQueue,
    PutTemplate,
    ResetBreaker,
    ResumeQueue,
    RevokeKey,
    RotateHook,
)
from taskyard.vocabulary import HookProvider, Level, Scope
from tests.simulation.clockwork import Clockwork
from tests.simulation.shell import Hub
from tests.simulation.world import USERS, World


class Loaded(Struct, frozen=True):
    """A hub began from what was on disk: a new process, or the same one after a commit that failed."""

    now: Now
    is_new_process: bool


class Told(Struct, frozen=True):
    now: Now
    command: Command


class Dispatched(Struct, frozen=True):
    now: Now


class Cut(Struct, frozen=True):
    now: Now
    batch_id: str


class Written(Struct, frozen=True):
    """The last batch that was cut came to be on disk."""


Entry = Loaded | Told | Dispatched | Cut | Written


class CommandLog:
    """`rolls` are what the dice gave the core, in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.rolls: list[float] = []


class NotedDice:
    def __init__(self, clock: Clockwork, log: CommandLog) -> None:
        self._clock = clock
        self._log = log

    def random(self) -> float:
        rolled = self._clock.rng.random()
        self._log.rolls.append(rolled)
        return rolled


class NotedCore(Core):
    __slots__ = ("_log",)

    def __init__(self, state: State, clock: Clockwork, log: CommandLog) -> None:
        super().__init__(state, NotedDice(clock, log))
        self._log = log

    def handle(self, command: Command, now: Now) -> list[Effect]:
        # The core keeps parts of what it is told, and goes on changing them.
        self._log.entries.append(Told(now, deepcopy(command)))
        return super().handle(command, now)

    def dispatch(self, turn: Turn) -> None:
        self._log.entries.append(Dispatched(turn.now))
        super().dispatch(turn)

    def cut(self, *, batch_id: str, now: Now) -> Batch:
        self._log.entries.append(Cut(now, batch_id))
        return super().cut(batch_id=batch_id, now=now)


class NotedHub(Hub):
    """The simulator's hub, with a log of what happens at the door of its core and at its disk."""

    def __init__(self, world: World) -> None:
        super().__init__(world.clock, world.history, world.faults, world.hub.settings)
        self.log = CommandLog()
        self._epoch = 0

    def _load(self) -> None:
        super()._load()
        state = self.core.state
        self.core = NotedCore(state, self.clock, self.log)
        is_new_process = state.epoch != self._epoch
        self.log.entries.append(Loaded(self.now, is_new_process))
        self._epoch = state.epoch

    def _commit(self, batch: Batch) -> bool:
        is_known = super()._commit(batch)
        if self.reader.position() == batch.seq:
            self.log.entries.append(Written())
        return is_known


def log_of_a_life(seed: int, *, steps: int) -> CommandLog:
    world = World(seed)
    world.hub = hub = NotedHub(world)
    world.begin()
    world.suffer(steps)
    world.heal()
    world.recover()
    return hub.log


def with_asides(log: CommandLog) -> CommandLog:
    """The same life, in which attempts also save and say something, and an admin does all that an admin does."""
    more = CommandLog()
    more.rolls = log.rolls
    turns = {round(part * len(log.entries) / (len(ASIDES) + 1)): aside for part, aside in enumerate(ASIDES, 1)}
    for number, entry in enumerate(log.entries):
        more.entries.append(entry)
        if isinstance(entry, Told):
            more.entries += [Told(entry.now, command) for command in _said_at_the_start(entry.command)]
        if number in turns:
            more.entries.append(Told(_last_instant(more), turns[number]))
    return more


ASIDES: tuple[Command, ...] = (
    CreateKey("k_1", USERS[0], "a key", "0" * 64, (Scope.TASKS,), "root"),
    PutQueue("cloud", ("glm5",), 3, "root"),
    OpenBreaker(USERS[0], "code", "root"),
    PauseQueue("default", "root"),
    ChangeUser(USERS[0], "root", overrides={"max_concurrent_agents": 7}),
    CreateKey("k_2", USERS[1], "another key", "1" * 64, (Scope.TASKS, Scope.DAEMON), "root"),
    CreateHook("wh_1", USERS[0], "prs", HookProvider.GITHUB, "a secret — “so”", '{"input":"a"}', "root", Level.HIGH),
    CreateHook("wh_2", USERS[1], "gone", HookProvider.SLACK, "another", '{"input":"b"}', "root"),
    ResumeQueue("default", "root"),
    RotateHook("wh_1", USERS[0], "a new secret", "root"),
    DeleteHook("wh_2", USERS[1], "root"),
    ChangeHook("wh_1", USERS[0], "root", name="reviews", events=("pull_request.opened",)),
    ResetBreaker(USERS[0], "code", "root"),
    RevokeKey("k_1", "root"),
    DeleteQueue("cloud", "root"),
    PutTemplate(USERS[0], "review", '{"task":{"input":"Review {{what}} — “so”"}}', "root"),
    PutTemplate(USERS[1], "gone", '{"task":{"input":"a"}}', "root"),
    DeleteTemplate(USERS[1], "gone", "root"),
)


def _said_at_the_start(command: Command) -> Iterator[Command]:
    if isinstance(command, StartTask):
        of = (command.daemon_id, command.task_id, command.attempt)
        saved = f'{{"attempt":{command.attempt}}}'.encode()
        yield SaveCheckpoint(*of, saved, command.session)
        yield ReportProgress(*of, command.session, percent=5.0, log=f"{command.task_id} began — “well”\n")


def _last_instant(log: CommandLog) -> Now:
    return next(entry.now for entry in reversed(log.entries) if not isinstance(entry, Written))

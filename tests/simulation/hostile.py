"""Daemons that lie: stale attempt numbers, results twice, results of others' work, lists that are not true, silence.

They run nothing. Whatever they say, the tasks of honest daemons must not be harmed by it; what is given to the
liar itself is its to spoil, within the limits of attempts and leases.
"""

from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from taskyard.vocabulary import InventoryState
from taskyard.wire import frames
from taskyard.wire.frames import FromDaemon, Item, TaskCompleted, TaskExecute, TaskFailed, WireError
from tests.simulation.network import Wire

if TYPE_CHECKING:
    from tests.simulation.world import World

Key = tuple[str, int]
KNOWN_MAX = 40


class _Head(msgspec.Struct):
    id: str


class HostileDaemon:
    def __init__(self, world: "World", name: str, user_id: str) -> None:
        self.world = world
        self.clock = world.clock
        self.name = name
        self.user_id = user_id
        self.is_alive = False
        self.asleep = False
        self.wire: Wire | None = None
        self.daemon_id: str | None = None
        self.known: list[Key] = []
        self._boots = 0

    def boot(self) -> None:
        if not self.is_alive:
            self.is_alive = True
            self._boots += 1
            self.clock.later(self.clock.about(500), self._dial)

    def leave(self) -> None:
        """For good: the world heals."""
        self.is_alive = False
        if self.wire is not None:
            self.wire.end_of_process("daemon")
            self.wire = None

    def _dial(self) -> None:
        if not self.is_alive or self.wire is not None:
            return
        self.wire = self.world.dial(self, self.user_id)
        if self.wire is None:
            self.clock.later(1_000 + self.clock.about(2_000), self._dial)
            return
        if self.clock.happens(0.3):
            self._boots += 1
        hello = frames.Hello(
            protocol=frames.PROTOCOL,
            boot_id=f"{self.name}-{self._boots}",
            name=self.name,
            daemon_id=self.daemon_id,
            max_concurrent_tasks=self.clock.between(1, 4),
            inventory=self._list(),
        )
        self._say(hello)
        self.clock.later(self.clock.between(1_000, 9_000), self._beat, self.wire)

    def _list(self) -> list[Item]:
        """Some of what it was given, and some of what others were."""
        return [
            Item(*self._some_key(), self.clock.rng.choice(list(InventoryState)))
            for _ in range(self.clock.between(0, 3))
            if self.known
        ]

    def _some_key(self) -> Key:
        spawns = self.world.history.spawns
        if spawns and self.clock.happens(0.4):
            return self.clock.rng.choice(list(spawns)[-KNOWN_MAX:])
        return self.clock.rng.choice(self.known)

    def _say(self, *messages: FromDaemon) -> None:
        if self.wire is not None:
            self.wire.to_hub(frames.join([frames.encode(message) for message in messages]))

    def _beat(self, wire: Wire) -> None:
        if wire is not self.wire or not self.is_alive:
            return
        self._say(frames.Heartbeat(running=self._list()))
        if self.clock.happens(0.05):
            self._say(*(frames.Heartbeat(running=self._list()) for _ in range(20)))
        if self.known and self.clock.happens(0.5):
            self._say(*self._nonsense())
        self.clock.later(self.clock.between(500, 9_000), self._beat, wire)

    def _nonsense(self) -> list[FromDaemon]:
        task_id, attempt = self._some_key()
        attempt = max(1, attempt + self.clock.between(-2, 1))
        return [self._claim((task_id, attempt)) for _ in range(self.clock.between(1, 3))]

    def _claim(self, key: Key) -> FromDaemon:
        claims: list[FromDaemon] = [
            self._completed(key),
            TaskFailed(*key, WireError("LIE", "it never ran")),
            frames.TaskCancelled(*key),
            frames.TaskAccepted(*key),
            frames.TaskStarted(*key),
            frames.TaskRejected(*key, "no"),
        ]
        return self.clock.rng.choice(claims)

    def _completed(self, key: Key) -> TaskCompleted:
        said = msgspec.json.encode({"by": [*key, self.daemon_id]})
        return TaskCompleted(*key, result=Raw(said))

    def hear(self, wire: Wire, frame: bytes) -> None:
        if wire is not self.wire:
            return
        for message in frames.decode_to_daemon(frame):
            if isinstance(message, frames.Welcome):
                self.daemon_id = message.daemon_id
            elif isinstance(message, TaskExecute):
                self._spoil(message)
            elif isinstance(message, frames.CancelTask) and self.clock.happens(0.5):
                self._say(frames.TaskCancelled(message.task_id, message.attempt))

    def _spoil(self, message: TaskExecute) -> None:
        key = (msgspec.json.decode(message.task, type=_Head).id, message.attempt)
        self.known = [*self.known, key][-KNOWN_MAX:]
        accepted, started = frames.TaskAccepted(*key), frames.TaskStarted(*key)
        dice = self.clock.rng.random()
        if dice < 0.15:
            return
        if dice < 0.3:
            self._say(accepted)
        elif dice < 0.45:
            self._say(accepted, started)
        elif dice < 0.6:
            self._say(accepted, started, self._completed(key), self._completed(key))
        elif dice < 0.7:
            self._say(self._completed((key[0], max(1, key[1] - 1))), self._completed(key))
        elif dice < 0.8:
            self._say(accepted, TaskFailed(*key, WireError("LIE", "it broke")), self._completed(key))
        else:
            self._say(*self._nonsense(), accepted)

    def hung_up(self, wire: Wire, code: int | None, reason: str) -> None:
        if wire is self.wire:
            self.wire = None
            self.clock.later(500 + self.clock.about(3_000), self._dial)

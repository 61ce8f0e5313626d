"""Daemons that mean well: the real protocol machine, with a journal in memory and work that only takes time.

A process can die (its memory and its work with it, its journal stays, minus a tail that was not yet on disk), sleep
for longer than its lease, and drain. Its clock runs a little fast or slow.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Raw

from taskyard.daemon.introduction import Settings
from taskyard.daemon.orders import Batch, Key, Memory, Orders, Start, Stop
from taskyard.daemon.protocol import Protocol
from taskyard.vocabulary import ErrorCode, ResultStatus
from taskyard.wire import frames
from taskyard.wire.frames import DecisionReport, TaskCompleted, TaskFailed, WireError
from tests.simulation.history import Spawn, Violation
from tests.simulation.network import Wire

if TYPE_CHECKING:
    from tests.simulation.world import World


OUT_OF_ORDER: Final = WireError("NETWORK_DOWN", "nothing of this kind works now")


class Task(msgspec.Struct):
    """What the fake work reads of a `task.execute`."""

    id: str
    user_id: str
    input: str
    type: str = "general"
    execution: dict[str, str | None] = {}


class GoodDaemon:
    def __init__(
        self, world: "World", name: str, user_id: str, *, slots: int, shared: bool, types: tuple[str, ...]
    ) -> None:
        self.world = world
        self.clock = world.clock
        self.name = name
        self.user_id = user_id
        self.slots = slots
        self.shared = shared
        self.types = types
        self.ephemeral = False
        self.rate = 0.95 + 0.1 * self.clock.rng.random()
        self.memory = Memory(daemon_id=f"d_{name}", ended={})
        """What the journal holds."""
        self.machine: Protocol
        self.life = 0
        self.is_alive = False
        self.asleep = False
        self.wire: Wire | None = None
        self.work: dict[Key, Spawn] = {}
        self.born_at = 0
        self.awake_since = 0
        self.awake_until: int | None = None
        """Until when its last stretch of being awake went; None: it is awake."""
        self._writing: list[Batch] = []
        self._deferred: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self._tick_at: int | None = None

    @property
    def now(self) -> int:
        return int(self.clock.now * self.rate)

    # Lives

    def boot(self) -> None:
        if self.is_alive:
            return
        self.life += 1
        self.is_alive, self.asleep = True, False
        self.born_at = self.awake_since = self.clock.now
        self.awake_until = None
        settings = Settings(
            name=self.name,
            boot_id=f"{self.name}-{self.life}",
            slots=self.slots,
            shared=self.shared,
            ephemeral=self.ephemeral,
            types=self.types,
        )
        memory = Memory(daemon_id=self.memory.daemon_id, seen=self.memory.seen, ended=dict(self.memory.ended))
        self.machine = Protocol(settings, rng=self.clock.rng, memory=memory)
        self._writing, self._deferred, self._tick_at = [], [], None
        self._later(self.clock.about(300), self._dial)

    def crash(self) -> None:
        """The process dies, and the work with it."""
        if not self.is_alive:
            return
        self._end_of_process()
        for batch in self._writing[: self.clock.between(0, len(self._writing))]:
            self._write(batch)
        self.world.history.check("died", self)
        self.clock.later(100 + self.clock.about(4_000), self.boot)

    def _end_of_process(self) -> None:
        self.is_alive = False
        self.life += 1
        for key in list(self.work):
            del self.work[key]
            self.world.history.ended(key, None)
        if self.wire is not None:
            self.wire.end_of_process("daemon")
            self.wire = None

    def sleep(self, ms: int) -> None:
        """The lid closes: nothing of it happens until it wakes, the work neither."""
        if self.is_alive and not self.asleep:
            self.asleep = True
            self.awake_until = self.clock.now
            self.clock.later(ms, self._wake, self.life)

    def _wake(self, life: int) -> None:
        if life != self.life:
            return
        self.asleep = False
        self.awake_since, self.awake_until = self.clock.now, None
        self._tick_at = None
        self._tick()
        deferred, self._deferred = self._deferred, []
        for action, arguments in deferred:
            if life == self.life:
                action(*arguments)
        self.world.history.check("woken", self.name)

    def drain(self) -> None:
        if self.is_alive and not self.asleep and not self.machine.draining:
            self.machine.drain(self.now, deadline_ms=self.now + self.clock.between(0, 20_000))
            self._flush()

    def _later(self, ms: int, action: Callable[..., None], *arguments: object) -> None:
        """An event of this process: lost with it, put off while it sleeps."""
        self.clock.later(ms, self._happen, self.life, action, arguments)

    def _happen(self, life: int, action: Callable[..., None], arguments: tuple[object, ...]) -> None:
        if life != self.life:
            return
        if self.asleep:
            self._deferred.append((action, arguments))
        else:
            action(*arguments)

    # The machine's orders

    def _flush(self) -> None:
        if self.machine.wants_beat:
            self.machine.tick(self.now)
        orders = self.machine.take()
        if orders.batch is not None:
            self._writing.append(orders.batch)
            self._later(self.clock.between(0, 6), self._written, orders.batch)
        for start in orders.start:
            self._start(start)
        for stop in orders.stop:
            self._stop(stop)
        for key in orders.begin:
            self._later(0, self._work_on, key)
        if orders.send and self.wire is not None:
            self.wire.to_hub(frames.join(orders.send))
        self._follow(orders)
        self._plan_tick()

    def _follow(self, orders: Orders) -> None:
        if orders.connect_in_ms is not None:
            self._later(orders.connect_in_ms, self._dial)
        if orders.hang_up and self.wire is not None:
            wire, self.wire = self.wire, None
            wire.close("daemon")
            self.machine.disconnected()
            self._flush()
        if orders.leave is not None and self.is_alive:
            for batch in self._writing:
                self._write(batch)
            if self.wire is not None:
                self.wire.close("daemon")
            self._end_of_process()
            self.clock.later(1_000 + self.clock.about(5_000), self.boot)

    def _written(self, batch: Batch) -> None:
        """With all before it."""
        while any(waiting is batch for waiting in self._writing):
            self._write(self._writing.pop(0))

    def _write(self, batch: Batch) -> None:
        memory = self.memory
        for task_id, attempt, outcome in batch.ended:
            memory.ended[task_id, attempt] = bytes(outcome)
        for key in batch.forgotten:
            memory.ended.pop(key, None)
        memory.daemon_id = batch.daemon_id or memory.daemon_id
        memory.seen = batch.seen or memory.seen

    def _plan_tick(self) -> None:
        due_at = self.machine.due_at if self.is_alive else None
        if due_at is None:
            return
        ms = max(1, int((due_at - self.now) / self.rate) + 1)
        at = self.clock.now + ms
        if self._tick_at is None or at < self._tick_at or self._tick_at <= self.clock.now:
            self._tick_at = at
            self._later(ms, self._tick_planned, at)

    def _tick_planned(self, at: int) -> None:
        if at == self._tick_at:
            self._tick()

    def _tick(self) -> None:
        self._tick_at = None
        self.machine.tick(self.now)
        self._flush()

    # The connection

    def _dial(self) -> None:
        if self.wire is not None or not self.is_alive:
            return
        wire = self.world.dial(self, self.user_id)
        if wire is None:
            self.machine.disconnected()
        else:
            self.wire = wire
            self.machine.connected(self.now)
        self._flush()

    def hear(self, wire: Wire, frame: bytes) -> None:
        self._happen(self.life, self._hear, (wire, frame))

    def _hear(self, wire: Wire, frame: bytes) -> None:
        if wire is not self.wire:
            return
        self.machine.received(frames.decode_to_daemon(frame), self.now)
        if self.machine.ledger.daemon_id is not None:
            self.world.history.good[self.machine.ledger.daemon_id] = self
        self._flush()

    def hung_up(self, wire: Wire, code: int | None, reason: str) -> None:
        self._happen(self.life, self._hung_up, (wire, code, reason))

    def _hung_up(self, wire: Wire, code: int | None, reason: str) -> None:
        if wire is self.wire:
            self.wire = None
            self.machine.disconnected(close_code=code, reason=reason)
            self._flush()

    # The work

    def _start(self, start: Start) -> None:
        task = msgspec.json.decode(start.execute.task, type=Task)
        exclusive = task.execution.get("exclusive")
        spawn = Spawn(
            *start.key,
            self.name,
            self.clock.now,
            None if exclusive is None else (task.user_id, exclusive),
            int(start.execute.timeout * 1000),
            type=task.type,
        )
        self.world.history.spawned(spawn)
        if task.id != task.input:
            raise Violation(f"{task.id} was sent with the body of {task.input}")
        self.work[start.key] = spawn
        self._later(self.clock.between(0, 30), self._begin, start.key)

    def _begin(self, key: Key) -> None:
        if key not in self.work:
            return
        if key[1] > 1:
            self.machine.work_starts(key)
            self._flush()
        else:
            self._work_on(key)

    def _work_on(self, key: Key) -> None:
        """Its first step. What is tried again was told before, and the hub has heard of it."""
        if key not in self.work:
            return
        world, dice = self.world, self.clock.rng.random()
        if world.faults.hangs <= dice < world.faults.hangs + world.faults.poison and key[0] not in world.sudden:
            world.sudden[key[0]] = self.clock.happens(0.5)
        is_sudden = world.sudden.get(key[0])
        if is_sudden and key[1] == 1:
            self._die_of_it(key)  # in its first step, and nothing was told
            return
        if key[1] == 1:
            self.machine.work_started(key, self.now)
        if is_sudden is not None:
            self._later(0 if is_sudden else world.work_takes_ms(), self._die_of_it, key)
        elif dice < world.faults.hangs:
            world.history.struck("work hangs")
        else:
            self._later(world.work_takes_ms(), self._finish, key)
        self._flush()

    def _die_of_it(self, key: Key) -> None:
        if key in self.work:
            self.world.history.killed(key)
            self.crash()

    def _finish(self, key: Key) -> None:
        if key in self.work:
            is_out = self.world.is_out(self.work[key].type)
            self._end(key, TaskFailed(*key, OUT_OF_ORDER) if is_out else self._outcome(key))

    def _end(self, key: Key, outcome: TaskCompleted | TaskFailed) -> None:
        del self.work[key]
        self.world.history.ended(key, "completed" if isinstance(outcome, TaskCompleted) else "failed")
        self.machine.work_ended(outcome, self.now)
        self._flush()

    def _outcome(self, key: Key) -> TaskCompleted | TaskFailed:
        dice = self.clock.rng.random()
        if dice < 0.72:
            return self._success(key)
        if dice < 0.76:
            return TaskCompleted(*key, result_status=ResultStatus.FAILED)
        if dice < 0.82:
            error = WireError(ErrorCode.RATE_LIMITED, "too many requests", details={"retry_after": 1 + int(dice * 10)})
            return TaskFailed(*key, error)
        if dice < 0.86:
            return TaskFailed(*key, WireError(ErrorCode.INVALID_INPUT, "no such file"))
        return TaskFailed(*key, WireError("NETWORK_DOWN", "it broke"))

    def _success(self, key: Key) -> TaskCompleted:
        """The result says who made it: the checkers compare that with who was to."""
        said = msgspec.json.encode({"by": [*key, self.machine.ledger.daemon_id]})
        report = DecisionReport("done", "it was asked for") if self.clock.happens(0.8) else None
        return TaskCompleted(*key, result=Raw(said), decision_report=report)

    def _stop(self, stop: Stop) -> None:
        grace_ms = int(stop.grace_ms / self.rate)
        if grace_ms == 0:
            self._stopped(stop.key)
        else:
            # Most work stops when it is asked to; some only when it is killed.
            most_ms = grace_ms if self.clock.happens(0.2) else min(grace_ms, 500)
            self._later(self.clock.between(0, most_ms), self._stopped, stop.key)

    def _stopped(self, key: Key) -> None:
        if key not in self.work:
            return
        if self.clock.happens(0.1):
            self._end(key, self._success(key))
            return
        del self.work[key]
        self.world.history.ended(key, None)
        self.machine.work_stopped(key, self.now)
        self._flush()

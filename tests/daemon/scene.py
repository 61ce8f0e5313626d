"""A daemon's machine with a fake clock and a disk, for tests that read as given, when, then."""

from random import Random

from msgspec import Raw

from taskyard.daemon.introduction import Settings
from taskyard.daemon.orders import Batch, Key, Memory, Orders, Start, Stop, Whole
from taskyard.daemon.protocol import Ended, Protocol
from taskyard.vocabulary import CancelReason, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import FromDaemon, Hello, TaskCompleted, TaskExecute, TaskFailed, ToDaemon, WireError

ONE: Key = ("t1", 1)
TWO: Key = ("t2", 1)


def execute(
    key: Key = ONE,
    *,
    timeout: float = 300.0,
    exclusive: str | None = None,
    type: str = "noop",
    parent: str | None = None,
) -> TaskExecute:
    named = f'"{exclusive}"' if exclusive else "null"
    above = f'"{parent}"' if parent else "null"
    rest = f'"parent_task_id":{above},"execution":{{"exclusive":{named}}}'
    task = f'{{"id":"{key[0]}","type":"{type}","input":"go","new":1,{rest}}}'
    return TaskExecute(Raw(task.encode()), key[1], timeout, "token", Raw(b"[]"), Raw(b"null"), Raw(b"[]"))


def cancel(key: Key = ONE, *, grace_s: float = 10.0) -> frames.CancelTask:
    return frames.CancelTask(*key, CancelReason.CANCELLED, grace_s)


def done(key: Key = ONE, result: bytes = b"42") -> TaskCompleted:
    return TaskCompleted(*key, Raw(result))


def broken(key: Key = ONE) -> TaskFailed:
    return TaskFailed(*key, WireError("EXECUTION_ERROR", "no"))


OWED = frames.encode(done())


class Scene:
    """Collects what the machine orders. The disk is instant."""

    def __init__(self, *, slots: int = 5, memory: Memory | None = None, spool_bytes_max: int = 2**28) -> None:
        settings = Settings(name="mac-1", boot_id="boot", slots=slots, spool_bytes_max=spool_bytes_max)
        self.machine = Protocol(settings, rng=Random(7), memory=memory)
        self.now = 1_000_000
        self.batches: list[Batch] = []
        self.sent: list[FromDaemon] = []
        self.started: list[Start] = []
        self.stops: list[Stop] = []
        self.begun: list[Key] = []
        """Of those that waited to be heard of."""
        self.kept: list[Whole] = []
        self.settled: list[Key] = []
        self.leases: list[int] = []
        self.hung_up = False
        self.connect_in_ms: int | None = None
        self.left: str | None = None

    def carry_out(self) -> None:
        if self.machine.wants_beat:
            self.machine.tick(self.now)
        orders: Orders = self.machine.take()
        self.kept += orders.keep
        if orders.batch is not None:
            self.batches.append(orders.batch)
        self.started += orders.start
        self.settled += orders.settled
        self.leases += [] if orders.lease_until is None else [orders.lease_until]
        self.stops += orders.stop
        self.begun += orders.begin
        for message in orders.send:
            self.sent += frames.decode_from_daemon(message)
        self.hung_up = self.hung_up or orders.hang_up
        self.connect_in_ms = self.connect_in_ms if orders.connect_in_ms is None else orders.connect_in_ms
        self.left = self.left if orders.leave is None else orders.leave

    @property
    def written(self) -> list[Key]:
        """The attempts whose outcomes ever reached the disk."""
        return [(task_id, attempt) for batch in self.batches for task_id, attempt, _ in batch.ended]

    def remembered(self) -> Memory:
        """What a process finds that starts after this one died now."""
        memory = Memory(ended={})
        for batch in self.batches:
            memory.ended.update({(task_id, attempt): bytes(outcome) for task_id, attempt, outcome in batch.ended})
            for key in batch.forgotten:
                memory.ended.pop(key, None)
            memory.daemon_id = batch.daemon_id or memory.daemon_id
            memory.seen = batch.seen or memory.seen
        return memory

    def take_sent(self) -> list[FromDaemon]:
        sent, self.sent = self.sent, []
        return sent

    # --- the hub -------------------------------------------------------------------------------------------

    def connect(self) -> None:
        self.machine.connected(self.now)
        self.carry_out()

    def welcome(
        self,
        verdicts: dict[Key, InventoryVerdict] | None = None,
        *,
        cluster_id: str = "c1",
        epoch: int = 1,
        seq: int = 1,
        protocol: int = 1,
    ) -> None:
        judged = [frames.Judgement(*key, verdict) for key, verdict in (verdicts or {}).items()]
        self.hears(frames.Welcome(protocol, "d_1", 5.0, 30.0, judged, cluster_id, epoch, seq))

    def join(self) -> "Scene":
        self.connect()
        self.welcome()
        self.sent.clear()
        return self

    def comes_back(self, verdicts: dict[Key, InventoryVerdict] | None = None) -> None:
        """Connect, anew if it was connected, and welcome it; what it says before the welcome is left out."""
        if self.machine.welcomed:
            self.disconnect()
        self.connect()
        self.take_sent()
        self.welcome(verdicts)

    def hears(self, *messages: ToDaemon) -> None:
        self.machine.received(messages, self.now)
        self.carry_out()

    def acknowledged(self, key: Key = ONE, *, epoch: int = 1, seq: int = 2) -> None:
        self.hears(frames.Ack(*key, "c1", epoch, seq))

    def disconnect(self, close_code: int | None = None, reason: str = "") -> None:
        self.machine.disconnected(close_code=close_code, reason=reason)
        self.carry_out()

    # --- the work ------------------------------------------------------------------------------------------

    def runs(self, key: Key = ONE, *, timeout: float = 300.0, exclusive: str | None = None) -> None:
        """The hub sent it, and it began."""
        self.hears(execute(key, timeout=timeout, exclusive=exclusive))
        self.begins(key)

    def at_work(self) -> "Scene":
        """Welcomed, with one task that runs and of which all is told."""
        self.join().runs()
        self.take_sent()
        return self

    def begins(self, key: Key = ONE) -> None:
        self.machine.work_started(key, self.now)
        self.carry_out()

    def is_to_begin(self, key: Key = ONE, *, timeout: float = 300.0, exclusive: str | None = None) -> None:
        """The hub sent it, and it begins when that has heard so."""
        self.hears(execute(key, timeout=timeout, exclusive=exclusive))
        self.machine.work_starts(key)
        self.carry_out()

    def ends(self, message: Ended) -> None:
        self.machine.work_ended(message, self.now)
        self.carry_out()

    def stops_as_told(self, key: Key = ONE) -> None:
        self.machine.work_stopped(key, self.now)
        self.carry_out()

    # --- time ----------------------------------------------------------------------------------------------

    def passes(self, ms: int) -> None:
        """Ticks whenever the machine says it is due, and at the end."""
        end = self.now + ms
        while (due_at := self.machine.due_at) is not None and due_at < end and not self.hung_up:
            self.now = max(self.now + 1, due_at)
            self.tick()
        self.now = end
        self.tick()

    def tick(self) -> None:
        self.machine.tick(self.now)
        self.carry_out()


def hello(scene: Scene) -> Hello:
    greeting = scene.sent[0]
    assert isinstance(greeting, Hello)
    return greeting


def answer_heartbeats(scene: Scene, ms: int) -> None:
    for _ in range(ms // 5_000):
        scene.passes(5_000)
        scene.hears(frames.HeartbeatAck("c1", 1, 1))

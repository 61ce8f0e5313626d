"""What can befall a crowd besides arrivals and ends: waits, preemption, breakers, queues, plans, crashes, restarts.

`crowd.py` does these one at a time, and judges what follows as it judges everything else.
"""

import random
from copy import copy
from typing import Final

from msgspec.json import Decoder
from msgspec.structs import replace

from taskyard.core.changes import Batch, DaemonRecord, Kept
from taskyard.core.commands import (
    BeginWait,
    ChangeUser,
    Command,
    CompleteTask,
    DeleteQueue,
    Draft,
    EndWait,
    OpenBreaker,
    PauseQueue,
    PutQueue,
    ResetBreaker,
    ResumeQueue,
    SubmitTasks,
    Tick,
)
from taskyard.core.daemon_commands import ConfirmCancel, JoinDaemon, RejectTask
from taskyard.core.effects import CancelWork
from taskyard.core.hub import Core
from taskyard.core.recovery import restore
from taskyard.core.state import Daemon, Now, State
from taskyard.core.task import Attempt, Kind, Needs, Task, Terms
from taskyard.vocabulary import Keeps, Level, SourceType, Status

QUEUES: Final = {"local": ("m1",), "cloud": ("m2",)}
_decode: Final = Decoder(Task).decode


class Disk:
    """What the batches have written of open tasks, daemons and policies."""

    def __init__(self) -> None:
        self.hot: dict[str, bytes] = {}
        self.kept: dict[tuple[Keeps, str], Kept] = {}
        self.daemons: dict[str, DaemonRecord] = {}

    def write(self, batch: Batch) -> None:
        for row in (*batch.created, *batch.changed, *batch.revived):
            self.hot[row.task.id] = row.record
        for row in (*batch.ended, *batch.amended):
            self.hot.pop(row.task.id, None)
        for each in batch.kept:
            self.kept[each.kind, each.name] = each
        self.daemons.update((record.id, copy(record)) for record in batch.daemons)
        for daemon_id in batch.forgotten:
            self.daemons.pop(daemon_id, None)

    def started_from(self, old: State, now: Now) -> State:
        """The state of another hub that begins with this."""
        state = State(old.settings, cluster_id="c", epoch=old.epoch + 1, seq=old.ledger.seq - 1)
        restore(
            state,
            now,
            users=[copy(user.record) for user in old.users.values()],
            numbers={user.id: user.number for user in old.users.values()},
            keys=(),
            daemons=[copy(record) for record in self.daemons.values()],
            tasks=[_decode(record) for record in self.hot.values()],
            log_bytes={},
            kept=[each for each in self.kept.values() if each.record is not None],
        )
        return state


class Acts:
    """The half of a crowd that does not know whose turn it is."""

    rng: random.Random
    now: Now
    state: State
    core: Core
    disk: Disk
    types: tuple[str, ...]
    plans: tuple[str, ...]
    pressed: tuple[int, ...] = (1, 4, 12)
    """How many critical tasks come at a time."""
    _ids: int
    _sessions: int

    def __init__(self) -> None:
        self._waits: list[EndWait] = []
        self._unconfirmed: list[CancelWork] = []

    def decide(self, command: Command) -> None:
        raise NotImplementedError

    def _join(self, name: str, *, slots: int) -> None:
        raise NotImplementedError

    def _held(self) -> list[tuple[Daemon, Task, Attempt]]:
        raise NotImplementedError

    def _offer(self, user_id: str, level: Level, kind: Kind, *, parent: Task | None = None, count: int = 1) -> None:
        first, self._ids = self._ids + 1, self._ids + count
        terms, parent_id = Terms(retry_delay_ms=1000), None if parent is None else parent.id
        ids = [f"t{number:06d}" for number in range(first, first + count)]
        drafts = [Draft(each, kind, terms, b"{}", level=level, parent_id=parent_id) for each in ids]
        self.decide(SubmitTasks(user_id, drafts))

    def _have_a_child(self) -> None:
        """A running task makes a sub-task, and mostly waits for it."""
        running = [(task, attempt) for _, task, attempt in self._held() if task.status is Status.RUNNING]
        running = [(task, attempt) for task, attempt in running if task.depth < 3]
        if not running:
            return
        task, attempt = self.rng.choice(running)
        kind = Kind(Needs(self.rng.choice(self.types)), source=self.rng.choice(list(SourceType)))
        self._offer(task.user_id, self.rng.choice(list(Level)), kind, parent=task)
        if self.rng.random() < 0.8 and task.newest is attempt and task.status is Status.RUNNING:
            self._waits.append(EndWait(task.id, f"w{self._ids}"))
            self.decide(BeginWait(task.id, attempt.number, f"w{self._ids}"))

    def _end_wait(self) -> None:
        if self._waits:
            self.decide(self._waits.pop(self.rng.randrange(len(self._waits))))

    def _press(self) -> None:
        """Critical tasks like a low one that runs, more than there is room for: it may have to make some."""
        low = [task for _, task, _ in self._held() if task.level is Level.LOW]
        if low:
            task = self.rng.choice(low)
            self._offer(task.user_id, Level.CRITICAL, replace(task.kind), count=self.rng.choice(self.pressed))

    def _stop(self) -> None:
        """Late, a daemon says that it stopped what it was told to stop, or that it was done before."""
        if not self._unconfirmed:
            return
        told = self._unconfirmed.pop(self.rng.randrange(len(self._unconfirmed)))
        task = self.state.tasks.get(told.task_id)
        daemon = self.state.daemons.get(task.newest.daemon_id) if task is not None and task.newest else None
        if daemon is not None and daemon.session == told.session:
            name = (daemon.id, told.task_id, told.attempt, daemon.session)
            self.decide(ConfirmCancel(*name) if self.rng.random() < 0.8 else CompleteTask(*name, b"{}"))

    def _reject(self) -> None:
        held = self._held()
        if held:
            daemon, task, attempt = self.rng.choice(held)
            is_drained = self.rng.random() < 0.5
            self.decide(RejectTask(daemon.session, daemon.id, task.id, attempt.number, "no", is_drained))

    def _say_of_a_queue(self) -> None:
        name, models = self.rng.choice(list(QUEUES.items()))
        limit = self.rng.choice((None, 1, 4))
        said = (
            PauseQueue(name, "admin"),
            ResumeQueue(name, "admin"),
            PutQueue(name, models, limit, "admin"),
            DeleteQueue(name, "admin"),
        )
        self.decide(self.rng.choice(said))

    def _say_of_a_breaker(self) -> None:
        user_id, type = self.rng.choice(list(self.state.users)), self.rng.choice(self.types)
        self.decide(self.rng.choice((OpenBreaker, ResetBreaker))(user_id, type, "admin"))

    def _change_plan(self) -> None:
        user_id = self.rng.choice(list(self.state.users))
        self.decide(ChangeUser(user_id, "admin", plan=self.rng.choice((None, *self.plans))))

    def _crash(self, name: str | None = None) -> None:
        """A daemon's process dies under what it holds; the new one may be shared, or not, and have other slots."""
        record = self.state.daemons[name or self.rng.choice(list(self.state.daemons))].record
        self._sessions += 1
        shared, slots = record.shared, record.slots
        if record.id != "d0":
            shared, slots = self.rng.random() < 0.5, self.rng.choice((1, 3, 10))
        boot = f"boot-{self._sessions}"
        who = (self._sessions, record.user_id, record.id, boot, record.name, shared)
        self.decide(JoinDaemon(*who, slots=slots, types=record.types))

    def _restart(self) -> None:
        """The hub begins again with what is on disk; daemons come back with all they had, if they come."""
        self.state = self.disk.started_from(self.state, self.now)
        self.core = Core(self.state, self.rng)
        self._waits, self._unconfirmed = [], []
        self.decide(Tick())
        for name in list(self.state.daemons):
            if self.rng.random() < 0.8:
                self._join(name, slots=0)

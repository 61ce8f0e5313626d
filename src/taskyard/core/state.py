"""What the core holds between two commands, and the turn in which a command is decided.

The state is mutable and owned by the core alone; determinism, not immutability, is what makes it
testable: the same commands at the same instants with the same dice give the same effects. Whatever can be
derived from the live attempts is derived (`len(daemon.holding)`), never counted beside them.
"""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from taskyard.core.changes import (
    AuditRecord,
    Batch,
    BreakerRecord,
    CoolingRecord,
    DaemonRecord,
    Data,
    Event,
    HookDeliveries,
    HookRecord,
    KeyRecord,
    Ledger,
    QueueRecord,
    TemplateRecord,
    UsageRecord,
    UserRecord,
)
from taskyard.core.effects import Effect
from taskyard.core.eras import Takeover
from taskyard.core.lanes import Lane, LaneKey
from taskyard.core.lines import Line, LineKey, Party, Pool
from taskyard.core.pace import Pace
from taskyard.core.schedule_records import RunsRecord, ScheduleRecord
from taskyard.core.settings import Settings
from taskyard.core.task import Attempt, Echo, Kind, Task, Terms
from taskyard.core.timers import Timers
from taskyard.core.yard import Yard
from taskyard.vocabulary import ENDED, EventName, Pressure, SourceType, Status

if TYPE_CHECKING:
    from taskyard.core.notices import Delivery, Notification
    from taskyard.core.plans import Allowance
    from taskyard.core.queues import Routes
    from taskyard.core.rates import Bucket

INTERNED_MAX: Final = 10_000
# Kinds and terms remembered for sharing. Terms hold exclusive keys, of which there is no end.


class Now(Struct, frozen=True):
    """An instant on both clocks, in milliseconds: wall for the calendar, mono for leases and timeouts."""

    wall: int
    mono: int


class Dice(Protocol):
    def random(self) -> float: ...


class Running:
    """How much of a user's work runs now (`counts.py`)."""

    __slots__ = ("by_source", "low", "shared_critical", "total")

    def __init__(self) -> None:
        self.total = 0
        self.low = 0
        self.shared_critical = 0
        self.by_source: dict[SourceType, int] = {}


class User:
    """An owner of tasks and daemons, with what of theirs is live."""

    __slots__ = (
        "allowance",
        "allowance_under",
        "breakers",
        "hooks",
        "id",
        "is_over_critical",
        "lanes",
        "lately",
        "live",
        "number",
        "pace",
        "parties",
        "pending",
        "pressure",
        "record",
        "running",
        "targeted",
        "templates",
        "turn",
        "usage",
        "waiting",
    )

    def __init__(self, record: UserRecord, number: int) -> None:
        self.id = record.id
        self.record = record
        self.number = number
        """The highest task number given so far."""
        self.live: dict[str, Task] = {}
        """Tasks with a live attempt."""
        self.lanes: dict[LaneKey, Lane] = {}
        """Lanes with waiting tasks."""
        self.turn = 0
        """How many it runs, and when it was last given a slot, counted in grants (`fairness.py`)."""
        self.allowance: Allowance | None = None
        """What it may have, worked out under `allowance_under` (`plans.py`)."""
        self.allowance_under: Settings | None = None
        self.running = Running()
        self.targeted: dict[str, dict[str, None]] = {}
        """Daemon that is named to the open tasks that are to run there (`targets.py`)."""
        self.pending = 0
        """Open tasks that no daemon holds (`lifecycle.py`)."""
        self.usage: UsageRecord | None = None
        """What ended attempts have used of the month in which the last of them ended (`usage.py`)."""
        self.parties: dict[tuple[LineKey, int], Party] = {}
        """Where its lanes wait: by line and level."""
        self.is_over_critical = False
        """Its critical work in the shared pool is ordered as high: it runs as much as it may call so."""
        self.breakers: dict[str, BreakerRecord] = {}
        """Per type of task: those that are not closed, or have failures to count (`breakers.py`)."""
        self.hooks: dict[str, HookRecord] = {}
        """Its inbound webhooks, by id (`hooks.py`)."""
        self.templates: dict[str, TemplateRecord] = {}
        """Its templates of tasks, by name (`templates.py`)."""
        self.lately: dict[str, int] = {}
        """Per type of task: how long they took lately, in milliseconds (`estimates.py`)."""
        self.waiting = 0
        """Ready tasks in its lanes."""
        self.pace = Pace()
        """How fast they are started."""
        self.pressure = Pressure.NORMAL
        """What was said last about how many wait (`pressure.py`)."""


class Daemon:
    """A worker as the hub knows it: who it is, whether it is there, what it holds."""

    __slots__ = (
        "alone",
        "beyond",
        "cpu_intensive",
        "heard_mono",
        "holding",
        "id",
        "joined",
        "judged_ms",
        "lines",
        "lingering",
        "load",
        "load_step",
        "memory_free_mb",
        "noted_mono",
        "pool",
        "record",
        "seen_mono",
        "session",
        "superseded",
        "used",
    )

    def __init__(self, record: DaemonRecord, seen_mono: int) -> None:
        self.id = record.id
        self.record = record
        self.session = 0
        """Its live socket, 0 when there is none."""
        self.joined = 0
        """The newest socket it ever came by: they are numbered as they are opened."""
        self.judged_ms = 0
        """The lease it was promised, as the hub judges it: settings that change do not break a promise."""
        self.seen_mono = seen_mono
        self.heard_mono = seen_mono
        """Its last heartbeat or list: what it then had, ran until then. A lease has an allowance, this has none."""
        self.noted_mono = seen_mono
        """When that was last written down."""
        self.holding: dict[str, Task] = {}
        """Tasks whose newest attempt is live here."""
        self.lingering: dict[tuple[str, int], None] = {}
        """Attempts the hub has given up but that still occupy a slot until the daemon says they stopped."""
        self.beyond = 0
        """How many of those it holds take no slot, each beside the parent that waits for it (`in_place.py`)."""
        self.pool: Pool | None = None
        """Where its slots count, once it is enlisted."""
        self.lines: list[Line] = []
        """Lines it could serve."""
        self.load = 0.0
        self.load_step = 0
        """Loads within one step count as equal; a step makes the order total where a margin would not."""
        self.memory_free_mb: int | None = record.memory_mb
        self.used = 0
        self.alone: str | None = None
        """The suspect that runs here, or is to: nothing else is given to this daemon."""
        self.cpu_intensive = 0
        self.superseded: list[int] = []

    @property
    def active(self) -> int:
        return len(self.holding) + len(self.lingering)

    @property
    def occupied(self) -> int:
        """How many of its slots are taken."""
        return len(self.holding) + len(self.lingering) - self.beyond

    @property
    def is_open(self) -> bool:
        """It is there and takes new work, now or when a slot is free."""
        return self.session != 0 and not self.record.draining

    def has_room(self) -> bool:
        record = self.record
        return self.session != 0 and not record.draining and self.occupied < record.slots


class State:
    """Everything in memory. Rebuilt from the store at start (`recovery.py`)."""

    takeovers: tuple[Takeover, ...] = ()
    """Those known of this log, by ascending epoch (`eras.py`)."""

    def __init__(self, settings: Settings, *, cluster_id: str, epoch: int, seq: int) -> None:
        self.settings = settings
        self.cluster_id = cluster_id
        self.epoch = epoch
        self.ledger = Ledger(seq=seq + 1)
        self.tasks: dict[str, Task] = {}
        """Every task that has not ended, and the ended ones until no look-up can miss them."""
        self.users: dict[str, User] = {}
        self.names: dict[str, str] = {}
        self.api_keys: dict[str, KeyRecord] = {}
        self.daemons: dict[str, Daemon] = {}
        self.yard = Yard()
        self.pace = Pace()
        self.pressure = Pressure.NORMAL
        self.buckets: dict[str, Bucket] = {}
        """What came in lately, by user and source; the one charged last is last (`rates.py`)."""
        self.running = 0
        """Live attempts that take up room (`counts.py`)."""
        self.timers = Timers()
        self.dependants: dict[str, dict[str, None]] = {}
        """Task id to the open tasks that depend on it."""
        self.children: dict[str, dict[str, None]] = {}
        """Task id to its open sub-tasks."""
        self.waits: dict[str, dict[str, None]] = {}
        """Held task to its waits for its sub-tasks that are open now; lost at a restart."""
        self.standing: dict[str, str] = {}
        """Held task to the sub-task that runs in its place."""
        self.preempting: dict[str, str] = {}
        """Critical task to the one that was told to make room for it (`preemption.py`)."""
        self.made_room: dict[str, None] = {}
        """Critical tasks for which somebody has made room since the last dispatch."""
        self.keys: dict[tuple[str, str], str] = {}
        """(user, idempotency key) to the task in memory that holds it."""
        self.exclusive: dict[tuple[str, str], str] = {}
        """(user, exclusive key) to the task that runs under it."""
        self.echoes: deque[Echo] = deque()
        """Ends of tasks that their dependants have yet to hear of."""
        self.leaving: deque[tuple[int, str]] = deque()
        """(commit, task id) of ended tasks still in `tasks`."""
        self.log_bytes: dict[tuple[str, int], int] = {}
        self.begun: dict[str, int] = {}
        """Held task to when its present stretch (to its acceptance and start, then to its end) began, on the
        monotonic clock: a calendar that jumps must end no attempt."""
        self.queues: dict[str, QueueRecord] = {}
        """What was set or said of queues through the API (`queues.py`)."""
        self.routes: Routes | None = None
        """Which queue serves which model, worked out when it is first asked for (`queues.py`)."""
        self.cooling: dict[tuple[str, str], CoolingRecord] = {}
        """(queue, pool) that cools down, or waits for its probe (`cooling.py`)."""
        self.probes: dict[str, tuple[str, str]] = {}
        """Held task to the (queue, pool) that it is the probe of."""
        self.hooks: dict[str, HookRecord] = {}
        self.hook_deliveries: dict[str, HookDeliveries] = {}
        self.notifications: dict[str, dict[str, Notification]] = {}
        """User to their notifications, by id (`notifications.py`)."""
        self.watched: dict[str | None, dict[EventName, list[Notification]]] = {}
        """Whose events of which name are told to whom; empty as long as nobody wants to be told of anything."""
        self.deliveries: dict[str, Delivery] = {}
        self.schedules: dict[str, ScheduleRecord] = {}
        self.schedule_names: dict[tuple[str, str], str] = {}
        """(user, name) to the schedule that is called so."""
        self.schedule_runs: dict[str, RunsRecord] = {}
        """What has become of each so far (`due_runs.py`)."""
        self.unfinished: dict[str, dict[str, None]] = {}
        """Schedule to the open tasks that it made (`occurrences.py`)."""
        self.probed: deque[str] = deque()
        """Schedules whose probe has just been answered by a task."""
        self.grants = 0
        self._kinds: dict[Kind, Kind] = {}
        self._terms: dict[Terms, Terms] = {}

    def intern(self, task: Task) -> None:
        """Let alike tasks share their `Kind` and `Terms`, as far as they are remembered."""
        task.kind = self._kinds.setdefault(task.kind, task.kind)
        task.terms = self._terms.setdefault(task.terms, task.terms)
        if len(self._kinds) > INTERNED_MAX or len(self._terms) > INTERNED_MAX:
            self._kinds, self._terms = {}, {}

    def live_attempts(self) -> Iterator[tuple[Task, Attempt]]:
        """The source of every count: who runs what, by the daemons' holdings."""
        for daemon in self.daemons.values():
            for task in daemon.holding.values():
                attempt = task.newest
                assert attempt is not None, "I2: a held task has an attempt"
                yield task, attempt


class Turn:
    """One command being decided: the state, the instant, the dice, and the effects so far."""

    __slots__ = ("dice", "effects", "now", "state")

    def __init__(self, state: State, now: Now, dice: Dice) -> None:
        self.state = state
        self.now = now
        self.dice = dice
        self.effects: list[Effect] = []

    def tell(self, name: EventName, task: Task, *, data: Data | None = None) -> None:
        """Something happened to a task through which it kept its status."""
        self.state.ledger.touch(task)
        self.record(name, task, None, None, data)

    def record(
        self, name: EventName, task: Task, was: Status | None, now: Status | None, data: Data | None = None
    ) -> None:
        """Write down an event of a task that is touched already; its trail then leads to this commit."""
        ledger = self.state.ledger
        trail = task.trail
        if not trail or trail[-1] != ledger.seq:
            task.trail = (*trail, ledger.seq)
        attempt = task.attempts[-1].number if task.attempts else None
        ledger.events.append(
            Event(name, self.now.wall, task.user_id, task.id, task.number, attempt, was, now, data),
        )

    def announce(self, name: EventName, user_id: str | None, data: Data) -> None:
        """Something happened that is no task's: to a queue, a breaker, the hub. Nobody's is for admins to see."""
        self.state.ledger.events.append(Event(name, self.now.wall, user_id, data=data))

    def tell_of_daemon(self, name: EventName, daemon: Daemon, **data: str | int | list[str]) -> None:
        record = daemon.record
        self.state.ledger.events.append(
            Event(
                name,
                self.now.wall,
                record.user_id,
                data={"daemon_id": record.id, "name": record.name, **data},
            )
        )
        self.state.ledger.daemons[record.id] = record

    def audit(
        self,
        *,
        actor: str,
        action: str,
        subject: str,
        old: str | None = None,
        new: str | None = None,
        until: int | None = None,
        to: str | None = None,
    ) -> None:
        self.state.ledger.audit.append(AuditRecord(self.now.wall, actor, action, subject, old, new, until, to))


def cut(state: State, *, batch_id: str, at: int) -> Batch:
    """Close the batch being gathered; later commands belong to the next one."""
    ledger = state.ledger
    batch = ledger.batch(epoch=state.epoch, batch_id=batch_id, at=at)
    state.leaving.extend((batch.seq, row.task.id) for row in batch.ended)
    state.leaving.extend((batch.seq, row.task.id) for row in batch.amended)
    state.ledger = Ledger(seq=batch.seq if batch.is_empty() else batch.seq + 1)
    return batch


def forget(state: State, *, through_seq: int) -> None:
    """Let go of ended tasks whose commit every look-up under way has seen."""
    leaving = state.leaving
    while leaving and leaving[0][0] <= through_seq:
        _, task_id = leaving.popleft()
        task = state.tasks.get(task_id)
        # One that was brought back, or spoken of again, since then leaves with its newest commit.
        if task is None or task.status not in ENDED or task.trail[-1] > through_seq:
            continue
        del state.tasks[task_id]
        if task.key is not None and state.keys.get((task.user_id, task.key)) == task_id:
            del state.keys[task.user_id, task.key]

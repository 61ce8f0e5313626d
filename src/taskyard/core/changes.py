"""What one commit writes: the rows that the commands of a batch changed, once each, at the end.

The core marks what it touched; `cut` turns the marks into a `Batch`. A task submitted, assigned and
ended within one batch is thus one row, not three statements. Encoding happens at the cut, because the
core goes on changing its records while the batch is being written.
"""

from enum import IntEnum

from msgspec import Struct, field
from msgspec.json import Encoder

from taskyard.core.settings import Queue
from taskyard.core.task import Task
from taskyard.vocabulary import ENDED, EventName, HookProvider, Keeps, Level, PriorityScale, Scope, SourceType, Status

Data = dict[str, str | int | float | bool | list[str] | None]


class Event(Struct, frozen=True, omit_defaults=True, array_like=True, gc=False):
    """One thing that happened. Its id is `epoch-seq-i`: its commit, and its place in it."""

    name: EventName
    at: int
    user_id: str | None = None
    task_id: str | None = None
    number: int | None = None
    attempt: int | None = None
    was: Status | None = None
    now: Status | None = None
    data: Data | None = None


class UserRecord(Struct, omit_defaults=True):
    id: str
    name: str
    created_at: int
    plan: str | None = None
    overrides: dict[str, int | float] = {}


class KeyRecord(Struct, omit_defaults=True):
    id: str
    user_id: str
    name: str
    hash: str
    scopes: tuple[Scope, ...]
    created_at: int
    max_priority: Level | None = None
    sources: tuple[SourceType, ...] | None = None
    expires_at: int | None = None
    revoked_at: int | None = None
    priority_scale: PriorityScale | None = None


class DaemonRecord(Struct, omit_defaults=True):
    id: str
    user_id: str
    name: str
    boot_id: str
    connected_at: int
    shared: bool = False
    capabilities: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    slots: int = 5
    memory_mb: int | None = None
    version: str = ""
    draining: bool = False
    leaving: bool = False
    """It drains of its own accord, to end."""
    last_seen_at: int = 0
    pulls: bool = False
    """A slot of an agent that claims (`claims.py`)."""
    ephemeral: bool = False
    """It is forgotten when it is gone (`forgetting.py`)."""


class AuditRecord(Struct, omit_defaults=True):
    at: int
    actor: str
    action: str
    subject: str
    old: str | None = None
    new: str | None = None
    until: int | None = None
    """Of a verdict that something waits."""
    to: str | None = None
    """Of a verdict that somebody else is to look."""


class QueueRecord(Struct, omit_defaults=True):
    """What the API said of a queue; what it did not say is as in the file."""

    name: str
    config: Queue | None = None
    paused: bool = False


class BreakerRecord(Struct, omit_defaults=True):
    """The breaker of a type of task that failed lately, or that a person opened (`breakers.py`)."""

    user_id: str
    type: str
    failures: int = 0
    """Failed attempts in a row."""
    last_failure_at: int | None = None
    opened_at: int | None = None
    """None: it is closed."""
    half_open_at: int = 0
    """When one task may try, if it is not closed."""
    open_for_ms: int = 0
    """How long it was opened for, the last time."""
    probe: str | None = None
    """The task that tries."""
    forced: bool = False
    """A person opened it, and it has not closed since."""


class HookRecord(Struct, frozen=True, omit_defaults=True):
    """An inbound webhook (`hooks.py`)."""

    id: str
    user_id: str
    name: str
    provider: HookProvider
    secret: str
    """As it is, not hashed: a signature can be checked with nothing less."""
    template: str
    """Of the tasks it makes, as JSON; the core passes it on unread."""
    created_at: int
    max_priority: Level | None = None
    previous: str | None = None
    """The secret before this one, good until `previous_until`."""
    previous_until: int = 0
    events: tuple[str, ...] = ()
    """Those that become tasks; none: all do."""


class HookDeliveries(Struct, frozen=True):
    """What came in by a webhook. Apart from it, since it is written with every delivery and a template may be long."""

    count: int
    """Those that made a task."""
    last_at: int


class TemplateRecord(Struct, frozen=True):
    """A reusable definition of a task (`templates.py`)."""

    user_id: str
    name: str
    content: str
    """The task and the defaults of its places, as JSON; the core passes it on unread."""
    created_at: int
    changed_at: int


class UsageRecord(Struct):
    """What a user's attempts have used of one month, which lasts from `since` until `until`."""

    since: int
    until: int
    used_ms: int = 0


class CoolingRecord(Struct, omit_defaults=True):
    """A queue in a pool whose provider refused a task for coming too often."""

    queue: str
    pool: str
    until: int
    probe: str | None = None
    """The task that goes first when the time is over, while it is under way."""


class Kept(Struct, gc=False):
    """A small record of the policies (a breaker, a bucket, a queue's state) under a name; None: it is gone."""

    kind: Keeps
    name: str
    record: bytes | None


class LateResult(Struct):
    """A result nobody waited for any more: kept on its attempt, shown, and nothing else."""

    task_id: str
    attempt: int
    at: int
    body: bytes


class LogChunk(Struct):
    task_id: str
    attempt: int
    at: int
    text: str


class TaskRow(Struct):
    """A task as a commit writes it; `record` is its JSON as of the cut."""

    task: Task
    record: bytes


class Batch(Struct):
    """One transaction. Rows are final values: writing a batch twice writes the same."""

    seq: int
    epoch: int
    batch_id: str
    at: int
    created: list[TaskRow] = field(default_factory=list)
    """New rows in the hot table, each with a body in `bodies`."""
    changed: list[TaskRow] = field(default_factory=list)
    """Rows the hot table has."""
    ended: list[TaskRow] = field(default_factory=list)
    """Rows the hot table may have; they leave it for history."""
    revived: list[TaskRow] = field(default_factory=list)
    """Rows that come back from history (or archive) into the hot table."""
    amended: list[TaskRow] = field(default_factory=list)
    """Rows of history that changed there (a dead letter discarded, escalated)."""
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    outcomes: list[tuple[str, bytes]] = field(default_factory=list)
    checkpoints: list[tuple[str, bytes]] = field(default_factory=list)
    late: list[LateResult] = field(default_factory=list)
    logs: list[LogChunk] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    users: list[UserRecord] = field(default_factory=list)
    keys: list[KeyRecord] = field(default_factory=list)
    daemons: list[DaemonRecord] = field(default_factory=list)
    forgotten: list[str] = field(default_factory=list)
    """Daemons whose rows go, if there are any: none of them is in `daemons`."""
    audit: list[AuditRecord] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    archive: tuple[int, int] | None = None
    """(ended before, events before): move and drop up to a chunk of rows that old."""
    requests: list[tuple[str, bytes]] = field(default_factory=list)
    """Answers that this commit gives to requests which another hub handed on, by the name it may ask for them again.
    The shell adds them: they change nothing, and a batch of nothing else is empty."""

    def is_empty(self) -> bool:
        """Nothing to write: its effects only wait for the commits before it."""
        return not (
            self.created
            or self.changed
            or self.ended
            or self.events
            or self.late
            or self.logs
            or self.checkpoints
            or self.revived
            or self.amended
            or self.outcomes
            or self.daemons
            or self.forgotten
            or self.users
            or self.keys
            or self.audit
            or self.kept
            or self.archive
        )


class Origin(IntEnum):
    """Where a task's row is before the batch that touches it."""

    NOWHERE = 0
    HOT = 1
    HISTORY = 2


NOWHERE, HOT, HISTORY = Origin
_encode = Encoder().encode


class Ledger:
    """What the commands since the last cut touched. `seq` is the commit it will become."""

    __slots__ = (
        "archive",
        "audit",
        "bodies",
        "bodies_bytes",
        "checkpoints",
        "daemons",
        "events",
        "kept",
        "keys",
        "late",
        "logs",
        "outcomes",
        "seq",
        "touched",
        "users",
    )

    def __init__(self, seq: int) -> None:
        self.seq = seq
        self.touched: dict[str, tuple[Task, Origin]] = {}
        self.bodies: dict[str, bytes] = {}
        self.bodies_bytes = 0
        self.outcomes: dict[str, bytes] = {}
        self.checkpoints: dict[str, bytes] = {}
        self.late: list[LateResult] = []
        self.logs: list[LogChunk] = []
        self.events: list[Event] = []
        self.users: dict[str, UserRecord] = {}
        self.keys: dict[str, KeyRecord] = {}
        self.daemons: dict[str, DaemonRecord | None] = {}
        """None: it is forgotten."""
        self.audit: list[AuditRecord] = []
        self.kept: dict[tuple[Keeps, str], Struct | None] = {}
        """What the policies want kept, as it will be at the cut."""
        self.archive: tuple[int, int] | None = None

    def create(self, task: Task, body: bytes) -> None:
        self.touched[task.id] = (task, NOWHERE)
        self.bodies[task.id] = body
        self.bodies_bytes += len(body)

    def touch(self, task: Task) -> None:
        """Mark a task changed. Call before its status changes: where its row is now follows from that."""
        if task.id not in self.touched:
            self.touched[task.id] = (task, HISTORY if task.status in ENDED else HOT)

    def batch(self, *, epoch: int, batch_id: str, at: int) -> Batch:
        batch = Batch(
            seq=self.seq,
            epoch=epoch,
            batch_id=batch_id,
            at=at,
            bodies=list(self.bodies.items()),
            outcomes=list(self.outcomes.items()),
            checkpoints=list(self.checkpoints.items()),
            late=self.late,
            logs=self.logs,
            events=self.events,
            users=list(self.users.values()),
            keys=list(self.keys.values()),
            daemons=[record for record in self.daemons.values() if record is not None],
            forgotten=[daemon_id for daemon_id, record in self.daemons.items() if record is None],
            audit=self.audit,
            kept=[
                Kept(kind, name, None if record is None else _encode(record))
                for (kind, name), record in self.kept.items()
            ],
            archive=self.archive,
        )
        into_hot = {NOWHERE: batch.created, HOT: batch.changed, HISTORY: batch.revived}
        into_history = {NOWHERE: batch.ended, HOT: batch.ended, HISTORY: batch.amended}
        for task, origin in self.touched.values():
            rows = into_history if task.status in ENDED else into_hot
            rows[origin].append(TaskRow(task, _encode(task)))
        return batch

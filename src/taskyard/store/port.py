"""What every engine offers. One writes, many read; the core never sees either.

`Store` is used by one thread at a time (the committer's). A `Reader` is opened per reading thread, sees
only what is committed, and never blocks the writer. Engines hold no rules: a batch's rows are final
values, decided in the core. `tests/store/` holds the contract that every engine passes.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from msgspec import Struct, field

from taskyard.core.changes import AuditRecord, Batch, DaemonRecord, Event, Kept, KeyRecord, LateResult, UserRecord
from taskyard.core.commands import Known
from taskyard.core.eras import Takeover
from taskyard.core.task import Task
from taskyard.vocabulary import Level, SourceType, Status

if TYPE_CHECKING:
    from taskyard.store.rewind import Lineage, Sighting

REQUESTS_KEPT_MS = 600_000
# How long the answer to a request can be asked for again: many times as long as a gateway tries.
ARCHIVE_ROWS_MAX = 500
# Rows one commit moves to the archive: about 1 ms of writing, so that a sweep never holds up a batch.


LOG_BYTES_MAX: Final = 2**62
# More than all logs together: for whoever wants a log whole.


class StoreUnavailable(Exception):
    """The batch was not written, or nobody can tell; the store may come back (no room, busy, gone)."""


class StoreFenced(StoreUnavailable):
    """Another hub leads and has written since: nothing of this batch was written, and nothing more may be."""


class StoreBroken(Exception):
    """The disk or the file cannot be trusted any more: stop the process, repeat nothing."""


class RecordDamaged(StoreBroken):
    """A stored value is not what was written, though the engine can read it. Only if a hub decides by it the process
    stops; else the request that needs it is answered with an error.

    `task_id` names the task whose record, body, checkpoint or result it is. None: no decision needs it; it is of a log,
    of the audit, of figures.
    """

    def __init__(self, what: str, *, task_id: str | None = None) -> None:
        super().__init__(what)
        self.task_id = task_id


class StoreRefused(Exception):
    """The store cannot be opened as it is. The message says what to do; nothing was changed."""


class Holder(Struct, frozen=True):
    """Whom the lease names. `left_ms` is what is left of it on the database's clock, not above 0 if it has run out."""

    id: str
    address: str
    """Where its links are: `host:port`."""
    epoch: int
    since: int
    left_ms: int


class LedElsewhere(StoreRefused):
    """Another hub leads."""

    def __init__(self, holder: Holder) -> None:
        super().__init__(f"The hub {holder.id} leads this yard.")
        self.holder = holder


class BadCursor(ValueError):
    """`before` is not a cursor of such a list. Cursors come from `paging.cursor_of`."""


class Identity(Struct, frozen=True):
    """Who this store is and where its log ends. `epoch` counts the times a hub opened it.

    The ids are random, so that no other log has them; peers of an older version tell none.
    """

    cluster_id: str
    epoch: int
    seq: int
    takeover: str = ""
    """Of the takeover that began the epoch."""
    batch_id: str = ""
    """Of the newest commit; empty before the first."""


class Image(Struct):
    """All that a hub holds in memory, as the last commit left it."""

    identity: Identity
    tasks: list[Task]
    """Every task of the hot table, oldest first: in the order of their ids."""
    users: list[UserRecord]
    keys: list[KeyRecord]
    daemons: list[DaemonRecord]
    numbers: dict[str, int]
    """Per user the highest task number ever given."""
    log_bytes: dict[tuple[str, int], int]
    """Per (task, attempt) of the hot table: how much log is kept."""
    kept: list[Kept] = field(default_factory=list)
    """What the policies keep, in the order of kinds and names."""
    takeovers: list[Takeover] = field(default_factory=list)
    """Those that are known of this log, by ascending epoch."""


class StoredTask(Struct):
    """A task with its bodies, as a reader finds it."""

    task: Task
    body: bytes
    outcome: bytes | None = None
    late: list[LateResult] = field(default_factory=list)
    archived: bool = False
    damaged: str | None = None
    """What of it is damaged; then only its row's columns are known, and the rest is empty."""


class Load(Struct):
    """What is sent to a daemon with a task."""

    task: Task
    """As of the last commit; the hub's own record decides, this one carries `depends` and notes."""
    body: bytes
    checkpoint: bytes | None
    parents: list[StoredTask]
    """The dependencies that ended, in order, with their outcomes; one of them may be damaged."""


class TaskFilter(Struct, kw_only=True):
    """Which tasks to list, newest first. `before` is the last page's end (`paging.cursor_of`).

    Text is sought in title and input, without regard to the case of ASCII letters.
    """

    user_id: str | None
    """None: every user's (admin)."""
    statuses: tuple[Status, ...] = ()
    queue: str | None = None
    type: str | None = None
    source: SourceType | None = None
    level: Level | None = None
    schedule_id: str | None = None
    """Looked for in the records, so best with what it narrows down: its source."""
    correlation_id: str | None = None
    parent_id: str | None = None
    text: str | None = None
    archived: bool = False
    before: str | None = None
    down_to: str | None = None
    """A cursor too: the last that is looked at (`Reader.search_end`)."""
    limit: int = 50
    shows_damaged: bool = False
    """Whether an ended task that is damaged is shown as such (`StoredTask.damaged`) instead of being raised."""


class Numbered(Struct):
    """An event with its place in the log."""

    epoch: int
    seq: int
    index: int
    event: Event


class Figures(Struct, frozen=True):
    """How the hub did in some time: what its record says is for whoever wrote it."""

    step_s: int
    """How long."""
    at: int
    """When that began."""
    record: bytes


class LogPiece(NamedTuple):
    """What an attempt wrote at one time: lines of text."""

    attempt: int
    n: int
    """Its place among the attempt's: later ones have higher numbers."""
    at: int
    text: str


class Reader(Protocol):
    """Reads committed state. Every look-up of a person's things names that person.

    Each call sees one commit's state throughout. `RecordDamaged` if a value is not what was written, `StoreBroken` if
    more than that is wrong.
    """

    def find(self, *, user_id: str | None, task: str, shows_damaged: bool = False) -> StoredTask | None:
        """By id or ref (`T-001`, which needs a user). Hot, then history, then archive. `shows_damaged` as in a
        `TaskFilter`."""

    def known(
        self, *, user_id: str | None, ids: tuple[str, ...], refs: tuple[str, ...], keys: tuple[str, ...]
    ) -> Known:
        """Tasks by id (any state; `user_id` None: whoever's) and refs, and for each idempotency key of history the one
        task that may still hold it; with the sequence number this was read at."""

    def keys_used(self, *, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        """Users and idempotency keys of history, whoever holds them now, page by page: `after` is the last of the page
        before. What enters history meanwhile may be left out."""

    def bodies(self, ids: tuple[str, ...]) -> dict[str, bytes]:
        """The content of each of these tasks, wherever it is."""

    def loads(self, ids: tuple[str, ...]) -> dict[str, Load]:
        """What to send for each of these hot tasks."""

    def tasks(self, query: TaskFilter) -> list[StoredTask]:
        """One user's by number, everybody's by id, downwards. `archived` lists the archive alone."""

    def search_end(self, query: TaskFilter) -> str | None:
        """Where a search for a text that begins at this query's cursor ends for now: after as many tasks as are looked
        through while a person waits. The next page begins there. None: there are not so many. What only few tasks are
        is looked for among those, and of one correlation or parent all are looked through."""

    def dead_letters(self, *, user_id: str | None, limit: int, before: str | None) -> list[StoredTask]:
        """In the order and with the cursors of `tasks`; those that are damaged are shown as such."""

    def events_after(self, *, epoch: int, seq: int, index: int, limit: int) -> list[Numbered] | None:
        """In order, after that place; None when it is not on the log, or not any more (then: `resync`).

        `seq` 0 is the beginning. A place may be named in an epoch that has not committed yet: that is
        where somebody stands who begins to follow a hub that just opened.
        """

    def task_events(self, task: Task) -> list[Numbered]:
        """What happened to it, in order, as far as the log is kept."""

    def log(
        self, *, task_id: str, attempt: int | None, after: tuple[int, int] = (0, 0), bytes_max: int = LOG_BYTES_MAX
    ) -> list[LogPiece]:
        """In order, what comes after that attempt and place; no piece more once there are so many bytes of text."""

    def checkpoint(self, task_id: str) -> bytes | None: ...

    def audit(self, *, subject: str | None, limit: int, before: int | None) -> list[tuple[int, AuditRecord]]:
        """Newest first, each with its number."""

    def has_old(self, *, ended_before: int, events_before: int) -> bool:
        """Whether another commit with this `archive` would move or drop anything."""

    def figures(self, *, step_s: int, since: int) -> list[Figures]:
        """Of this length, that began at or after `since`, oldest first. For what is not there nobody wrote any."""

    def counts(self, *, user_id: str | None) -> dict[Status, int]:
        """How many tasks there are of each status, archived ones left out; None: everybody's. None of a status: 0."""

    def request(self, name: str) -> bytes | None:
        """What a commit of the last ten minutes answered to the request of this name."""

    def position(self) -> int:
        """The newest sequence number this reader sees."""

    def lineage(self, seqs: Sequence[int]) -> "Lineage":
        """The log's history, with the batch ids of these commits as far as the log keeps them."""

    def close(self) -> None: ...


class Store(Protocol):
    """The one writer."""

    def open(self, *, new_era: bool = False, seen: "Sequence[Sighting]" = ()) -> Identity:
        """Lock, check, migrate if need be, begin a new epoch (or era). `StoreRefused` says why not.

        `Rewound` if a position that was seen is not in this log's history; a new era begins all the same, and raises
        every user's highest task number. A refusal writes nothing.
        """

    def load(self) -> Image:
        """As the last commit left it. `StoreRefused` names the row that cannot be read."""

    def write(self, batch: Batch) -> None:
        """All of it, durably, or nothing (`StoreUnavailable`, `StoreBroken`). `seq` follows the last."""

    def writing(self, batch: Batch) -> Callable[[], None]:
        """The same in two steps: what needs no disk is done here, by whoever has the batch and while nothing else is
        written; what comes back does the rest, on the writer's thread."""

    def probe(self) -> None:
        """A small durable commit that changes nothing a reader sees; raises as `write` does."""

    def keep_figures(self, figures: Sequence[Figures], *, kept: Mapping[int, tuple[int, int]]) -> None:
        """Write these, in place of what was told of the same time, and drop what lies outside what is `kept`:
        by length, the first beginning and the last. A commit of its own, which no sequence number counts.

        Raises as `write` does.
        """

    def tend(self) -> None:
        """Housekeeping between commits, best when a batch is out and nobody waits; raises as `write` does.

        Left out, `write` does what cannot wait.
        """

    def reader(self) -> Reader:
        """From any thread; the reader belongs to the thread that uses it."""

    def backup(self, path: str) -> None:
        """A consistent copy while running, from any thread. `StoreRefused` if there is a file already."""

    def close(self) -> None: ...

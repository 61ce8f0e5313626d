"""Tasks that stood in another queue, as an import takes them."""

from typing import Annotated, Final

from msgspec import UNSET, Meta, Struct, UnsetType, field

from taskyard.vocabulary import AttemptStatus, ResultStatus, Status
from taskyard.wire.fields import (
    ATTEMPTS_MAX,
    BATCH_TASKS_MAX,
    DEPENDENCIES_MAX,
    Instant,
    JsonValue,
    Name,
    Text,
)
from taskyard.wire.frames import WireError, WireUsage
from taskyard.wire.submission import Submission
from taskyard.wire.tasks import Rejected

ORDER_MAX: Final = 4095
QUEUES_MAX: Final = 1000
CONCURRENT_MAX: Final = 1_000_000
BREAKERS_MAX: Final = 1000
Order = Annotated[int, Meta(ge=0, le=ORDER_MAX)]
Count = Annotated[int, Meta(ge=0, le=2**31)]


class CarriedAttempt(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """One try. They are numbered as they stand; one that still ran is taken for lost."""

    daemon: Name
    status: AttemptStatus
    series: Annotated[int, Meta(ge=1, le=ATTEMPTS_MAX)] = 1
    started_at: Instant | None = None
    ended_at: Instant | None = None
    error: WireError | None = None
    usage: WireUsage | None = None


Attempts = Annotated[list[CarriedAttempt], Meta(max_length=ATTEMPTS_MAX)]


class CarriedTask(Submission, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A task, as its owner handed it in and as it stands. `depends_on` and `parent_task_id` name other records."""

    id: Name
    """What it is called where it comes from. It gets an id of its own, the same however often it comes."""
    order: Order | None = None
    """Among those created at the same instant."""
    status: Status = Status.PENDING
    created_at: Instant | None = None
    queued_at: Instant | None = None
    scheduled_at: Instant | None = None
    started_at: Instant | None = None
    completed_at: Instant | None = None
    not_before: Instant | None = None
    attempts: Attempts = field(default_factory=list)
    result: JsonValue | UnsetType = UNSET
    result_summary: Text | None = None
    result_status: ResultStatus | None = None
    files_changed: list[str] | None = None
    decision_report: JsonValue | UnsetType = UNSET
    error: WireError | None = None
    skipped_reason: Text | None = None
    cancel_reason: Text | None = None
    archived: bool = False


class CarriedQueue(Struct, forbid_unknown_fields=True, kw_only=True):
    models: Annotated[list[Name], Meta(max_length=1000)] = []
    max_concurrent: Annotated[int, Meta(ge=1, le=CONCURRENT_MAX)] | None = None


class CarriedBreaker(Struct, forbid_unknown_fields=True, kw_only=True):
    type: Name
    failures: Count = 0
    last_failure_at: Instant | None = None
    opened_at: Instant | None = None
    """None: it is closed."""
    half_open_at: Instant | None = None


class Place(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Of a task that another piece of the same import brings: what its id is made of besides its name."""

    created_at: Instant | None = None
    order: Order | None = None


class Import(Struct, forbid_unknown_fields=True, kw_only=True):
    """A piece of an import. Asked again it changes nothing."""

    origin: Name
    """Where it comes from. The same task of the same origin is the same task."""
    tasks: Annotated[list[CarriedTask], Meta(description="at most as many as a batch may have")] = []
    queues: Annotated[dict[Name, CarriedQueue], Meta(max_length=QUEUES_MAX)] = {}
    """Made where they are missing, by an admin."""
    breakers: Annotated[list[CarriedBreaker], Meta(max_length=BREAKERS_MAX)] = []
    elsewhere: Annotated[dict[Name, Place], Meta(max_length=BATCH_TASKS_MAX * (DEPENDENCIES_MAX + 1))] = {}
    """Names that tasks of this piece depend on and other pieces bring."""
    open_left: Count = 0
    """How many open tasks this piece and those after it bring: there is room for all of them or for none."""
    dry_run: bool = False
    """Look only; what would be refused is named."""


class ImportAnswer(Struct, kw_only=True):
    new: list[str]
    """The names of those that were taken, or would be."""
    there: list[str]
    """Those that were here already, and stay as they are."""
    rejected: list[Rejected]
    """Of a look: what is in the way. If anything is, nothing would be taken."""
    queues: list[str] = []
    """Those that were made, or would be."""

"""What a caller sends about tasks: submissions, batches, changes, and an attempt's callbacks.

Shapes and sizes are checked here, once; whether a task may be admitted is the core's business.
"""

from typing import Annotated, Final, Literal, TypeVar

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskyard.vocabulary import Backoff, DependsPolicy, Level, LostPolicy, ResultStatus, SourceType
from taskyard.wire.fields import (
    ATTEMPTS_MAX,
    BATCH_TASKS_MAX,
    CHECKPOINT_BYTES_MAX,
    DEPENDENCIES_MAX,
    FIELD_BYTES_MAX,
    INPUT_BYTES_MAX,
    NULL,
    PLACES_MAX,
    RESULT_BYTES_MAX,
    SECONDS_MAX,
    AttemptNumber,
    Instant,
    JsonObject,
    Metadata,
    Name,
    Names,
    Seconds,
    Text,
    is_object,
)
from taskyard.wire.frames import DecisionReport, WireError, WireUsage
from taskyard.wire.problems import FieldError

Priority = Level | Annotated[int, Meta(ge=1, le=10)]
Input = Annotated[str, Meta(description=f"at most `limits.size.input` bytes, {INPUT_BYTES_MAX:,} unless configured")]
Constraints = Annotated[list[str], Meta(description=f"at most {FIELD_BYTES_MAX:,} bytes in all")]
Value = str | int | float | bool
Values = Annotated[dict[Name, Value], Meta(max_length=PLACES_MAX)]
"""What is put in the places of a template, by key: a text as it is, anything else as JSON writes it."""
T = TypeVar("T")
Tasks = Annotated[
    list[T],
    Meta(min_length=1, description=f"at most `limits.size.batch`, {BATCH_TASKS_MAX:,} unless configured"),
]


class Source(Struct, forbid_unknown_fields=True):
    """Where a task came from."""

    type: SourceType = SourceType.USER
    id: Name | None = None
    channel: Name | None = None


class Requirements(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """What a task asks of the daemon that runs it."""

    capabilities: Names = []
    target_daemon: Name | None = None
    excluded_daemons: Names = []
    estimated_duration: Seconds | None = None
    memory_mb: Annotated[int, Meta(ge=0, le=2**40)] | None = None
    cpu_intensive: bool = False


class Execution(Struct, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """How a task is run and retried. A number that is absent is as the hub's settings say; shown are their defaults."""

    timeout: Annotated[float, Meta(gt=0, le=SECONDS_MAX, extra_json_schema={"default": 300})] | UnsetType = UNSET
    max_attempts: Annotated[int, Meta(ge=1, le=ATTEMPTS_MAX, extra_json_schema={"default": 3})] | UnsetType = UNSET
    retry_delay: Annotated[float, Meta(ge=0, le=SECONDS_MAX, extra_json_schema={"default": 30})] | UnsetType = UNSET
    retry_backoff: Backoff = Backoff.EXPONENTIAL
    require_decision_report: bool = False
    on_lost: LostPolicy = LostPolicy.REQUEUE
    exclusive: Name | None = None


class Submission(Struct, forbid_unknown_fields=True, kw_only=True):
    """A task as its owner hands it in; only `input` is required (`description` is taken for it).

    `template` names a template of the user, which may have the input: `set` fills its places, and every other field
    that stands here takes the place of the template's.
    """

    template: Name | None = None
    set: Values | UnsetType = UNSET
    type: Name = "general"
    title: Text | None = None
    input: Input | UnsetType = UNSET
    description: Input | UnsetType = UNSET
    goal: Text | None = None
    constraints: Constraints | None = None
    context: JsonObject | UnsetType = UNSET
    payload: JsonObject | UnsetType = UNSET
    metadata: Metadata | UnsetType = UNSET
    source: Source | None = None
    model: Name | None = None
    queue: Name | None = None
    project_id: Name | None = None
    priority: Priority | None = None
    deadline: Instant | None = None
    sla: Instant | None = None
    scheduled_for: Instant | None = None
    depends_on: Annotated[list[Name], Meta(max_length=DEPENDENCIES_MAX)] = []
    on_depends_fail: DependsPolicy = DependsPolicy.BLOCK
    parent_task_id: Name | None = None
    correlation_id: Name | None = None
    idempotency_key: Name | None = None
    dedupe: Literal["content"] | None = None
    requirements: Requirements | None = None
    execution: Execution | None = None


NO_OBJECT: Final = "expected an object"
WRITTEN_OUT: Final = "is not filled here; write the task out"
NO_TEMPLATE: Final = "fills the places of a template; name it in `template`"
ONE_INPUT: Final = "stands for `input`; give one of them"


class BatchItem(Submission, forbid_unknown_fields=True, kw_only=True):
    """A task of a batch, with a name by which others of the batch can depend on it."""

    name: Name | None = None


class Batch(Struct, forbid_unknown_fields=True):
    tasks: Tasks[BatchItem]
    partial: bool = False


class SalvagedBatch(Batch):
    """A partial batch of which some tasks could not be read: where each was, and what is wrong with it.

    `tasks` has the readable ones; `indexes` says where they were.
    """

    indexes: list[int] = []
    unread: dict[int, str] = {}


class RawBatch(Struct, forbid_unknown_fields=True):
    """The same, for taking a partial batch apart when one of its tasks is malformed."""

    tasks: Tasks[Raw]
    partial: bool = False


class Change(Struct, forbid_unknown_fields=True):
    """PATCH of a task that has not started; what is absent stays, null removes."""

    priority: Priority | UnsetType = UNSET
    deadline: Instant | UnsetType | None = UNSET
    scheduled_for: Instant | UnsetType | None = UNSET


Result = Annotated[
    Raw,
    Meta(description=f"any JSON of at most `limits.size.result` bytes, {RESULT_BYTES_MAX:,} unless configured"),
]
Checkpoint = Annotated[Raw, Meta(description=f"any JSON of at most {CHECKPOINT_BYTES_MAX:,} bytes")]


class Completion(Struct, forbid_unknown_fields=True, kw_only=True):
    """How an attempt ended, told over HTTP."""

    status: Literal["completed", "failed"]
    attempt: AttemptNumber | None = None
    result: Result | UnsetType = UNSET
    summary: Text | None = None
    result_status: ResultStatus = ResultStatus.SUCCESS
    files_changed: list[str] | None = None
    decision_report: DecisionReport | None = None
    usage: WireUsage | None = None
    error: str | WireError | None = None


class ProgressReport(Struct, forbid_unknown_fields=True, kw_only=True):
    attempt: AttemptNumber | None = None
    percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    message: Text | None = None
    log: Text | None = None


class CheckpointReport(Struct, forbid_unknown_fields=True, kw_only=True):
    attempt: AttemptNumber | None = None
    data: Checkpoint


class HeartbeatReport(Struct, forbid_unknown_fields=True):
    attempt: AttemptNumber | None = None


def faults_of(submission: Submission) -> tuple[FieldError, ...]:
    """What is wrong with its shape beyond the types, once a template that it names is filled."""
    faults: tuple[FieldError, ...] = ()
    if submission.context is not UNSET and _is_no_object(submission.context):
        faults += (FieldError("context", NO_OBJECT),)
    if submission.payload is not UNSET and _is_no_object(submission.payload):
        faults += (FieldError("payload", NO_OBJECT),)
    if submission.metadata is not UNSET and _is_no_object(submission.metadata):
        faults += (FieldError("metadata", NO_OBJECT),)
    if submission.template is not None:
        faults += (FieldError("template", WRITTEN_OUT),)
    elif submission.set is not UNSET:
        faults += (FieldError("set", NO_TEMPLATE),)
    if (submission.input is UNSET) is (submission.description is UNSET):
        is_missing = submission.input is UNSET
        faults += (FieldError("input", "is required"),) if is_missing else (FieldError("description", ONE_INPUT),)
    return faults


def _is_no_object(raw: Raw | UnsetType) -> bool:
    return isinstance(raw, Raw) and not is_object(raw) and bytes(raw) != NULL

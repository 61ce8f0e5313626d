"""What a caller sends about tasks: submissions, batches, changes, and an attempt's callbacks.

Shapes and sizes are checked here, once; whether a task may be admitted is the core's business.
"""

from collections.abc import Mapping
from typing import Annotated, Final, Literal

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskyard.vocabulary import Backoff, DependsPolicy, Level, LostPolicy, ResultStatus, SourceType
from taskyard.wire.fields import (
    ATTEMPTS_MAX,
    BATCH_TASKS_MAX,
    BOUND,
    DEFAULT,
    DEPENDENCIES_MAX,
    FIELD_BYTES_MAX,
    INPUT_BYTES_MAX,
    NULL,
    OBJECT_BYTES_MAX,
    SECONDS_MAX,
    AttemptNumber,
    Instant,
    JsonObject,
    JsonValue,
    Name,
    Names,
    Seconds,
    Text,
    is_object,
)
from taskyard.wire.frames import DecisionReport, WireError, WireUsage
from taskyard.wire.problems import FieldError

Priority = Level | Annotated[int, Meta(ge=1, le=10)]


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
    """How a task is run and retried."""

    timeout: Annotated[float, Meta(gt=0, le=SECONDS_MAX, extra={DEFAULT: "retry.timeout_s"})] = 300
    max_attempts: Annotated[int, Meta(ge=1, le=ATTEMPTS_MAX, extra={DEFAULT: "retry.max_attempts"})] = 3
    retry_delay: Annotated[float, Meta(ge=0, le=SECONDS_MAX, extra={DEFAULT: "retry.delay_s"})] = 30
    retry_backoff: Backoff = Backoff.EXPONENTIAL
    require_decision_report: bool = False
    on_lost: LostPolicy = LostPolicy.REQUEUE
    exclusive: Name | None = None


class Submission(Struct, forbid_unknown_fields=True, kw_only=True):
    """A task as its owner hands it in; only `input` is required (`description` is taken for it)."""

    type: Name = "general"
    title: Text | None = None
    input: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    goal: Text | None = None
    constraints: list[str] | None = None
    context: JsonObject | UnsetType = UNSET
    payload: JsonObject | UnsetType = UNSET
    metadata: JsonObject | UnsetType = UNSET
    source: Source | None = None
    model: Name | None = None
    queue: Name | None = None
    project_id: Name | None = None
    priority: Priority | None = None
    deadline: Instant | None = None
    sla: Instant | None = None
    scheduled_for: Instant | None = None
    depends_on: Annotated[list[Name], Meta(max_length=DEPENDENCIES_MAX, extra={BOUND: "dependencies"})] = []
    on_depends_fail: DependsPolicy = DependsPolicy.BLOCK
    parent_task_id: Name | None = None
    correlation_id: Name | None = None
    idempotency_key: Name | None = None
    dedupe: Literal["content"] | None = None
    requirements: Requirements | None = None
    execution: Execution | None = None


INPUT_NAMES: Final = ("input", "description")
"""Exactly one of these is given."""


class BatchItem(Submission, forbid_unknown_fields=True, kw_only=True):
    """A task of a batch, with a name by which others of the batch can depend on it."""

    name: Name | None = None


class Batch(Struct, forbid_unknown_fields=True):
    tasks: Annotated[list[BatchItem], Meta(min_length=1, max_length=BATCH_TASKS_MAX, extra={BOUND: "batch"})]
    partial: bool = False


class SalvagedBatch(Batch):
    """A partial batch of which some tasks could not be read: where each was, and what is wrong with it.

    `tasks` has the readable ones; `indexes` says where they were.
    """

    indexes: list[int] = []
    unread: dict[int, str] = {}


class RawBatch(Struct, forbid_unknown_fields=True):
    """The same, for taking a partial batch apart when one of its tasks is malformed."""

    tasks: Annotated[list[Raw], Meta(min_length=1, max_length=BATCH_TASKS_MAX, extra={BOUND: "batch"})]
    partial: bool = False


class Change(Struct, forbid_unknown_fields=True):
    """PATCH of a task that has not started; what is absent stays, null removes."""

    priority: Priority | UnsetType = UNSET
    deadline: Instant | UnsetType | None = UNSET
    scheduled_for: Instant | UnsetType | None = UNSET


class Completion(Struct, forbid_unknown_fields=True, kw_only=True):
    """How an attempt ended, told over HTTP."""

    status: Literal["completed", "failed"]
    attempt: AttemptNumber | None = None
    result: JsonValue | UnsetType = UNSET
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
    data: JsonValue


class HeartbeatReport(Struct, forbid_unknown_fields=True):
    attempt: AttemptNumber | None = None


def faults_of(submission: Submission) -> tuple[FieldError, ...]:
    """What is wrong with its shape beyond the types."""
    faults = []
    for name in ("context", "payload", "metadata"):
        raw = getattr(submission, name)
        if raw is not UNSET and not is_object(raw) and bytes(raw) != NULL:
            faults.append(FieldError(name, "expected an object"))
    if submission.input is UNSET and submission.description is UNSET:
        faults.append(FieldError("input", "is required"))
    elif submission.input is not UNSET and submission.description is not UNSET:
        faults.append(FieldError("description", "stands for `input`; give one of them"))
    return tuple(faults)


SIZES: Final[Mapping[str, int]] = {
    "input": INPUT_BYTES_MAX,
    "description": INPUT_BYTES_MAX,
    "context": OBJECT_BYTES_MAX,
    "payload": OBJECT_BYTES_MAX,
    "metadata": FIELD_BYTES_MAX,
    "title": FIELD_BYTES_MAX,
    "goal": FIELD_BYTES_MAX,
    "constraints": FIELD_BYTES_MAX,
}


def oversize_of(submission: Submission, sizes: Mapping[str, int] = SIZES) -> tuple[FieldError, ...]:
    """The fields over their size. What is under the smallest of these bounds as a whole need not be asked."""
    faults = []
    for name, size_max in sizes.items():
        value = getattr(submission, name)
        if value is not None and value is not UNSET and (size := _length(value)) > size_max:
            faults.append(FieldError(name, f"is {size:,} bytes; at most {size_max:,} are possible"))
    return tuple(faults)


def _length(value: str | Raw | list[str]) -> int:
    """In bytes, as UTF-8."""
    if isinstance(value, list):
        return sum(map(_length, value))
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode())
    return len(memoryview(value))

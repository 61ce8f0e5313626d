"""What each tool answers, for programs that check or type it. A task's empty fields are left out.

Parts that an agent reads as a whole are plain objects here: schemas are read by models too, which pay for every word.
"""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from taskyard.vocabulary import Level, ResultStatus, Status
from taskyard.wire.fields import Instant
from taskyard.wire.plans import QueueStatusAnswer
from taskyard.wire.problems import FieldError
from taskyard.wire.tasks import ProgressAnswer, Rejected

Part = dict[str, Any]


class Failure(Struct):
    code: str
    message: str
    retryable: bool | None


class TaskState(Struct, kw_only=True):
    """How a task stands and what came of it."""

    id: str
    ref: str
    status: Status
    type: str
    queue: str
    priority: Level
    created_at: Instant
    title: str | UnsetType = UNSET
    parent_task_id: str | UnsetType = UNSET
    correlation_id: str | UnsetType = UNSET
    depends_on: list[str] | UnsetType = UNSET
    deadline: Instant | UnsetType = UNSET
    not_before: Instant | UnsetType = UNSET
    queue_position: int | UnsetType = UNSET
    estimated_start: Instant | UnsetType = UNSET
    attempts: list[Part] | UnsetType = UNSET
    progress: ProgressAnswer | UnsetType = UNSET
    context_input: list[Part] | UnsetType = UNSET
    result: Any = UNSET
    result_summary: str | UnsetType = UNSET
    result_status: ResultStatus | UnsetType = UNSET
    files_changed: list[str] | UnsetType = UNSET
    decision_report: Any = UNSET
    error: Failure | UnsetType = UNSET
    failure_reason: str | UnsetType = UNSET
    blocked_reason: str | UnsetType = UNSET
    skipped_reason: str | UnsetType = UNSET
    cancel_reason: str | UnsetType = UNSET
    started_at: Instant | UnsetType = UNSET
    completed_at: Instant | UnsetType = UNSET
    deduplicated: bool | UnsetType = UNSET


class WholeTask(TaskState, kw_only=True):
    """The same, and what its submitter said."""

    input: str | UnsetType = UNSET
    goal: str | UnsetType = UNSET
    constraints: list[str] | UnsetType = UNSET
    context: Any = UNSET
    payload: Any = UNSET
    metadata: Any = UNSET


class SubmittedBatch(Struct):
    tasks: list[TaskState]
    rejected: list[Rejected]


class WaitedFor(Struct):
    all_ended: bool
    tasks: list[TaskState]


class FoundTasks(Struct):
    tasks: list[WholeTask]
    more: bool


class QueueState(QueueStatusAnswer, kw_only=True):
    backpressure: Part


class Claimed(Struct, kw_only=True):
    """The task and its token; only `claimed`, which is false, if none waits."""

    claimed: bool
    task: dict[str, Any] | UnsetType = UNSET
    attempt: int | UnsetType = UNSET
    token: str | UnsetType = UNSET
    lease_s: float | UnsetType = UNSET
    timeout: float | UnsetType = UNSET
    context_input: list[Part] | UnsetType = UNSET
    checkpoint: Any = UNSET
    previous_attempts: list[Part] | UnsetType = UNSET


class ToolError(Struct, kw_only=True):
    """Why nothing was done, in a result that says it is an error."""

    code: str
    detail: str
    task: str | UnsetType = UNSET
    errors: list[FieldError] | UnsetType = UNSET
    kept: bool | UnsetType = UNSET
    retry_after: float | UnsetType = UNSET
    backpressure: Part | UnsetType = UNSET

"""What the hub answers about tasks. `gateway/present.py` fills these from what is stored."""

from typing import Annotated, Any, Final

from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskyard.vocabulary import (
    AttemptStatus,
    DependsPolicy,
    EventName,
    Level,
    ResultStatus,
    SourceType,
    Status,
    Verdict,
)
from taskyard.wire.fields import KIB, Instant, JsonValue
from taskyard.wire.submission import Execution, Requirements, Source

LIST_BODY_BYTES_MAX = 2048
"""Longer bodies are cut in lists; `truncated` names them."""
CONTEXT_INPUT_BYTES_MAX: Final = 1024 * KIB
"""Of all results that a task is handed."""
CONTEXT_INPUT_RESULT_BYTES_MAX: Final = 64 * KIB
"""Of one of them. A longer one is left out with a note."""


class SourceAnswer(Struct, kw_only=True):
    type: SourceType = SourceType.USER
    id: str | None = None
    channel: str | None = None


class RequirementsAnswer(Struct, kw_only=True):
    capabilities: list[str] = []
    target_daemon: str | None = None
    excluded_daemons: list[str] = []
    estimated_duration: float | None = None
    memory_mb: int | None = None
    cpu_intensive: bool = False


class ExecutionAnswer(Struct, kw_only=True):
    timeout: float = 300
    max_attempts: int = 3
    retry_delay: float = 30
    retry_backoff: str = "exponential"
    require_decision_report: bool = False
    on_lost: str = "requeue"
    exclusive: str | None = None


class ErrorAnswer(Struct):
    code: str
    message: str
    retryable: bool | None
    details: Any = None


class AttemptAnswer(Struct, kw_only=True):
    number: int
    series: int
    daemon_id: str
    daemon_name: str
    status: AttemptStatus
    started_at: Instant | None
    ended_at: Instant | None
    error: ErrorAnswer | None
    late_result: Any = None
    usage: Any = None


class ProgressAnswer(Struct):
    percent: float | None
    message: str | None


class ContextInput(Struct, kw_only=True, omit_defaults=True):
    """What a task is told of those it waited for, or by the hub about itself."""

    source_task: str | None
    ref: str | None
    result_status: str | None
    result_summary: str | None
    result: JsonValue | UnsetType = UNSET
    included_at: Instant | None = None
    note: str | None = None
    kind: str | None = None
    warning: str | None = None


ContextInputs = Annotated[
    list[ContextInput],
    Meta(
        description=f"results of at most {CONTEXT_INPUT_RESULT_BYTES_MAX:,} bytes each and {CONTEXT_INPUT_BYTES_MAX:,} "
        "in all; a longer one is left out with a note"
    ),
]


class Pattern(Struct):
    """What a dead letter has in common with others of its owner."""

    fingerprint: str
    same_error: int
    same_daemon: str | None
    first_at: Instant
    last_at: Instant


class TaskSaid(Struct):
    """The first part of a task's answer: who it is, what its owner said, and where that put it."""

    id: str
    ref: str
    user_id: str
    status: Status
    type: str
    title: str | None
    input: str
    goal: str | None
    constraints: list[str]
    context: Any
    payload: Any
    metadata: Any
    source: SourceAnswer
    model: str | None
    queue: str
    project_id: str | None
    priority: Level
    priority_value: int
    deadline: Instant | None
    sla: Instant | None
    scheduled_for: Instant | None
    depends_on: list[str]
    on_depends_fail: DependsPolicy
    parent_task_id: str | None
    correlation_id: str | None
    idempotency_key: str | None
    dedupe: str | None
    requirements: RequirementsAnswer
    execution: ExecutionAnswer


class ReviewAnswer(Struct, kw_only=True):
    """A person's verdict on a dead letter."""

    verdict: Verdict
    reason: str
    by: str
    at: Instant
    until: Instant | None = None
    to: str | None = None


class TaskAnswer(TaskSaid, kw_only=True):
    """A task, with everything its owner said and everything that became of it."""

    queue_position: int | None = None
    estimated_start: Instant | None = None
    raised_from: Level | None = None
    """The priority it came with, if its deadline or what waits for it has raised it since."""
    aged: bool = False
    """Of priority `low`, and waits so long that it is ordered as `normal`."""
    assigned_daemon: str | None = None
    attempts: list[AttemptAnswer] | UnsetType = UNSET
    progress: ProgressAnswer | None = None
    checkpoint: Any = None
    context_input: ContextInputs = []
    result: Any = None
    result_summary: str | None = None
    result_status: ResultStatus | None = None
    files_changed: list[str] = []
    decision_report: Any = None
    error: ErrorAnswer | None = None
    failure_reason: str | None = None
    not_before: Instant | None = None
    blocked_reason: str | None = None
    skipped_reason: str | None = None
    waiting_for_daemon: str | None = None
    cancel_requested_at: Instant | None = None
    cancel_reason: str | None = None
    review: ReviewAnswer | None = None
    """The last verdict, of a task that was a dead letter."""
    created_at: Instant
    queued_at: Instant | None = None
    scheduled_at: Instant | None = None
    started_at: Instant | None = None
    completed_at: Instant | None = None
    deduplicated: bool = False
    truncated: list[str] | UnsetType = UNSET
    pattern: Pattern | UnsetType = UNSET


class Content(Struct, kw_only=True, omit_defaults=True):
    """A task's body as it is stored: what its owner said and no rule reads.

    `type` and `input` are always written; a daemon finds the others only if they were given.
    """

    type: str
    input: str
    title: str | None = None
    goal: str | None = None
    constraints: list[str] | None = None
    context: Raw | UnsetType = UNSET
    payload: Raw | UnsetType = UNSET
    metadata: Raw | UnsetType = UNSET
    source: Source | None = None
    model: str | None = None
    project_id: str | None = None
    dedupe: str | None = None
    scheduled_for: Instant | None = None
    requirements: Requirements | None = None
    execution: Execution | None = None


class Outcome(Struct, kw_only=True, omit_defaults=True):
    """What a finished attempt brought, as it is stored."""

    result: Raw | UnsetType = UNSET
    files_changed: list[str] | None = None
    decision_report: Raw | UnsetType = UNSET


class Rejected(Struct, kw_only=True, omit_defaults=True):
    """A task of a partial batch that was not taken."""

    index: int
    status: int
    code: str
    detail: str


class BatchAnswer(Struct):
    tasks: list[TaskAnswer]
    rejected: list[Rejected]


class CountsAnswer(Struct):
    """How many tasks there are, but for those in the archive; as of a second ago at most."""

    by_status: dict[Status, int]
    total: int


class CancelAnswer(Struct):
    cancelled: bool
    also_cancelled: list[str]


class OkAnswer(Struct):
    ok: bool = True


class EventAnswer(Struct, kw_only=True, rename={"was": "from", "now": "to"}):
    """One thing that happened; `id` is its place in the log: `epoch-seq-i`."""

    id: str | None
    event: EventName
    at: Instant
    user_id: str | None
    task_id: str | None
    ref: str | None
    attempt: int | None
    was: Status | None
    now: Status | None
    data: dict[str, Any]


class LogAnswer(Struct):
    """A piece: one or more lines."""

    attempt: int
    at: Instant
    text: str
    cursor: str
    """What comes after it is asked for with this."""

"""What the hub answers about tasks, as a client reads it; `records.py` has what it answers about all else.

`wire/` says what this version's hub sends, to the letter. A client lives with hubs older and newer than
itself: it ignores what it does not know and has a default for what is missing, so these are types of their
own. `tests/sdk/test_answers.py` holds that every field of the wire is in one of the two under the same name.

Times are aware datetimes in UTC, durations are seconds.
"""

from datetime import datetime
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from taskyard.vocabulary import ENDED, AttemptStatus, Level, ResultStatus, Status, Verdict


class Source(Struct, kw_only=True):
    type: str = "user"
    id: str | None = None
    channel: str | None = None


class TaskError(Struct, kw_only=True):
    """What an attempt said when it failed."""

    code: str = "UNKNOWN"
    message: str = ""
    retryable: bool | None = None
    details: Any = None


class Attempt(Struct, kw_only=True):
    number: int
    series: int = 1
    daemon_id: str | None = None
    daemon_name: str | None = None
    status: AttemptStatus
    started_at: datetime | None = None
    ended_at: datetime | None = None
    error: TaskError | None = None
    late_result: Any = None
    usage: Any = None


class Progress(Struct, kw_only=True):
    percent: float | None = None
    message: str | None = None


class Requirements(Struct, kw_only=True):
    capabilities: list[str] = []
    target_daemon: str | None = None
    excluded_daemons: list[str] = []
    estimated_duration: float | None = None
    memory_mb: int | None = None
    cpu_intensive: bool = False


class Execution(Struct, kw_only=True):
    timeout: float = 300.0
    max_attempts: int = 3
    retry_delay: float = 30.0
    retry_backoff: str = "exponential"
    require_decision_report: bool = False
    on_lost: str = "requeue"
    exclusive: str | None = None


class Pattern(Struct, kw_only=True):
    """What a dead letter has in common with others."""

    fingerprint: str
    same_error: int = 1
    same_daemon: str | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None


class Review(Struct, kw_only=True):
    """A person's verdict on a dead letter."""

    verdict: Verdict
    reason: str = ""
    by: str = ""
    at: datetime | None = None
    until: datetime | None = None
    to: str | None = None


class TaskRecord(Struct, kw_only=True, dict=True):
    """A task as the hub answered it. `sdk/task.py` adds what can be done with one.

    `dict=True` is for the client that a handle belongs to, which is no field and never on the wire.
    """

    id: str
    ref: str
    status: Status
    user_id: str = ""
    project_id: str | None = None
    idempotency_key: str | None = None
    parent_task_id: str | None = None
    correlation_id: str | None = None
    dedupe: str | None = None
    source: Source = field(default_factory=Source)

    type: str = "general"
    title: str | None = None
    input: str = ""
    goal: str | None = None
    constraints: list[str] | None = None
    context: Any = None
    payload: Any = None
    metadata: Any = None

    model: str | None = None
    queue: str = "default"
    priority: Level = Level.NORMAL
    priority_value: int = 5
    deadline: datetime | None = None
    sla: datetime | None = None
    scheduled_for: datetime | None = None

    depends_on: list[str] = []
    on_depends_fail: str = "block"
    context_input: list[Any] = []
    requirements: Requirements = field(default_factory=Requirements)
    execution: Execution = field(default_factory=Execution)

    queue_position: int | None = None
    estimated_start: datetime | None = None
    raised_from: Level | None = None
    """The priority it came with, if it was raised since."""
    aged: bool = False
    """Of priority low, and waits so long that it is ordered as normal."""
    assigned_daemon: str | None = None
    attempts: list[Attempt] = []
    progress: Progress | None = None
    checkpoint: Any = None

    result: Any = None
    result_summary: str | None = None
    result_status: ResultStatus | None = None
    files_changed: list[str] | None = None
    decision_report: Any = None
    error: TaskError | None = None
    failure_reason: str | None = None

    not_before: datetime | None = None
    blocked_reason: str | None = None
    skipped_reason: str | None = None
    waiting_for_daemon: str | None = None
    cancel_requested_at: datetime | None = None
    cancel_reason: str | None = None
    review: Review | None = None
    """The last verdict, of a task that was a dead letter."""
    created_at: datetime | None = None
    queued_at: datetime | None = None
    scheduled_at: datetime | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None

    deduplicated: bool = False
    truncated: list[str] = []
    pattern: Pattern | None = None
    """Of dead letters only."""

    @property
    def ended(self) -> bool:
        """Nothing more happens to it by itself."""
        return self.status in ENDED

    @property
    def succeeded(self) -> bool:
        return self.status is Status.COMPLETED


H = TypeVar("H", bound=TaskRecord)


class Rejected(Struct, kw_only=True):
    """One task of a partial batch that was not taken."""

    index: int
    status: int = 0
    code: str = ""
    detail: str = ""


class ParsedTask(Struct, kw_only=True):
    """A task as a chat message was understood; `depends_on` has places among its tasks, from 0, and refs of others."""

    input: str
    model: str | None = None
    queue: str | None = None
    depends_on: list[int | str] = []
    priority: str | int | None = None
    goal: str | None = None


class ChatCommand(Struct, kw_only=True):
    """A command of a chat message; `ok` is None where it was not tried."""

    command: str
    ref: str | None = None
    queue: str | None = None
    ok: bool | None = None
    detail: str | None = None


class Said(Struct, Generic[H], kw_only=True):
    """What became of a chat message."""

    reply: str = ""
    """For people, in the language of the message."""
    tasks: list[H] = []
    commands: list[ChatCommand] = []
    question: str | None = None
    """The one thing that was missing; then nothing was done."""
    understood: bool = True
    """False for ordinary conversation."""
    parsed: list[ParsedTask] = []


class Cancellation(Struct, kw_only=True):
    cancelled: bool = True
    also_cancelled: list[str] = []
    """The tasks that depended on it."""


class PatternReview(Struct, kw_only=True):
    """What became of one verdict for many: ids of tasks."""

    reviewed: list[str] = []
    rejected: list[str] = []


class Acknowledged(Struct, kw_only=True):
    ok: bool = True


class Claimed(Struct, kw_only=True):
    """A task that was pulled. It is kept by a word with its `token` within each `lease_s` seconds."""

    task: dict[str, Any]
    """What is to be done: `id`, `ref`, `type`, `input`, `context`, …"""
    attempt: int
    token: str
    """To call with about this task: `Client(hub, claimed.token)`."""
    lease_s: float = 30.0
    timeout: float = 300.0
    context_input: list[Any] = []
    checkpoint: Any = None
    previous_attempts: list[Any] = []


class Event(Struct, kw_only=True, rename={"was": "from", "now": "to"}):
    """One thing that happened. `was` and `now` are statuses (`from` and `to` on the wire).

    `id` is its place in the log; progress and log lines, which are not kept, have none.
    """

    id: str | None = None
    event: str
    at: datetime | None = None
    user_id: str | None = None
    task_id: str | None = None
    ref: str | None = None
    attempt: int | None = None
    was: str | None = None
    now: str | None = None
    data: dict[str, Any] | None = None


class LogLine(Struct, kw_only=True):
    """A piece of what an attempt wrote; one or more lines of text."""

    attempt: int = 1
    at: datetime | None = None
    text: str = ""
    cursor: str | None = None
    """Handed to `log` as `after`: what came after this piece."""


class Backpressure(Struct, kw_only=True):
    """How long the line is: one's own or the hub's (`scope`), whichever is worse."""

    type: str = "backpressure"
    level: str = "normal"
    """`normal`; `warning`: slow down; `critical`: proactive and low-priority tasks are refused."""
    scope: str = "user"
    queue_depth: int = 0
    estimated_wait_time: float | None = None
    """Seconds until a task that comes now is started; None: nobody knows."""
    recommendations: list[str] = []


class WhyReason(Struct, kw_only=True):
    """One thing that holds a task."""

    code: str
    message: str = ""
    used: float | int | None = None
    limit: float | int | None = None
    until: datetime | None = None
    would_help: str | None = None


class WhyLack(Struct, kw_only=True):
    code: str
    message: str = ""


class WhyDaemon(Struct, kw_only=True):
    """A daemon that was considered, and what speaks against it."""

    id: str
    name: str
    eligible: bool = False
    lacks: list[WhyLack] = []


class Why(Struct, kw_only=True):
    """Why a task is not running, what would change it, and when."""

    task: str
    status: Status
    summary: str = ""
    position: int | None = None
    estimated_start: datetime | None = None
    reasons: list[WhyReason] = []
    daemons: list[WhyDaemon] = []


class QueueShare(Struct, kw_only=True):
    """One's tasks of one queue and level."""

    queue: str
    priority: str
    running: int = 0
    waiting: int = 0


class HeldBack(Struct, kw_only=True):
    """Tasks that the same thing holds back."""

    code: str
    message: str = ""
    would_help: str | None = None
    tasks: int = 0
    example: str = ""


class HeldOfUser(HeldBack, kw_only=True):
    """The same, and whose they are."""

    user_id: str


class Overview(Struct, kw_only=True):
    profile: str = ""
    running: int = 0
    waiting: int = 0
    queues: list[QueueShare] = []
    held_by: list[HeldBack] = []

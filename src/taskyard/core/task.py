"""The records of the core: a task, its attempts, and the parts that alike tasks share.

A record is both what the core holds in memory and what the store keeps (encoded by the store, which
is why every field has a default or is always set: an old row decodes into a newer record). A waiting
task must cost well under 1,000 bytes, so

* bodies (input, context, payload, result, checkpoint) are not here; they stay in the store;
* `Kind` and `Terms` are interned (`state.py`): ten thousand alike tasks share one of each;
* what few tasks have (`Trouble`) is a record of its own, absent until it is needed;
* the records hold no reference to anything mutable but their own parts, so the garbage collector
  never walks them (`gc=False`).

Instants are wall-clock milliseconds, durations end in their unit. No rule lives here.
"""

from msgspec import Struct

from taskyard.vocabulary import (
    DEFAULT_QUEUE,
    AttemptStatus,
    Backoff,
    DependsPolicy,
    Level,
    LostPolicy,
    ResultStatus,
    SourceType,
    Status,
    Verdict,
    ref_of,
)


class Needs(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a task asks of the daemon that runs it."""

    type: str = "general"
    model: str | None = None
    capabilities: tuple[str, ...] = ()
    target: str | None = None
    excluded: tuple[str, ...] = ()
    memory_mb: int = 0
    cpu_intensive: bool = False


class Kind(Struct, frozen=True, omit_defaults=True, gc=False):
    """Everything the rules read of a task besides its user and level. Alike tasks share one."""

    needs: Needs = Needs()
    queue: str = DEFAULT_QUEUE
    source: SourceType = SourceType.USER


class Terms(Struct, frozen=True, omit_defaults=True, gc=False):
    """How a task is run and retried. Alike tasks share one."""

    timeout_ms: int = 300_000
    max_attempts: int = 3
    retry_delay_ms: int = 30_000
    backoff: Backoff = Backoff.EXPONENTIAL
    decision_report: bool = False
    on_lost: LostPolicy = LostPolicy.REQUEUE
    on_depends_fail: DependsPolicy = DependsPolicy.BLOCK
    exclusive: str | None = None
    estimated_ms: int | None = None


class Failure(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why an attempt or a task ended badly, as the user reads it."""

    code: str
    message: str
    retryable: bool | None = None
    # Already encoded JSON, kept as it came.
    details: str | None = None


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class Attempt(Struct, omit_defaults=True, gc=False):
    """One try on one daemon. Only the newest attempt's word counts."""

    number: int
    daemon_id: str
    daemon_name: str
    boot_id: str
    assigned_at: int
    series: int = 1
    status: AttemptStatus = AttemptStatus.RUNNING
    accepted: bool = False
    started_at: int | None = None
    ended_at: int | None = None
    timeout_ms: int = 0
    error: Failure | None = None
    usage: Usage | None = None
    level: Level = Level.NORMAL
    """What it was granted as, and counts as while it runs."""
    in_place: str | None = None
    """The waiting parent in whose place it runs: it counts under no limit."""
    beyond: bool = False
    """Its daemon runs it beyond its slots, beside the waiting parent."""
    yields_to: str | None = None
    """The critical task for which it was told to make room."""
    charged_ms: int = 0
    """Of its running time, what was charged when it was given up (`usage.py`): it may turn out to go on."""


class Dependency(Struct, omit_defaults=True, gc=False):
    """One task this one waits for; `outcome` is None until it ended."""

    id: str
    outcome: Status | None = None
    at: int | None = None


class Note(Struct, frozen=True, omit_defaults=True, gc=False):
    """A remark the hub adds to `context_input`: a dependency's failure, a missing decision report."""

    kind: str
    message: str
    at: int
    source_task: str | None = None


class Avoidance(Struct, omit_defaults=True, gc=False):
    """A daemon this task stays away from until an instant; `firm` holds even on a fleet of one."""

    daemon_id: str
    until: int
    firm: bool


class Reviewed(Struct, frozen=True, omit_defaults=True, gc=False):
    """A person's verdict on a dead letter."""

    verdict: Verdict
    reason: str
    by: str
    at: int
    until: int | None = None
    to: str | None = None


class Trouble(Struct, omit_defaults=True, gc=False):
    """What only a task that met difficulties carries."""

    avoid: list[Avoidance] = []
    unstarted: int = 0
    """Offers in a row that no daemon took up."""
    deaths: int = 0
    """Times a daemon's process died under it."""
    doubted: bool = False
    """A daemon's process died when this may have begun there, or not."""
    suspect: bool = False
    preemptions: int = 0
    preempted_by: str | None = None
    """The critical task it last made room for."""
    timeout_factor: float = 1.0
    blocked_reason: str | None = None
    skipped_reason: str | None = None
    cancel_reason: str | None = None
    """Of one that was asked to stop too, before it has."""
    waiting_for_daemon: str | None = None
    notes: list[Note] = []
    rate_limits: int = 0
    aged: bool = False
    """Of level low, and waited so long that it is ordered as normal."""
    told_critical: bool = False
    told_sla: bool = False
    review: Reviewed | None = None
    """The last one."""


class Task(Struct, omit_defaults=True, gc=False, kw_only=True):
    """One piece of work and where it stands."""

    id: str
    user_id: str
    number: int
    kind: Kind
    terms: Terms
    created_at: int
    status: Status = Status.PENDING
    level: Level = Level.NORMAL
    value: int = 5
    asked: Level | None = None
    """The level it was submitted with, when escalation or inheritance raised `level`."""
    ceiling: Level | None = None
    queued_at: int | None = None
    scheduled_at: int | None = None
    started_at: int | None = None
    completed_at: int | None = None
    not_before: int | None = None
    deadline: int | None = None
    sla: int | None = None
    parent_id: str | None = None
    depth: int = 0
    """How many parents are above it."""
    key: str | None = None
    digest: str | None = None
    correlation_id: str | None = None
    traceparent: str | None = None
    """The trace its submission belongs to; no rule reads it."""
    tracestate: str | None = None
    """What goes on with that, as it came."""
    schedule_id: str | None = None
    """The schedule that made it."""
    depends: list[Dependency] | None = None
    attempts: list[Attempt] | None = None
    series: int = 1
    cancel_requested_at: int | None = None
    trouble: Trouble | None = None
    error: Failure | None = None
    summary: str | None = None
    result_status: ResultStatus | None = None
    checkpoint: bool = False
    shelved: bool = False
    """It was in the archive of where it was imported from, and goes into ours whenever it ended."""
    trail: tuple[int, ...] = ()
    """The commits at which something happened to it: where its events are found."""

    @property
    def ref(self) -> str:
        return ref_of(self.number)

    @property
    def newest(self) -> Attempt | None:
        return self.attempts[-1] if self.attempts else None


class Echo:
    """One task's end on its way to its dependants; long ones travel over several commits."""

    __slots__ = ("at", "heard", "heirs", "outcome", "task_id")

    def __init__(self, task_id: str, outcome: Status | None, at: int, heirs: list[str]) -> None:
        self.task_id = task_id
        self.outcome = outcome
        """None: it is open again."""
        self.at = at
        self.heirs = heirs
        self.heard = 0


def ms_of(seconds: float) -> int:
    return round(seconds * 1000)

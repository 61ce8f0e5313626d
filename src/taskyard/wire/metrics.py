"""`GET /api/v1/metrics`: how the hub does, in numbers; and how it did."""

from typing import Final, Literal

from msgspec import Struct, field

from taskyard.vocabulary import Level, Pressure, SourceType
from taskyard.wire.fields import Instant

MINUTE_S: Final = 60
HOUR_S: Final = 3600

Range = Literal["hour", "day", "week", "month"]


class MetricsAnswer(Struct, kw_only=True):
    """Times and rates are of the last five minutes, 0 when nothing happened; depths and daemons are of this moment."""

    queue_depth_total: int
    """Tasks that are ready and wait for a daemon."""
    queue_depth_by_priority: dict[Level, int]
    queue_depth_by_source: dict[SourceType, int]
    queue_depth_by_queue: dict[str, int]
    tasks_running: int
    tasks_enqueued_per_minute: int
    """Submitted in the last 60 seconds."""
    tasks_completed_per_minute: int
    tasks_failed_per_minute: int
    """Failed for good."""
    avg_queue_wait_time_ms: float
    """From becoming ready until a daemon was chosen."""
    p50_queue_wait_time_ms: float
    p99_queue_wait_time_ms: float
    avg_execution_time_ms: float
    """Of attempts, from their start to their end."""
    p50_execution_time_ms: float
    p99_execution_time_ms: float
    daemons_online: int
    """Connected, whatever they do."""
    daemons_busy: int
    """Of those, without a free slot."""
    total_daemon_capacity: int
    used_daemon_capacity: int
    retry_rate: float
    """Of the attempts that ended, how many were followed by another try."""
    failure_rate: float
    """… how many failed, timeouts included."""
    timeout_rate: float
    breakers_open: int
    breakers_half_open: int
    backpressure_level: Pressure
    avg_commit_rows: float
    avg_commit_time_ms: float
    p50_commit_time_ms: float
    p99_commit_time_ms: float
    avg_event_loop_lag_ms: float
    p99_event_loop_lag_ms: float


class HistoryPoint(Struct, kw_only=True):
    """Of one step: depth, slots and what runs as they stood on average, the rest as it happened."""

    at: Instant
    """When the step began."""
    depth: dict[Level, int]
    running: int
    enqueued: int
    completed: int
    failed: int
    """For good."""
    wait_p50_ms: float | None
    """None: nothing began to run."""
    wait_p99_ms: float | None
    execution_p50_ms: float | None
    """None: nothing that ran has ended."""
    execution_p99_ms: float | None
    slots: int
    slots_used: int
    daemons_online: int


class HistoryAnswer(Struct, kw_only=True):
    """A step without a point is one in which no hub was there to write it down."""

    step_s: int
    from_: Instant = field(name="from")
    points: list[HistoryPoint]

"""Daemons, queues, breakers, people and hubs as the hub answers them, read as `answers.py` reads tasks."""

from datetime import datetime
from typing import Any

from msgspec import Struct


class RunningTask(Struct, kw_only=True):
    task: str
    attempt: int = 1


class DaemonRecord(Struct, kw_only=True):
    id: str
    name: str
    status: str
    user_id: str = ""
    shared: bool = False
    capabilities: list[str] = []
    models: list[str] = []
    types: list[str] = []
    active_tasks: int = 0
    max_concurrent_tasks: int = 0
    current_load: float = 0.0
    memory_free_mb: int | None = None
    last_heartbeat: datetime | None = None
    connected_at: datetime | None = None
    version: str = ""
    running: list[RunningTask] = []
    idle_because: str | None = None


class QueueRecord(Struct, kw_only=True):
    """A queue as its caller meets it; `waiting` and `running` are their own tasks."""

    name: str
    models: list[str] = []
    max_concurrent: int | None = None
    state: str = "open"
    until: datetime | None = None
    waiting: int = 0
    running: int = 0


class BreakerRecord(Struct, kw_only=True):
    """Of one type of task: what failed lately, and whether it is held back for that."""

    type: str
    user_id: str = ""
    state: str
    failures: int = 0
    last_failure_at: datetime | None = None
    opened_at: datetime | None = None
    half_open_at: datetime | None = None
    """When one task may try."""
    probe: str | None = None
    """The id of the task that tries."""
    failure_threshold: int = 0
    cooldown: float = 0.0


class UserRecord(Struct, kw_only=True):
    id: str
    name: str
    plan: str | None = None
    overrides: dict[str, Any] | None = None
    created_at: datetime | None = None
    usage: "QueueStatus | None" = None
    """In a list that was asked for with it."""


class Me(Struct, kw_only=True):
    """Who is asking, and what this key may do."""

    id: str
    name: str
    plan: str | None = None
    scopes: list[str] = []
    profile: str | None = None


class PlanRecord(Struct, kw_only=True):
    """What users of a plan may have; None: as much as there is."""

    name: str
    max_concurrent_agents: int | None = None
    max_task_duration_minutes: int | float | None = None
    monthly_agent_hours: int | float | None = None
    max_pending: int | None = None
    max_priority: str | None = None


class Limits(Struct, kw_only=True):
    """What one may have, has used this month, and when the next one begins."""

    plan: str | None = None
    max_concurrent_agents: int | None = None
    max_task_duration_minutes: int | float | None = None
    max_priority: str | None = None
    max_pending: int | None = None
    pending: int = 0
    monthly_agent_hours_limit: int | float | None = None
    monthly_agent_hours_used: float = 0.0
    billing_cycle_resets_at: datetime | None = None


class QueueStatus(Struct, kw_only=True):
    """Whether one more task would start now, as far as it is a matter of one's plan."""

    running: int = 0
    pending: int = 0
    max_concurrent: int | None = None
    can_start_more: bool = True
    monthly_hours_used: float = 0.0
    monthly_hours_limit: int | float | None = None


class SignInLink(Struct, kw_only=True):
    """A secret: whoever opens it first, within its time, is signed in as the key's user."""

    path: str
    """At the hub's address."""
    expires_at: datetime


class KeyRecord(Struct, kw_only=True, omit_defaults=True):
    id: str
    name: str = ""
    user_id: str | None = None
    scopes: list[str] = []
    key: str | None = None
    """Shown once, in the answer that made it."""
    max_priority: str | None = None
    priority_scale: str | None = None
    sources: list[str] | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None


class AuditEntry(Struct, kw_only=True):
    at: datetime
    actor: str
    action: str
    subject: str = ""
    old: Any = None
    new: Any = None
    by: str | None = None
    """The actor's name, for admins."""
    until: datetime | None = None
    """Of the verdict `wait`."""
    to: str | None = None
    """Of the verdict `escalate`."""


class HubRecord(Struct, kw_only=True):
    """A hub of the yard, and whether it leads."""

    id: str
    address: str = ""
    leader: bool = False
    epoch: int | None = None
    """Of whoever leads."""
    since: datetime | None = None
    """When it began to lead, or to run."""
    lag_s: float = 0.0
    """How long ago it was last heard of."""


class Metrics(Struct, kw_only=True):
    """How the hub does. Times and rates are of the last five minutes, depths and daemons of this moment."""

    queue_depth_total: int = 0
    """Tasks that are ready and wait for a daemon."""
    queue_depth_by_priority: dict[str, int] = {}
    queue_depth_by_source: dict[str, int] = {}
    queue_depth_by_queue: dict[str, int] = {}
    tasks_running: int = 0
    tasks_enqueued_per_minute: int = 0
    """Submitted in the last 60 seconds."""
    tasks_completed_per_minute: int = 0
    tasks_failed_per_minute: int = 0
    """Failed for good."""
    avg_queue_wait_time_ms: float = 0.0
    """From becoming ready until a daemon was chosen."""
    p50_queue_wait_time_ms: float = 0.0
    p99_queue_wait_time_ms: float = 0.0
    avg_execution_time_ms: float = 0.0
    """Of attempts, from their start to their end."""
    p50_execution_time_ms: float = 0.0
    p99_execution_time_ms: float = 0.0
    daemons_online: int = 0
    """Connected, whatever they do."""
    daemons_busy: int = 0
    """Of those, without a free slot."""
    total_daemon_capacity: int = 0
    used_daemon_capacity: int = 0
    retry_rate: float = 0.0
    """Of the attempts that ended, how many were followed by another try."""
    failure_rate: float = 0.0
    """… how many failed, timeouts included."""
    timeout_rate: float = 0.0
    breakers_open: int = 0
    breakers_half_open: int = 0
    backpressure_level: str = "normal"
    avg_commit_rows: float = 0.0
    avg_commit_time_ms: float = 0.0
    p50_commit_time_ms: float = 0.0
    p99_commit_time_ms: float = 0.0
    avg_event_loop_lag_ms: float = 0.0
    p99_event_loop_lag_ms: float = 0.0

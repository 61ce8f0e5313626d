"""Answers about plans, limits and used time."""

from msgspec import Struct

from taskyard.vocabulary import Level
from taskyard.wire.fields import Instant


class PlanAnswer(Struct, kw_only=True):
    """What users of a plan may have; null: as much as there is."""

    name: str
    max_concurrent_agents: int | None
    max_task_duration_minutes: int | float | None
    monthly_agent_hours: int | float | None
    max_pending: int | None
    max_priority: Level | None


class LimitsAnswer(Struct, kw_only=True):
    """What one user may have, with their own overrides, and has used."""

    plan: str | None
    max_concurrent_agents: int | None
    max_task_duration_minutes: int | float | None
    max_priority: Level | None
    """The highest that any of their tasks has; null: `critical`."""
    max_pending: int | None
    pending: int
    """Tasks that no daemon holds, which is what `max_pending` limits."""
    monthly_agent_hours_limit: int | float | None
    monthly_agent_hours_used: float
    """To two decimals; kept exactly."""
    billing_cycle_resets_at: Instant


class QueueStatusAnswer(Struct, kw_only=True):
    """Whether one more task would start now, as far as it is a matter of one's plan."""

    running: int
    pending: int
    max_concurrent: int | None
    can_start_more: bool
    monthly_hours_used: float
    monthly_hours_limit: int | float | None

"""What a user may have: the plan's numbers, what was agreed beside it, and what holds for those without one.

A user's own override comes first, then the plan, then the hub's default. The built-in local user of the local profile
is one's own machine: it has none of these limits unless it was given a plan. A plan that was taken out of the settings
while users had it leaves them with the defaults of those without one.
"""

from typing import Final

from msgspec import Struct

from taskyard.core.effects import Refused
from taskyard.core.settings import Plan, Settings
from taskyard.core.state import State, User
from taskyard.core.task import ms_of
from taskyard.vocabulary import LOCAL_USER, Level, Profile, Refusal

HOUR_S: Final = 3600
MINUTE_S: Final = 60
ENTERPRISE: Final = "enterprise"


class Allowance(Struct, frozen=True):
    """A user's limits as they stand; None: as much as there is."""

    is_unlimited: bool
    """One's own machine: no rate, no pending, no depth limits either."""
    plan: str | None
    concurrent: int | None
    per_source: dict[str, int]
    pending: int | None
    hours_ms: int | None
    """Agent time per month."""
    duration_ms: int | None
    """The longest a task may run."""
    max_priority: Level | None


def allowance_of(state: State, user: User) -> Allowance:
    """Worked out once per settings: every decision asks."""
    if user.allowance is None or user.allowance_under is not state.settings:
        user.allowance, user.allowance_under = _work_out(state.settings, user), state.settings
    return user.allowance


def unknown_plan(state: State, name: str | None) -> Refused | None:
    """A plan that nobody configured would limit nothing."""
    if name is None or name in state.settings.plans:
        return None
    known = ", ".join(state.settings.plans)
    return Refused(Refusal.INVALID_INPUT, f"There is no plan {name}; there are: {known}.", field="plan")


def _work_out(settings: Settings, user: User) -> Allowance:
    record = user.record
    plan = None if record.plan is None else settings.plans.get(record.plan)
    is_unlimited = record.plan is None and settings.profile is Profile.LOCAL and record.name == LOCAL_USER
    base = plan or Plan(max_concurrent_agents=None if is_unlimited else settings.limits.running_per_user)
    concurrent = record.overrides.get("max_concurrent_agents", base.max_concurrent_agents)
    hours = record.overrides.get("monthly_agent_hours", base.monthly_agent_hours)
    minutes = record.overrides.get("max_task_duration_minutes", base.max_task_duration_minutes)
    pending = record.overrides.get("max_pending", None if is_unlimited else pending_max(settings, record.plan, base))
    return Allowance(
        is_unlimited=is_unlimited,
        plan=record.plan,
        concurrent=None if concurrent is None else int(concurrent),
        per_source={} if is_unlimited else _per_source(settings, plan, concurrent),
        pending=None if pending is None else int(pending),
        hours_ms=None if hours is None else ms_of(hours * HOUR_S),
        duration_ms=None if minutes is None else ms_of(minutes * MINUTE_S),
        max_priority=base.max_priority,
    )


def pending_max(settings: Settings, name: str | None, plan: Plan) -> int:
    """The plan's, as far as any plan may go. An override is one person's word about one user, and stands as it is."""
    limits = settings.limits
    most = limits.pending_per_enterprise_user_max if name == ENTERPRISE else limits.pending_per_user_max
    return most if plan.max_pending is None else min(plan.max_pending, most)


def _per_source(settings: Settings, plan: Plan | None, concurrent: float | None) -> dict[str, int]:
    """Never less than the plan lets the user run; without a plan they stand as they are."""
    limits = settings.limits.running_per_source
    if plan is None:
        return dict(limits)
    return {} if concurrent is None else {source: max(limit, int(concurrent)) for source, limit in limits.items()}

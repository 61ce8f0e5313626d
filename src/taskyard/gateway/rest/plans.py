"""Plans, and what of theirs a user has used."""

from typing import Final

from taskyard.core.plans import pending_max
from taskyard.core.settings import Plan, Settings
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.views import UsageView
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import instant_of
from taskyard.wire.plans import LimitsAnswer, PlanAnswer, QueueStatusAnswer

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000


async def list_plans(call: Call[Empty], _body: Empty) -> Reply:
    settings = call.hub.settings
    return Reply([_answer(settings, name, plan) for name, plan in settings.plans.items()])


async def show(call: Call[Empty], _body: Empty) -> Reply:
    settings = call.hub.settings
    plan = settings.plans.get(call.id)
    if plan is None:
        known = ", ".join(settings.plans)
        raise RequestRefused(Refusal.PLAN_NOT_FOUND, f"There is no plan {call.id}; there are: {known}.")
    return Reply(_answer(settings, call.id, plan))


async def limits(call: Call[OfUser], _body: Empty) -> Reply:
    usage = await call.hub.usage(call.user_id(call.query.user))
    return Reply(
        LimitsAnswer(
            plan=usage.plan,
            max_concurrent_agents=usage.max_concurrent,
            max_task_duration_minutes=_in(MINUTE_MS, usage.duration_ms),
            max_priority=usage.max_priority,
            max_pending=usage.max_pending,
            pending=usage.pending,
            monthly_agent_hours_limit=_in(HOUR_MS, usage.limit_ms),
            monthly_agent_hours_used=hours_of(usage.used_ms),
            billing_cycle_resets_at=instant_of(usage.resets_at),
        )
    )


async def queue_status(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(status_of(await call.hub.usage(call.user_id(call.query.user))))


def status_of(usage: UsageView) -> QueueStatusAnswer:
    return QueueStatusAnswer(
        running=usage.running,
        pending=usage.pending,
        max_concurrent=usage.max_concurrent,
        can_start_more=usage.can_start,
        monthly_hours_used=hours_of(usage.used_ms),
        monthly_hours_limit=_in(HOUR_MS, usage.limit_ms),
    )


def hours_of(ms: int) -> float:
    """As it is shown: to two decimals."""
    return round(ms / HOUR_MS, 2)


def _in(unit_ms: int, ms: int | None) -> int | float | None:
    return None if ms is None else _plain(ms / unit_ms)


def _plain(number: float) -> int | float:
    """30, not 30.0: most limits are whole, and are read by people."""
    return int(number) if number == int(number) else number


def _answer(settings: Settings, name: str, plan: Plan) -> PlanAnswer:
    minutes, hours = plan.max_task_duration_minutes, plan.monthly_agent_hours
    return PlanAnswer(
        name=name,
        max_concurrent_agents=plan.max_concurrent_agents,
        max_task_duration_minutes=None if minutes is None else _plain(minutes),
        monthly_agent_hours=None if hours is None else _plain(hours),
        max_pending=pending_max(settings, name, plan),
        max_priority=plan.max_priority,
    )

"""What people see of the live state that no row holds."""

from collections import Counter
from collections.abc import Sequence

from taskyard.core.breakers import breaker_of, numbers_of, probe_of, state_of
from taskyard.core.claims import is_free
from taskyard.core.hooks import NO_DELIVERIES, hooks_of, secrets_of
from taskyard.core.plans import allowance_of
from taskyard.core.queues import is_paused, limit_of, queue_names, queue_of
from taskyard.core.state import Daemon, Now, State
from taskyard.core.templates import templates_of
from taskyard.core.usage import usage_at, used_ms
from taskyard.gateway.views import BreakerView, DaemonView, HookView, QueueView, Receiver, TemplateView, UsageView
from taskyard.vocabulary import DaemonStatus, QueueState


def daemon_views(state: State) -> list[DaemonView]:
    """Without the slots of agents that neither wait nor work: there is nobody behind them."""
    return [_view(daemon) for daemon in state.daemons.values() if not is_free(daemon)]


def breaker_views(state: State, user_id: str | None, now_ms: int) -> list[BreakerView]:
    """The newest failure or opening first."""
    users = state.users if user_id is None else (user_id,)
    found = [(one, breaker) for one in users for breaker in state.users[one].breakers.values()]
    found.sort(key=lambda pair: max(pair[1].opened_at or 0, pair[1].last_failure_at or 0), reverse=True)
    return [breaker_view(state, one, breaker.type, now_ms) for one, breaker in found]


def breaker_view(state: State, user_id: str, type: str, now_ms: int) -> BreakerView:
    user = state.users[user_id]
    breaker, numbers = breaker_of(user, type), numbers_of(state.settings, type)
    return BreakerView(
        type=type,
        state=state_of(breaker, now_ms),
        failures=breaker.failures,
        last_failure_at=breaker.last_failure_at,
        opened_at=breaker.opened_at,
        half_open_at=None if breaker.opened_at is None else breaker.half_open_at,
        probe=probe_of(user, breaker),
        failure_threshold=numbers.failure_threshold,
        cooldown=numbers.cooldown,
        user_id=user_id,
    )


def hook_views(state: State, user_id: str | None, now_ms: int) -> list[HookView]:
    return [
        HookView(
            id=hook.id,
            user_id=hook.user_id,
            name=hook.name,
            provider=hook.provider,
            template=hook.template,
            max_priority=hook.max_priority,
            created_at=hook.created_at,
            previous_until=hook.previous_until if len(secrets_of(hook, now_ms)) > 1 else None,
            events=hook.events,
            deliveries=seen.count,
            last_delivery_at=seen.last_at or None,
        )
        for hook in hooks_of(state, user_id)
        for seen in (state.hook_deliveries.get(hook.id, NO_DELIVERIES),)
    ]


def receiver_of(state: State, hook_id: str, now_ms: int) -> Receiver | None:
    hook = state.hooks.get(hook_id)
    if hook is None:
        return None
    return Receiver(
        id=hook.id,
        user_id=hook.user_id,
        provider=hook.provider,
        secrets=secrets_of(hook, now_ms),
        template=hook.template,
        max_priority=hook.max_priority,
        events=hook.events,
    )


def template_views(state: State, user_id: str | None, names: Sequence[str] | None) -> list[TemplateView]:
    wanted = None if names is None else frozenset(names)
    return [
        TemplateView(one.user_id, one.name, one.content, one.created_at, one.changed_at)
        for one in templates_of(state, user_id)
        if wanted is None or one.name in wanted
    ]


def _view(daemon: Daemon) -> DaemonView:
    record = daemon.record
    running = [(task.id, task.newest.number) for task in daemon.holding.values() if task.newest is not None]
    return DaemonView(
        id=record.id,
        name=record.name,
        user_id=record.user_id,
        shared=record.shared,
        status=status_of(daemon),
        capabilities=record.capabilities,
        models=record.models,
        types=record.types,
        active_tasks=daemon.active,
        max_concurrent_tasks=record.slots,
        current_load=daemon.load,
        memory_free_mb=daemon.memory_free_mb,
        last_heartbeat=record.last_seen_at or None,
        connected_at=record.connected_at,
        version=record.version,
        running=running,
    )


def status_of(daemon: Daemon) -> DaemonStatus:
    if not daemon.session:
        # An agent that claims is not connected while it works.
        return DaemonStatus.BUSY if daemon.record.pulls and daemon.holding else DaemonStatus.OFFLINE
    if daemon.record.draining:
        return DaemonStatus.DRAINING
    return DaemonStatus.ONLINE if daemon.has_room() else DaemonStatus.BUSY


def usage_view(state: State, user_id: str, now: Now) -> UsageView:
    user = state.users[user_id]
    allowance, used, running = allowance_of(state, user), used_ms(state, user, now), user.running.total
    has_room = allowance.concurrent is None or running < allowance.concurrent
    return UsageView(
        plan=allowance.plan,
        max_concurrent=allowance.concurrent,
        duration_ms=allowance.duration_ms,
        limit_ms=allowance.hours_ms,
        used_ms=used,
        resets_at=usage_at(user, now.wall).until,
        running=running,
        pending=user.pending,
        max_pending=allowance.pending,
        max_priority=allowance.max_priority,
        can_start=has_room and (allowance.hours_ms is None or used < allowance.hours_ms),
    )


def usage_views(state: State, user_ids: Sequence[str], now: Now) -> dict[str, UsageView]:
    return {user_id: usage_view(state, user_id, now) for user_id in user_ids if user_id in state.users}


def queue_views(state: State, user_id: str | None, now_ms: int) -> list[QueueView]:
    """In the order in which a model is looked for; then those that are in no configuration any more, but in use."""
    users = state.users.values() if user_id is None else [state.users[user_id]]
    waiting: Counter[str] = Counter()
    running: Counter[str] = Counter()
    for user in users:
        for lane in user.lanes.values():
            waiting[lane.kind.queue] += lane.size
        running.update(task.kind.queue for task in user.live.values())
    names = dict.fromkeys((*queue_names(state), *sorted({*state.queues, *waiting, *running})))
    views = []
    for name in names:
        queue, resting = queue_of(state, name), _rests(state, user_id, name, now_ms)
        shown = QueueState.OPEN if resting is None else QueueState.COOLING
        views.append(
            QueueView(
                name=name,
                models=() if queue is None else queue.models,
                max_concurrent=limit_of(state, name),
                state=QueueState.PAUSED if is_paused(state, name) else shown,
                until=min(resting or (), default=None),
                waiting=waiting[name],
                running=running[name],
            )
        )
    return views


def _rests(state: State, user_id: str | None, queue: str, now_ms: int) -> list[int] | None:
    """Until when it cools down in each pool, but for those where a probe is under way; None: it does not.

    For a user it does only if it does in every pool where their tasks could run.
    """
    yard = state.yard
    pools = yard.pools.values() if user_id is None else yard.pools_for(state.users[user_id])
    found = [record for pool in pools if (record := state.cooling.get((queue, pool.id))) is not None]
    resting = [record for record in found if now_ms < record.until or record.probe is not None]
    is_cooling = bool(resting) if user_id is None else len(resting) == len(pools)
    return [record.until for record in resting if now_ms < record.until] if is_cooling else None

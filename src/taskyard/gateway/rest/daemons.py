"""Daemons as their owners see them."""

from taskyard.core.commands import DrainDaemon
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.port import DaemonView
from taskyard.gateway.rest.tasks import ask
from taskyard.vocabulary import Refusal, Scope
from taskyard.wire.fields import instant_or_none
from taskyard.wire.people import DaemonAnswer, RunningAnswer
from taskyard.wire.tasks import OkAnswer


async def list_daemons(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.users(call.query.user)
    return Reply(await _answers(call, await _visible(call, user_id), user_id))


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.users(call.query.user)
    (answer,) = await _answers(call, [await _named(call, user_id)], user_id)
    return Reply(answer)


async def drain(call: Call[OfUser], _body: Empty) -> Reply:
    is_admin = Scope.ADMIN in call.principal.scopes
    user_id = call.users(call.query.user)
    view = await _named(call, user_id)
    await ask(
        call,
        DrainDaemon(daemon_id=view.id, user_id=None if is_admin else user_id, actor=call.principal.actor),
    )
    return Reply(OkAnswer())


async def _visible(call: Call[OfUser], user_id: str | None) -> list[DaemonView]:
    return [view for view in await call.hub.daemons() if user_id is None or view.shared or view.user_id == user_id]


async def _named(call: Call[OfUser], user_id: str | None) -> DaemonView:
    """By id, else by name, one's own before a shared one."""
    views = sorted(await _visible(call, user_id), key=lambda view: (view.id != call.id, view.user_id != user_id))
    for view in views:
        if call.id in (view.id, view.name):
            return view
    raise RequestRefused(Refusal.DAEMON_NOT_FOUND, "There is no such daemon that is yours or shared.")


async def _answers(call: Call[OfUser], views: list[DaemonView], user_id: str | None) -> list[DaemonAnswer]:
    reasons = await call.hub.idle_because([view.id for view in views], user_id) if views else {}
    return [_answer(view, user_id, reasons.get(view.id)) for view in views]


def _answer(view: DaemonView, user_id: str | None, idle_because: str | None) -> DaemonAnswer:
    """What a shared daemon runs is its owner's to see: the tasks may be anybody's."""
    is_own = user_id is None or view.user_id == user_id
    return DaemonAnswer(
        id=view.id,
        name=view.name,
        user_id=view.user_id,
        shared=view.shared,
        status=view.status,
        capabilities=list(view.capabilities),
        models=list(view.models),
        types=list(view.types),
        active_tasks=view.active_tasks,
        max_concurrent_tasks=view.max_concurrent_tasks,
        current_load=view.current_load,
        memory_free_mb=view.memory_free_mb,
        last_heartbeat=instant_or_none(view.last_heartbeat),
        connected_at=instant_or_none(view.connected_at),
        version=view.version,
        running=[RunningAnswer(task, attempt) for task, attempt in view.running] if is_own else [],
        idle_because=idle_because,
    )

"""Daemons as their owners see them."""

import re
from typing import Final

from msgspec.structs import replace

from taskyard.core.daemon_commands import DrainDaemon, ForgetDaemon, ResumeDaemon
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.views import DaemonView
from taskyard.vocabulary import DaemonStatus, Refusal, Scope
from taskyard.wire.fields import instant_or_none
from taskyard.wire.people import DaemonAnswer, RunningAnswer
from taskyard.wire.tasks import OkAnswer

_SLOT: Final = re.compile(r"(d_[0-9a-f]{30})\.[0-9]+")
"""An open claim, and the agent that it is a slot of (`core/claims.py`)."""


async def list_daemons(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.users(call.query.user)
    return Reply(await _answers(call, await _visible(call, user_id), user_id))


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.users(call.query.user)
    (answer,) = await _answers(call, await _named(call, user_id), user_id)
    return Reply(answer)


async def drain(call: Call[OfUser], _body: Empty) -> Reply:
    return await _ask_each(call, DrainDaemon)


async def resume(call: Call[OfUser], _body: Empty) -> Reply:
    return await _ask_each(call, ResumeDaemon)


async def forget(call: Call[OfUser], _body: Empty) -> Reply:
    return await _ask_each(call, ForgetDaemon, away_first=True)


async def _ask_each(
    call: Call[OfUser], command: type[DrainDaemon | ResumeDaemon | ForgetDaemon], *, away_first: bool = False
) -> Reply:
    user_id = call.users(call.query.user)
    owner = None if Scope.ADMIN in call.principal.scopes else user_id
    for view in await _named(call, user_id, away_first=away_first):
        await ask(call, command(daemon_id=view.id, user_id=owner, actor=call.principal.actor))
    return Reply(OkAnswer())


async def _visible(call: Call[OfUser], user_id: str | None) -> list[DaemonView]:
    return [view for view in await call.hub.daemons() if user_id is None or view.shared or view.user_id == user_id]


async def _named(call: Call[OfUser], user_id: str | None, *, away_first: bool = False) -> list[DaemonView]:
    """By id, else by name, one's own before a shared one; of an agent that claims, all its slots.

    `away_first`: of several of a name the one that was away longest, else the one that came first.
    """
    views = await _visible(call, user_id)
    if away_first:
        views.sort(key=lambda view: (view.status is not DaemonStatus.OFFLINE, view.last_heartbeat or 0))
    for view in sorted(views, key=lambda view: (view.id != call.id, view.user_id != user_id)):
        if call.id in (view.id, view.name, _agent_of(view)[1]):
            return [one for one in views if _agent_of(one) == _agent_of(view)]
    raise RequestRefused(Refusal.DAEMON_NOT_FOUND, "There is no such daemon that is yours or shared.")


async def _answers(call: Call[OfUser], views: list[DaemonView], user_id: str | None) -> list[DaemonAnswer]:
    reasons = await call.hub.idle_because([view.id for view in views], user_id) if views else {}
    by_agent: dict[tuple[str, str], list[DaemonView]] = {}
    for view in views:
        by_agent.setdefault(_agent_of(view), []).append(view)
    return [
        _answer(_together(agent, slots), user_id, next((reasons[one.id] for one in slots if one.id in reasons), None))
        for (_, agent), slots in by_agent.items()
    ]


def _agent_of(view: DaemonView) -> tuple[str, str]:
    """Whose and what it is: a slot of an agent that claims is that agent's, anything else is itself."""
    slot = _SLOT.fullmatch(view.id)
    return view.user_id, view.id if slot is None else slot[1]


def _together(id: str, slots: list[DaemonView]) -> DaemonView:
    """All open claims of an agent as one daemon with so many slots."""
    first = slots[0]
    if len(slots) == 1:
        return replace(first, id=id)
    free = next((slot.status for slot in slots if slot.status is DaemonStatus.ONLINE), first.status)
    return replace(
        first,
        id=id,
        status=free,
        active_tasks=sum(slot.active_tasks for slot in slots),
        max_concurrent_tasks=sum(slot.max_concurrent_tasks for slot in slots),
        current_load=max(slot.current_load for slot in slots),
        last_heartbeat=max((slot.last_heartbeat for slot in slots if slot.last_heartbeat is not None), default=None),
        running=[held for slot in slots for held in slot.running],
    )


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

"""Why a task is not running, and what holds one's tasks back."""

from collections.abc import Mapping, Sequence

from msgspec import structs

from taskyard.core.considered import Considered
from taskyard.core.idle import Group, Overview
from taskyard.core.story import story_of
from taskyard.core.why import Cause, Why
from taskyard.gateway.call import Call, Empty, OfUser, Reply
from taskyard.gateway.everybody import held_of_everybody
from taskyard.gateway.port import Hub
from taskyard.gateway.rest.tasks import find
from taskyard.store.port import Reader, StoredTask
from taskyard.wire.fields import instant_or_none
from taskyard.wire.why import (
    ConsideredAnswer,
    HeldAnswer,
    HeldOfUserAnswer,
    LackAnswer,
    OverviewAnswer,
    ReasonAnswer,
    ShareAnswer,
    WhyAnswer,
)


async def why(call: Call[OfUser], _body: Empty) -> Reply:
    """From the live state; an ended task, which is in it no longer, from its record."""
    found = await why_of(call.hub, await find(call, call.query.user))
    if found is None:
        # It may have ended since it was read.
        task = (await find(call, call.query.user)).task
        found = Why(task.ref, task.status, story_of(task, call.hub.now_ms()))
    return Reply(_why_answer(found))


async def why_of(hub: Hub, stored: StoredTask) -> Why | None:
    """Why a task does not run; None if it has ended. The hub keeps only refs of open tasks in mind."""
    found = await hub.why(stored.task.id, {})
    if found is None or not found.unnamed:
        return found
    user_id, ids = stored.task.user_id, found.unnamed
    names = await hub.read(lambda reader: _names(reader, user_id, ids))
    return await hub.why(stored.task.id, names)


def _names(reader: Reader, user_id: str, ids: Sequence[str]) -> Mapping[str, str]:
    found = (reader.find(user_id=user_id, task=task_id) for task_id in ids)
    return {one.task.id: one.task.ref for one in found if one is not None}


async def overview(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(_overview_answer(await call.hub.overview(call.user_id(call.query.user))))


async def everybody(call: Call[Empty], _body: Empty) -> Reply:
    found = await held_of_everybody(call.hub)
    return Reply([HeldOfUserAnswer(**structs.asdict(_held_answer(group)), user_id=user_id) for user_id, group in found])


def _why_answer(found: Why) -> WhyAnswer:
    return WhyAnswer(
        task=found.task,
        status=found.status,
        summary=found.summary,
        position=found.position,
        estimated_start=instant_or_none(found.estimated_start),
        reasons=[_reason_answer(cause) for cause in found.reasons],
        daemons=[_considered_answer(one) for one in found.daemons],
    )


def _reason_answer(cause: Cause) -> ReasonAnswer:
    return ReasonAnswer(
        code=cause.code,
        message=cause.message,
        used=cause.used,
        limit=cause.limit,
        until=instant_or_none(cause.until),
        would_help=cause.would_help,
    )


def _considered_answer(one: Considered) -> ConsideredAnswer:
    lacks = [LackAnswer(code=said.code, message=said.message) for said in one.lacks]
    return ConsideredAnswer(id=one.id, name=one.name, eligible=one.eligible, lacks=lacks)


def _overview_answer(found: Overview) -> OverviewAnswer:
    return OverviewAnswer(
        profile=found.profile,
        running=found.running,
        waiting=found.waiting,
        queues=[
            ShareAnswer(queue=each.queue, priority=each.level, running=each.running, waiting=each.waiting)
            for each in found.shares
        ],
        held_by=[_held_answer(group) for group in found.held],
    )


def _held_answer(group: Group) -> HeldAnswer:
    cause = group.cause
    return HeldAnswer(
        code=cause.code,
        message=cause.message,
        would_help=cause.would_help,
        tasks=group.tasks,
        example=group.example,
    )

"""Model-source queues: everybody sees them, admins change them."""

from taskyard.core.yard_commands import DeleteQueue, PauseQueue, PutQueue, ResumeQueue
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.views import QueueView
from taskyard.vocabulary import Refusal
from taskyard.wire.fields import NAME_CHARS_MAX, instant_or_none
from taskyard.wire.queues import QueueAnswer, QueueChange
from taskyard.wire.tasks import OkAnswer


async def list_queues(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply([_answer(view) for view in await call.hub.queues(call.users(call.query.user))])


async def put(call: Call[OfUser], body: QueueChange) -> Reply:
    if len(call.id) > NAME_CHARS_MAX or not call.id.isprintable():
        raise RequestRefused(
            Refusal.INVALID_INPUT, f"A queue's name has at most {NAME_CHARS_MAX} characters, all of them printable."
        )
    command = PutQueue(
        name=call.id,
        models=tuple(dict.fromkeys(body.models)),
        max_concurrent=body.max_concurrent,
        actor=call.principal.actor,
    )
    await ask(call, command)
    return await _shown(call)


async def delete(call: Call[OfUser], _body: Empty) -> Reply:
    await ask(call, DeleteQueue(name=call.id, actor=call.principal.actor))
    return Reply(OkAnswer())


async def pause(call: Call[OfUser], _body: Empty) -> Reply:
    await ask(call, PauseQueue(name=call.id, actor=call.principal.actor))
    return await _shown(call)


async def resume(call: Call[OfUser], _body: Empty) -> Reply:
    await ask(call, ResumeQueue(name=call.id, actor=call.principal.actor))
    return await _shown(call)


async def _shown(call: Call[OfUser]) -> Reply:
    """The queue as it now is; one that was removed in the same moment is not there."""
    views = await call.hub.queues(call.users(call.query.user))
    found = next((view for view in views if view.name == call.id), None)
    if found is None:
        raise RequestRefused(Refusal.QUEUE_NOT_FOUND, f"There is no queue {call.id}.")
    return Reply(_answer(found))


def _answer(view: QueueView) -> QueueAnswer:
    return QueueAnswer(
        name=view.name,
        models=list(view.models),
        max_concurrent=view.max_concurrent,
        state=view.state,
        until=instant_or_none(view.until),
        waiting=view.waiting,
        running=view.running,
    )

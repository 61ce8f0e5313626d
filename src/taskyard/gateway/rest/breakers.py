"""Breakers: what of one's work is held back because it kept failing."""

from taskyard.core.yard_commands import OpenBreaker, ResetBreaker
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.views import BreakerView
from taskyard.vocabulary import Refusal
from taskyard.wire.breakers import BreakerAnswer
from taskyard.wire.fields import NAME_CHARS_MAX, instant_or_none
from taskyard.wire.problems import FieldError


async def list_breakers(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply([_answer(view) for view in await call.hub.breakers(call.users(call.query.user))])


async def reset(call: Call[OfUser], _body: Empty) -> Reply:
    user_id, type = call.user_id(call.query.user), _type(call)
    await ask(call, ResetBreaker(user_id=user_id, type=type, actor=call.principal.actor))
    return Reply(_answer(await call.hub.breaker(user_id, type)))


async def force_open(call: Call[OfUser], _body: Empty) -> Reply:
    user_id, type = call.user_id(call.query.user), _type(call)
    await ask(call, OpenBreaker(user_id=user_id, type=type, actor=call.principal.actor))
    return Reply(_answer(await call.hub.breaker(user_id, type)))


def _type(call: Call[OfUser]) -> str:
    """Any that a task could have; it need not have had a breaker so far."""
    if len(call.id) > NAME_CHARS_MAX:
        message = f"A type has at most {NAME_CHARS_MAX} characters."
        raise RequestRefused(Refusal.INVALID_INPUT, message, errors=(FieldError("type", message),))
    return call.id


def _answer(view: BreakerView) -> BreakerAnswer:
    return BreakerAnswer(
        type=view.type,
        user_id=view.user_id,
        state=view.state,
        failures=view.failures,
        last_failure_at=instant_or_none(view.last_failure_at),
        opened_at=instant_or_none(view.opened_at),
        half_open_at=instant_or_none(view.half_open_at),
        probe=view.probe,
        failure_threshold=view.failure_threshold,
        cooldown=view.cooldown,
    )

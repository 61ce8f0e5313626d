"""Notifications: which of one's events are told to which addresses, and what became of telling them."""

from typing import NoReturn, TypeVar

import msgspec

from taskyard.core.notices import PENDING
from taskyard.core.notification_commands import (
    ChangeNotification,
    CreateNotification,
    DeleteNotification,
    ResendDelivery,
)
from taskyard.core.told import KEEP
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.destinations import BadDestination, objection_to, read_allowed, read_destination
from taskyard.gateway.pages import link_to_next, place_of
from taskyard.gateway.rest.tasks import ask
from taskyard.gateway.views import DeliveryView, NotificationView
from taskyard.vocabulary import Refusal, Scope, ref_of
from taskyard.vocabulary.notices import CALLED, DeliveryStatus, NoticeName
from taskyard.wire.fields import PAGE, Limit, Name, instant_of, instant_or_none
from taskyard.wire.notifications import (
    DeliveryAnswer,
    IssuedNotification,
    NewNotification,
    NotificationAnswer,
    NotificationChange,
)
from taskyard.wire.problems import FieldError
from taskyard.wire.tasks import OkAnswer
from taskyard.wire.webhooks import KEY_BYTES_MAX, KEY_BYTES_MIN, key_of, secret_of

Q = TypeVar("Q")


class DeliveryQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    status: DeliveryStatus | None = None
    limit: Limit = PAGE
    cursor: Name | None = None


async def list_notifications(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply([_answer(view) for view in await call.hub.notifications(call.user_id(call.query.user))])


async def create(call: Call[OfUser], body: NewNotification) -> Reply:
    if body.hub and Scope.ADMIN not in call.principal.scopes:
        raise RequestRefused(Refusal.FORBIDDEN, "Only an admin's key may ask for what is nobody's own (`hub`).")
    if body.secret is not None and key_of(body.secret) is None:
        _refuse("secret", f"A secret is whsec_ and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64.")
    secret = secret_of(call.hub.mint_secret()) if body.secret is None else body.secret
    command = CreateNotification(
        notification_id=f"n_{call.hub.mint()}",
        user_id=call.user_id(call.query.user),
        url=_address(call, body.url),
        events=_without_repeats(body.events),
        secret=secret,
        actor=call.principal.actor,
        hub=body.hub,
    )
    await ask(call, command)
    answer = _answer(await _view(call, command.user_id, command.notification_id))
    return Reply(IssuedNotification(**msgspec.structs.asdict(answer), secret=secret), status=201)


async def show(call: Call[OfUser], _body: Empty) -> Reply:
    return Reply(_answer(await _view(call, call.user_id(call.query.user), call.id)))


async def change(call: Call[OfUser], body: NotificationChange) -> Reply:
    user_id = call.user_id(call.query.user)
    command = ChangeNotification(
        notification_id=call.id,
        user_id=user_id,
        actor=call.principal.actor,
        url=KEEP if isinstance(body.url, msgspec.UnsetType) else _address(call, body.url),
        events=KEEP if isinstance(body.events, msgspec.UnsetType) else _without_repeats(body.events),
    )
    await ask(call, command)
    return Reply(_answer(await _view(call, user_id, call.id)))


async def delete(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.user_id(call.query.user)
    await ask(call, DeleteNotification(notification_id=call.id, user_id=user_id, actor=call.principal.actor))
    return Reply(OkAnswer())


async def list_deliveries(call: Call[DeliveryQuery], _body: Empty) -> Reply:
    query = call.query
    before = place_of(query.cursor)
    found = await call.hub.deliveries(call.user_id(query.user), call.id, query.status, before, query.limit + 1)
    if found is None:
        raise _not_found()
    page = found[: query.limit]
    headers = link_to_next(call.path, query, page[-1].delivery.id) if len(found) > query.limit else []
    return Reply([_delivery_answer(view) for view in page], headers=headers)


async def resend(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.user_id(call.query.user)
    notification_id, _, delivery_id = call.id.partition("/deliveries/")
    command = ResendDelivery(
        notification_id=notification_id, delivery_id=delivery_id, user_id=user_id, actor=call.principal.actor
    )
    await ask(call, command)
    delivery = await call.hub.delivery(user_id, notification_id, delivery_id)
    if delivery is None:
        # It was deleted in the same moment.
        raise RequestRefused(Refusal.DELIVERY_NOT_FOUND, "There is no such delivery any more.")
    return Reply(_delivery_answer(delivery))


def _address(call: Call[OfUser], url: str) -> str:
    """As it was written, if it may be told anything. What its name stands for is judged at every sending."""
    numbers = call.hub.settings.notifications
    try:
        objection = objection_to(read_destination(url), read_allowed(numbers.allow, numbers.ports))
    except BadDestination as bad:
        objection = str(bad)
    if objection is not None:
        _refuse("url", objection)
    return url


def _without_repeats(events: list[NoticeName]) -> tuple[NoticeName, ...]:
    return tuple(dict.fromkeys(events))


def _refuse(field: str, message: str) -> NoReturn:
    raise RequestRefused(Refusal.INVALID_INPUT, message, errors=(FieldError(field, message),))


def _not_found() -> RequestRefused:
    return RequestRefused(Refusal.NOTIFICATION_NOT_FOUND, "There is no such notification of yours.")


async def _view(call: Call[Q], user_id: str, notification_id: str) -> NotificationView:
    views = await call.hub.notifications(user_id)
    found = next((view for view in views if view.id == notification_id), None)
    if found is None:
        raise _not_found()
    return found


def _answer(view: NotificationView) -> NotificationAnswer:
    return NotificationAnswer(
        id=view.id,
        url=view.url,
        events=list(view.events),
        hub=view.hub,
        created_at=instant_of(view.created_at),
        pending=view.pending,
        dead=view.dead,
        dropped=view.dropped,
    )


def _delivery_answer(view: DeliveryView) -> DeliveryAnswer:
    delivery, event = view.delivery, view.delivery.event
    next_at = max(delivery.next_at, view.host_rests_until or 0)
    return DeliveryAnswer(
        id=delivery.id,
        type=CALLED[event.name],
        event_id=f"{delivery.epoch}-{delivery.seq}-{delivery.index}",
        task_id=event.task_id,
        ref=None if event.number is None else ref_of(event.number),
        status=delivery.status,
        attempts=delivery.attempts,
        created_at=instant_of(event.at),
        next_at=instant_of(next_at) if delivery.status is PENDING and not view.is_under_way else None,
        under_way=view.is_under_way,
        host_rests_until=instant_or_none(view.host_rests_until),
        ended_at=instant_or_none(delivery.ended_at),
        answered=delivery.answered,
        error=delivery.error,
    )

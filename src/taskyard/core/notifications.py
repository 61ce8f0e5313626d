"""Who is told of what happens: notifications, and what becomes of each delivery.

A delivery is made in the very commit that writes its event (`gather`, just before the cut), so that there is one for
each event that is on disk and none for what was rolled back. The hub that leads sends what is committed
(`hub/notifier.py`) and reports here how it went. A delivery that fails is tried again after a time that doubles, with
full jitter, for a day; then it is dead, and stays to be seen and sent again by a person.

Everything is bounded: notifications per user, deliveries that wait, those that are shown after their end. Where a
receiver is away for longer than there is room for, the oldest deliveries die first; what had to be dropped is counted.
"""

from typing import Final

from msgspec.json import Decoder

from taskyard.core.changes import Event
from taskyard.core.effects import Done, Refused, Reply
from taskyard.core.notices import (
    DEAD,
    DELIVERED,
    PENDING,
    Delivery,
    Notification,
    NotificationRecord,
    delivery_id,
)
from taskyard.core.notification_commands import (
    ChangeNotification,
    CreateNotification,
    DeleteNotification,
    ReportDelivery,
    ResendDelivery,
)
from taskyard.core.state import State, Turn
from taskyard.core.task import ms_of
from taskyard.core.timers import Clock, Due
from taskyard.core.told import Keep
from taskyard.vocabulary import EventName, Keeps, Refusal
from taskyard.vocabulary.notices import NOTICES, DeliveryStatus

RETRY_MS_MIN: Final = 1000
# Full jitter may say "at once"; a receiver that has just failed is left alone for a moment all the same.
DOUBLINGS_MAX: Final = 30
NO_NOTIFICATION: Final = Refused(Refusal.NOTIFICATION_NOT_FOUND, "There is no such notification of yours.")
NO_DELIVERY: Final = Refused(Refusal.DELIVERY_NOT_FOUND, "There is no such delivery of this notification.")
NO_ROOM: Final = "More deliveries waited than there is room for."
TOO_LATE: Final = "It was not delivered in time."

_notification: Final = Decoder(NotificationRecord)
_delivery: Final = Decoder(Delivery)


# What a person says.


def create(turn: Turn, command: CreateNotification) -> None:
    state, most = turn.state, turn.state.settings.notifications.per_user_max
    if len(state.notifications.get(command.user_id, ())) >= most:
        detail = f"You have {most} notifications, which is as many as one may have; delete one first."
        turn.effects.append(Reply(command.reply_to, Refused(Refusal.TOO_MANY_NOTIFICATIONS, detail)))
        return
    record = NotificationRecord(
        command.notification_id,
        command.user_id,
        command.url,
        command.events,
        command.secret,
        turn.now.wall,
        command.hub,
    )
    _hold(state, Notification(record))
    state.ledger.kept[Keeps.NOTIFICATION, record.id] = record
    turn.audit(actor=command.actor, action="notification.create", subject=record.id, new=", ".join(record.events))
    turn.effects.append(Reply(command.reply_to, Done()))


def change(turn: Turn, command: ChangeNotification) -> None:
    """What waits already goes to the new address; what is told from here on follows the new events."""
    state, found = turn.state, notification_of(turn.state, command.user_id, command.notification_id)
    if found is None:
        turn.effects.append(Reply(command.reply_to, NO_NOTIFICATION))
        return
    record, old = found.record, ", ".join(found.record.events)
    _unwatch(state, found)
    if not isinstance(command.url, Keep):
        record.url = command.url
    if not isinstance(command.events, Keep):
        record.events = command.events
    _watch(state, found)
    state.ledger.kept[Keeps.NOTIFICATION, record.id] = record
    turn.audit(
        actor=command.actor, action="notification.change", subject=record.id, old=old, new=", ".join(record.events)
    )
    turn.effects.append(Reply(command.reply_to, Done()))


def delete(turn: Turn, command: DeleteNotification) -> None:
    """With all its deliveries, in one commit: they are at most as many as may wait and be shown."""
    state, found = turn.state, notification_of(turn.state, command.user_id, command.notification_id)
    if found is None:
        turn.effects.append(Reply(command.reply_to, NO_NOTIFICATION))
        return
    for delivery in found.deliveries():
        state.timers.cancel(Clock.WALL, Due.DELIVERY, delivery.id)
        state.ledger.kept[Keeps.DELIVERY, delivery.id] = None
        del state.deliveries[delivery.id]
    own = state.notifications[command.user_id]
    del own[found.id]
    if not own:
        del state.notifications[command.user_id]
    _unwatch(state, found)
    state.ledger.kept[Keeps.NOTIFICATION, found.id] = None
    turn.audit(actor=command.actor, action="notification.delete", subject=found.id, old=", ".join(found.record.events))
    turn.effects.append(Reply(command.reply_to, Done()))


def resend(turn: Turn, command: ResendDelivery) -> None:
    """Send it now, whatever became of it, and try for as long again."""
    notification = notification_of(turn.state, command.user_id, command.notification_id)
    if notification is None:
        turn.effects.append(Reply(command.reply_to, NO_NOTIFICATION))
        return
    delivery = notification.find(command.delivery_id)
    if delivery is None:
        turn.effects.append(Reply(command.reply_to, NO_DELIVERY))
        return
    notification.take(delivery)
    delivery.status, delivery.failures, delivery.ended_at = PENDING, 0, None
    delivery.next_at = turn.now.wall
    delivery.until = turn.now.wall + ms_of(turn.state.settings.notifications.give_up_s)
    _enter(turn.state, notification, delivery)
    turn.audit(actor=command.actor, action="notification.resend", subject=notification.id, new=delivery.id)
    turn.effects.append(Reply(command.reply_to, Done()))


# What happens, and what becomes of telling it.


def gather(state: State, at: int) -> None:
    """Before the cut: a delivery for every event of the commit that somebody wants to be told of."""
    watched, ledger = state.watched, state.ledger
    for index, event in enumerate(ledger.events):
        wanted = watched.get(event.user_id)
        if wanted is not None and event.name in wanted:
            for notification in wanted[event.name]:
                _make(state, notification, event, index, at)


def _make(state: State, notification: Notification, event: Event, index: int, at: int) -> None:
    numbers, record, seq = state.settings.notifications, notification.record, state.ledger.seq
    pending = notification.of(PENDING)
    while len(pending) >= numbers.pending_max:
        _end(state, next(iter(pending.values())), DEAD, at=at, error=NO_ROOM)
    _enter(
        state,
        notification,
        Delivery(
            id=delivery_id(record.id, state.epoch, seq, index),
            user_id=record.user_id,
            notification_id=record.id,
            epoch=state.epoch,
            seq=seq,
            index=index,
            event=event,
            next_at=at,
            until=at + ms_of(numbers.give_up_s),
        ),
    )


def report(turn: Turn, command: ReportDelivery) -> None:
    """It was sent, or could not be. One that was deleted meanwhile is nobody's affair any more."""
    state, delivery = turn.state, turn.state.deliveries.get(command.delivery_id)
    if delivery is not None:
        delivery.attempts += 1
        delivery.answered, delivery.error = command.answered, command.error
        if command.error is None:
            _end(state, delivery, DELIVERED, at=turn.now.wall)
        elif delivery.status is PENDING:
            _try_again(turn, delivery, command)
        else:
            state.ledger.kept[Keeps.DELIVERY, delivery.id] = delivery
    turn.effects.append(Reply(command.reply_to, Done()))


def _try_again(turn: Turn, delivery: Delivery, command: ReportDelivery) -> None:
    delivery.failures += 1
    delivery.next_at = turn.now.wall + _wait_ms(turn, delivery.failures, command.retry_after_ms)
    if delivery.next_at >= delivery.until:
        _die(turn, delivery)
    else:
        turn.state.ledger.kept[Keeps.DELIVERY, delivery.id] = delivery


def _wait_ms(turn: Turn, failures: int, said_ms: int) -> int:
    """Somewhere between at once and a time that doubles; not before the receiver said, within reason."""
    numbers = turn.state.settings.notifications
    most_ms = ms_of(numbers.retry_max_s)
    grown_ms = min(ms_of(numbers.retry_first_s) * 2 ** min(failures - 1, DOUBLINGS_MAX), most_ms)
    return max(int(grown_ms * turn.dice.random()), min(said_ms, most_ms), RETRY_MS_MIN)


def give_up(turn: Turn, whose: str) -> None:
    """Its time is over."""
    _die(turn, turn.state.deliveries[whose])


def _die(turn: Turn, delivery: Delivery) -> None:
    _end(turn.state, delivery, DEAD, at=turn.now.wall, error=delivery.error or TOO_LATE)
    turn.announce(
        EventName.NOTIFICATION_DEAD,
        delivery.user_id,
        {"notification_id": delivery.notification_id, "delivery_id": delivery.id, "attempts": delivery.attempts},
    )


def _end(state: State, delivery: Delivery, status: DeliveryStatus, *, at: int, error: str | None = None) -> None:
    """It waits no longer; of those that ended like it, only the newest are kept."""
    notification = state.notifications[delivery.user_id][delivery.notification_id]
    notification.take(delivery)
    state.timers.cancel(Clock.WALL, Due.DELIVERY, delivery.id)
    delivery.status, delivery.ended_at, delivery.error = status, at, error
    notification.put(delivery)
    state.ledger.kept[Keeps.DELIVERY, delivery.id] = delivery
    numbers, alike = state.settings.notifications, notification.of(status)
    while len(alike) > (numbers.delivered_max if status is DELIVERED else numbers.dead_max):
        _drop(state, notification, next(iter(alike.values())))


def _drop(state: State, notification: Notification, delivery: Delivery) -> None:
    notification.take(delivery)
    del state.deliveries[delivery.id]
    state.ledger.kept[Keeps.DELIVERY, delivery.id] = None
    if delivery.status is DEAD:
        notification.record.dropped += 1
        state.ledger.kept[Keeps.NOTIFICATION, notification.id] = notification.record


# What is held.


def notification_of(state: State, user_id: str, notification_id: str) -> Notification | None:
    """This user's; another's is as unknown as one that never was."""
    return state.notifications.get(user_id, {}).get(notification_id)


def remember(state: State, _name: str, record: bytes) -> None:
    """What was kept of a notification."""
    _hold(state, Notification(_notification.decode(record)))


def remember_delivery(state: State, _name: str, record: bytes) -> None:
    delivery = _delivery.decode(record)
    notification = notification_of(state, delivery.user_id, delivery.notification_id)
    assert notification is not None, "I7: a delivery is of a notification"
    notification.put(delivery)
    state.deliveries[delivery.id] = delivery
    if delivery.status is PENDING:
        state.timers.set(Clock.WALL, Due.DELIVERY, delivery.id, delivery.until)


def _hold(state: State, notification: Notification) -> None:
    state.notifications.setdefault(notification.record.user_id, {})[notification.id] = notification
    _watch(state, notification)


def _watch(state: State, notification: Notification) -> None:
    """Have it told of what it wants to be told of, by whose event it is."""
    record = notification.record
    for name, notice in NOTICES.items():
        if notice in record.events:
            for whose in (record.user_id, None) if record.hub else (record.user_id,):
                state.watched.setdefault(whose, {}).setdefault(name, []).append(notification)


def _unwatch(state: State, notification: Notification) -> None:
    for whose in (notification.record.user_id, None):
        wanted = state.watched.pop(whose, {})
        left = {name: [n for n in told if n is not notification] for name, told in wanted.items()}
        if any(left.values()):
            state.watched[whose] = {name: told for name, told in left.items() if told}


def _enter(state: State, notification: Notification, delivery: Delivery) -> None:
    """It is to be sent."""
    notification.put(delivery)
    state.deliveries[delivery.id] = delivery
    state.timers.set(Clock.WALL, Due.DELIVERY, delivery.id, delivery.until)
    state.ledger.kept[Keeps.DELIVERY, delivery.id] = delivery

"""Notifications as people see them; never with their secrets."""

from taskyard.core.notices import DEAD, PENDING, Delivery
from taskyard.core.notifications import notification_of
from taskyard.core.state import State
from taskyard.gateway.views import NotificationView
from taskyard.vocabulary.notices import DeliveryStatus


def notification_views(state: State, user_id: str) -> list[NotificationView]:
    """A user's, the newest first."""
    own = state.notifications.get(user_id, {})
    return [
        NotificationView(
            id=record.id,
            url=record.url,
            events=record.events,
            hub=record.hub,
            created_at=record.created_at,
            pending=len(notification.of(PENDING)),
            dead=len(notification.of(DEAD)),
            dropped=record.dropped,
        )
        for notification in sorted(own.values(), key=lambda each: each.id, reverse=True)
        for record in (notification.record,)
    ]


def delivery_page(
    state: State,
    user_id: str,
    notification_id: str,
    *,
    status: DeliveryStatus | None,
    before: str | None,
    limit: int,
) -> list[Delivery] | None:
    """The newest that are older than the one of this id; None: there is no such notification of this user's."""
    notification = notification_of(state, user_id, notification_id)
    return None if notification is None else notification.page(status=status, before=before, limit=limit)


def delivery_of(state: State, user_id: str, notification_id: str, delivery_id: str) -> Delivery | None:
    notification = notification_of(state, user_id, notification_id)
    return None if notification is None else notification.find(delivery_id)

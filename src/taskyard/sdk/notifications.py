"""Notifications, as both clients have them: what is asked, what comes back, the calls. Receivers have `webhooks.py`."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from taskyard.sdk.answers import Acknowledged
from taskyard.sdk.request import AsyncCalls, Calls, Request, get, given, segment, send

PAGE: int = 100


class NotificationRecord(Struct, kw_only=True, omit_defaults=True):
    id: str
    url: str = ""
    events: list[str] = []
    hub: bool = False
    """It also tells of what is nobody's own."""
    created_at: datetime | None = None
    pending: int = 0
    dead: int = 0
    dropped: int = 0
    secret: str | None = None
    """Shown once, in the answer that made it."""


class DeliveryRecord(Struct, kw_only=True):
    id: str
    type: str = ""
    event_id: str = ""
    task_id: str | None = None
    ref: str | None = None
    status: str = "pending"
    attempts: int = 0
    created_at: datetime | None = None
    next_at: datetime | None = None
    under_way: bool = False
    host_rests_until: datetime | None = None
    """Its host failed several times in a row, and is left alone until then."""
    ended_at: datetime | None = None
    answered: int | None = None
    error: str | None = None


# Requests.


def list_notifications() -> Request[list[NotificationRecord]]:
    return get("/notifications", list[NotificationRecord])


def get_notification(notification_id: str) -> Request[NotificationRecord]:
    return get(_path(notification_id), NotificationRecord)


def add_notification(
    url: str, events: Sequence[str], *, secret: str | None, hub: bool | None
) -> Request[NotificationRecord]:
    """Not repeated: there would be two."""
    body = {"url": url, "events": list(events), **given(secret=secret, hub=hub)}
    return send("POST", "/notifications", NotificationRecord, body, idempotent=False)


def change_notification(notification_id: str, changes: Mapping[str, Any]) -> Request[NotificationRecord]:
    return send("PATCH", _path(notification_id), NotificationRecord, changes, idempotent=True)


def delete_notification(notification_id: str) -> Request[Acknowledged]:
    """Not repeated: one that is gone is not found a second time."""
    return send("DELETE", _path(notification_id), Acknowledged, None, idempotent=False)


def list_deliveries(notification_id: str, *, status: str | None) -> Request[list[DeliveryRecord]]:
    return get(f"{_path(notification_id)}/deliveries", list[DeliveryRecord], status=status, limit=PAGE)


def resend_delivery(notification_id: str, delivery_id: str) -> Request[DeliveryRecord]:
    path = f"{_path(notification_id)}/deliveries/{segment(delivery_id)}/resend"
    return send("POST", path, DeliveryRecord, None, idempotent=True)


def _path(notification_id: str) -> str:
    return f"/notifications/{segment(notification_id)}"


# The calls of each client.


class NotificationCalls:
    def notifications(self: Calls) -> list[NotificationRecord]:
        """Which of one's events are told to which addresses, newest first, without their secrets."""
        return self.call(list_notifications())

    def notification(self: Calls, notification_id: str) -> NotificationRecord:
        return self.call(get_notification(notification_id))

    def add_notification(
        self: Calls, url: str, events: Sequence[str], *, secret: str | None = None, hub: bool | None = None
    ) -> NotificationRecord:
        """Have events told to an address. The `secret` it is signed with is shown here only.

        `hub`: also of what is nobody's own, such as a paused queue; for admins.
        """
        return self.call(add_notification(url, events, secret=secret, hub=hub))

    def change_notification(self: Calls, notification_id: str, **changes: Any) -> NotificationRecord:
        """`url` or `events`."""
        return self.call(change_notification(notification_id, changes))

    def delete_notification(self: Calls, notification_id: str) -> Acknowledged:
        return self.call(delete_notification(notification_id))

    def deliveries(self: Calls, notification_id: str, *, status: str | None = None) -> Iterator[DeliveryRecord]:
        """What was sent, is to be, or was given up, newest first."""
        return self._pages(list_deliveries(notification_id, status=status))

    def resend_delivery(self: Calls, notification_id: str, delivery_id: str) -> DeliveryRecord:
        """Now, under the same id, whatever became of it."""
        return self.call(resend_delivery(notification_id, delivery_id))


class AsyncNotificationCalls:
    """As `NotificationCalls`."""

    async def notifications(self: AsyncCalls) -> list[NotificationRecord]:
        return await self.call(list_notifications())

    async def notification(self: AsyncCalls, notification_id: str) -> NotificationRecord:
        return await self.call(get_notification(notification_id))

    async def add_notification(
        self: AsyncCalls, url: str, events: Sequence[str], *, secret: str | None = None, hub: bool | None = None
    ) -> NotificationRecord:
        return await self.call(add_notification(url, events, secret=secret, hub=hub))

    async def change_notification(self: AsyncCalls, notification_id: str, **changes: Any) -> NotificationRecord:
        return await self.call(change_notification(notification_id, changes))

    async def delete_notification(self: AsyncCalls, notification_id: str) -> Acknowledged:
        return await self.call(delete_notification(notification_id))

    def deliveries(
        self: AsyncCalls, notification_id: str, *, status: str | None = None
    ) -> AsyncIterator[DeliveryRecord]:
        return self._pages(list_deliveries(notification_id, status=status))

    async def resend_delivery(self: AsyncCalls, notification_id: str, delivery_id: str) -> DeliveryRecord:
        return await self.call(resend_delivery(notification_id, delivery_id))

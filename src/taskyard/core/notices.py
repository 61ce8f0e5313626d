"""Notifications and their deliveries as they are held and kept. `notifications.py` decides about them."""

from collections.abc import Iterator
from heapq import nlargest

from msgspec import Struct

from taskyard.core.changes import Event
from taskyard.vocabulary.notices import DeliveryStatus, NoticeName

PENDING, DELIVERED, DEAD = DeliveryStatus


class NotificationRecord(Struct, omit_defaults=True):
    """Which events of its user are told to which address."""

    id: str
    user_id: str
    url: str
    events: tuple[NoticeName, ...]
    secret: str
    """What deliveries are signed with. Receivers need the same, so a hash of it would not do."""
    created_at: int
    hub: bool = False
    """An admin's: it also tells of what is nobody's own."""
    dropped: int = 0
    """Deliveries that there was no room to keep."""


class Delivery(Struct, omit_defaults=True):
    """One event on its way to one address. Its id is the same however often it is sent."""

    id: str
    user_id: str
    notification_id: str
    epoch: int
    seq: int
    index: int
    event: Event
    next_at: int
    """When it may be sent."""
    until: int
    """When it is given up."""
    status: DeliveryStatus = PENDING
    attempts: int = 0
    """How often it was sent."""
    failures: int = 0
    """How often in vain since it was last asked for."""
    answered: int | None = None
    """The status of the last answer, if there was one."""
    error: str | None = None
    """Why the last one was in vain."""
    ended_at: int | None = None


class Notification:
    """One of them, with its deliveries: those to be sent, and the last of those that were or never will be."""

    __slots__ = ("_by_status", "record")

    def __init__(self, record: NotificationRecord) -> None:
        self.record = record
        self._by_status: dict[DeliveryStatus, dict[str, Delivery]] = {status: {} for status in DeliveryStatus}

    @property
    def id(self) -> str:
        return self.record.id

    def of(self, status: DeliveryStatus) -> dict[str, Delivery]:
        """The one that came first is first."""
        return self._by_status[status]

    def find(self, delivery_id: str) -> Delivery | None:
        return next((each[delivery_id] for each in self._by_status.values() if delivery_id in each), None)

    def deliveries(self) -> Iterator[Delivery]:
        for each in self._by_status.values():
            yield from each.values()

    def page(self, *, status: DeliveryStatus | None, before: str | None, limit: int) -> list[Delivery]:
        """The newest of this status, or of any, that are older than the one of this id."""
        found = self.deliveries() if status is None else iter(self.of(status).values())
        return nlargest(limit, (d for d in found if before is None or d.id < before), key=lambda d: d.id)

    def put(self, delivery: Delivery) -> None:
        self._by_status[delivery.status][delivery.id] = delivery

    def take(self, delivery: Delivery) -> None:
        del self._by_status[delivery.status][delivery.id]


def delivery_id(notification_id: str, epoch: int, seq: int, index: int) -> str:
    """The place of the event in the log, among those of its notification; in the order of events."""
    return f"d_{notification_id.partition('_')[2]}-{epoch:08x}-{seq:010x}-{index:05x}"

"""A notification's deliveries, by what became of them and by their age."""

from taskyard.core.changes import Event
from taskyard.core.notices import (
    DEAD,
    DELIVERED,
    PENDING,
    Delivery,
    Notification,
    NotificationRecord,
    delivery_id,
)
from taskyard.vocabulary import EventName
from taskyard.vocabulary.notices import DeliveryStatus


def a_notification(*statuses: DeliveryStatus) -> Notification:
    notification = Notification(NotificationRecord("n_1", "ann", "https://a.example/", (), "s", 0))
    for seq, status in enumerate(statuses, start=1):
        event = Event(EventName.TASK_QUEUED, seq)
        notification.put(Delivery(delivery_id("n_1", 1, seq, 0), "ann", "n_1", 1, seq, 0, event, 0, 0, status))
    return notification


def test_a_delivery_is_found_by_its_id_whatever_became_of_it() -> None:
    notification = a_notification(PENDING, DELIVERED, DEAD)
    for delivery in notification.deliveries():
        assert notification.find(delivery.id) is delivery
    assert notification.find("d_none") is None
    assert notification.id == "n_1"


def test_a_page_has_the_newest_first_and_the_next_one_goes_on_behind_it() -> None:
    notification = a_notification(PENDING, DELIVERED, DEAD, PENDING)
    first = notification.page(status=None, before=None, limit=3)
    assert [d.seq for d in first] == [4, 3, 2]
    assert [d.seq for d in notification.page(status=None, before=first[-1].id, limit=3)] == [1]
    assert [d.seq for d in notification.page(status=PENDING, before=None, limit=3)] == [4, 1]


def test_one_that_is_taken_out_is_gone() -> None:
    notification = a_notification(PENDING)
    [delivery] = notification.deliveries()
    notification.take(delivery)
    assert list(notification.deliveries()) == []


def test_ids_are_in_the_order_of_events() -> None:
    places = [(1, 9, 2), (1, 10, 0), (1, 10, 1), (2, 11, 0), (1_000_000, 12, 0)]
    ids = [delivery_id("n_1", *place) for place in places]
    assert ids == sorted(ids)

"""Who is told of what, what becomes of a delivery, and that both survive a restart."""

import random

import pytest
from msgspec.json import decode

from taskyard.core.effects import Done
from taskyard.core.notices import DEAD, DELIVERED, PENDING, Delivery, Notification
from taskyard.core.notification_commands import (
    ChangeNotification,
    CreateNotification,
    DeleteNotification,
    ReportDelivery,
    ResendDelivery,
)
from taskyard.core.notifications import NO_ROOM, TOO_LATE, notification_of
from taskyard.core.settings import Notifications, Settings
from taskyard.core.yard_commands import OpenBreaker, PauseQueue, ResumeQueue
from taskyard.vocabulary import EventName, Keeps, Refusal
from taskyard.vocabulary.notices import CALLED, NOTICES, DeliveryStatus, NoticeName
from tests.support.harness import HubHarness

COMPLETED, CREATED = NoticeName.TASK_COMPLETED, NoticeName.TASK_CREATED
DAY_MS = 86_400_000


def a_hub(*, users: tuple[str, ...] = ("ann", "bob"), **numbers: object) -> HubHarness:
    settings = Settings(notifications=Notifications(**numbers))  # type: ignore[arg-type]
    return HubHarness(settings, users=users)


def a_notification(
    hub: HubHarness, *events: NoticeName, id: str = "n_1", user: str = "ann", of_hub: bool = False
) -> Notification:
    command = CreateNotification(id, user, f"https://{id}.example/", events or (CREATED,), "whsec_x", user, hub=of_hub)
    assert hub.ask(command) == Done()
    found = notification_of(hub.state, user, id)
    assert found is not None
    return found


def told(notification: Notification, status: DeliveryStatus = PENDING) -> list[EventName]:
    return [delivery.event.name for delivery in notification.of(status).values()]


def a_delivery(hub: HubHarness) -> tuple[Notification, Delivery]:
    notification = a_notification(hub)
    hub.submit()
    [delivery] = notification.of(PENDING).values()
    return notification, delivery


def fails(hub: HubHarness, delivery: Delivery, *, retry_after_ms: int = 0) -> None:
    assert hub.ask(ReportDelivery(delivery.id, 500, "It answered 500.", retry_after_ms)) == Done()


def arrives(hub: HubHarness, delivery: Delivery) -> None:
    assert hub.ask(ReportDelivery(delivery.id, 204)) == Done()


# What is told.


def test_every_word_of_the_specification_is_told_of_some_event() -> None:
    assert set(NOTICES.values()) == set(NoticeName)
    for notice in ("task_queued", "task_blocked", "task_completed", "task_permanently_failed", "breaker_open"):
        assert NoticeName(notice) in NOTICES.values()
    assert NOTICES[EventName.BACKPRESSURE_CRITICAL] == "backpressure"


def test_a_delivery_is_in_the_very_commit_that_has_its_event() -> None:
    hub = a_hub()
    notification = a_notification(hub, CREATED)
    task = hub.submit()
    batch = hub.batches[-1]
    [index] = [i for i, event in enumerate(batch.events) if event.name is EventName.TASK_CREATED]
    [kept] = [each for each in batch.kept if each.kind is Keeps.DELIVERY]
    [delivery] = notification.of(PENDING).values()
    assert kept.record is not None
    assert decode(kept.record, type=Delivery) == delivery
    assert delivery.event == batch.events[index]
    assert (delivery.epoch, delivery.seq, delivery.index) == (batch.epoch, batch.seq, index)
    assert delivery.id == f"d_1-00000001-{batch.seq:010x}-{index:05x}"
    assert delivery.event.task_id == task.id
    assert (delivery.next_at, delivery.until) == (hub.now.wall, hub.now.wall + DAY_MS)


def test_nothing_is_made_where_nobody_wants_to_be_told() -> None:
    hub = a_hub()
    hub.submit()
    notification = a_notification(hub, COMPLETED)
    hub.submit()
    hub.submit(user="bob")
    assert told(notification) == []
    assert not any(each.kind is Keeps.DELIVERY for batch in hub.batches for each in batch.kept)


def test_each_of_several_is_told_of_what_it_asked_for_and_of_its_own_user() -> None:
    hub = a_hub()
    ends = a_notification(hub, COMPLETED, id="n_ends")
    all_of_it = a_notification(hub, CREATED, COMPLETED, id="n_all")
    bobs = a_notification(hub, CREATED, COMPLETED, id="n_bob", user="bob")
    hub.daemon()
    hub.complete(hub.run(hub.submit()))
    hub.submit(user="bob")
    assert told(ends) == [EventName.TASK_COMPLETED]
    assert told(all_of_it) == [EventName.TASK_CREATED, EventName.TASK_COMPLETED]
    assert told(bobs) == [EventName.TASK_CREATED]
    assert len(hub.state.deliveries) == 4


def test_events_under_another_name_are_told_too() -> None:
    hub = a_hub()
    notification = a_notification(hub, NoticeName.BREAKER_OPEN)
    hub.ask(OpenBreaker("ann", "general", "ann"))
    assert told(notification) == [EventName.BREAKER_OPENED]


def test_task_queued_is_told_only_of_a_task_whose_daemon_is_away() -> None:
    hub = a_hub()
    notification = a_notification(hub, NoticeName.TASK_QUEUED)
    daemon = hub.daemon()
    # Given tasks that are queued, run, handed back and queued again
    hub.reject(hub.submit())
    hub.submit(type="other")
    assert told(notification) == []
    # When one is for a daemon that is away
    hub.disconnect(daemon)
    task = hub.submit(target="d-mac")
    [delivery] = notification.of(PENDING).values()
    # Then that is told, by the name that people know, and once
    assert (delivery.event.name, delivery.event.task_id) == (EventName.TASK_WAITING_FOR_DAEMON, task.id)
    assert (delivery.event.data or {})["message"] == "waiting for mac to come online"
    assert CALLED[delivery.event.name] is NoticeName.TASK_QUEUED
    hub.live(s=30)
    assert told(notification) == [EventName.TASK_WAITING_FOR_DAEMON]


def test_such_a_task_is_not_told_of_as_blocked() -> None:
    hub = a_hub()
    notification = a_notification(hub, NoticeName.TASK_BLOCKED)
    hub.disconnect(hub.daemon())
    hub.submit(target="mac")
    assert told(notification) == []


def test_a_delivery_that_an_earlier_version_wrote_has_its_name() -> None:
    assert CALLED[EventName.TASK_QUEUED] is NoticeName.TASK_QUEUED
    assert EventName.TASK_QUEUED not in NOTICES


def test_what_is_nobodys_own_is_told_to_those_of_admins_only() -> None:
    hub = a_hub()
    plain = a_notification(hub, NoticeName.QUEUE_PAUSED, id="n_plain")
    admins = a_notification(hub, NoticeName.QUEUE_PAUSED, id="n_admin", of_hub=True)
    hub.ask(PauseQueue("default", "ann"))
    assert (told(plain), told(admins)) == ([], [EventName.QUEUE_PAUSED])
    hub.ask(DeleteNotification("n_admin", "ann", "ann"))
    hub.ask(ResumeQueue("default", "ann"))
    hub.ask(PauseQueue("default", "ann"))
    assert told(plain) == []


# What a person says.


def test_a_user_has_only_so_many() -> None:
    hub = a_hub(per_user_max=2)
    a_notification(hub, id="n_1")
    a_notification(hub, id="n_2")
    refused = hub.ask(CreateNotification("n_3", "ann", "https://a.example/", (CREATED,), "s", "ann"))
    assert refused.code is Refusal.TOO_MANY_NOTIFICATIONS
    assert refused.detail == "You have 2 notifications, which is as many as one may have; delete one first."
    assert list(hub.state.notifications["ann"]) == ["n_1", "n_2"]
    a_notification(hub, id="n_bob", user="bob")


def test_a_change_holds_for_what_waits_and_for_what_comes() -> None:
    hub = a_hub()
    notification, _ = a_delivery(hub)
    assert hub.ask(ChangeNotification("n_1", "ann", "ann", url="https://new.example/")) == Done()
    assert hub.ask(ChangeNotification("n_1", "ann", "ann", events=(COMPLETED,))) == Done()
    hub.submit()
    assert notification.record.url == "https://new.example/"
    assert told(notification) == [EventName.TASK_CREATED]


def test_one_that_is_deleted_is_gone_with_its_deliveries() -> None:
    hub = a_hub()
    _, delivery = a_delivery(hub)
    a_notification(hub, id="n_2")
    assert hub.ask(DeleteNotification("n_1", "ann", "ann")) == Done()
    hub.submit()
    assert [d.notification_id for d in hub.state.deliveries.values()] == ["n_2"]
    # And what was on its way reports to nobody
    arrives(hub, delivery)
    assert hub.ask(DeleteNotification("n_2", "ann", "ann")) == Done()
    assert (hub.state.notifications, hub.state.watched, hub.state.deliveries) == ({}, {}, {})
    assert [each for each in hub.kept() if each.kind in (Keeps.NOTIFICATION, Keeps.DELIVERY)] == []


@pytest.mark.parametrize("user", ["bob", "nobody"])
def test_another_users_is_as_unknown_as_one_that_never_was(user: str) -> None:
    hub = a_hub()
    _, delivery = a_delivery(hub)
    for command in (
        ChangeNotification("n_1", user, user, url="https://evil.example/"),
        DeleteNotification("n_1", user, user),
        ResendDelivery("n_1", delivery.id, user, user),
    ):
        refused = hub.ask(command)
        assert refused.code is Refusal.NOTIFICATION_NOT_FOUND


# What becomes of a delivery.


def test_a_delivery_that_is_taken_is_shown_for_a_while() -> None:
    hub = a_hub(delivered_max=2)
    notification = a_notification(hub)
    for _ in range(3):
        hub.submit()
        [delivery] = notification.of(PENDING).values()
        arrives(hub, delivery)
    first, second = notification.of(DELIVERED).values()
    assert first.id < second.id
    assert (first.attempts, first.answered, first.error, first.ended_at) == (1, 204, None, hub.now.wall)
    assert len(hub.state.deliveries) == len([e for e in hub.kept() if e.kind is Keeps.DELIVERY]) == 2
    assert notification.record.dropped == 0


def test_one_that_fails_is_tried_again_after_a_time_that_doubles_with_full_jitter() -> None:
    hub = a_hub(retry_first_s=10, retry_max_s=60)
    notification, delivery = a_delivery(hub)
    dice, waits = random.Random(7), []
    for most_ms in (10_000, 20_000, 40_000, 60_000, 60_000):
        fails(hub, delivery)
        waits.append(delivery.next_at - hub.now.wall)
        assert waits[-1] == max(int(most_ms * dice.random()), 1000)
    assert told(notification) == [EventName.TASK_CREATED]
    assert (delivery.attempts, delivery.answered, delivery.error) == (5, 500, "It answered 500.")


def test_a_receiver_may_say_when_to_come_again_within_reason() -> None:
    hub = a_hub(retry_first_s=2, retry_max_s=60)
    _, delivery = a_delivery(hub)
    fails(hub, delivery, retry_after_ms=30_000)
    assert delivery.next_at == hub.now.wall + 30_000
    fails(hub, delivery, retry_after_ms=3_600_000)
    assert delivery.next_at == hub.now.wall + 60_000


def test_what_was_not_delivered_in_a_day_is_dead_and_said_to_be() -> None:
    hub = a_hub()
    notification, delivery = a_delivery(hub)
    hub.advance(ms=DAY_MS - 1)
    assert delivery.status is PENDING
    hub.advance(ms=1)
    assert (delivery.status, delivery.error, delivery.ended_at) == (DEAD, TOO_LATE, hub.now.wall)
    assert told(notification, DEAD) == [EventName.TASK_CREATED]
    [event] = [e for batch in hub.batches for e in batch.events if e.name is EventName.NOTIFICATION_DEAD]
    assert event.data == {"notification_id": "n_1", "delivery_id": delivery.id, "attempts": 0}


def test_one_whose_next_try_would_be_too_late_dies_of_what_went_wrong() -> None:
    hub = a_hub(give_up_s=1)
    _, delivery = a_delivery(hub)
    fails(hub, delivery)
    assert (delivery.status, delivery.error, delivery.attempts) == (DEAD, "It answered 500.", 1)
    # And an answer that was still on its way changes nothing, unless it is that of success
    fails(hub, delivery)
    assert (delivery.status, delivery.attempts) == (DEAD, 2)
    arrives(hub, delivery)
    assert (delivery.status, delivery.error) == (DELIVERED, None)


@pytest.mark.parametrize("became", DeliveryStatus)
def test_a_delivery_is_sent_again_under_the_same_id_whatever_became_of_it(became: DeliveryStatus) -> None:
    hub = a_hub()
    notification, delivery = a_delivery(hub)
    if became is DELIVERED:
        arrives(hub, delivery)
    elif became is DEAD:
        hub.advance(ms=DAY_MS)
    before = delivery.id
    hub.advance(s=5)
    assert hub.ask(ResendDelivery("n_1", delivery.id, "ann", "ann")) == Done()
    assert list(notification.of(PENDING)) == [before]
    assert (delivery.next_at, delivery.until) == (hub.now.wall, hub.now.wall + DAY_MS)
    assert (delivery.failures, delivery.ended_at) == (0, None)
    arrives(hub, delivery)
    assert told(notification, DELIVERED) == [EventName.TASK_CREATED]


def test_a_delivery_that_is_not_there_cannot_be_sent_again() -> None:
    hub = a_hub()
    a_delivery(hub)
    refused = hub.ask(ResendDelivery("n_1", "d_none", "ann", "ann"))
    assert refused.code is Refusal.DELIVERY_NOT_FOUND


def test_where_too_many_wait_the_oldest_dies_and_where_too_many_died_it_is_counted() -> None:
    hub = a_hub(pending_max=2, dead_max=1)
    notification = a_notification(hub)
    refs = [hub.submit().id for _ in range(4)]
    assert [d.event.task_id for d in notification.of(PENDING).values()] == refs[2:]
    [dead] = notification.of(DEAD).values()
    assert (dead.event.task_id, dead.error) == (refs[1], NO_ROOM)
    assert notification.record.dropped == 1
    assert len(hub.state.deliveries) == 3


# What survives.


def test_a_restart_goes_on_where_it_was() -> None:
    hub = a_hub(dead_max=1, delivered_max=2)
    notification = a_notification(hub, of_hub=True)
    for _ in range(5):
        hub.submit()
    waiting = list(notification.of(PENDING).values())
    arrives(hub, waiting[0])
    fails(hub, waiting[1])
    for delivery in waiting[3:]:
        delivery.until = hub.now.wall
        fails(hub, delivery)
    other = hub.restarted()
    found = notification_of(other.state, "ann", "n_1")
    assert found.record == notification.record
    assert found.record.dropped == 1
    for status in DeliveryStatus:
        assert found.of(status) == notification.of(status)
    assert other.state.deliveries == hub.state.deliveries
    # And it goes on: to tell, to try, to give up
    other.submit()
    assert len(found.of(PENDING)) == 3
    other.advance(ms=2 * DAY_MS)
    assert len(found.of(PENDING)) == 0

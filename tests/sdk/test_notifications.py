"""Notifications by either client."""

from datetime import UTC, datetime

from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub

MADE = {
    "id": "n_1",
    "url": "https://a.example/",
    "events": ["task_completed"],
    "hub": False,
    "created_at": "2026-01-02T03:04:05Z",
    "pending": 2,
    "dead": 1,
    "dropped": 0,
}
DELIVERY = {"id": "d_1", "type": "task_completed", "ref": "T-001", "status": "dead", "attempts": 9}


def test_a_notification_is_made_with_what_was_named_and_its_secret_is_there(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "notifications", Reply(status=201, body={**MADE, "secret": "whsec_x"}))
    made = driver.do(driver.client.add_notification("https://a.example/", ["task_completed"]))
    assert (made.id, made.secret, made.created_at) == ("n_1", "whsec_x", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    driver.do(driver.client.add_notification("https://a.example/", ("backpressure",), secret="whsec_y", hub=True))
    first, second = (call.body for call in hub.asked("POST", "notifications"))
    assert first == {"url": "https://a.example/", "events": ["task_completed"]}
    assert second == {"url": "https://a.example/", "events": ["backpressure"], "secret": "whsec_y", "hub": True}


def test_notifications_are_listed_and_shown_without_a_secret(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "notifications", Reply(body=[MADE]))
    hub.on("GET", "notifications/n_1", Reply(body=MADE))
    assert [(one.id, one.secret) for one in driver.do(driver.client.notifications())] == [("n_1", None)]
    assert driver.do(driver.client.notification("n_1")).pending == 2


def test_a_notification_is_changed_and_removed(hub: StubHub, driver: Driver) -> None:
    hub.on("PATCH", "notifications/n_1", Reply(body=MADE))
    hub.on("DELETE", "notifications/n_1", Reply(body={"ok": True}))
    driver.do(driver.client.change_notification("n_1", events=["task_queued"]))
    assert hub.calls[-1].body == {"events": ["task_queued"]}
    assert driver.do(driver.client.delete_notification("n_1")).ok


def test_deliveries_are_read_page_by_page_and_sent_again(hub: StubHub, driver: Driver) -> None:
    link = {"Link": '</api/v1/notifications/n_1/deliveries?cursor=abc>; rel="next"'}
    hub.on("GET", "notifications/n_1/deliveries", Reply(body=[DELIVERY], headers=link), Reply(body=[DELIVERY]))
    hub.on("POST", "notifications/n_1/deliveries/d_1/resend", Reply(body={**DELIVERY, "status": "pending"}))
    found = driver.take(driver.client.deliveries("n_1", status="dead"))
    assert [(one.id, one.attempts) for one in found] == [("d_1", 9), ("d_1", 9)]
    assert [call.query.get("cursor") for call in hub.asked("GET", "notifications/n_1/deliveries")] == [None, "abc"]
    assert hub.calls[0].query["status"] == "dead"
    assert driver.do(driver.client.resend_delivery("n_1", "d_1")).status == "pending"

"""Notifications over HTTP: whose they are, what they may name, and what of them is shown."""

from typing import Any

import pytest

from taskyard.core.notification_commands import ReportDelivery
from taskyard.core.settings import Notifications, Settings
from taskyard.gateway.views import DeliveryView
from taskyard.wire.webhooks import key_of
from tests.support.gateway_client import Client
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
PLACE = "/api/v1/notifications"
TASKS = "/api/v1/tasks"
URL = "https://hooks.example.com/taskyard?token=abc"
CREATED = {"url": URL, "events": ["task_created"]}
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


async def a_notification(client: Client, **fields: Any) -> str:
    answer = await client.post(PLACE, {**CREATED, **fields})
    assert answer.status == 201, answer.json
    return str(answer.json["id"])


async def deliveries(client: Client, notification_id: str, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get(f"{PLACE}/{notification_id}/deliveries{query}")).json
    return found


async def test_a_notification_is_made_shown_changed_and_deleted(ann: Client) -> None:
    made = await ann.post(PLACE, {"url": URL, "events": ["task_completed", "breaker_open", "task_completed"]})
    assert made.status == 201
    assert key_of(made.json["secret"]) is not None
    shown = {
        "id": made.json["id"],
        "url": URL,
        "events": ["task_completed", "breaker_open"],
        "hub": False,
        "created_at": "2027-01-15T08:00:00Z",
        "pending": 0,
        "dead": 0,
        "dropped": 0,
    }
    assert made.json == {**shown, "secret": made.json["secret"]}
    # The secret is shown there only
    assert (await ann.get(PLACE)).json == [shown]
    place = f"{PLACE}/{made.json['id']}"
    assert (await ann.get(place)).json == shown
    changed = await ann.request("PATCH", place, {"url": "https://other.example.com/", "events": ["task_created"]})
    assert changed.json == {**shown, "url": "https://other.example.com/", "events": ["task_created"]}
    assert (await ann.request("PATCH", place, {})).json == changed.json
    assert (await ann.request("DELETE", place)).json == {"ok": True}
    assert (await ann.get(PLACE)).json == []
    assert (await ann.get(place)).json["code"] == "NOTIFICATION_NOT_FOUND"


async def test_one_may_bring_a_secret_of_ones_own(ann: Client) -> None:
    made = await ann.post(PLACE, {**CREATED, "secret": SECRET})
    assert made.json["secret"] == SECRET


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("url", {"url": "http://hooks.example.com/", "events": ["task_created"]}),
        ("url", {"url": "https://127.0.0.1/", "events": ["task_created"]}),
        ("url", {"url": "https://user:word@hooks.example.com/", "events": ["task_created"]}),
        ("secret", {"url": URL, "events": ["task_created"], "secret": "short"}),
        ("events", {"url": URL, "events": []}),
        ("events[0]", {"url": URL, "events": ["task.created"]}),
    ],
)
async def test_what_cannot_be_told_is_refused_with_the_field(ann: Client, field: str, body: dict[str, Any]) -> None:
    refused = await ann.post(PLACE, body)
    assert (refused.status, refused.json["code"]) == (422, "INVALID_INPUT")
    assert [error["path"] for error in refused.json["errors"]] == [field]
    assert (await ann.get(PLACE)).json == []


async def test_a_change_is_held_to_the_same_and_changes_nothing_if_it_is_refused(ann: Client) -> None:
    place = f"{PLACE}/{await a_notification(ann)}"
    for body in ({"url": "https://10.0.0.1/"}, {"events": []}, {"secret": SECRET}):
        assert (await ann.request("PATCH", place, body)).status == 422
    assert (await ann.get(place)).json["url"] == URL


@pytest.mark.parametrize("settings", [Settings(notifications=Notifications(allow=("127.0.0.0/8",)))])
async def test_a_private_address_may_be_told_if_it_is_listed(ann: Client) -> None:
    assert (await ann.post(PLACE, {**CREATED, "url": "http://127.0.0.1:9000/"})).status == 201
    assert (await ann.post(PLACE, {**CREATED, "url": "http://10.0.0.1:9000/"})).status == 422


async def test_what_is_nobodys_own_is_told_to_admins_only(ann: Client, admin: Client) -> None:
    refused = await ann.post(PLACE, {**CREATED, "hub": True})
    assert (refused.status, refused.json["code"]) == (403, "FORBIDDEN")
    assert (await admin.post(PLACE, {**CREATED, "hub": True})).json["hub"] is True


@pytest.mark.parametrize("settings", [Settings(notifications=Notifications(total_max=0))])
async def test_deliveries_are_listed_page_by_page_and_by_what_became_of_them(hub: GatewayHub, ann: Client) -> None:
    notification_id = await a_notification(ann)
    tasks = [(await ann.post(TASKS, {"input": "a"})).json for _ in range(3)]
    found = await deliveries(ann, notification_id)
    assert [one["ref"] for one in found] == ["T-003", "T-002", "T-001"]
    newest = found[0]
    events = (await ann.get(f"{TASKS}/T-003/events")).json
    assert newest == {
        "id": newest["id"],
        "type": "task_created",
        "event_id": next(event["id"] for event in events if event["event"] == "task.created"),
        "task_id": tasks[2]["id"],
        "ref": "T-003",
        "status": "pending",
        "attempts": 0,
        "created_at": "2027-01-15T08:00:00Z",
        "next_at": "2027-01-15T08:00:00Z",
        "under_way": False,
        "host_rests_until": None,
        "ended_at": None,
        "answered": None,
        "error": None,
    }
    await hub.decide(ReportDelivery(found[1]["id"], 204))
    [taken] = await deliveries(ann, notification_id, "?status=delivered")
    assert (taken["ref"], taken["answered"], taken["next_at"]) == ("T-002", 204, None)
    first = await ann.get(f"{PLACE}/{notification_id}/deliveries?limit=2")
    second = await ann.get(first.headers["link"].partition(">")[0].removeprefix("<"))
    assert [one["ref"] for one in (*first.json, *second.json)] == ["T-003", "T-002", "T-001"]
    assert "link" not in second.headers
    assert (await ann.get(f"{PLACE}/{notification_id}")).json["pending"] == 2


async def test_a_delivery_shows_that_it_is_under_way_or_that_its_host_is_left_alone(
    hub: GatewayHub, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    notification_id, listed = await a_notification(ann), hub.deliveries
    await ann.post(TASKS, {"input": "a"})

    async def shown(is_under_way: bool, rests_until: int | None) -> dict[str, Any]:
        async def seen(*page: Any) -> list[DeliveryView]:
            [view] = await listed(*page) or ()
            return [DeliveryView(view.delivery, is_under_way, rests_until)]

        monkeypatch.setattr(hub, "deliveries", seen)
        [delivery] = await deliveries(ann, notification_id)
        return delivery

    held = await shown(False, START_MS + 30_000)
    assert (held["next_at"], held["host_rests_until"]) == ("2027-01-15T08:00:30Z", "2027-01-15T08:00:30Z")
    sent = await shown(True, None)
    assert (sent["next_at"], sent["under_way"], sent["host_rests_until"]) == (None, True, None)


async def test_a_delivery_is_sent_again_when_its_owner_says_so(hub: GatewayHub, ann: Client) -> None:
    notification_id = await a_notification(ann)
    await ann.post(TASKS, {"input": "a"})
    [delivery] = await deliveries(ann, notification_id)
    await hub.decide(ReportDelivery(delivery["id"], 204))
    place = f"{PLACE}/{notification_id}/deliveries/{delivery['id']}/resend"
    again = await ann.post(place, {})
    assert (again.status, again.json["id"], again.json["status"]) == (200, delivery["id"], "pending")
    unknown = await ann.post(f"{PLACE}/{notification_id}/deliveries/d_none/resend", {})
    assert (unknown.status, unknown.json["code"]) == (404, "DELIVERY_NOT_FOUND")
    for odd in (f"{PLACE}/{notification_id}/resend", f"{PLACE}/none/deliveries/{delivery['id']}/resend"):
        assert (await ann.post(odd, {})).status == 404


async def test_anothers_is_as_unknown_as_one_that_never_was(ann: Client, bob: Client) -> None:
    notification_id = await a_notification(ann)
    await ann.post(TASKS, {"input": "a"})
    [delivery] = await deliveries(ann, notification_id)
    for theirs, never in (
        (f"{PLACE}/{notification_id}", f"{PLACE}/n_never"),
        (f"{PLACE}/{notification_id}/deliveries", f"{PLACE}/n_never/deliveries"),
    ):
        foreign, unknown = await bob.get(theirs), await bob.get(never)
        assert (foreign.status, foreign.body, foreign.headers) == (404, unknown.body, unknown.headers)
    assert (await bob.request("PATCH", f"{PLACE}/{notification_id}", {"url": URL})).status == 404
    assert (await bob.request("DELETE", f"{PLACE}/{notification_id}")).status == 404
    assert (await bob.post(f"{PLACE}/{notification_id}/deliveries/{delivery['id']}/resend", {})).status == 404
    assert (await bob.get(PLACE)).json == []


async def test_an_admin_names_the_user_whose_are_meant(ann: Client, admin: Client) -> None:
    notification_id = await a_notification(ann)
    assert [one["id"] for one in (await admin.get(f"{PLACE}?user=ann")).json] == [notification_id]
    assert (await admin.get(PLACE)).json == []
    assert (await ann.get(f"{PLACE}?user=root")).status == 403
    assert (await admin.request("DELETE", f"{PLACE}/{notification_id}?user=ann")).status == 200


async def test_what_was_done_is_in_the_audit_trail_and_no_secret_or_address_is(ann: Client, admin: Client) -> None:
    notification_id = await a_notification(ann, secret=SECRET)
    await ann.request("PATCH", f"{PLACE}/{notification_id}", {"events": ["task_completed"]})
    await ann.request("DELETE", f"{PLACE}/{notification_id}")
    trail = await admin.get(f"/api/v1/audit?subject={notification_id}")
    assert [entry["action"] for entry in trail.json] == [
        "notification.delete",
        "notification.change",
        "notification.create",
    ]
    assert SECRET not in trail.body.decode()
    assert "token=abc" not in trail.body.decode()

"""Breakers over HTTP."""

import pytest

from taskyard.core.commands import FailTask
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.task import Failure
from taskyard.gateway.present import event_answer
from taskyard.wire.fields import instant_of
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub
from tests.support.hub_scene import ASubscriber

pytestmark = pytest.mark.anyio
BREAKERS = "/api/v1/breakers"
TASKS = "/api/v1/tasks"
AT = "2027-01-15T08:00:00Z"
CLOSED = {
    "type": "general",
    "user_id": "u_ann",
    "state": "closed",
    "failures": 0,
    "last_failure_at": None,
    "opened_at": None,
    "half_open_at": None,
    "probe": None,
    "failure_threshold": 5,
    "cooldown": 300.0,
}


async def a_daemon(hub: GatewayHub, user_id: str) -> None:
    await hub.decide(JoinDaemon(1, user_id, "d_1", "boot", "mac", slots=20))


async def fail(hub: GatewayHub, client: Client, times: int, **fields: object) -> None:
    for _ in range(times):
        task = (await client.post(TASKS, {"input": "a", "execution": {"max_attempts": 1}, **fields})).json
        assert task["status"] == "scheduled"
        await hub.decide(FailTask("d_1", task["id"], 1, Failure("BOOM", "it broke"), session=1))


async def test_a_breaker_is_shown_from_its_first_failure_to_its_probe(hub: GatewayHub, ann: Client) -> None:
    await a_daemon(hub, "u_ann")
    await fail(hub, ann, 1)
    assert (await ann.get(BREAKERS)).json == [{**CLOSED, "failures": 1, "last_failure_at": AT}]

    await fail(hub, ann, 4)
    (breaker,) = (await ann.get(BREAKERS)).json
    is_open = {"state": "open", "failures": 5, "last_failure_at": AT, "opened_at": AT}
    assert breaker == {**CLOSED, **is_open, "half_open_at": "2027-01-15T08:01:00Z"}

    hub.wall_ms += 60_000
    assert (await ann.get(BREAKERS)).json[0]["state"] == "half_open"
    task = (await ann.post(TASKS, {"input": "a"})).json
    (breaker,) = (await ann.get(BREAKERS)).json
    assert (breaker["state"], breaker["probe"]) == ("half_open", task["id"])


async def test_a_person_opens_and_resets_one(hub: GatewayHub, ann: Client) -> None:
    await a_daemon(hub, "u_ann")
    forced = await ann.post(f"{BREAKERS}/general/open")
    assert forced.status == 200
    assert forced.json == {**CLOSED, "state": "open", "opened_at": AT, "half_open_at": "2027-01-15T08:05:00Z"}
    held = (await ann.post(TASKS, {"input": "a"})).json
    assert held["status"] == "queued"
    reset = await ann.post(f"{BREAKERS}/general/reset")
    assert (reset.status, reset.json) == (200, CLOSED)
    assert (await ann.get(f"{TASKS}/{held['id']}")).json["status"] == "scheduled"


async def test_breakers_are_ones_own_unless_an_admin_asks(ann: Client, bob: Client, admin: Client) -> None:
    await ann.post(f"{BREAKERS}/general/open")
    assert (await bob.get(BREAKERS)).json == []
    assert (await bob.get(f"{BREAKERS}?user=ann")).status == 403
    assert (await bob.post(f"{BREAKERS}/general/reset?user=ann")).status == 403
    (seen,) = (await admin.get(f"{BREAKERS}?user=ann")).json
    assert seen["state"] == "open"
    assert [one["user_id"] for one in (await admin.get(f"{BREAKERS}?user=*")).json] == ["u_ann"]
    assert (await admin.get(f"{BREAKERS}?user=nobody")).json["code"] == "USER_NOT_FOUND"
    assert (await admin.post(f"{BREAKERS}/general/reset?user=ann")).json["state"] == "closed"
    assert (await ann.get(BREAKERS)).json == []


async def test_its_events_say_until_when_as_an_instant(hub: GatewayHub, ann: Client) -> None:
    watcher = ASubscriber()
    hub.subscribe(watcher)
    await ann.post(f"{BREAKERS}/general/open")
    event = event_answer(await watcher.event("breaker.opened"))
    assert (event.user_id, event.data["type"]) == ("u_ann", "general")
    assert event.data["until"] == instant_of(hub.wall_ms + 300_000)


async def test_a_type_may_have_any_letters(ann: Client) -> None:
    type = "a/b c/größe"
    assert (await ann.post(f"{BREAKERS}/{type}/open")).json["type"] == type
    assert [one["type"] for one in (await ann.get(BREAKERS)).json] == [type]
    assert (await ann.post(f"{BREAKERS}/{type}/reset")).json["state"] == "closed"


async def test_what_no_task_could_have_for_a_type_is_refused(ann: Client) -> None:
    refused = await ann.post(f"{BREAKERS}/{'x' * 256}/open")
    assert (refused.status, refused.json["code"], refused.json["errors"][0]["path"]) == (422, "INVALID_INPUT", "type")
    assert (await ann.post(f"{BREAKERS}//open")).status == 404
    assert (await ann.post(f"{BREAKERS}/a/b/close")).status == 404

"""bot0's queue manager and Arvis, continued: what comes from outside, and how much of it is believed."""

from typing import Any

import msgspec
import pytest

from taskyard.core.settings import Settings
from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.vocabulary import Profile, Scope
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import GatewayHub
from tests.support.hook_sender import signed

pytestmark = pytest.mark.anyio
HOOKS = "/api/v1/hooks"
TASKS = "/api/v1/tasks"
MAPPED = {"event_type": "{{event}}"}


async def a_hook(owner: Client, template: dict[str, Any], **fields: Any) -> dict[str, Any]:
    hook: dict[str, Any] = (
        await owner.post(HOOKS, {"name": "h", "provider": "github", "template": {"input": "a", **template}, **fields})
    ).json
    return hook


async def deliver(app: GatewayApp, hook: dict[str, Any], event: str, payload: object = None, **how: Any) -> Response:
    body = msgspec.json.encode(payload or {})
    headers = signed("github", hook["secret"], body, event=event, **how)
    return await Client(app).request("POST", f"{HOOKS}/{hook['id']}", raw=body, headers=headers)


async def task_of(owner: Client, answer: Response) -> dict[str, Any]:
    task: dict[str, Any] = (await owner.get(f"{TASKS}/{answer.json['task_id']}")).json
    return task


async def test_a_webhooks_task_names_its_trigger_and_where_it_came_from(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, {"type": "webhook"})
    task = await task_of(ann, await deliver(app, hook, "push"))
    assert task["source"] == {"type": "webhook", "id": hook["id"], "channel": "github"}
    assert (task["type"], task["status"], task["priority"]) == ("webhook", "queued", "normal")


@pytest.mark.parametrize(
    ("event", "level"), [("charge.payment.failed", "high"), ("repo.security.alert", "critical"), ("push", "normal")]
)
async def test_a_hook_whose_owner_maps_the_event_gets_its_priority_from_it(
    app: GatewayApp, ann: Client, event: str, level: str
) -> None:
    hook = await a_hook(ann, {"context": MAPPED})
    assert (await task_of(ann, await deliver(app, hook, event)))["priority"] == level


async def test_no_words_of_a_delivery_lift_a_task_over_the_ceiling_of_its_hook(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, {"context": MAPPED}, max_priority="normal")
    assert (await task_of(ann, await deliver(app, hook, "repo.security.alert")))["priority"] == "normal"


async def test_where_the_owner_maps_nothing_a_delivery_decides_no_priority(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, {"title": "{{event}}"})
    payload = {"priority": "critical", "context": {"event_type": "security"}, "event_type": "security"}
    assert (await task_of(ann, await deliver(app, hook, "repo.security.alert", payload)))["priority"] == "normal"


async def test_a_delivery_that_comes_twice_is_recognised(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, {})
    answers = [(await deliver(app, hook, "push")).json for _ in range(2)]
    assert [one["deduplicated"] for one in answers] == [False, True]
    assert len((await ann.get(TASKS)).json) == 1


async def test_a_hundred_deliveries_a_minute_are_taken_and_no_more() -> None:
    # Given a service and a user who may have as much pending as they like
    service = GatewayHub(Settings(profile=Profile.SERVICE))
    app = build_app(service, GatewaySettings())
    owner = Client(app, service.a_key(service.a_user("ann"), Scope.TASKS, Scope.ADMIN))
    await owner.request("PATCH", "/api/v1/users/u_ann", {"plan": "enterprise"})
    hook = await a_hook(owner, {})

    # Then a hundred are taken at once, and the next is told when to come again
    answers = [await deliver(app, hook, "push", delivery=str(number)) for number in range(101)]
    assert [answer.status for answer in answers] == [202] * 100 + [429]
    assert 0 < float(answers[-1].json["retry_after"]) <= 1

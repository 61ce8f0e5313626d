"""Clients that count priorities from 1, the most urgent, to 4: their key says so."""

import pytest

from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Level, PriorityScale, Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


@pytest.fixture
async def four(app: GatewayApp, hub: GatewayHub) -> Client:
    """Somebody whose client counts up to four."""
    key = await hub.a_key(await hub.a_user("cy"), Scope.TASKS, priority_scale=PriorityScale.URGENT_FIRST)
    return Client(app, key)


@pytest.mark.parametrize(("said", "level"), [*enumerate(Level, 1)])
async def test_one_of_four_is_the_most_urgent(four: Client, ann: Client, said: int, level: Level) -> None:
    assert (await four.post(TASKS, {"input": "a", "priority": said})).json["priority"] == level
    assert (await ann.post(TASKS, {"input": "a", "priority": said})).json["priority"] == "low"


async def test_a_word_means_what_it_says_and_nothing_else_is_on_the_scale(four: Client) -> None:
    assert (await four.post(TASKS, {"input": "a", "priority": "high"})).json["priority"] == "high"
    refused = await four.post(TASKS, {"input": "a", "priority": 5})
    assert (refused.status, refused.json["errors"]) == (
        422,
        [{"path": "priority", "message": "this key counts from 1 (critical) to 4 (low)"}],
    )


async def test_of_a_batch_each_task_is_on_the_scale(four: Client) -> None:
    body = {"tasks": [{"input": "a", "priority": 1}, {"input": "b", "priority": 9}]}
    assert (await four.post(f"{TASKS}/batch", body)).status == 422
    answer = (await four.post(f"{TASKS}/batch", {**body, "partial": True})).json
    assert [task["priority"] for task in answer["tasks"]] == ["critical"]
    assert [one["index"] for one in answer["rejected"]] == [1]


async def test_a_change_alone_or_of_many_is_on_the_scale_too(four: Client) -> None:
    await four.post(TASKS, {"input": "a"})
    assert (await four.request("PATCH", f"{TASKS}/T-001", {"priority": 2})).json["priority"] == "high"
    assert (await four.request("PATCH", f"{TASKS}/T-001", {"priority": 7})).status == 422
    await four.post(f"{TASKS}/bulk", {"action": "reprioritise", "ids": ["T-001"], "priority": 4})
    assert (await four.get(f"{TASKS}/T-001")).json["priority"] == "low"


async def test_a_schedules_tasks_are_on_the_scale_of_whoever_made_it(four: Client) -> None:
    body = {"name": "n", "every": "1h", "task": {"input": "a", "priority": 1}}
    await four.post("/api/v1/schedules", body)
    await four.post("/api/v1/schedules/n/run", {})
    (task,) = (await four.get(TASKS)).json
    assert task["priority"] == "critical"


async def test_a_key_is_made_with_its_scale_and_shows_it(admin: Client) -> None:
    user = (await admin.post("/api/v1/users", {"name": "carl"})).json
    keys = f"/api/v1/users/{user['id']}/keys"
    body = {"name": "omoi", "scopes": ["tasks"], "priority_scale": "1-4"}
    assert (await admin.post(keys, body)).json["priority_scale"] == "1-4"
    assert [one["priority_scale"] for one in (await admin.get(keys)).json] == ["1-4"]
    assert (await admin.post(keys, {**body, "priority_scale": "1-5"})).status == 422

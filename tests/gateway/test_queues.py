"""Queues: everybody sees them and their own tasks in them, admins change them."""

from typing import Any

import pytest

from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.settings import Queue, Settings
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
QUEUES = "/api/v1/queues"
TASKS = "/api/v1/tasks"


@pytest.fixture
def settings() -> Settings:
    return Settings(queues={"ollama": Queue(models=("llama3",))})


async def seen(client: Client, name: str, query: str = "") -> dict[str, Any]:
    found = (await client.get(QUEUES + query)).json
    return next(queue for queue in found if queue["name"] == name)


async def test_everybody_sees_the_queues_and_the_counts_of_their_own_tasks(
    hub: GatewayHub, ann: Client, bob: Client, admin: Client
) -> None:
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    for _ in range(3):
        await ann.post(TASKS, {"input": "a", "model": "llama3"})
    await bob.post(TASKS, {"input": "a"})
    assert (await ann.get(QUEUES)).json == [
        {
            "name": "ollama",
            "models": ["llama3"],
            "max_concurrent": 1,
            "state": "open",
            "until": None,
            "waiting": 2,
            "running": 1,
        },
        {
            "name": "default",
            "models": [],
            "max_concurrent": None,
            "state": "open",
            "until": None,
            "waiting": 0,
            "running": 0,
        },
    ]
    theirs = await seen(bob, "ollama")
    assert (theirs["waiting"], theirs["running"]) == (0, 0)
    assert (await seen(admin, "ollama", "?user=ann"))["waiting"] == 2
    assert (await seen(admin, "default", "?user=*"))["waiting"] == 1


async def test_a_queue_is_set_used_and_removed(admin: Client, ann: Client) -> None:
    body = {"models": ["gpt", "gpt", "o1"], "max_concurrent": 4}
    put = await admin.request("PUT", f"{QUEUES}/openai", body)
    assert put.status == 200
    assert (put.json["models"], put.json["max_concurrent"], put.json["state"]) == (["gpt", "o1"], 4, "open")
    task = (await ann.post(TASKS, {"input": "a", "model": "o1"})).json
    assert task["queue"] == "openai"
    refused = await admin.request("DELETE", f"{QUEUES}/openai")
    assert (refused.status, refused.json["code"]) == (409, "QUEUE_IN_USE")
    assert refused.json["detail"].startswith("1 open task is in the queue openai")
    await ann.request("DELETE", f"{TASKS}/{task['id']}")
    assert (await admin.request("DELETE", f"{QUEUES}/openai")).json == {"ok": True}
    again = await admin.request("DELETE", f"{QUEUES}/openai")
    assert (again.status, again.json["code"]) == (404, "QUEUE_NOT_FOUND")
    unrouted = await ann.post(TASKS, {"input": "a", "model": "o1"})
    assert (unrouted.status, unrouted.json["code"]) == (422, "MODEL_NOT_ROUTED")
    assert "llama3" in unrouted.json["detail"]


async def test_a_queue_is_paused_and_resumed(admin: Client, ann: Client) -> None:
    paused = await admin.post(f"{QUEUES}/ollama/pause", {})
    assert (paused.status, paused.json["state"]) == (200, "paused")
    assert (await seen(ann, "ollama"))["state"] == "paused"
    assert (await admin.post(f"{QUEUES}/ollama/resume", {})).json["state"] == "open"
    for verb in ("pause", "resume"):
        unknown = await admin.post(f"{QUEUES}/nowhere/{verb}", {})
        assert (unknown.status, unknown.json["code"]) == (404, "QUEUE_NOT_FOUND")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"max_concurrent": 0}, "max_concurrent"),
        ({"models": [""]}, "models[0]"),
    ],
)
async def test_a_wrong_body_names_its_field(admin: Client, body: dict[str, Any], path: str) -> None:
    bad = await admin.request("PUT", f"{QUEUES}/openai", body)
    assert (bad.status, bad.json["code"]) == (422, "INVALID_INPUT")
    assert path in str(bad.json["errors"])
    assert [queue["name"] for queue in (await admin.get(QUEUES)).json] == ["ollama", "default"]


@pytest.mark.parametrize("name", ["a\nb", "x" * 256])
async def test_a_name_that_could_not_be_shown_is_refused(admin: Client, name: str) -> None:
    bad = await admin.request("PUT", f"{QUEUES}/{name}", {})
    assert (bad.status, bad.json["code"]) == (422, "INVALID_INPUT")


async def test_a_queue_that_left_the_configuration_is_shown_while_tasks_are_in_it(
    hub: GatewayHub, ann: Client, bob: Client
) -> None:
    await ann.post(TASKS, {"input": "a", "model": "llama3"})
    await hub.adopt(Settings())
    assert [queue["name"] for queue in (await ann.get(QUEUES)).json] == ["default", "ollama"]
    assert [queue["name"] for queue in (await bob.get(QUEUES)).json] == ["default"]

"""What the source documents get wrong about requests and messages, where no test of the edge itself would notice."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from taskyard.core.commands import Tick
from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client, Connection
from tests.support.gateway_hub import GatewayHub, a_hub

TASKS = "/api/v1/tasks"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def hub() -> AsyncIterator[GatewayHub]:
    async with a_hub() as made:
        yield made


@pytest.fixture
async def ann(hub: GatewayHub) -> AsyncIterator[Client]:
    """A user with a key for tasks and for daemons."""
    app = build_app(hub, GatewaySettings())
    yield Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    await app.door.close()


@pytest.mark.anyio
@pytest.mark.parametrize("at", ["2027-01-15T08:00:05Z", "2027-01-15T10:00:05+02:00", "2027-01-14T22:00:05.000-10:00"])
async def test_a_time_is_an_instant_however_it_is_written(hub: GatewayHub, ann: Client, at: str) -> None:
    # Given a hub on whose calendar it is 8:00:00 UTC
    await ann.post(TASKS, {"input": "a", "scheduled_for": at})
    for later_ms, status in ((4_999, "pending"), (1, "queued")):
        hub.wall_ms += later_ms
        await hub.decide(Tick())
        assert (await ann.get(f"{TASKS}/T-001")).json["status"] == status


@pytest.mark.anyio
async def test_the_callers_key_is_kept_where_content_is_compared_too(ann: Client) -> None:
    first = await ann.post(TASKS, {"input": "a", "dedupe": "content", "idempotency_key": "mine"})
    assert first.json["idempotency_key"] == "mine"
    second = await ann.post(TASKS, {"input": "a", "dedupe": "content", "idempotency_key": "another"})
    assert second.json["id"] != first.json["id"]


async def executed(daemon: Connection) -> list[dict[str, Any]]:
    while True:
        if found := [message for message in await daemon.hear() if message["type"] == "task.execute"]:
            return found


@pytest.mark.anyio
async def test_who_goes_on_after_a_failure_is_told_whose_and_has_the_whole_result_of_the_others(ann: Client) -> None:
    # Given a task that waits for two others and goes on without either
    tasks = [
        {"input": "a", "name": "a", "execution": {"max_attempts": 1}},
        {"input": "b", "name": "b"},
        {"input": "c", "depends_on": ["a", "b"], "on_depends_fail": "continue"},
    ]
    async with ann.daemon(max_concurrent_tasks=4) as daemon:
        made = (await ann.post(f"{TASKS}/batch", {"tasks": tasks})).json["tasks"]
        first, second = ({"task_id": task["id"], "attempt": 1} for task in made[:2])

        # When one fails, and the other leaves more than a sentence
        daemon.say({"type": "task.failed", **first, "error": {"code": "INVALID_INPUT", "message": "no"}})
        daemon.say({"type": "task.completed", **second, "result": {"rows": [1, 2, 3]}, "summary": "three rows"})
        messages = await executed(daemon)
        while messages[-1]["task"]["ref"] != "T-003":
            messages += await executed(daemon)

    # Then it is told both, each with where it came from
    result, warning = messages[-1]["context_input"]
    assert (result["ref"], result["result"], result["result_summary"]) == ("T-002", {"rows": [1, 2, 3]}, "three rows")
    assert (warning["ref"], warning["source_task"], warning["result_status"]) == ("T-001", made[0]["id"], None)
    assert "T-001" in warning["warning"]

"""What the source documents get wrong about requests and messages, where no test of the edge itself would notice."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from taskyard.core.commands import Tick
from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.sameness import digest_of
from taskyard.vocabulary import Scope
from taskyard.wire.submission import Submission
from tests.support.gateway_client import Client, Connection
from tests.support.gateway_hub import GatewayHub

TASKS = "/api/v1/tasks"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def hub() -> GatewayHub:
    return GatewayHub()


@pytest.fixture
async def ann(hub: GatewayHub) -> AsyncIterator[Client]:
    """A user with a key for tasks and for daemons."""
    app = build_app(hub, GatewaySettings())
    yield Client(app, hub.a_key(hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    await app.door.close()


@pytest.mark.anyio
@pytest.mark.parametrize("at", ["2027-01-15T08:00:05Z", "2027-01-15T10:00:05+02:00", "2027-01-14T22:00:05.000-10:00"])
async def test_a_time_is_an_instant_however_it_is_written(hub: GatewayHub, ann: Client, at: str) -> None:
    # Given a hub on whose calendar it is 8:00:00 UTC
    await ann.post(TASKS, {"input": "a", "scheduled_for": at})
    for later_ms, status in ((4_999, "pending"), (1, "queued")):
        hub.wall_ms += later_ms
        hub.tell(Tick())
        assert (await ann.get(f"{TASKS}/T-001")).json["status"] == status


CONTENT = {"type": "eng-backend", "input": "build", "context": {"a": 1}, "payload": {"b": [2]}, "depends_on": ["T-001"]}
HASHES = """
import msgspec, sys
from taskyard.gateway.sameness import digest_of
from taskyard.wire.submission import Submission
print(digest_of(msgspec.json.decode(sys.argv[1], type=Submission), "ann"))
"""


def digest(**fields: object) -> str:
    user = str(fields.pop("user", "ann"))
    return digest_of(msgspec.json.decode(msgspec.json.encode({**CONTENT, **fields}), type=Submission), user)


def test_the_same_content_has_the_same_hash_in_every_process() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", HASHES, msgspec.json.encode(CONTENT).decode()],
            env={**os.environ, "PYTHONHASHSEED": "1"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout.strip(),
        digest(),
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"user": "bob"},
        {"type": "eng-frontend"},
        {"input": "test"},
        {"context": {"a": 2}},
        {"payload": {"b": [3]}},
        {"depends_on": []},
    ],
)
def test_whatever_makes_it_other_work_makes_another_hash(other: dict[str, object]) -> None:
    assert digest(**other) != digest()


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
    async with ann.socket() as daemon:
        await daemon.next()
        daemon.say({"type": "hello", "protocol": 1, "boot_id": "b1", "name": "mac", "max_concurrent_tasks": 4})
        await daemon.hear()
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

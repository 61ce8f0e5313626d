"""Agents with a real hub and a real daemon: by the official MCP client, over HTTP and standard input, and by claims."""

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any

import httpx2
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from taskyard.sdk.answers import Claimed
from taskyard.sdk.errors import Conflict
from tests.support.engines import Engine
from tests.support.live import SHORT_LEASES, LiveHub, environment, live_yard, wait_until

pytestmark = pytest.mark.takes(30)

LEASES = SHORT_LEASES.replace("lease_s = 2", "lease_s = 6")
"""One of them is waited for; the others must outlast what a busy machine takes to start a client."""
Entering = Callable[[LiveHub, str], AbstractAsyncContextManager[mcp.Client]]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Iterator[LiveHub]:
    """With the daemon that comes up with it."""
    with live_yard(tmp_path_factory.mktemp("mcp"), engine) as yard:
        yield yard.hub(settings=LEASES, options=())


@asynccontextmanager
async def over_http(hub: LiveHub, credential: str) -> AsyncIterator[mcp.Client]:
    headers = {"Authorization": f"Bearer {credential}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        mcp.Client(streamable_http_client(f"{hub.url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(hub: LiveHub, credential: str) -> AsyncIterator[mcp.Client]:
    name = "TASKYARD_TASK_TOKEN" if credential.startswith("tyt_") else "TASKYARD_KEY"
    env = environment(TASKYARD_HUB=hub.url, **{name: credential})
    command = StdioServerParameters(command=sys.executable, args=["-m", "taskyard.cli", "mcp"], env=env)
    async with mcp.Client(stdio_client(command)) as client:
        yield client


@pytest.fixture(params=[over_http, over_stdio], ids=["http", "stdio"])
def entering(request: pytest.FixtureRequest) -> Entering:
    way: Entering = request.param
    return way


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await scenario()

    asyncio.run(bounded())


async def use(client: mcp.Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.structured_content
    return answer.structured_content


async def code_of(client: mcp.Client, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error, answer.structured_content
    return str(answer.structured_content["code"])


@pytest.mark.slow
def test_an_agent_submits_a_graph_waits_for_it_and_reads_the_results(hub: LiveHub, entering: Entering) -> None:
    async def scenario() -> None:
        async with entering(hub, hub.key) as agent:
            # When an agent hands in four tasks, two of which wait for the first and one for those two
            made = await use(
                agent,
                "submit_batch",
                tasks=[
                    {"name": "report", "type": "echo", "input": "report", "depends_on": ["left", "right"]},
                    {"name": "left", "type": "echo", "input": "left", "depends_on": ["fetch"]},
                    {"name": "right", "type": "echo", "input": "right", "depends_on": ["fetch"]},
                    {"name": "fetch", "type": "echo", "input": "fetch"},
                ],
            )
            refs = [task["ref"] for task in made["tasks"]]

            # Then it can wait until a daemon has run all of them
            waited = await use(agent, "wait_for_tasks", tasks=refs, wait_s=40)
            assert waited["all_ended"], waited
            assert [(task["status"], task["result"]) for task in waited["tasks"]] == [
                ("completed", name) for name in ("report", "left", "right", "fetch")
            ]

            # And each was handed what it waited for
            report = await use(agent, "get_task", task=refs[0])
            handed = [(one["ref"], one["result"]) for one in report["context_input"]]
            assert handed == [(refs[1], "left"), (refs[2], "right")]
            assert report["attempts"][0]["status"] == "success"
            assert (await use(agent, "why", task=refs[0]))["status"] == "completed"

    run(scenario)


@contextmanager
def beating(hub: LiveHub, claimed: Claimed) -> Iterator[None]:
    """Somebody says that it is being worked on, for as long as the block takes or until it is done."""
    is_over = threading.Event()

    def beat() -> None:
        with hub.client(key=claimed.token) as own, suppress(Conflict):
            while not is_over.wait(claimed.lease_s / 5):
                own.heartbeat(claimed.task["id"])

    beats = threading.Thread(target=beat)
    beats.start()
    try:
        yield
    finally:
        is_over.set()
        beats.join()


@pytest.mark.slow
def test_an_agent_that_runs_a_task_splits_it_reports_and_hands_in_its_result(hub: LiveHub, entering: Entering) -> None:
    async def scenario(token: str, parent: str) -> None:
        async with entering(hub, token) as agent:
            part = await use(agent, "submit_subtask", type="echo", input="a part", priority="critical")
            assert (part["parent_task_id"], part["priority"]) == (parent, "high")
            waited = await use(agent, "wait_for_tasks", tasks=[part["ref"]], wait_s=40)
            assert waited["tasks"][0]["result"] == "a part"
            assert await use(agent, "report_progress", task=parent, percent=90, message="nearly") == {"ok": True}
            assert await code_of(agent, "list_tasks") == "FORBIDDEN"
            assert await code_of(agent, "get_task", task=other) == "TASK_NOT_FOUND"
            assert await code_of(agent, "cancel_task", task=parent) == "FORBIDDEN"
            assert await use(agent, "complete_task", task=parent, result={"parts": 1}) == {"ok": True}

    with hub.client() as client:
        other = client.submit("of the same user", scheduled_for="2099-01-01T00:00:00Z").id
        task = client.submit("split me", capabilities=["agents"])
        claimed = client.claim("splitter", capabilities=["agents"], wait_s=20)
        assert claimed is not None
        with beating(hub, claimed):
            run(lambda: scenario(claimed.token, task.id))
        assert client.task(task.id).result == {"parts": 1}


@pytest.mark.slow
def test_a_silent_agents_task_is_given_to_another_and_its_late_result_is_kept(hub: LiveHub) -> None:
    with hub.client() as client:
        task = client.submit("once")
        silent = client.claim("silent", wait_s=5)
        assert silent is not None
        other = wait_until(lambda: client.claim("other", wait_s=5), within_s=60, what="the task, claimed anew")
        assert (other.task["id"], other.attempt) == (task.id, 2)
        with hub.client(key=silent.token) as late:
            with pytest.raises(Conflict):
                late.heartbeat(task.id)
            with pytest.raises(Conflict, match="kept as late"):
                late.complete(task.id, result="too late")
        with hub.client(key=other.token) as own:
            own.complete(task.id, result="in time")
        ended = client.task(task.id)
        assert (ended.result, ended.attempts[0].status, ended.attempts[0].late_result["result"]) == (
            "in time",
            "lost",
            "too late",
        )

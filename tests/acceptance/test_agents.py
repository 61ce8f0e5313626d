"""Agents with a real hub and a real daemon: by the official MCP client, over HTTP and over standard input."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.guests import Guest, fleet_at_work
from tests.support.live import environment

pytestmark = pytest.mark.takes(15)


@asynccontextmanager
async def over_http(guest: Guest, credential: str) -> AsyncIterator[mcp.Client]:
    headers = {"Authorization": f"Bearer {credential}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        mcp.Client(streamable_http_client(f"{guest.url}/mcp", http_client=http)) as client,
    ):
        yield client


@asynccontextmanager
async def over_stdio(guest: Guest, credential: str) -> AsyncIterator[mcp.Client]:
    name = "TASKYARD_TASK_TOKEN" if credential.startswith("tyt_") else "TASKYARD_KEY"
    env = environment(TASKYARD_HUB=guest.url, **{name: credential})
    command = StdioServerParameters(command=sys.executable, args=["-m", "taskyard.cli", "mcp"], env=env)
    async with mcp.Client(stdio_client(command)) as client:
        yield client


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
def test_an_agent_submits_a_graph_waits_for_it_and_reads_the_results(guest: Guest, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with over_http(guest, guest.key) as agent:
            # When an agent hands in four tasks, two of which wait for the first and one for those two
            made = await use(
                agent,
                "submit_batch",
                tasks=[
                    {"name": "report", "type": "noop", "input": "report", "depends_on": ["left", "right"]},
                    {"name": "left", "type": "noop", "input": "left", "depends_on": ["fetch"]},
                    {"name": "right", "type": "noop", "input": "right", "depends_on": ["fetch"]},
                    {"name": "fetch", "type": "noop", "input": "fetch"},
                ],
            )
            refs = [task["ref"] for task in made["tasks"]]

            # Then it can wait until a daemon has run all of them
            waited = await use(agent, "wait_for_tasks", tasks=refs, wait_s=40)
            assert waited["all_ended"], waited
            assert [(task["status"], task["result"]) for task in waited["tasks"]] == [("completed", "done")] * 4

            # And each was handed what it waited for
            report = await use(agent, "get_task", task=refs[0])
            handed = [(one["ref"], one["result"]) for one in report["context_input"]]
            assert handed == [(refs[1], "done"), (refs[2], "done")]
            assert report["attempts"][0]["status"] == "success"
            assert (await use(agent, "why", task=refs[0]))["status"] == "completed"

    with fleet_at_work(guest, tmp_path):
        run(scenario)


@pytest.mark.slow
def test_an_agent_that_runs_a_task_splits_it_reports_and_hands_in_its_result(guest: Guest, tmp_path: Path) -> None:
    async def scenario(token: str, parent: str) -> None:
        async with over_stdio(guest, token) as agent:
            part = await use(agent, "submit_subtask", type="noop", input="a part", priority="critical")
            assert (part["parent_task_id"], part["priority"]) == (parent, "high")
            waited = await use(agent, "wait_for_tasks", tasks=[part["ref"]], wait_s=40)
            assert waited["tasks"][0]["result"] == "done"
            assert await use(agent, "report_progress", task=parent, percent=90, message="nearly") == {"ok": True}
            assert await code_of(agent, "list_tasks") == "FORBIDDEN"
            assert await code_of(agent, "get_task", task=other) == "TASK_NOT_FOUND"
            assert await code_of(agent, "cancel_task", task=parent) == "FORBIDDEN"
            assert await use(agent, "complete_task", task=parent, result={"parts": 1}) == {"ok": True}

    with guest.client() as client, fleet_at_work(guest, tmp_path):
        other = client.submit("of the same user", scheduled_for="2099-01-01T00:00:00Z").id
        task = client.submit("split me", capabilities=["agents"])
        claimed = client.claim("splitter", capabilities=["agents"], wait_s=20)
        assert claimed is not None
        run(lambda: scenario(claimed.token, task.id))
        assert client.task(task.id).result == {"parts": 1}

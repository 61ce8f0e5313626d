"""`/mcp`, asked by the official client: what agents see, and what their key or token keeps from them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import jsonschema
import mcp
import msgspec
import pytest
from mcp.client.streamable_http import streamable_http_client

from taskyard.gateway import mcp as gateway_mcp
from taskyard.gateway.app import GatewayApp
from taskyard.mcp import revisions
from taskyard.mcp import tools as mcp_tools
from taskyard.mcp.schemas import input_schema, output_schema
from taskyard.mcp.server import Streamed, build_server
from taskyard.mcp.tools import BY_NAME, TOOLS, WAITED_FOR_MAX
from taskyard.mcp.yard import Ask, Outcome, ToolCall
from taskyard.vocabulary import Level, Scope
from tests.support.gateway_client import HELLO, WAIT_S, Client, Connection
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
URL = "http://127.0.0.1:8420/mcp"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MCP_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


OUTPUTS = {tool.name: jsonschema.Draft202012Validator(output_schema(tool.answers)) for tool in TOOLS}
TRACE = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "tracestate": "a=b"}


class Agent:
    """The official client, with each tool's answer taken apart."""

    def __init__(self, client: mcp.Client) -> None:
        self.client = client

    async def use(self, tool: str, **arguments: Any) -> Any:
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.structured_content
        OUTPUTS[tool].validate(answer.structured_content)
        return answer.structured_content

    async def refused(self, tool: str, **arguments: Any) -> str:
        """The code of the refusal; it also says what is wrong."""
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error
        assert answer.structured_content["detail"]
        OUTPUTS[tool].validate(answer.structured_content)
        return str(answer.structured_content["code"])


@asynccontextmanager
async def agent_with(app: GatewayApp, credential: str, mode: str = "auto") -> AsyncIterator[Agent]:
    transport = httpx2.ASGITransport(app=app)
    headers = {"Authorization": f"Bearer {credential}"}
    async with (
        httpx2.AsyncClient(transport=transport, headers=headers) as http,
        mcp.Client(streamable_http_client(URL, http_client=http), mode=mode) as client,
    ):
        yield Agent(client)


@pytest.fixture
async def agent(app: GatewayApp, owner: Client) -> AsyncIterator[Agent]:
    assert owner.key is not None
    async with agent_with(app, owner.key) as connected:
        yield connected


@asynccontextmanager
async def running(owner: Client, **submission: Any) -> AsyncIterator[tuple[Connection, dict[str, Any]]]:
    """A task that a daemon has just been handed, and its token."""
    async with owner.daemon(max_concurrent_tasks=1) as daemon:
        await owner.post(TASKS, {"input": "a", **submission})
        (order,) = await daemon.hear()
        yield daemon, order


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_every_tool_is_described_for_whoever_has_to_choose_one(app: GatewayApp, owner: Client, mode: str) -> None:
    assert owner.key is not None
    async with agent_with(app, owner.key, mode) as agent:
        listed = (await agent.client.list_tools()).tools
        assert [tool.name for tool in listed] == [tool.name for tool in TOOLS]
        assert "code" in (agent.client.instructions or "")
        for tool in listed:
            assert len(tool.description or "") > 100
            assert tool.input_schema["type"] == "object"
            assert tool.output_schema == output_schema(BY_NAME[tool.name].answers)
            said = tool.input_schema["properties"].values()
            assert all("description" in one or "$ref" in one or one == {"type": "string"} for one in said)


async def test_a_graph_is_submitted_run_waited_for_and_read(owner: Client, agent: Agent) -> None:
    # Given a plan of two steps
    made = await agent.use(
        "submit_batch",
        tasks=[{"input": "fetch", "name": "fetch"}, {"input": "plot", "depends_on": ["fetch"], "title": "Plot"}],
    )
    fetch, plot = made["tasks"]
    assert (fetch["status"], plot["status"], made["rejected"]) == ("queued", "waiting", [])

    # When a daemon runs both while the agent waits
    async with owner.socket() as daemon:
        await daemon.next()
        waiting = asyncio.create_task(agent.use("wait_for_tasks", tasks=[fetch["ref"], plot["ref"]], wait_s=10))
        daemon.say(HELLO)
        for result in ({"rows": 42}, None):
            while not (orders := [one for one in await daemon.hear() if one["type"] == "task.execute"]):
                continue
            about = {"task_id": orders[0]["task"]["id"], "attempt": 1}
            daemon.say({"type": "task.completed", **about, "result": result, "summary": "done"})
        waited = await waiting

    # Then both have ended, with their results, and are the agent's own
    assert waited["all_ended"] is True
    assert [(task["status"], task["result"]) for task in waited["tasks"]] == [
        ("completed", {"rows": 42}),
        ("completed", None),
    ]
    whole = await agent.use("get_task", task=plot["ref"])
    assert (whole["title"], whole["source"]["type"], whole["source"]["channel"]) == ("Plot", "agent", "mcp")
    assert whole["context_input"][0]["result_summary"] == "done"


async def test_what_waits_is_explained_found_counted_and_cancelled(agent: Agent) -> None:
    ref = (await agent.use("submit_task", input="a", correlation_id="c1", priority="low"))["ref"]
    await agent.use("submit_task", input="b", depends_on=[ref])
    assert (await agent.use("why", task=ref))["reasons"][0]["code"] == "NO_DAEMON"
    assert [task["ref"] for task in (await agent.use("list_tasks", correlation_id="c1"))["tasks"]] == [ref]
    assert (await agent.use("list_tasks", limit=1))["more"] is True
    status = await agent.use("queue_status")
    assert (status["pending"], status["backpressure"]["level"]) == (2, "normal")
    assert await agent.use("wait_for_tasks", tasks=[ref], wait_s=0) == {
        "all_ended": False,
        "tasks": [await_shown(await agent.use("get_task", task=ref))],
    }
    assert len((await agent.use("cancel_task", task=ref, reason="no longer wanted"))["also_cancelled"]) == 1
    assert await agent.refused("cancel_task", task=ref) == "INVALID_TRANSITION"


def await_shown(task: dict[str, Any]) -> dict[str, Any]:
    """Of a task read whole, what is told to who waits for it."""
    known = ("input", "source", "requirements", "execution", "priority_value", "on_depends_fail")
    return {name: value for name, value in task.items() if name not in known}


async def test_wrong_arguments_are_told_and_change_nothing(agent: Agent) -> None:
    for tool, arguments, code in (
        ("submit_task", {}, "INVALID_INPUT"),
        ("submit_task", {"input": "a", "user_id": "u_bob"}, "INVALID_INPUT"),
        ("submit_task", {"input": "a", "deadline": "tomorrow"}, "INVALID_INPUT"),
        ("submit_task", {"input": "x" * 300_000}, "TOO_LARGE"),
        ("submit_task", {"input": "a", "depends_on": ["T-999"]}, "DEPENDENCY_NOT_FOUND"),
        ("submit_batch", {"tasks": [{"input": "a", "name": "a", "depends_on": ["a"]}]}, "DEPENDENCY_CYCLE"),
        ("wait_for_tasks", {"tasks": []}, "INVALID_INPUT"),
        ("wait_for_tasks", {"tasks": ["T-001"] * (WAITED_FOR_MAX + 1)}, "INVALID_INPUT"),
        ("wait_for_tasks", {"tasks": ["T-999"]}, "TASK_NOT_FOUND"),
        ("get_task", {"task": "T 1/é"}, "TASK_NOT_FOUND"),
        ("list_tasks", {"status": "asleep"}, "INVALID_INPUT"),
        ("submit_subtask", {"input": "a"}, "INVALID_INPUT"),
        ("submit_subtask", {"input": "a", "parent": "T-999"}, "INVALID_INPUT"),
    ):
        assert await agent.refused(tool, **arguments) == code, (tool, arguments)
    assert (await agent.use("list_tasks"))["tasks"] == []


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_tool_that_is_none_is_an_error_of_the_protocol(app: GatewayApp, owner: Client, mode: str) -> None:
    assert owner.key is not None
    async with agent_with(app, owner.key, mode) as agent:
        with pytest.raises(mcp.MCPError, match="There is no tool fly; there are submit_task") as refused:
            await agent.client.call_tool("fly", {})
    assert refused.value.code == -32602


async def test_what_is_no_tasks_name_is_no_task_and_no_address_either(agent: Agent) -> None:
    await agent.use("submit_task", input="a")
    for name in ("T-001/events", "queue-status", "", "..", "T-001?x", "T-001%2Flog"):
        for tool in ("get_task", "why", "cancel_task"):
            assert await agent.refused(tool, task=name) == "TASK_NOT_FOUND"


@pytest.mark.parametrize(
    "context",
    [b'{"a": "\\u0000"}', b'{"a":' * 80 + b"1" + b"}" * 80, b'{"a": 1e999}'],
    ids=["a NUL", "80 deep", "a wild number"],
)
async def test_arguments_that_no_call_could_be_made_with_are_told_as_the_tools_result(
    owner: Client, context: bytes
) -> None:
    call = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "submit_task", "arguments": '
    raw = call + b'{"input": "a", "context": ' + context + b"}}}"
    answer = await owner.post("/mcp", raw=raw, headers=MCP_HEADERS, hang_up=asyncio.Event())
    assert (answer.status, answer.json["id"], answer.json["result"]["isError"]) == (200, 7, True)
    told = answer.json["result"]["structuredContent"]
    assert (set(told), told["code"]) == ({"code", "detail"}, "INVALID_INPUT")
    assert (await owner.get(TASKS)).json == []


async def test_who_waits_for_what_is_not_there_hears_it_at_once(agent: Agent) -> None:
    ref = (await agent.use("submit_task", input="a"))["ref"]
    async with asyncio.timeout(WAIT_S):
        assert await agent.refused("wait_for_tasks", tasks=[ref, "T-999"], wait_s=50) == "TASK_NOT_FOUND"


async def test_another_users_task_is_as_if_it_were_not(bob: Client, agent: Agent) -> None:
    foreign = (await bob.post(TASKS, {"input": "b"})).json["id"]
    for tool in ("get_task", "cancel_task", "why"):
        assert await agent.refused(tool, task=foreign) == "TASK_NOT_FOUND"
    assert await agent.refused("complete_task", task=foreign, attempt=1) == "TASK_NOT_FOUND"
    assert await agent.refused("wait_for_tasks", tasks=[foreign]) == "TASK_NOT_FOUND"
    assert await agent.refused("submit_task", input="a", depends_on=[foreign]) == "DEPENDENCY_NOT_FOUND"


async def test_a_key_for_agents_reads_and_submits_and_cancels_nothing(hub: GatewayHub, app: GatewayApp) -> None:
    user = await hub.a_user("eve")
    async with agent_with(app, await hub.a_key(user, Scope.AGENT, max_priority=Level.NORMAL)) as agent:
        made = await agent.use("submit_task", input="a", priority="critical")
        assert made["priority"] == "normal"
        assert await agent.refused("cancel_task", task=made["ref"]) == "FORBIDDEN"
    async with agent_with(app, await hub.a_key(user, Scope.DAEMON)) as agent:
        assert await agent.refused("submit_task", input="a") == "FORBIDDEN"


async def test_a_running_agents_token_makes_parts_of_its_own_task_and_no_more(owner: Client, app: GatewayApp) -> None:
    other = (await owner.post(TASKS, {"input": "b", "scheduled_for": "2099-01-01T00:00:00Z"})).json
    async with running(owner) as (_, order), agent_with(app, order["token"]) as agent:
        task = order["task"]["id"]
        for parent in (None, task, other["id"]):
            given = {} if parent is None else {"parent": parent}
            part = await agent.use("submit_subtask", input="part", priority="critical", **given)
            assert (part["parent_task_id"], part["priority"]) == (task, "high")
        assert (await agent.use("submit_task", input="also a part"))["parent_task_id"] == task
        assert (await agent.use("get_task", task=part["ref"]))["source"]["type"] == "agent"
        assert (await agent.use("wait_for_tasks", tasks=[part["ref"]], wait_s=0))["all_ended"] is False
        assert await agent.refused("get_task", task=other["ref"]) == "TASK_NOT_FOUND"
        assert await agent.refused("report_progress", task=other["ref"]) == "TASK_NOT_FOUND"
        assert await agent.refused("complete_task", task=other["ref"]) == "TASK_NOT_FOUND"
        for tool, arguments in (
            ("list_tasks", {}),
            ("queue_status", {}),
            ("cancel_task", {"task": part["ref"]}),
            ("cancel_task", {"task": task}),
            ("get_task", {"task": task}),
            ("why", {"task": order["task"]["ref"]}),
        ):
            assert await agent.refused(tool, **arguments) == "FORBIDDEN"


async def test_a_token_given_with_a_call_speaks_for_its_own_attempt_only(owner: Client, agent: Agent) -> None:
    async with running(owner) as (_, order):
        task, token = order["task"]["id"], order["token"]
        assert await agent.use("report_progress", task=task, token=token, percent=0, message="reading") == {"ok": True}
        assert (await agent.use("get_task", task=task))["progress"] == {"percent": 0, "message": "reading"}
        assert await agent.refused("report_progress", task=task, token="tyt_none.1.AAAA") == "UNAUTHENTICATED"
        assert await agent.refused("report_progress", task=task, token="ü\n") == "UNAUTHENTICATED"
        assert await agent.refused("report_progress", task=task) == "INVALID_INPUT"
        assert await agent.use("complete_task", task=task, token=token, result=[1], summary="done") == {"ok": True}
        assert (await agent.use("get_task", task=task))["result"] == [1]
        # A second word changes nothing, and its token makes no more sub-tasks.
        assert await agent.use("complete_task", task=task, token=token, result=[2]) == {"ok": True}
        assert (await agent.use("get_task", task=task))["result"] == [1]
        assert await agent.refused("submit_subtask", input="part", token=token) == "STALE_ATTEMPT"
        assert await agent.refused("wait_for_tasks", tasks=[task], token=token) == "STALE_ATTEMPT"
        assert await agent.refused("report_progress", task=task, token=token) == "STALE_ATTEMPT"


async def test_a_failure_is_told_with_what_went_wrong(owner: Client, agent: Agent) -> None:
    async with running(owner) as (_, order):
        error = {"code": "PERMISSION_DENIED", "message": "no", "retryable": False}
        await agent.use("complete_task", task="T-001", token=order["token"], status="failed", error=error)
        told = await agent.use("wait_for_tasks", tasks=["T-001"], wait_s=1)
        assert (told["tasks"][0]["status"], told["tasks"][0]["error"]["code"]) == (
            "permanently_failed",
            "PERMISSION_DENIED",
        )


async def test_a_task_is_claimed_worked_on_and_handed_in(owner: Client, agent: Agent) -> None:
    assert await agent.use("claim_task", name="reader", wait_s=0) == {"claimed": False}
    await owner.post(TASKS, {"input": "read", "requirements": {"capabilities": ["eyes"]}})
    assert await agent.use("claim_task", name="reader", wait_s=0) == {"claimed": False}
    given = await agent.use("claim_task", name="reader", capabilities=["eyes"], wait_s=5)
    assert (given["claimed"], given["task"]["input"], given["attempt"]) == (True, "read", 1)
    own = {"task": given["task"]["ref"], "token": given["token"]}
    part = await agent.use("submit_subtask", input="a part", token=given["token"])
    assert part["parent_task_id"] == given["task"]["id"]
    assert await agent.use("report_progress", **own, percent=50) == {"ok": True}
    assert await agent.use("complete_task", **own, result="seen") == {"ok": True}
    assert (await agent.use("get_task", task=given["task"]["ref"]))["result"] == "seen"


async def test_a_request_stands_behind_the_same_door_as_any_other(app: GatewayApp, owner: Client) -> None:
    for headers, status in (
        ({}, 200),
        ({"origin": "http://127.0.0.1:8420"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"host": "evil.example"}, 403),
    ):
        answer = await owner.post("/mcp", PING, headers={**MCP_HEADERS, **headers}, hang_up=asyncio.Event())
        assert answer.status == status
    assert (await Client(app, "tyk_" + "x" * 43).post("/mcp", PING, headers=MCP_HEADERS)).status == 401
    assert (await owner.get("/mcp")).status == 405
    assert (await owner.request("DELETE", "/mcp")).status == 405
    assert (await owner.post("/mcp", [PING], headers=MCP_HEADERS)).status == 422
    deep = b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 100 + b"1" + b"}" * 101
    assert (await owner.post("/mcp", raw=deep, headers=MCP_HEADERS)).status == 422
    large = await owner.post("/mcp", raw=b'{"jsonrpc": "' + b"x" * 17_000_000 + b'"}', headers=MCP_HEADERS)
    assert (large.status, large.json["code"]) == (413, "TOO_LARGE")
    note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    told = await owner.post("/mcp", note, headers=MCP_HEADERS, hang_up=asyncio.Event())
    assert (told.status, told.body) == (202, b"")


class Burning:
    """A yard that fails as nobody foresaw."""

    is_of_a_task = False

    async def ask(self, ask: Ask) -> Outcome:
        raise RuntimeError("the disk is on fire")


async def test_a_fault_tells_the_agent_nothing_and_the_log_no_argument(caplog: pytest.LogCaptureFixture) -> None:
    async with mcp.Client(build_server("1", Burning())) as client:
        answer = await client.call_tool("submit_task", {"input": "a secret"})
    assert (answer.is_error, answer.structured_content["code"]) == (True, "INTERNAL_ERROR")
    assert "fire" not in str(answer)
    assert "a tool failed" in caplog.text
    assert "a secret" not in caplog.text


async def test_nothing_that_an_agent_says_is_in_the_log(
    owner: Client, agent: Agent, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    await agent.refused("report_progress", task="T-001", token="tyt_a_secret")
    await agent.refused("submit_task", input=["a secret"])
    bad = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": ["a secret"]}
    await owner.post("/mcp", bad, headers=MCP_HEADERS, hang_up=asyncio.Event())
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert "secret" not in " ".join(ours)


async def test_a_hub_without_the_library_says_what_to_install(owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway_mcp._library.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "taskyard.mcp.server", None)
    answer = await owner.post("/mcp", PING, headers=MCP_HEADERS)
    gateway_mcp._library.cache_clear()
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")
    assert "taskyard[mcp]" in answer.json["detail"]


def test_what_a_tool_takes_is_said_without_words_that_say_nothing() -> None:
    for tool in TOOLS:
        text = msgspec.json.encode(input_schema(tool.takes)).decode()
        assert "null" not in text
        assert len(text) < 5000
        assert len(msgspec.json.encode(output_schema(tool.answers))) < 4000
    assert input_schema(BY_NAME["submit_task"].takes)["properties"]["title"]["type"] == "string"


async def test_an_argument_that_stands_twice_is_refused_and_named(ann: Client) -> None:
    arguments = '{"input":"a","priority":"low","priority":"high","context":{"a":1,"a":2}}'
    params = f'{{"name":"submit_task","arguments":{arguments}}}'
    call = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    answer = await ann.post("/mcp", raw=call.encode(), headers=MCP_HEADERS)
    assert answer.json["result"]["isError"]
    assert "priority" in answer.json["result"]["structuredContent"]["detail"]
    assert (await ann.get(TASKS)).json == []


# --- progress ----------------------------------------------------------------------------------------------


class Waited:
    """A yard with one task, which has ended when it is looked at for the last of some times."""

    is_of_a_task = False

    def __init__(self, looks: int) -> None:
        self.waits: list[float] = []
        self.traces: list[Any] = []
        self.is_blocked = asyncio.Event()
        self.was_left = False
        self._looks = looks

    async def ask(self, ask: Ask) -> Outcome:
        self.waits.append(ask.wait_s)
        self.traces.append(ask.trace)
        if len(self.waits) > self._looks:
            self.is_blocked.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.was_left = True
        return Outcome({"id": "t1", "status": "completed" if len(self.waits) == self._looks else "running"})


async def test_who_waits_hears_of_progress_at_short_intervals_and_others_wait_at_a_stretch() -> None:
    told: list[tuple[float, float, str]] = []

    async def report(*progress: Any) -> None:
        told.append(progress)

    arguments = {"tasks": ["T-001"], "wait_s": 50}
    hearing = Waited(looks=4)
    outcome = await mcp_tools.use("wait_for_tasks", arguments, ToolCall(hearing, {}, report))
    assert outcome.value["all_ended"] is True
    assert hearing.waits == [0.0, *[mcp_tools.PROGRESS_S] * 3]
    assert [(total, message) for _, total, message in told] == [(50, "0 of 1 tasks have ended")] * 3
    done = [progress for progress, _, _ in told]
    assert done == sorted(set(done))

    deaf = Waited(looks=2)
    await mcp_tools.use("wait_for_tasks", arguments, ToolCall(deaf, {}))
    assert deaf.waits[1] > 40


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_agent_that_asks_for_progress_hears_of_it_before_the_answer(
    app: GatewayApp, owner: Client, mode: str
) -> None:
    told: list[Any] = []

    async def hear(*progress: Any) -> None:
        told.append(progress)

    assert owner.key is not None
    await owner.post(TASKS, {"input": "a"})
    async with agent_with(app, owner.key, mode) as agent:
        waiting = {"tasks": ["T-001"], "wait_s": 0.05}
        answer = await agent.client.call_tool("wait_for_tasks", waiting, progress_callback=hear)
        assert answer.structured_content["all_ended"] is False
        assert told[0][1:] == (0.05, "0 of 1 tasks have ended")
        # What is refused comes at once.
        count = len(told)
        refused = await agent.client.call_tool("wait_for_tasks", {"tasks": []}, progress_callback=hear)
        assert (refused.is_error, len(told)) == (True, count)


async def test_what_is_done_for_a_stream_ends_with_it() -> None:
    yard = Waited(looks=0)
    params = {"name": "wait_for_tasks", "arguments": {"tasks": ["T-001"]}, "_meta": {"progressToken": 1}}
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    headers = [(name.encode(), value.encode()) for name, value in MCP_HEADERS.items()]
    streamed = Streamed(build_server("1"), yard, headers=headers, body=body)
    async with asyncio.timeout(WAIT_S):
        await yard.is_blocked.wait()
        await streamed.aclose()
    assert yard.was_left


# --- trace context and revisions ---------------------------------------------------------------------------


async def test_a_tasks_trace_is_that_of_the_call(hub: GatewayHub, agent: Agent) -> None:
    await agent.client.call_tool("submit_task", {"input": "a"}, meta=TRACE)
    await agent.client.call_tool("submit_task", {"input": "a"}, meta={"traceparent": "no\r\ntrace"})
    await agent.client.call_tool("submit_task", {"input": "a"}, meta={"traceparent": 7})
    assert [task.traceparent for task in hub.state.tasks.values()] == [TRACE["traceparent"], None, None]


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *[(version, revisions.NEWEST) for version in ("2024-11-05", "2025-03-26", "1900-01-01")],
        *[(version, version) for version in revisions.OVER_HTTP],
    ],
)
async def test_only_a_revision_whose_requirements_are_kept_is_agreed_on(owner: Client, asked: str, agreed: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    answer = await owner.post("/mcp", hello, headers=MCP_HEADERS, hang_up=asyncio.Event())
    assert answer.json["result"]["protocolVersion"] == agreed


async def test_a_request_under_a_revision_that_is_not_kept_is_refused(owner: Client) -> None:
    for version in ("2024-11-05", "2025-03-26", "1900-01-01"):
        headers = {**MCP_HEADERS, "mcp-protocol-version": version}
        answer = await owner.post("/mcp", PING, headers=headers, hang_up=asyncio.Event())
        assert answer.status == 400
        assert "error" in answer.json
    for version in revisions.OVER_HTTP:
        headers = {**MCP_HEADERS, "mcp-protocol-version": version}
        assert (await owner.post("/mcp", PING, headers=headers, hang_up=asyncio.Event())).json["result"] == {}

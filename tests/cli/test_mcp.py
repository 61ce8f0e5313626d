"""`taskyard mcp`: how its tools reach a hub, and how it keeps what its agent has claimed."""

import asyncio
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.server.stdio import stdio_server

from taskyard.cli.mcp import Remote
from taskyard.mcp import keeping
from taskyard.mcp.keeping import Keeping
from taskyard.mcp.server import build_server
from taskyard.mcp.stdio import serve_lines
from taskyard.mcp.yard import Ask, Outcome, problem
from taskyard.sdk.async_client import AsyncClient
from taskyard.sdk.retry import NEVER, RetryPolicy
from tests.cli.conftest import Cli
from tests.support.http_stub import KEY, Reply, Reset, StubHub, a_task
from tests.support.http_stub import problem as problem_reply
from tests.support.live import taskyard

pytestmark = pytest.mark.anyio
WAIT_S = 30.0
CLAIM = Ask(method="POST", path="/api/v1/claim", body={"name": "agent"}, idempotent=False)
CLAIMED = {"task": {"id": "t1"}, "token": "tyt_x", "lease_s": 0.03}
FOR_LONG = {**CLAIMED, "lease_s": 3600}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def remote(hub: StubHub, retry: RetryPolicy = NEVER) -> AsyncIterator[Remote]:
    async with AsyncClient(hub.url, KEY, retry=retry) as client:
        yield Remote(client)


async def test_a_submission_has_a_key_of_its_own_and_is_repeated_without_harm(hub: StubHub) -> None:
    hub.on("POST", "tasks", Reset(), Reply(status=201, body=a_task()))
    hub.on("POST", "tasks/batch", Reply(status=201, body={"tasks": [], "rejected": []}))
    async with remote(hub, RetryPolicy(delay_s=0.001)) as yard:
        told = await yard.ask(Ask(method="POST", path="/api/v1/tasks", body={"input": "a"}))
        assert (told.is_error, told.value["ref"]) == (False, a_task()["ref"])
        await yard.ask(
            Ask(method="POST", path="/api/v1/tasks/batch", body={"tasks": [{"input": "a"}], "partial": True})
        )
    first, second = hub.asked("POST", "tasks")
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == {"input": "a"}
    (batch,) = hub.asked("POST", "tasks/batch")
    assert (batch.body["partial"], "idempotency-key" in batch.headers) == (True, True)


async def test_a_tasks_token_takes_the_place_of_the_key(hub: StubHub) -> None:
    hub.on("GET", "tasks/T-001", Reply(body=a_task()))
    async with remote(hub) as yard:
        for token in (None, "tyt_x"):
            await yard.ask(Ask(method="GET", path="/api/v1/tasks/T-001", query={"wait_s": 1}, token=token))
    asked = hub.asked("GET", "tasks/T-001")
    assert [call.headers["authorization"] for call in asked] == [f"Bearer {KEY}", "Bearer tyt_x"]
    assert asked[0].query == {"wait_s": "1"}


async def test_what_goes_wrong_is_told_with_a_code(hub: StubHub) -> None:
    pressed = {"level": "critical", "queue_depth": 9}
    hub.on("POST", "tasks", problem_reply(429, "RATE_LIMITED", "Too fast.", retry_after=3, backpressure=pressed))
    async with remote(hub) as yard:
        told = await yard.ask(Ask(method="POST", path="/api/v1/tasks", body={"input": "a"}))
        assert told.is_error
        assert (told.value["code"], told.value["detail"], told.value["retry_after"]) == ("RATE_LIMITED", "Too fast.", 3)
        assert told.value["backpressure"]["level"] == "critical"
        hub.on("GET", "tasks", Reset())
        told = await yard.ask(Ask(method="GET", path="/api/v1/tasks"))
        assert (told.is_error, told.value["code"]) == (True, "HUB_UNREACHABLE")


class Beaten:
    """A yard that gives one task and counts its heartbeats; it answers them as told, the last for ever."""

    is_of_a_task = True

    def __init__(self, *answers: Outcome, claimed: dict[str, Any] = CLAIMED) -> None:
        self._answers = list(answers)
        self._claimed = claimed
        self.beats = 0
        self.beaten = asyncio.Event()

    async def ask(self, ask: Ask) -> Outcome:
        if ask.path == CLAIM.path:
            return Outcome(self._claimed)
        assert (ask.path, ask.token) == ("/api/v1/tasks/t1/heartbeat", "tyt_x")
        self.beats += 1
        self.beaten.set()
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    async def beat(self, times: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while self.beats < times:
                self.beaten.clear()
                await self.beaten.wait()


async def test_a_claim_is_kept_alive_until_it_is_somebody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "PAUSE_S_MIN", 0.001)
    yard = Beaten(Outcome({"ok": True}), problem("HUB_UNREACHABLE", "…"), Outcome({}), problem("STALE_ATTEMPT", "…"))
    way = Keeping(yard)
    assert (await way.ask(CLAIM)).value == CLAIMED
    await yard.beat(4)
    async with asyncio.timeout(WAIT_S):
        while way._kept:
            await asyncio.sleep(0)
    assert yard.beats == 4


async def test_it_knows_whether_it_is_called_with_a_tasks_token(hub: StubHub) -> None:
    assert Keeping(Beaten(Outcome({}))).is_of_a_task
    async with AsyncClient(hub.url, "tyt_x.1.y") as agent, AsyncClient(hub.url, KEY) as person:
        assert (Remote(agent).is_of_a_task, Remote(person).is_of_a_task) == (True, False)


async def test_at_the_end_nothing_is_kept_any_more() -> None:
    yard = Beaten(Outcome({"ok": True}), claimed=FOR_LONG)
    way = Keeping(yard)
    await way.ask(CLAIM)
    assert len(way._kept) == 1
    await way.close()
    assert (way._kept, yard.beats) == ({}, 0)


@pytest.mark.slow
def test_who_has_no_key_is_told_before_an_agent_is(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TASKYARD_KEY")
    code, out, err = cli("mcp", "--hub", "http://127.0.0.1:1", "--data", "/nonexistent")
    assert (code, out, "No key" in err) == (4, "", True)


@pytest.mark.parametrize(("variable", "key"), [("TASKYARD_KEY", KEY), ("TASKYARD_TASK_TOKEN", "tyt_x.1.y")])
def test_who_starts_it_with_a_key_that_is_not_known_is_told_how_to_give_another(
    hub: StubHub, cli: Cli, monkeypatch: pytest.MonkeyPatch, variable: str, key: str
) -> None:
    hub.on("GET", "tasks/T-0", problem_reply(401, "UNAUTHENTICATED", "Send one as `Authorization: Bearer …`."))
    monkeypatch.delenv("TASKYARD_KEY")
    monkeypatch.setenv(variable, key)
    code, out, err = cli("mcp")
    assert (code, out) == (4, "")
    assert "TASKYARD_KEY" in err
    assert "Bearer" not in err


@pytest.mark.slow
def test_who_starts_it_without_a_hub_is_told_and_it_serves_all_the_same() -> None:
    # In a process of its own: it closes its standard output when its agent is gone.
    without_an_agent = ("sh", "-c", 'exec "$@" </dev/null', "sh")
    said = taskyard("mcp", "--hub", "http://127.0.0.1:1", "--key", KEY, prefix=without_an_agent)
    assert (said.code, said.out) == (0, "")
    assert "Calls of tools fail until it does." in said.err


def test_options_that_mean_nothing_to_it_are_refused(hub: StubHub, cli: Cli) -> None:
    hub.on("GET", "tasks/T-0", problem_reply(404, "USER_NOT_FOUND", "There is no such user."))
    assert cli("mcp", "--json").code == 2
    code, _, err = cli("mcp", "--user", "nobody")
    assert (code, "There is no such user." in err) == (1, True)


async def test_an_agent_whose_key_has_ended_is_told_where_a_key_is_given(hub: StubHub) -> None:
    hub.on("GET", "tasks/T-001", problem_reply(401, "UNAUTHENTICATED", "Send one as `Authorization: Bearer …`."))
    async with remote(hub) as yard:
        by_key, by_token = [
            await yard.ask(Ask(method="GET", path="/api/v1/tasks/T-001", token=token)) for token in (None, "tyt_x")
        ]
    assert "TASKYARD_KEY" in by_key.value["detail"]
    assert "TASKYARD_KEY" not in by_token.value["detail"]


def hello(version: str) -> str:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    return json.dumps({"jsonrpc": "2.0", "id": version, "method": "initialize", "params": params})


async def said_to(*lines: str) -> list[dict[str, Any]]:
    """What a server says to these lines, one after another."""
    out = io.StringIO()
    streams = stdio_server(anyio.wrap_file(io.StringIO("".join(f"{line}\n" for line in lines))), anyio.wrap_file(out))
    async with asyncio.timeout(WAIT_S), streams as (incoming, outgoing):
        await serve_lines(build_server("1", Beaten(Outcome({}))), incoming, outgoing)
    return [json.loads(line) for line in out.getvalue().splitlines()]


async def test_a_line_that_is_not_a_message_is_answered_and_the_next_one_served() -> None:
    answers = await said_to("{not json", "", "[1]", '{"id": 1}', hello("2025-11-25"))
    refused = [(one["id"], one["error"]["code"]) for one in answers if "error" in one]
    assert refused == [(None, -32700), (None, -32700), (None, -32600), (None, -32600)]
    assert [one["result"]["serverInfo"]["name"] for one in answers if "result" in one] == ["taskyard"]


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [("2024-11-05", "2024-11-05"), ("2025-03-26", "2025-11-25"), ("2025-06-18", "2025-06-18")],
)
async def test_a_revision_that_requires_batches_is_not_agreed_on(asked: str, agreed: str) -> None:
    (answer,) = await said_to(hello(asked))
    assert answer["result"]["protocolVersion"] == agreed


async def test_the_trace_of_a_call_goes_along(hub: StubHub) -> None:
    hub.on("POST", "tasks", Reply(status=201, body=a_task()))
    trace = {"traceparent": "00-1-2-01", "tracestate": "a=b"}
    async with remote(hub) as yard:
        await yard.ask(Ask(method="POST", path="/api/v1/tasks", body={"input": "a"}, trace=trace))
    (asked,) = hub.asked("POST", "tasks")
    assert {name: asked.headers[name] for name in trace} == trace

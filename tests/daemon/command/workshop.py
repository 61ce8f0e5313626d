"""Runs agents as a daemon does, with real processes, and tells what came of it."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from taskyard.daemon.command.agent import CommandAgent
from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.orders import Key, Start
from taskyard.daemon.process.processes import Processes
from taskyard.daemon.python_runner import ANY_TYPE, Outcome, PythonRunner, served
from taskyard.wire.frames import TaskCompleted, TaskExecute, TaskFailed

PATIENCE_S = 60.0
HUB = "http://localhost:8420"


class Told(Struct):
    """What the runner told of all attempts."""

    outcomes: dict[Key, Outcome | None] = {}
    """None: it stopped because it was asked to."""
    logs: dict[Key, str] = {}
    checkpoints: list[Any] = []
    running: set[Key] = set()
    ends: dict[Key, Any] = {}
    """Who waits for them."""
    news: Any = None

    async def waited(self) -> None:
        """Until something more was told."""
        await self.news.get()

    def started(self, key: Key) -> None:
        self.news.put_nowait(key)
        self.running.add(key)

    def when_heard(self, key: Key, then: Callable[[], None]) -> None:
        self.started(key)
        then()

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None:
        self.news.put_nowait(key)
        self.logs[key] = f"{self.logs[key]}\n{log}" if key in self.logs else log

    def checkpointed(self, key: Key, data: bytes) -> None:
        self.news.put_nowait(key)
        self.checkpoints.append(json.loads(data))

    def ended(self, message: Outcome) -> None:
        self._end((message.task_id, message.attempt), message)

    def stopped(self, key: Key) -> None:
        self._end(key, None)

    def _end(self, key: Key, outcome: Outcome | None) -> None:
        assert key not in self.outcomes, "an end is told once"
        self.outcomes[key] = outcome
        if key in self.ends:
            self.ends[key].set_result(None)


class Workshop:
    def __init__(self, agent: CommandAgent, runner: PythonRunner, told: Told) -> None:
        self.agent = agent
        self.runner = runner
        self.told = told

    def start(self, task_id: str = "t1", attempt: int = 1, **fields: Any) -> Key:
        self.runner.start(Start((task_id, attempt), execute(task_id, attempt, **fields)))
        return task_id, attempt

    async def until_running(self, key: Key) -> None:
        while key not in self.told.running:
            await self.told.waited()

    async def until_said(self, key: Key) -> None:
        """Until the agent has said anything at all."""
        while key not in self.told.logs:
            await self.told.waited()

    async def outcome(self, key: Key) -> Any:
        if key not in self.told.outcomes:
            self.told.ends[key] = asyncio.get_running_loop().create_future()
            await self.told.ends[key]
        return self.told.outcomes[key]


def execute(task_id: str, attempt: int, *, checkpoint: Any = None, timeout: float = 60.0, **fields: Any) -> TaskExecute:
    task = {"id": task_id, "ref": "T-001", "type": "work", "input": "go", **fields}
    context, previous = task.pop("context_input", []), task.pop("previous_attempts", [])
    raw = [Raw(msgspec.json.encode(part)) for part in (task, context, checkpoint, previous)]
    return TaskExecute(raw[0], attempt, timeout, "the-task's-token", raw[1], raw[2], raw[3])


@asynccontextmanager
async def workshop(
    tmp_path: Path, agent: Agent, *, own: dict[str, str] | None = None, patience_s: float = PATIENCE_S
) -> AsyncIterator[Workshop]:
    made = CommandAgent(agent, hub=HUB, directory=tmp_path / "workspaces", own=own)
    made.processes = Processes(tmp_path / "processes")
    await made.processes.open()
    told = Told(news=asyncio.Queue())
    runner = PythonRunner({ANY_TYPE: served(made)}, told, threads=1)
    try:
        async with asyncio.timeout(patience_s):
            yield Workshop(made, runner, told)
    finally:
        runner.close()
        await made.processes.close()


def play(
    tmp_path: Path, agent: Agent, scenario: Callable[[Workshop], Awaitable[None]], own: dict[str, str] | None = None
) -> None:
    async def main() -> None:
        async with workshop(tmp_path, agent, own=own) as shop:
            await scenario(shop)

    asyncio.run(main())


class Ran(Struct):
    outcome: Any
    log: str
    checkpoints: list[Any]

    @property
    def result(self) -> Any:
        assert isinstance(self.outcome, TaskCompleted), self.outcome
        return json.loads(bytes(self.outcome.result)) if isinstance(self.outcome.result, Raw) else None

    @property
    def error(self) -> Any:
        assert isinstance(self.outcome, TaskFailed), self.outcome
        return self.outcome.error


def run(tmp_path: Path, agent: Agent, *, own: dict[str, str] | None = None, **fields: Any) -> Ran:
    """One task from beginning to end."""
    ran: list[Ran] = []

    async def scenario(shop: Workshop) -> None:
        key = shop.start(**fields)
        ran.append(Ran(await shop.outcome(key), shop.told.logs.get(key, ""), shop.told.checkpoints))

    play(tmp_path, agent, scenario, own)
    return ran[0]


def script(tmp_path: Path, text: str, **more: Any) -> Agent:
    """An agent that is this shell script."""
    file = tmp_path / "agent.sh"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o700)
    return replace(Agent(command=(str(file),)), **more)


def python(tmp_path: Path, text: str, **more: Any) -> Agent:
    file = tmp_path / "agent.py"
    file.write_text(text)
    return replace(Agent(command=(sys.executable, "-S", str(file))), **more)

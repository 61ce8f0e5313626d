"""A whole daemon before a stand-in of the hub."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from taskyard.daemon.connection import logger
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.task import Task
from taskyard.wire.frames import TaskCompleted, TaskStarted
from tests.daemon.hub_stub import KEY, HubStub, Session
from tests.daemon.scene import execute

PATIENCE_S = 60.0

Scenario = Callable[[HubStub], Awaitable[None]]


def play(scenario: Scenario) -> None:
    """With a hub, to which daemons come back at once: the delays have tests of their own."""

    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S), HubStub() as hub:
            await scenario(hub)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("taskyard.daemon.redial.DELAY_MS", 1)
        patch.setattr("taskyard.daemon.redial.DELAY_MS_MAX", 1)
        asyncio.run(main())


async def answers(task: Task) -> str:
    return f"did {task.id}"


def a_daemon(hub: HubStub, directory: Path, function: Callable[..., Any] = answers, **settings: Any) -> Daemon:
    daemon = Daemon(hub.url, settings.pop("key", KEY), name="mac-1", data_dir=directory, **settings)
    daemon.task("noop")(function)
    return daemon


@asynccontextmanager
async def serving(daemon: Daemon) -> AsyncIterator["asyncio.Task[None]"]:
    """Runs it meanwhile; at the end it is gone without a word to the hub."""
    running = asyncio.create_task(daemon.serve())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def heard(text: str) -> AsyncIterator["asyncio.Future[logging.LogRecord]"]:
    """The first line the daemon logs with this text in it."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[logging.LogRecord] = loop.create_future()

    def take(record: logging.LogRecord) -> None:
        if not found.done():
            found.set_result(record)

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                loop.call_soon_threadsafe(take, record)

    ear = Ear()
    logger.addHandler(ear)
    try:
        yield found
    finally:
        logger.removeHandler(ear)


async def written(journal: Path, text: str) -> None:
    while text.encode() not in journal.read_bytes():
        await asyncio.sleep(0)


async def begins(session: Session, *, type: str = "noop") -> None:
    """The hub sends a task, and hears that its work has begun."""
    await session.send(execute(type=type))
    await session.receive(TaskStarted)


async def begun(hub: HubStub) -> Session:
    """A connection, welcomed, over which work was sent that has begun."""
    session = await hub.session()
    await session.welcome()
    await begins(session)
    return session


class Held:
    """Work that goes on until it is let go, and who was begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._released = asyncio.Event()

    async def __call__(self, task: Task) -> str:
        self.begun.append(task.id)
        await self._released.wait()
        return "done"

    def let_go(self) -> None:
        self._released.set()


async def completed(session: Session) -> TaskCompleted:
    message = await session.receive(TaskCompleted)
    assert isinstance(message, TaskCompleted)
    return message

"""A loop whose commits fail, whose releases wait, and which runs a task."""

import asyncio
from typing import Any

from taskyard.core.commands import CancelTask
from taskyard.core.effects import Refused
from taskyard.core.yard_commands import RevokeKey
from taskyard.store.port import StoreUnavailable
from tests.support.hub_scene import GOES_ON, USER, WAIT_S, ASession, Scene

NO_ROOM = "no room"
MB = 1024 * 1024


async def failing_commit(scene: Scene, fault: Exception | None = None) -> "asyncio.Task[Any]":
    """Somebody asked for something, and its commit will fail as soon as the gate is open."""
    scene.held.writes.shut()
    answer = scene.asked(scene.submission())
    await scene.held.writes.reached()
    scene.held.fail_next(fault or StoreUnavailable(NO_ROOM))
    return answer


async def failure_of(scene: Scene) -> BaseException | None:
    await asyncio.wait((scene.hub.failure,), timeout=WAIT_S)
    return scene.hub.failure.exception()


async def turned(scene: Scene) -> None:
    """Every command told so far is decided: one that names nothing is answered after them."""
    assert isinstance(await scene.ask(RevokeKey("nobody's", "test")), Refused)


async def a_running_task(scene: Scene) -> tuple[ASession, str]:
    daemon = await scene.daemon()
    task_id = await scene.submit()
    await scene.run(daemon, task_id)
    await turned(scene)
    return daemon, task_id


async def a_release_that_reads(scene: Scene) -> "tuple[ASession, asyncio.Task[Any]]":
    """A commit is on disk, and what leaves with it waits for a body: its daemon, and whoever waits for its answer."""
    parent = await scene.submit(type="nobody's")
    await scene.submit(depends_on=(parent,), terms=GOES_ON)
    daemon = await scene.daemon()
    scene.held.reads.shut()
    answer = scene.asked(CancelTask(USER, parent, actor="test"))
    await scene.held.reads.reached()
    return daemon, answer

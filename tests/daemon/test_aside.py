"""Async functions on a loop of their own: what blocks it is said, and blocks nothing else."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvloop
from msgspec import Raw

from taskyard.daemon import aside
from taskyard.daemon.aside import Aside, Post
from taskyard.daemon.context import Context
from taskyard.daemon.orders import Start, Stop
from taskyard.daemon.python_runner import PythonRunner, served
from taskyard.daemon.task import Task
from taskyard.wire.frames import TaskCompleted, TaskFailed, TaskRejected
from tests.daemon.scene import ONE, TWO, execute
from tests.daemon.told import Told

PATIENCE_S = 60.0


def play(scenario: Callable[[PythonRunner, Told], Awaitable[None]], **functions: Callable[..., Any]) -> None:
    async def main() -> None:
        told = Told()
        known = {name: served(function, may_block=True) for name, function in functions.items()}
        runner = PythonRunner(known, told, threads=4, apart=True)
        async with asyncio.timeout(PATIENCE_S):
            await scenario(runner, told)
        runner.close()

    asyncio.run(main())


async def where(task: Task, context: Context) -> str:
    context.progress(50)
    await asyncio.sleep(0)
    return threading.current_thread().name


async def forever(task: Task, context: Context) -> None:
    context.log("here")
    await asyncio.sleep(3600)


async def broken(task: Task) -> None:
    raise ValueError("no")


@pytest.mark.parametrize("name", ["taskyard-functions", "taskyard-watch"])
def test_a_machine_without_another_thread_hands_the_task_back_and_keeps_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def starts(thread: threading.Thread) -> None:
        if thread.name == name:
            raise RuntimeError("can't start new thread")
        start(thread)

    async def scenario(runner: PythonRunner, told: Told) -> None:
        uvloop.new_event_loop().close()  # what the first one opens stays open for the others
        files = len(os.listdir("/dev/fd"))
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", starts)
            for _ in range(3):
                runner.start(Start(ONE, execute()))
                assert await told.outcome() == TaskRejected(*ONE, "can't start new thread")
        while len(os.listdir("/dev/fd")) > files:
            await asyncio.sleep(0.01)
        runner.start(Start(ONE, execute()))
        assert isinstance(await told.outcome(), TaskCompleted)

    play(scenario, noop=where)


def test_a_function_runs_beside_the_daemon_and_is_told_as_ever() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert await told.next() == ("started", ONE)
        outcome = await told.outcome()
        assert isinstance(outcome, TaskCompleted)
        assert isinstance(outcome.result, Raw)
        assert bytes(outcome.result) == b'"taskyard-functions"'

        runner.start(Start(TWO, execute(TWO, type="broken")))
        assert isinstance(await told.outcome(), TaskFailed)

    play(scenario, noop=where, broken=broken)


def test_a_cancel_reaches_it_there() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        while (await told.next())[0] != "progressed":
            continue
        runner.stop(Stop(ONE, "cancelled", 1000))
        assert await told.next() == ("stopped", ONE)

        # One that has not begun yet does not begin.
        runner.start(Start(TWO, execute(TWO)))
        runner.stop(Stop(TWO, "cancelled", 1000))
        while (event := await told.next())[0] in ("started", "progressed"):
            continue
        assert event == ("stopped", TWO)

    play(scenario, noop=forever)


def said_of(place: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What was said of a loop that stood still there. On a busy machine it may have stood still elsewhere, too."""
    return [text for record in list(caplog.records) if place in (text := record.getMessage())]


def test_a_function_that_blocks_is_named_while_the_daemons_loop_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Given a function that blocks its loop
    monkeypatch.setattr(aside, "LOOK_S", 0.02)
    monkeypatch.setattr(aside, "BLOCKED_S", 0.5)
    release = threading.Event()

    async def blocks(task: Task) -> bool:
        return release.wait(PATIENCE_S)

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))

        # When that has lasted, the daemon's own loop has turned all the while
        turned_at = time.monotonic()
        while not said_of("threading.py", caplog):
            await asyncio.sleep(0.01)
            assert time.monotonic() - turned_at < PATIENCE_S / 2

        # Then it was said once, with its place
        release.set()
        assert isinstance(await told.outcome(), TaskCompleted)
        (said,) = said_of("threading.py", caplog)
        assert "process=True" in said

    with caplog.at_level(logging.WARNING, "taskyard.daemon"):
        play(scenario, noop=blocks)


def test_a_function_that_blocks_its_callers_loop_is_named_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    # Given a daemon that serves on a loop which its functions share
    monkeypatch.setattr(aside, "LOOK_S", 0.02)
    monkeypatch.setattr(aside, "BLOCKED_S", 0.5)

    async def blocks(task: Task) -> None:
        until = time.monotonic() + PATIENCE_S
        while not said_of("test_aside.py", caplog) and time.monotonic() < until:
            time.sleep(0.01)

    async def main() -> None:
        told = Told()
        runner = PythonRunner({"noop": served(blocks, may_block=True)}, told, threads=4)
        runner.start(Start(ONE, execute()))
        assert isinstance(await told.outcome(), TaskCompleted)
        runner.close()

    # When one of them blocks it
    with caplog.at_level(logging.WARNING, "taskyard.daemon"):
        asyncio.run(main())

    # Then that is said while it does, with what comes of it
    (said,) = said_of("test_aside.py", caplog)
    assert "the hub hears nothing of this daemon" in said


def test_the_daemon_leaves_although_functions_still_run() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        while (await told.next())[0] != "progressed":
            continue

    play(scenario, noop=forever)


def test_calls_from_other_threads_arrive_in_their_order_and_a_bad_one_alone() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        heard: list[int] = []
        wrong: list[Any] = []
        done = asyncio.Event()
        loop.set_exception_handler(lambda _, context: wrong.append(context["exception"]))
        post = Post(loop)

        def call() -> None:
            for number in range(100):
                post.call(heard.append, number)
            post.call(lambda: 1 // 0)
            post.call(done.set)

        await asyncio.to_thread(call)
        await asyncio.wait_for(done.wait(), PATIENCE_S)
        assert heard == list(range(100))
        assert isinstance(wrong[0], ZeroDivisionError)

    asyncio.run(main())


def test_a_loop_that_is_closed_hears_nothing_and_nobody_minds() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    Post(loop).call(print, "unheard")


def test_one_that_ran_nothing_ends_at_once() -> None:
    async def main() -> None:
        Aside().close()

    asyncio.run(main())

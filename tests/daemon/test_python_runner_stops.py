"""Python functions that are told to stop: whether they do, and what is told of it."""

import asyncio
import threading

from taskyard.daemon.context import Context
from taskyard.daemon.orders import Start, Stop
from taskyard.daemon.python_runner import PythonRunner
from taskyard.daemon.task import Task
from tests.daemon.functions import PATIENCE_S, outcome_of, play
from tests.daemon.scene import ONE, TWO, execute
from tests.daemon.told import Told


def test_an_async_function_is_cancelled() -> None:
    async def function(_: Task) -> None:
        await asyncio.Event().wait()

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert await told.next() == ("started", ONE)
        runner.stop(Stop(ONE, "cancelled", 1_000))
        assert await told.next() == ("stopped", ONE)

    play({"noop": function}, scenario)


def test_an_async_function_that_ignores_its_cancel_is_asked_again_after_the_grace() -> None:
    async def function(_: Task) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert await told.next() == ("started", ONE)
        runner.stop(Stop(ONE, "cancelled", 1))
        assert await told.next() == ("stopped", ONE)

    play({"noop": function}, scenario)


def test_work_stopped_before_its_first_step_never_starts() -> None:
    async def function(_: Task) -> None:
        raise AssertionError("it ran")

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        runner.stop(Stop(ONE, "cancelled", 0))
        assert await told.next() == ("stopped", ONE)

    play({"noop": function}, scenario)


def test_work_that_waits_for_a_thread_never_starts_once_it_is_stopped() -> None:
    release = threading.Event()

    def function(task: Task) -> str:
        release.wait(PATIENCE_S)
        return task.id

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute(ONE)))
        runner.start(Start(TWO, execute(TWO)))
        assert await told.next() == ("started", ONE)
        runner.stop(Stop(TWO, "cancelled", 0))
        release.set()
        assert (await told.next())[0] == "ended"
        assert await told.next() == ("stopped", TWO)

    play({"noop": function}, scenario, threads=1)


def test_a_plain_function_can_ask_whether_to_stop() -> None:
    def function(_: Task, context: Context) -> None:
        assert not context.cancelled
        context.raise_if_cancelled()
        context.log("not yet")
        assert context.wait_cancelled(PATIENCE_S)
        context.raise_if_cancelled()

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert await told.next() == ("started", ONE)
        assert await told.next() == ("progressed", None, None, "not yet")
        runner.stop(Stop(ONE, "cancelled", 0))
        assert await told.next() == ("stopped", ONE)

    play({"noop": function}, scenario)


def test_a_result_after_the_cancel_is_a_result() -> None:
    def function(_: Task, context: Context) -> str:
        context.log("at work")
        context.wait_cancelled(PATIENCE_S)
        return "finished all the same"

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        runner.stop(Stop(TWO, "nobody", 0))
        assert await told.next() == ("started", ONE)
        assert (await told.next())[0] == "progressed"
        runner.stop(Stop(ONE, "cancelled", 0))
        assert bytes((await told.outcome()).result) == b'"finished all the same"'

    play({"noop": function}, scenario)


def test_work_that_cancels_itself_has_failed() -> None:
    async def function(_: Task) -> None:
        raise asyncio.CancelledError

    assert outcome_of(function).error.message == "the work cancelled itself"


def test_a_closed_runner_tells_nothing_of_what_it_left_behind() -> None:
    async def function(_: Task) -> None:
        await asyncio.Event().wait()

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert await told.next() == ("started", ONE)
        runner.close()
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}), return_exceptions=True)
        assert told.events.empty()

    play({"noop": function}, scenario)

"""Python functions as tasks: what they are given, and how each way to end is told."""

import asyncio
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import UNSET, Raw

from taskyard.daemon.context import Context
from taskyard.daemon.orders import Start, Stop
from taskyard.daemon.python_runner import PythonRunner, served
from taskyard.daemon.task import Result, Task, TaskError
from taskyard.wire.frames import DecisionReport, TaskCompleted, TaskFailed, TaskRejected, WireUsage
from tests.daemon.functions import as_async, both, outcome_of, play
from tests.daemon.scene import ONE, TWO, execute
from tests.daemon.told import Told

# --- what is given -----------------------------------------------------------------------------------------


def test_a_function_is_given_the_task() -> None:
    def function(task: Task) -> Any:
        return [task.id, task.type, task.input, task.attempt, task.timeout, task.token, task.context_input]

    for outcome in both(function):
        assert bytes(outcome.result) == b'["t1","noop","go",1,300.0,"token",[]]'


def test_fields_without_a_name_are_in_the_raw_task() -> None:
    assert b'\\"new\\":1' in bytes(outcome_of(lambda task: task.raw.decode()).result)


def test_a_plain_function_is_told_to_have_started_before_it_can_take_its_daemon_along() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        assert told.events.get_nowait() == ("started", ONE)
        await told.outcome()
        assert told.events.empty(), "it starts once"

    play({"noop": lambda task: None}, scenario)


@pytest.mark.parametrize("wrap", [lambda function: function, as_async])
def test_another_try_does_not_begin_before_the_hub_has_heard_that_it_starts(
    wrap: Callable[[Callable[[Task], Any]], Callable[..., Any]],
) -> None:
    # Given work that may have killed its last daemon before that could tell of it
    turns: list[str] = []

    def function(task: Task) -> list[str]:
        return list(turns)

    async def scenario(runner: PythonRunner, told: Told) -> None:
        # When it is started for the second time
        again, told.unheard = ("t1", 2), []
        runner.start(Start(again, execute(again)))
        assert told.events.get_nowait() == ("started", again)
        (then,) = told.unheard
        turns.append("heard")
        then()
        # Then what was told is known before the first step, and told once
        assert bytes((await told.outcome()).result) == b'["heard"]'
        assert told.events.empty()

    play({"noop": wrap(function)}, scenario)


@pytest.mark.parametrize("act", ["stop", "close"])
def test_another_try_that_is_not_wanted_any_more_never_begins(act: str) -> None:
    def function(_: Task) -> None:
        raise AssertionError("it ran")

    async def scenario(runner: PythonRunner, told: Told) -> None:
        again, told.unheard = ("t1", 2), []
        runner.start(Start(again, execute(again)))
        runner.stop(Stop(again, "cancelled", 0)) if act == "stop" else runner.close()
        assert told.events.get_nowait() == ("started", again)
        (then,) = told.unheard
        then()
        if act == "stop":
            assert told.events.get_nowait() == ("stopped", again)
        assert told.events.empty()

    play({"noop": function}, scenario)


def test_a_function_without_arguments_is_refused_when_it_is_registered() -> None:
    with pytest.raises(TypeError, match="takes no argument"):
        served(lambda: None)


def test_a_callable_object_with_an_async_call_runs_on_the_loop() -> None:
    class Agent:
        async def __call__(self, task: Task) -> str:
            return threading.current_thread().name

    assert bytes(outcome_of(Agent()).result) == b'"MainThread"'


# --- how it ends -------------------------------------------------------------------------------------------


def test_any_json_is_a_result() -> None:
    for outcome in both(lambda _: {"a": [1, None, "ü"]}):
        assert outcome == TaskCompleted(*ONE, Raw('{"a":[1,null,"ü"]}'.encode()))


def test_no_answer_is_no_result() -> None:
    for outcome in both(lambda _: None):
        assert outcome == TaskCompleted(*ONE, UNSET)


def test_a_result_can_say_more() -> None:
    answer = Result(
        1,
        summary="one",
        status="partial",
        files_changed=["a.py"],
        decision_report={"decision": "d", "reasoning": "r"},
        usage={"input_tokens": 5},
    )
    outcome = outcome_of(lambda _: answer)
    assert (bytes(outcome.result), outcome.summary, outcome.result_status) == (b"1", "one", "partial")
    assert outcome.files_changed == ["a.py"]
    assert outcome.decision_report == DecisionReport("d", "r")
    assert outcome.usage == WireUsage(5)


@pytest.mark.parametrize("answer", [object(), Result(status="great"), Result(decision_report={"x": 1}), "\ud800"])
def test_an_answer_that_is_not_json_fails_for_good(answer: object) -> None:
    outcome = outcome_of(lambda _: answer)
    assert isinstance(outcome, TaskFailed)
    assert (outcome.error.code, outcome.error.retryable) == ("INVALID_RESULT", False)


def raises(error: BaseException) -> Callable[[Task], None]:
    def function(_: Task) -> None:
        raise error

    return function


@pytest.mark.parametrize("error", [ValueError("bad"), KeyError("bad"), ZeroDivisionError("bad")])
def test_no_exception_is_special(error: Exception) -> None:
    for outcome in both(raises(error)):
        assert outcome.error.code == "EXECUTION_ERROR"
        assert outcome.error.retryable is None
        assert outcome.error.message == f"{type(error).__name__}: {error}"
        assert "raise error" in outcome.error.details["traceback"]


def test_a_task_error_is_told_as_it_is() -> None:
    error = TaskError("RATE_LIMITED", "slow down", retryable=True, details={"retry_after": 5})
    for outcome in both(raises(error)):
        assert (outcome.error.code, outcome.error.message) == ("RATE_LIMITED", "slow down")
        assert (outcome.error.retryable, outcome.error.details) == (True, {"retry_after": 5})


def test_a_function_that_calls_exit_fails_and_the_daemon_lives() -> None:
    for outcome in both(lambda _: sys.exit(3)):
        assert outcome.error.message == "SystemExit: 3"


def test_a_type_that_nobody_serves_fails() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute(type="other")))
        assert (await told.outcome()).error.code == "TYPE_NOT_SERVED"

    play({"noop": lambda _: None}, scenario)


def test_the_star_serves_what_nobody_else_does() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute(type="other")))
        assert bytes((await told.outcome()).result) == b'"star"'

    play({"*": lambda _: "star", "noop": lambda _: "noop"}, scenario)


def test_a_task_that_cannot_be_read_fails_for_good() -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        message = execute()
        message.task = Raw(b'{"id":"t1","type":7}')
        runner.start(Start(ONE, message))
        assert (await told.outcome()).error.code == "INVALID_INPUT"

    play({"noop": lambda _: None}, scenario)


def test_work_is_told_to_have_begun_in_its_first_step() -> None:
    async def function(_: Task) -> None:
        await asyncio.sleep(3600)

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        runner.start(Start(TWO, execute(TWO)))
        await asyncio.sleep(0)
        assert told.events.qsize() == 2
        assert [await told.next(), await told.next()] == [("started", ONE), ("started", TWO)]

    play({"noop": function}, scenario)


# --- news --------------------------------------------------------------------------------------------------


def says(task: Task, context: Context) -> str:
    context.progress(10, "first")
    context.progress(20)
    context.log("one")
    context.log("two")
    context.checkpoint({"at": 2})
    return "done"


async def says_async(task: Task, context: Context) -> str:
    return says(task, context)


@pytest.mark.parametrize("function", [says, says_async])
def test_news_arrive_before_the_end_and_none_is_lost(function: Callable[..., Any]) -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(ONE, execute()))
        events = [await told.next()]
        while events[-1][0] != "ended":
            events.append(await told.next())
        news = [event for event in events if event[0] == "progressed"]
        assert [event[1] for event in news if event[1] is not None][-1] == 20
        assert "\n".join(event[3] for event in news if event[3]) == "one\ntwo"
        assert ("checkpointed", b'{"at":2}') in events

    play({"noop": function}, scenario)


def test_a_checkpoint_over_the_limit_is_refused() -> None:
    def function(_: Task, context: Context) -> None:
        context.checkpoint("x" * (1024 * 1024))

    assert "a checkpoint is at most" in outcome_of(function).error.message


@pytest.mark.parametrize("refused", [Raw(b"[" * 65 + b"]" * 65), Raw(b"1e400")])
def test_a_checkpoint_that_the_hub_would_hang_up_for_is_refused_here(refused: Raw) -> None:
    outcome = outcome_of(lambda _, context: context.checkpoint({"saved": refused}))
    assert "checkpoint" in outcome.error.message


class Departed(BaseException):
    """As libraries have them: no `Exception`, so that nobody catches it by accident."""


@pytest.mark.parametrize("raised", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, Departed, SystemExit])
def test_whatever_a_function_raises_is_its_end_and_nobody_elses(raised: type[BaseException]) -> None:
    def function(_: Task) -> None:
        raise raised

    for outcome in (outcome_of(function), outcome_of(as_async(function))):
        assert isinstance(outcome, TaskFailed), raised


def no_more_threads(*_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_a_machine_without_another_thread_hands_the_task_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(runner: PythonRunner, told: Told) -> None:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", no_more_threads)
            runner.start(Start(ONE, execute(ONE)))
        assert await told.outcome() == TaskRejected(*ONE, "can't start new thread")
        runner.start(Start(TWO, execute(TWO)))
        assert isinstance(await told.outcome(), TaskCompleted)

    play({"noop": lambda task: None}, scenario, threads=1)

"""What a Python function prints and logs is its task's log, and only its."""

import asyncio
import contextlib
import io
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from taskyard.daemon.context import LINE_CHARACTERS_MAX, LOG_LINES_MAX, Context
from taskyard.daemon.orders import Key, Start
from taskyard.daemon.prints import capture, logged_to
from taskyard.daemon.python_runner import PythonRunner, served
from taskyard.daemon.task import Task
from tests.daemon.scene import ONE, TWO, execute
from tests.daemon.told import Told

logger = logging.getLogger("my.agent")
Function = Callable[..., Any]


@contextlib.contextmanager
def as_python_starts(level: int = logging.WARNING) -> Iterator[None]:
    """Without the handlers of the test runner, as in a program that set up nothing."""
    root = logging.getLogger()
    handlers, before = root.handlers[:], root.level
    root.handlers = []
    root.setLevel(level)
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(before)


class Keyed(Told):
    """Also of which task a log is."""

    def __init__(self) -> None:
        super().__init__()
        self.logs: dict[str, str] = {}

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None:
        self.logs[key[0]] = self.logs.get(key[0], "") + log
        super().progressed(key, percent, message, log)


def run(
    function: Function,
    *,
    apart: bool = False,
    keys: tuple[Key, ...] = (ONE,),
    told_by: type[Told] = Told,
    level: int = logging.WARNING,
) -> list[tuple[Any, ...]]:
    """As a daemon runs it; what was told of it."""
    events: list[tuple[Any, ...]] = []

    async def main() -> None:
        told = told_by()
        runner = PythonRunner({"noop": served(function, may_block=True)}, told, threads=4, apart=apart)
        for key in keys:
            runner.start(Start(key, execute(key)))
        ends = 0
        async with asyncio.timeout(60):
            while ends < len(keys):
                events.append(await told.next())
                ends += events[-1][0] == "ended"
        runner.close()

    with as_python_starts(level):
        asyncio.run(main())
    return events


def log_of(function: Function, **terms: Any) -> str:
    events = run(function, **terms)
    assert events[-1][0] == "ended", "its log is told before its end"
    return "\n".join(event[3] for event in events if event[0] == "progressed")


def in_every_way(function: Callable[[Task], object]) -> list[str]:
    async def awaited(task: Task) -> object:
        await asyncio.sleep(0)
        return function(task)

    return [log_of(function), log_of(awaited), log_of(awaited, apart=True)]


def test_what_a_function_prints_is_its_tasks_log_in_a_thread_and_on_either_loop() -> None:
    def function(_: Task) -> None:
        print("reading", 3, "files")
        print("odd", file=sys.stderr)
        sys.stdout.writelines(["a\n", "b\n"])
        print("no end of line", end="")

    assert in_every_way(function) == ["reading 3 files\nodd\na\nb\nno end of line"] * 3


def test_it_is_printed_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    log_of(lambda _: print("hello"))
    assert capsys.readouterr().out == "hello\n"


def test_what_it_logs_is_there_once_with_level_and_logger(capsys: pytest.CaptureFixture[str]) -> None:
    def function(_: Task) -> None:
        logger.debug("nothing that Python would show")
        logger.info("%d pages", 7)
        logger.warning("slow")

    told = "INFO my.agent: 7 pages\nWARNING my.agent: slow"
    assert in_every_way(function) == [told] * 3
    # Python's last resort still has its say, as without us
    assert capsys.readouterr().err == "slow\n" * 3


def test_a_handler_that_writes_to_standard_error_makes_no_second_line() -> None:
    def function(_: Task) -> None:
        handler = logging.StreamHandler(sys.stderr)
        logger.addHandler(handler)
        logger.warning("once")
        logger.removeHandler(handler)

    assert log_of(function) == "WARNING my.agent: once"


def test_an_exception_that_is_logged_is_there_with_its_traceback() -> None:
    def function(_: Task) -> None:
        try:
            int("x")
        except ValueError:
            logger.exception("not a number")

    lines = log_of(function).splitlines()
    assert lines[0] == "ERROR my.agent: not a number"
    assert lines[-1].startswith("ValueError: invalid literal")


def test_a_log_call_with_wrong_arguments_fails_nothing() -> None:
    def function(_: Task) -> str:
        logging.raiseExceptions = False
        logger.info("%d", "no number")
        logging.raiseExceptions = True
        return "done"

    assert bytes(run(function)[-1][1].result) == b'"done"'


def test_it_stands_in_order_with_what_the_context_logs() -> None:
    def function(_: Task, context: Context) -> None:
        print("first")
        context.log("second")
        logger.warning("third")

    assert log_of(function) == "first\nsecond\nWARNING my.agent: third"


def test_two_tasks_at_once_each_have_their_own() -> None:
    both = threading.Barrier(2, timeout=60)
    made: list[Keyed] = []

    class Noted(Keyed):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    def function(task: Task) -> None:
        both.wait()
        print(f"I am {task.id}")
        both.wait()

    run(function, keys=(ONE, TWO), told_by=Noted)
    assert made[0].logs == {"t1": "I am t1", "t2": "I am t2"}


def test_what_is_awaited_in_a_thread_belongs_to_it() -> None:
    async def function(_: Task) -> None:
        await asyncio.to_thread(print, "from a thread")

    assert log_of(function) == "from a thread"


def test_outside_of_a_function_nothing_is_captured(capsys: pytest.CaptureFixture[str]) -> None:
    context = Context(ONE, Told(), asyncio.new_event_loop())
    capture.begin()
    try:
        with logged_to(context):
            with logged_to(None):
                print("the daemon's own")
                logger.warning("the daemon's own")
            print("the task's")
        assert context._lines == ["the task's"]
    finally:
        capture.end()
        context._loop.close()
    assert capsys.readouterr().out == "the daemon's own\nthe task's\n"


def test_streams_and_records_are_as_before_when_the_last_daemon_is_gone() -> None:
    before = sys.stdout, sys.stderr, logging.getLogRecordFactory()
    capture.begin()
    capture.begin()
    assert sys.stdout is not before[0]
    assert sys.stdout.encoding == before[0].encoding
    capture.end()
    assert sys.stdout is not before[0]
    capture.end()
    assert (sys.stdout, sys.stderr, logging.getLogRecordFactory()) == before


def test_a_stream_that_was_put_in_between_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    capture.begin()
    mine = io.StringIO()
    monkeypatch.setattr(sys, "stdout", mine)
    capture.end()
    assert sys.stdout is mine


def test_a_daemon_without_standard_streams_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert log_of(lambda _: print("unseen")) == ""


def test_a_level_that_was_set_up_stays() -> None:
    assert log_of(lambda _: logger.warning("not wanted"), level=logging.ERROR) == ""


# --- bounds ------------------------------------------------------------------------------------------------


def a_context() -> Context:
    loop = asyncio.new_event_loop()
    loop.close()
    return Context(ONE, Told(), loop)


def test_a_progress_bar_is_one_line() -> None:
    context = a_context()
    for percent in range(0, 101, 10):
        context.printed(f"\r{percent}%")
    context.printed("\ndone\r\n")
    assert context._lines == ["100%", "done"]


def test_a_line_without_an_end_is_cut_and_lines_without_number_are_lost() -> None:
    context = a_context()
    context.printed("x" * (LINE_CHARACTERS_MAX + 1))
    assert [len(line) for line in context._lines] == [LINE_CHARACTERS_MAX + 1]
    context.printed("\n" * 2 * LOG_LINES_MAX)
    assert len(context._lines) == LOG_LINES_MAX


def test_what_is_printed_after_the_end_belongs_to_no_task() -> None:
    context = a_context()
    context.printed("half")
    context.finish()
    context.printed(" a line\n")
    assert context._news.events.get_nowait() == ("progressed", None, None, "half")  # type: ignore[attr-defined]
    assert context._lines == []

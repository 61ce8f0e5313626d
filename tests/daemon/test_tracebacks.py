"""Where a function failed, for its task and for who watches the daemon."""

import logging
from typing import Any

import pytest

from taskyard.daemon.task import Task, TaskError
from taskyard.daemon.tracebacks import CHARACTERS_MAX, TOLD_MAX, Tracebacks, traceback_of
from taskyard.wire.frames import TaskFailed, WireError
from tests.daemon.functions import both, outcome_of


def divides(_: Task) -> float:
    return 1 / 0


def explains(_: Task) -> None:
    try:
        divides(_)
    except ZeroDivisionError as error:
        raise RuntimeError("no share") from error


def text_of(outcome: Any) -> str:
    found: str = outcome.error.details["traceback"]
    return found


def failure(text: str | None = "Traceback …\nValueError: bad\n") -> TaskFailed:
    details: dict[str, object] | None = None if text is None else {"traceback": text}
    return TaskFailed("t1", 2, WireError("EXECUTION_ERROR", "ValueError: bad", details=details))


def test_a_traceback_is_as_python_prints_it_from_the_function_on() -> None:
    for outcome in both(divides):
        lines = text_of(outcome).splitlines()
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[-1] == "ZeroDivisionError: division by zero"
        assert "return 1 / 0" in text_of(outcome)
        assert "taskyard/daemon" not in text_of(outcome)


def test_what_caused_it_is_told_too() -> None:
    text = text_of(outcome_of(explains))
    assert text.index("ZeroDivisionError") < text.index("direct cause") < text.index("RuntimeError: no share")


def test_a_long_one_keeps_its_end_and_what_cannot_be_written_is_a_question_mark() -> None:
    text = traceback_of(ValueError("\ud800" * 2 * CHARACTERS_MAX))
    assert text.startswith("[…]\n")
    assert len(text) <= CHARACTERS_MAX + 4
    assert text.endswith("???\n")


def test_an_error_that_was_meant_has_none(caplog: pytest.LogCaptureFixture) -> None:
    def refuses(_: Task) -> None:
        raise TaskError("NO_PAPER", "the printer has no paper")

    assert [outcome.error.details for outcome in both(refuses)] == [None, None]
    assert caplog.records == []


def test_the_daemon_says_it_once_with_the_tasks_name(caplog: pytest.LogCaptureFixture) -> None:
    outcome_of(divides)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("taskyard.daemon", logging.WARNING)
    assert record.getMessage().startswith("t1 failed in attempt 1:\nTraceback")
    assert record.getMessage().endswith("ZeroDivisionError: division by zero")


def test_of_many_in_a_second_some_are_told_and_the_others_counted(caplog: pytest.LogCaptureFixture) -> None:
    now = [7.0]
    told = Tracebacks(lambda: now[0])
    for _ in range(TOLD_MAX + 3):
        told.tell("T-001", failure())
    assert len(caplog.records) == TOLD_MAX
    now[0] = 8.0
    told.tell("T-002", failure())
    told.tell("T-003", failure(None))
    assert caplog.records[-1].getMessage().startswith("T-002 failed in attempt 2 (3 more tracebacks came too fast):")

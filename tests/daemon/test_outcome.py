"""Outcomes within the limits of the wire: what is cut, and that nothing is lost to a limit."""

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, json

from taskyard.daemon.framing import write_frames
from taskyard.daemon.outcome import cut_text, pack
from taskyard.daemon.python_runner import ended_with, failed_with
from taskyard.daemon.task import Result, TaskError
from taskyard.gateway.daemon_messages import Translator
from taskyard.wire import frames
from taskyard.wire.depth import DEPTH_MAX, FRAME_WRAPS, is_too_deep, without_nul
from taskyard.wire.fields import FIELD_BYTES_MAX
from taskyard.wire.frames import DecisionReport, TaskCompleted, TaskFailed, WireError


def completed(message: TaskCompleted) -> TaskCompleted:
    encoded, _ = pack(message)
    [decoded] = frames.decode_from_daemon(encoded)
    assert isinstance(decoded, TaskCompleted)
    return decoded


def test_a_short_text_stays() -> None:
    assert cut_text("grün", 64) == "grün"


def test_a_long_text_keeps_its_head_and_says_how_long_it_was() -> None:
    cut = cut_text("ü" * 1_000, 500)
    assert cut.startswith("üüü")
    assert cut.endswith("… [cut from 2000 bytes]")
    assert len(cut.encode()) <= 500


def test_what_utf8_cannot_say_becomes_a_question_mark() -> None:
    assert cut_text("a\ud800b") == "a?b"


def test_a_result_nested_too_deeply_is_kept_as_a_file() -> None:
    encoded, whole = pack(TaskCompleted("t1", 1, Raw(b"[" * 100 + b"]" * 100)))
    assert whole is not None
    assert b'"truncated":true' in encoded


@pytest.mark.parametrize("task_id", ["../../elsewhere", "/elsewhere", "..", "a/b", "x" * 300])
def test_a_hub_cannot_name_a_file_elsewhere(task_id: str) -> None:
    _, whole = pack(TaskCompleted(task_id, 1, Raw(b"[" * 100 + b"]" * 100)))
    assert whole is None or (Path(whole.name).name, len(whole.name)) == (whole.name, 64 + len("-1.json"))


def test_a_long_summary_is_cut() -> None:
    summary = completed(TaskCompleted("t1", 1, summary="x" * 100_000)).summary
    assert summary is not None
    assert len(summary) <= FIELD_BYTES_MAX


def test_of_too_many_changed_files_the_first_are_told() -> None:
    paths = [f"src/{number:06}.py" for number in range(10_000)]
    told = completed(TaskCompleted("t1", 1, files_changed=paths)).files_changed
    assert told is not None
    assert told == paths[: len(told)]
    assert FIELD_BYTES_MAX // 2 < len(json.encode(told)) <= FIELD_BYTES_MAX


def test_a_few_changed_files_are_all_told() -> None:
    assert completed(TaskCompleted("t1", 1, files_changed=["a", "b"])).files_changed == ["a", "b"]


def test_a_decision_report_that_is_too_long_keeps_what_is_required_of_it() -> None:
    report = DecisionReport("d" * 50_000, "r" * 50_000, alternatives=["a"])
    told = completed(TaskCompleted("t1", 1, decision_report=report)).decision_report
    assert told is not None
    assert told.decision.startswith("ddd")
    assert told.reasoning.startswith("rrr")
    assert len(json.encode(told)) <= FIELD_BYTES_MAX


def test_a_short_decision_report_stays() -> None:
    report = DecisionReport("d", "r", alternatives=["a"])
    assert completed(TaskCompleted("t1", 1, decision_report=report)).decision_report == report


def test_a_long_error_is_cut_in_each_of_its_parts() -> None:
    error = WireError("C" * 300, "m" * 100_000, details={"traceback": "x" * 100_000})
    encoded, _ = pack(TaskFailed("t1", 1, error))
    [told] = frames.decode_from_daemon(encoded)
    assert isinstance(told, TaskFailed)
    assert len(told.error.code) <= 255
    assert len(told.error.message) <= FIELD_BYTES_MAX
    assert told.error.details == {"truncated": True}


# --- whatever a function answers, the hub takes --------------------------------------------------------------

KEY = ("t1", 1)
# A hub hangs up on what it cannot take, and an outcome is told until it was taken: one would be the end of its daemon.


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


ODD: list[Any] = [
    *(2**63, 2**64 - 1, 2**70, -(2**63), 1e308, math.inf, math.nan, True),
    *("a\0b", "\ud800", "\u2028", "x" * 3_000_000, "\x01" * 400_000, '"\\' * 300_000),
    *(nested(63), nested(64), nested(65), nested(500), nested(20_000), [1] * 100_000),
    *(Raw(b"1e400"), Raw(b"9" * 400), b"bytes", {1, 2}, {1: 2}, {"a\0": 1}, object(), Path("a/b")),
    *(Decimal("1e999"), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), Mute()),
]
REPORT = {"decision": "d", "reasoning": "r"}
PLACES: dict[str, Callable[[Any], TaskCompleted | TaskFailed]] = {
    "result": lambda odd: ended_with(KEY, odd),
    "result, inside": lambda odd: ended_with(KEY, {"inside": [odd]}),
    "summary": lambda odd: ended_with(KEY, Result(1, summary=odd)),
    "status": lambda odd: ended_with(KEY, Result(1, status=odd)),
    "files": lambda odd: ended_with(KEY, Result(1, files_changed=[odd])),
    "usage": lambda odd: ended_with(KEY, Result(1, usage={"input_tokens": odd, "cost_usd": odd})),
    "report": lambda odd: ended_with(KEY, Result(1, decision_report={**REPORT, "alternatives": [odd]})),
    "verification": lambda odd: ended_with(KEY, Result(1, decision_report={**REPORT, "verification": odd})),
    "code": lambda odd: failed_with(KEY, TaskError(odd, "m")),
    "message": lambda odd: failed_with(KEY, TaskError("CODE", odd)),
    "retryable": lambda odd: failed_with(KEY, TaskError("CODE", "m", retryable=odd)),
    "details": lambda odd: failed_with(KEY, TaskError("CODE", "m", details={"inside": odd})),
    "usage of a failure": lambda odd: failed_with(KEY, TaskError("CODE", "m", usage={"input_tokens": odd})),
    "exception": lambda odd: failed_with(KEY, ValueError(odd)),
}


def taken(message: TaskCompleted | TaskFailed) -> TaskCompleted | TaskFailed:
    """As the hub reads it. Raises what it would hang up for."""
    [frame] = write_frames([pack(message)[0]])
    assert not is_too_deep(bytes(frame), DEPTH_MAX + FRAME_WRAPS)
    [told] = frames.decode_from_daemon(without_nul(bytes(frame)))
    assert isinstance(told, TaskCompleted | TaskFailed)
    Translator(session=1, daemon_id="d").command_of(told, 0)
    return told


@pytest.mark.parametrize("place", PLACES)
def test_whatever_a_function_answers_is_told_so_that_the_hub_takes_it(place: str) -> None:
    for odd in ODD:
        told = taken(PLACES[place](odd))
        assert (told.task_id, told.attempt) == KEY


def test_what_stands_beside_a_result_and_cannot_be_told_does_not_cost_the_result() -> None:
    report = {**REPORT, "verification": nested(100)}
    told = taken(ended_with(KEY, Result({"answer": 42}, decision_report=report, files_changed=[Path("a/b")])))  # type: ignore[list-item]
    assert isinstance(told, TaskCompleted)
    assert isinstance(told.result, Raw)
    assert (bytes(told.result), told.files_changed) == (b'{"answer":42}', ["a/b"])
    assert told.decision_report == DecisionReport("d", "r")


def test_a_code_that_is_a_number_and_an_error_without_words_are_told_as_what_they_are() -> None:
    told = taken(failed_with(KEY, TaskError(429, "too many")))  # type: ignore[arg-type]
    assert isinstance(told, TaskFailed)
    assert told.error.code == "429"
    mute = taken(failed_with(KEY, Mute()))
    assert isinstance(mute, TaskFailed)
    assert mute.error.message == "Mute"

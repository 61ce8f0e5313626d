"""Outcomes within the limits of the wire: what is cut, and that nothing is lost to a limit."""

from msgspec import Raw, json

from taskyard.daemon.outcome import FIELD_BYTES_MAX, cut_text, pack
from taskyard.wire import frames
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

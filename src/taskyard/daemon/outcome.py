"""Outcomes that fit the wire.

The hub refuses a result over 1 MiB and any other field over 64 KiB. Work that is done must not be lost to
a limit, so what is too long is cut here, with a note of its size; a result is kept whole in a file.
"""

from typing import Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from taskyard.daemon.file_name import file_name
from taskyard.daemon.orders import Whole
from taskyard.daemon.task import UNTELLABLE, words_of
from taskyard.wire import frames
from taskyard.wire.depth import DEPTH_MAX, FRAME_WRAPS, has_wild_number, is_too_deep
from taskyard.wire.fields import FIELD_BYTES_MAX, RESULT_BYTES_MAX
from taskyard.wire.frames import DecisionReport, TaskCompleted, TaskFailed, WireError

HEAD_BYTES: Final = 16 * 1024
# Of a cut result. JSON may write each byte of the head as six, and the note has to stay a small one.
NOTE_BYTES: Final = 64
"""Room for the note at the end of a cut text."""

_encode: Final = msgspec.json.encode


def cut_text(text: str, bytes_max: int = FIELD_BYTES_MAX) -> str:
    """The text, or its head and a note of how long it was. What UTF-8 cannot say becomes a question mark."""
    if text.isascii() and len(text) <= bytes_max:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= bytes_max:
        return encoded.decode()
    head = encoded[: bytes_max - NOTE_BYTES].decode("utf-8", "ignore")
    return f"{head}… [cut from {len(encoded)} bytes]"


def pack(message: TaskCompleted | TaskFailed) -> tuple[bytes, Whole | None]:
    """The message encoded, as the hub takes it; and the result to keep as a file if it was cut.

    It never raises, and what it answers is never refused: a hub hangs up on a message that it cannot read, and an
    outcome is told until it was taken. What stands beside a result or an error and cannot be told is left out.
    """
    try:
        whole = _fit_result(message) if isinstance(message, TaskCompleted) else None
        try:
            return _told(message), whole
        except UNTELLABLE:
            _leave_out(message)
            return _told(message), whole
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it, its end has to be told
        said = cut_text(words_of(error), 1024)
        told = WireError("INVALID_RESULT", f"the outcome is not JSON: {said}", retryable=False)
        return frames.encode(TaskFailed(message.task_id, message.attempt, told)), None


def _told(message: TaskCompleted | TaskFailed) -> bytes:
    """Raises one of `UNTELLABLE` for what the hub would not take."""
    if isinstance(message, TaskFailed):
        _fit_failed(message)
    else:
        if isinstance(message.result, Raw) and has_wild_number(bytes(message.result)):
            raise ValueError("a number is beyond what JSON readers can hold")
        if _is_bare(message):
            return frames.encode(message)
        _fit_beside(message)
    encoded = frames.encode(message)
    if is_too_deep(encoded, DEPTH_MAX + FRAME_WRAPS - 1):
        raise ValueError("it nests too deeply")
    frames.decode_from_daemon(encoded)
    return encoded


def _is_bare(message: TaskCompleted) -> bool:
    """Nothing but a result, as short work has."""
    if message.summary is not None or message.files_changed is not None:
        return False
    return message.decision_report is None and message.usage is None


def _leave_out(message: TaskCompleted | TaskFailed) -> None:
    """What a result or an error can do without."""
    if isinstance(message, TaskFailed):
        message.error, message.usage = replace(message.error, details={"truncated": True}), None
        return
    report = message.decision_report
    message.usage = None
    message.decision_report = None if report is None else _words_alone(report)


def _fit_result(message: TaskCompleted) -> Whole | None:
    """Bring the result within the limits; answers what to keep as a file if it was cut."""
    # What is no longer than the limit of depth has no room for that many brackets.
    is_long = isinstance(message.result, Raw) and len(content := bytes(message.result)) > DEPTH_MAX
    if not is_long or not _is_too_much(content):
        return None
    whole = Whole(f"{file_name((message.task_id, message.attempt))}.json", content)
    note = {
        "truncated": True,
        "bytes": len(content),
        "head": content[:HEAD_BYTES].decode("utf-8", "ignore"),
        "file": whole.name,
    }
    message.result = Raw(_encode(note))
    return whole


def _fit_beside(message: TaskCompleted) -> None:
    if message.summary is not None:
        message.summary = cut_text(message.summary)
    if message.files_changed is not None:
        message.files_changed = [cut_text(path) for path in message.files_changed]
        if len(_encode(message.files_changed)) > FIELD_BYTES_MAX:
            message.files_changed = _first_that_fit(message.files_changed)
    if message.decision_report is not None and len(_encode(message.decision_report)) > FIELD_BYTES_MAX:
        message.decision_report = _words_alone(message.decision_report)


def _words_alone(report: DecisionReport) -> DecisionReport:
    bytes_max = FIELD_BYTES_MAX // 4
    return DecisionReport(
        decision=cut_text(report.decision, bytes_max), reasoning=cut_text(report.reasoning, bytes_max)
    )


def _is_too_much(result: bytes) -> bool:
    return len(result) > RESULT_BYTES_MAX or is_too_deep(result)


def _fit_failed(message: TaskFailed) -> None:
    error = message.error
    details = error.details
    if details is not None and len(_encode(details)) > FIELD_BYTES_MAX // 2:
        details = {"truncated": True}
    message.error = WireError(
        code=cut_text(error.code, 255),
        message=cut_text(error.message, FIELD_BYTES_MAX // 2),
        retryable=error.retryable,
        details=details,
    )


def _first_that_fit(paths: list[str]) -> list[str]:
    room = FIELD_BYTES_MAX
    kept = []
    for path in paths:
        room -= len(_encode(path)) + 1
        if room < NOTE_BYTES:
            break
        kept.append(path)
    return kept

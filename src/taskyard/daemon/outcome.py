"""Outcomes that fit the wire.

The hub refuses a result over 1 MiB and any other field over 64 KiB. Work that is done must not be lost to
a limit, so what is too long is cut here, with a note of its size; a result is kept whole in a file.
"""

from typing import Final

import msgspec
from msgspec import Raw

from taskyard.daemon.orders import Whole
from taskyard.wire import frames
from taskyard.wire.depth import DEPTH_MAX, is_too_deep
from taskyard.wire.frames import DecisionReport, TaskCompleted, TaskFailed, WireError

RESULT_BYTES_MAX: Final = 1024 * 1024
FIELD_BYTES_MAX: Final = 64 * 1024
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
    """The message encoded, within the limits; and the result to keep as a file if it was cut."""
    whole = None
    try:
        if isinstance(message, TaskCompleted):
            whole = fit_completed(message)
        else:
            fit_failed(message)
        return frames.encode(message), whole
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        told = WireError("INVALID_RESULT", f"the outcome is not JSON: {cut_text(str(error), 1024)}", retryable=False)
        return frames.encode(TaskFailed(message.task_id, message.attempt, told)), None


def fit_completed(message: TaskCompleted) -> Whole | None:
    """Bring the message within the limits; answers the result to keep as a file if it was cut."""
    whole = None
    # What is no longer than the limit of depth has no room for that many brackets.
    is_long = isinstance(message.result, Raw) and len(content := bytes(message.result)) > DEPTH_MAX
    if is_long and _is_too_much(content):
        whole = Whole(f"{message.task_id}-{message.attempt}.json", content)
        note = {
            "truncated": True,
            "bytes": len(content),
            "head": content[:HEAD_BYTES].decode("utf-8", "ignore"),
            "file": whole.name,
        }
        message.result = Raw(_encode(note))
    if message.summary is not None:
        message.summary = cut_text(message.summary)
    if message.files_changed is not None and len(_encode(message.files_changed)) > FIELD_BYTES_MAX:
        message.files_changed = _first_that_fit(message.files_changed)
    if message.decision_report is not None and len(_encode(message.decision_report)) > FIELD_BYTES_MAX:
        message.decision_report = DecisionReport(
            decision=cut_text(message.decision_report.decision, FIELD_BYTES_MAX // 4),
            reasoning=cut_text(message.decision_report.reasoning, FIELD_BYTES_MAX // 4),
        )
    return whole


def _is_too_much(result: bytes) -> bool:
    return len(result) > RESULT_BYTES_MAX or is_too_deep(result)


def fit_failed(message: TaskFailed) -> None:
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

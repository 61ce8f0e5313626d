"""Outcomes that fit the wire.

The hub refuses a result over 1 MiB and any other field over 64 KiB. Work that is done must not be lost to
a limit, so what is too long is cut here, with a note of its size; a result is kept whole in a file.
"""

from typing import Final

import msgspec
from msgspec import Raw, structs

from taskyard.daemon.orders import Whole
from taskyard.wire.frames import TaskCompleted, TaskFailed, WireError

RESULT_BYTES_MAX: Final = 1024 * 1024
FIELD_BYTES_MAX: Final = 64 * 1024
HEAD_BYTES: Final = 16 * 1024
# Of a cut result. JSON may write each byte of the head as six, and the note has to stay a small one.
NOTE_BYTES: Final = 64
"""Room for the note at the end of a cut text."""

_encode: Final = msgspec.json.encode


def cut_text(text: str, bytes_max: int = FIELD_BYTES_MAX) -> str:
    """The text, or its head and a note of how long it was."""
    if len(text) * 4 <= bytes_max:
        return text
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= bytes_max:
        return text
    head = encoded[: bytes_max - NOTE_BYTES].decode("utf-8", "ignore")
    return f"{head}… [cut from {len(encoded)} bytes]"


def fit_completed(message: TaskCompleted) -> tuple[TaskCompleted, Whole | None]:
    """The message within the limits, and the result to keep as a file if it was cut."""
    whole = None
    if isinstance(message.result, Raw) and len(message.result) > RESULT_BYTES_MAX:
        content = bytes(message.result)
        whole = Whole(f"{message.task_id}-{message.attempt}.json", content)
        note = {
            "truncated": True,
            "size": len(content),
            "head": content[:HEAD_BYTES].decode("utf-8", "ignore"),
            "file": whole.name,
        }
        message = structs.replace(message, result=Raw(_encode(note)))
    if message.summary is not None:
        message.summary = cut_text(message.summary)
    if message.files_changed is not None and len(_encode(message.files_changed)) > FIELD_BYTES_MAX:
        message.files_changed = _first_that_fit(message.files_changed)
    if message.decision_report is not None and len(_encode(message.decision_report)) > FIELD_BYTES_MAX:
        report = message.decision_report
        half = FIELD_BYTES_MAX // 4
        message.decision_report = structs.replace(
            report,
            decision=cut_text(report.decision, half),
            reasoning=cut_text(report.reasoning, half),
            alternatives=[],
            risks=[],
            verification=None,
        )
    return message, whole


def fit_failed(message: TaskFailed) -> TaskFailed:
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
    return message


def _first_that_fit(paths: list[str]) -> list[str]:
    room = FIELD_BYTES_MAX
    kept = []
    for path in paths:
        room -= len(_encode(path)) + 1
        if room < NOTE_BYTES:
            break
        kept.append(path)
    return kept

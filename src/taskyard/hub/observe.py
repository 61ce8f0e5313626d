"""Structured logs: one JSON object a line, the events of a commit in one write.

Events are logged as they are released, so a line never tells of something a crash took back. A task's input, a key
or a token is not in any event, hence in no line. The encoder is the one that writes records: about a microsecond a
line, where a logging framework takes twenty, and at full speed there are a hundred thousand lines a second.
"""

import sys
from typing import Final, TextIO

import msgspec

from taskyard.core.changes import Event
from taskyard.hub.clock import read_clock
from taskyard.wire.fields import instant_of

_encoder: Final = msgspec.json.Encoder()


class Line(msgspec.Struct, omit_defaults=True):
    at: str
    event: str
    level: str = "info"
    user_id: str | None = None
    task_id: str | None = None
    attempt: int | None = None
    was: str | None = msgspec.field(default=None, name="from")
    now: str | None = msgspec.field(default=None, name="to")
    data: object = None


class Log:
    """Writes lines to a stream; a stream that is gone stops the logging, not the hub."""

    def __init__(self, stream: TextIO | None = None, *, tasks: bool = True) -> None:
        self._stream = stream or sys.stderr
        self._tasks = tasks

    def events(self, events: list[Event]) -> None:
        if not self._tasks or not events:
            return
        at_ms, at, lines = 0, "", []
        for event in events:
            if event.at != at_ms:
                at_ms, at = event.at, _instant(event.at)
            lines.append(
                Line(
                    at,
                    event.name,
                    "info",
                    event.user_id,
                    event.task_id,
                    event.attempt,
                    event.was,
                    event.now,
                    event.data,
                )
            )
        self._write(_encoder.encode_lines(lines))

    def say(self, event: str, *, level: str = "info", **data: object) -> None:
        """Something of the hub itself."""
        self._write(_encoder.encode(Line(_instant(read_clock().wall), event, level, data=data or None)) + b"\n")

    def _write(self, lines: bytes) -> None:
        try:
            self._stream.write(lines.decode())
            self._stream.flush()
        except (OSError, ValueError):
            self._tasks = False


def _instant(ms: int) -> str:
    return instant_of(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")

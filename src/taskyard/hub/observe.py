"""Structured logs: one JSON object a line, the events of a commit in one write.

Events are logged as they are released, so a line never tells of something a crash took back. A task's input, a key
or a token is not in any event, hence in no line. The encoder is the one that writes records: about a microsecond a line, where a
logging framework takes twenty, and at full speed there are a hundred thousand lines a second.
"""

import sys
from typing import Final, TextIO

import msgspec

from taskyard.core.changes import Event
from taskyard.core.task import ref_of
from taskyard.hub.clock import read_clock
from taskyard.wire.fields import instant_of

_encoder: Final = msgspec.json.Encoder()


class Line(msgspec.Struct, omit_defaults=True):
    at: object
    event: str
    level: str = "info"
    user_id: str | None = None
    task_id: str | None = None
    ref: str | None = None
    attempt: int | None = None
    was: str | None = msgspec.field(default=None, name="from")
    now: str | None = msgspec.field(default=None, name="to")
    data: dict[str, object] | None = None


class Log:
    """Writes lines to a stream; a stream that is gone stops the logging, not the hub."""

    def __init__(self, stream: TextIO | None = None, *, tasks: bool = True) -> None:
        self._stream = stream or sys.stderr
        self._tasks = tasks

    def events(self, events: list[Event]) -> None:
        if self._tasks and events:
            self._write(_encoder.encode_lines([_line_of(event) for event in events]))

    def say(self, event: str, *, level: str = "info", **data: object) -> None:
        """Something of the hub itself."""
        line = Line(instant_of(read_clock().wall), event, level, data=data or None)
        self._write(_encoder.encode(line) + b"\n")

    def _write(self, lines: bytes) -> None:
        try:
            self._stream.write(lines.decode())
            self._stream.flush()
        except (OSError, ValueError):
            self._tasks = False


def _line_of(event: Event) -> Line:
    return Line(
        instant_of(event.at),
        event.name,
        "info",
        event.user_id,
        event.task_id,
        None if event.number is None else ref_of(event.number),
        event.attempt,
        event.was,
        event.now,
        event.data,  # type: ignore[arg-type]
    )

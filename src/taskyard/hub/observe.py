"""Structured logs: one JSON object a line, the events of a commit in one write.

Events are logged as they are released, so a line never tells of something a crash took back. A task's input, a key
or a token is not in any event, hence in no line; of the hub's own exceptions the place is told and not the message,
which may quote what was sent. A task's error is what its agent said: its message is cut, and keys in it are masked.

The encoder is the one that writes records: about a microsecond a line, where a logging framework takes twenty, and at
full speed there are a hundred thousand lines a second.
"""

import json
import logging
import os
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol

import msgspec

from taskyard.core.changes import Batch, Event
from taskyard.core.task import Task
from taskyard.files.private import open_private
from taskyard.hub.clock import read_clock
from taskyard.hub.log_facts import FACTS, LEVELS
from taskyard.store.port import StoreBroken
from taskyard.wire.fields import instant_of

FILE_BYTES_MAX: Final = 64 * 1024 * 1024

CARRIED: Final = ("hook_id", "code", "untold")
"""What a record of `logging` may bring beside its message: ids that we gave, codes and counts that are ours."""

# What uvicorn says of each WebSocket that is refused. Without a key the log could be filled with it.
UNTOLD: Final = frozenset({"ASGI callable returned without completing handshake."})

NO_TASKS: Final[Mapping[str, Task]] = {}
_encoder: Final = msgspec.json.Encoder()
# The encoder escapes what is below U+0020. These would still move a cursor, turn the writing round or end a line.
_UNSEEN: Final = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


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


class Sink(Protocol):
    def write(self, lines: bytes, /) -> object: ...


class LogFile:
    """A file that only its owner can read. A full one is set aside: this one and that one are all there ever is."""

    def __init__(self, path: Path, *, bytes_max: int = FILE_BYTES_MAX) -> None:
        self._path = path
        self._bytes_max = bytes_max
        self._is_cut = False
        self._open()

    def _open(self) -> None:
        set_aside(self._path, bytes_max=self._bytes_max)
        self._file = open_private(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self._bytes = os.fstat(self._file).st_size

    def write(self, lines: bytes) -> None:
        """Raises `OSError`; a line that a full disk cut short ends where the next one begins."""
        if self._bytes > self._bytes_max:
            os.close(self._file)
            self._open()
        whole = b"\n" + lines if self._is_cut else lines
        written = os.write(self._file, whole)
        self._is_cut = written < len(whole)
        self._bytes += written

    def close(self) -> None:
        os.close(self._file)


def set_aside(path: Path, *, bytes_max: int = FILE_BYTES_MAX) -> None:
    """Let a log that has grown too long begin anew, and keep what it was until the next time."""
    if path.exists() and path.stat().st_size > bytes_max:
        path.replace(path.with_suffix(f".old{path.suffix}"))


class Log:
    """Writes lines; those that cannot be written are lost, and the hub goes on."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def commit(self, batch: Batch) -> None:
        """The events of a commit, each with what its task's row says beside it."""
        if batch.events:
            rows = (batch.created, batch.changed, batch.ended, batch.revived, batch.amended)
            self.events(batch.events, {row.task.id: row.task for some in rows for row in some})

    def events(self, events: list[Event], tasks: Mapping[str, Task] = NO_TASKS) -> None:
        """Events alone have fewer facts: those of a commit that another hub wrote."""
        if not events:
            return
        at_ms, at, lines = 0, "", []
        for event in events:
            if event.at != at_ms:
                at_ms, at = event.at, _instant(event.at)
            facts = FACTS.get(event.name)
            lines.append(
                Line(
                    at,
                    event.name,
                    LEVELS.get(event.name, "info"),
                    event.user_id,
                    event.task_id,
                    event.attempt,
                    event.was,
                    event.now,
                    event.data if facts is None else facts(event, tasks),
                )
            )
        self._write(_encoder.encode_lines(lines))

    def say(self, event: str, *, level: str = "info", **data: object) -> None:
        """Something of the hub itself."""
        self._write(_encoder.encode(Line(_instant(read_clock().wall), event, level, data=data or None)) + b"\n")

    def fault(self, event: str, error: BaseException, *, level: str = "critical", **data: object) -> None:
        """Something that should not have happened, and where."""
        if isinstance(error, StoreBroken):
            # What a store says of itself quotes nobody.
            data["reason"] = str(error)
        places = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
        self.say(event, level=level, error=type(error).__name__, places=places, **data)

    def _write(self, lines: bytes) -> None:
        if not lines.isascii() or b"\x7f" in lines:
            lines = _UNSEEN.sub(_escaped, lines.decode()).encode()
        try:
            self._sink.write(lines)
        except (OSError, ValueError):
            return


class Records(logging.Handler):
    """What libraries and the gateway say through `logging`, as lines of the log."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        # The first line as it was written down in the code: what is put into it, or follows, may quote anybody.
        message = str(record.msg).partition("\n")[0]
        if message in UNTOLD:
            return
        level, error = record.levelname.lower(), record.exc_info[1] if record.exc_info else None
        data = {name: value for name in CARRIED if (value := getattr(record, name, None)) is not None}
        if error is None:
            self._log.say(record.name, level=level, message=message, **data)
        else:
            self._log.fault(record.name, error, level=level, message=message, **data)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\u{code:04x}" if code < 0x10000 else json.dumps(found[0])[1:-1]


def _instant(ms: int) -> str:
    return instant_of(ms).isoformat(timespec="milliseconds").replace("+00:00", "Z")

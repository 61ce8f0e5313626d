"""What a Python function prints and logs becomes its task's log, and still goes where it went.

Which task a call belongs to is a context variable: it is right in a thread, in an async function and in what that
awaits, however many run at once. Threads that a function starts by itself have no task, unless `asyncio.to_thread`
starts them; programs that it starts write past Python altogether.

Log records are taken as they are made, not by a handler: one at the root would keep `logging.basicConfig` and Python's
own last resort from doing their part. What a handler writes to standard error is therefore passed on and not taken a
second time.
"""

import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final

from taskyard.daemon.context import Context

FRAMES_MAX: Final = 40
"""So far up a write is looked for a log handler that made it."""
STREAMS: Final = ("stdout", "stderr")

_running: Final[ContextVar[Context | None]] = ContextVar("taskyard_running", default=None)
_format: Final = logging.Formatter("%(levelname)s %(name)s: %(message)s")


@contextlib.contextmanager
def logged_to(context: Context | None) -> Iterator[None]:
    """What is printed and logged inside belongs to this context's task. None: to no task."""
    token = _running.set(context)
    try:
        yield
    finally:
        _running.reset(token)


class Tee:
    """A standard stream of which the running task gets a copy."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> Any:
        context = _running.get()
        if context is not None and not _is_of_logging(sys._getframe(1)):
            context.printed(text)
        return self.stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _is_of_logging(frame: FrameType | None) -> bool:
    for _ in range(FRAMES_MAX):
        if frame is None:
            return False
        if frame.f_code.co_filename == logging.__file__:
            return True
        frame = frame.f_back
    return False


class _Capture:
    """Installed while a runner in this process needs it. A stream that was put in its place meanwhile stays."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._tees: dict[str, Tee] = {}
        self._make_record: Callable[..., logging.LogRecord] = logging.LogRecord

    def begin(self) -> None:
        with self._lock:
            self._users += 1
            if self._users > 1:
                return
            for name in STREAMS:
                stream = getattr(sys, name)
                if stream is not None:
                    self._tees[name] = Tee(stream)
                    setattr(sys, name, self._tees[name])
            self._make_record = logging.getLogRecordFactory()
            logging.setLogRecordFactory(self._record)
            root = logging.getLogger()
            if not root.handlers and root.level == logging.WARNING:
                # Nothing was set up, and Python would drop what is below a warning. The terminal still has none of it.
                root.setLevel(logging.INFO)

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users:
                return
            for name, tee in self._tees.items():
                if getattr(sys, name) is tee:
                    setattr(sys, name, tee.stream)
            self._tees = {}
            if logging.getLogRecordFactory() == self._record:
                logging.setLogRecordFactory(self._make_record)

    def _record(self, *arguments: Any, **named: Any) -> logging.LogRecord:
        record = self._make_record(*arguments, **named)
        context = _running.get()
        # A record that came from elsewhere and is only rebuilt here has no name yet.
        if context is not None and record.name:
            # Arguments that do not fit their message are reported by the handlers.
            with contextlib.suppress(Exception):
                context.log(_format.format(record))
        return record


capture: Final = _Capture()

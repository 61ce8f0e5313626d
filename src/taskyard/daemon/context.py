"""What a running task function can say and ask, from its thread or from the loop."""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from taskyard.daemon.orders import Key
from taskyard.daemon.outcome import cut_text
from taskyard.daemon.task import TaskCancelled
from taskyard.wire.depth import DEPTH_MAX, has_wild_number, is_too_deep
from taskyard.wire.fields import CHECKPOINT_BYTES_MAX

LOG_LINES_MAX: Final = 1_000
"""Between two visits of the loop; a function that prints faster than that loses lines, not the daemon."""
LINE_CHARACTERS_MAX: Final = 16_000
"""Of a printed line that does not end; what is longer is cut into lines."""


class News(Protocol):
    """Where a context's news go. Called on the loop."""

    def progressed(self, key: Key, percent: float | None, message: str | None, log: str) -> None: ...

    def checkpointed(self, key: Key, data: bytes) -> None: ...


class Context:
    """Given to a task function that takes two arguments. Safe to use from any thread."""

    def __init__(self, key: Key, news: News, loop: asyncio.AbstractEventLoop) -> None:
        self._key = key
        self._news = news
        self._loop = loop
        self._lock = threading.Lock()
        self._cancelled = threading.Event()
        self._percent: float | None = None
        self._message: str | None = None
        self._lines: list[str] = []
        self._unended = ""
        """What was printed since the last end of a line."""
        self._is_over = False
        self._checkpoint: bytes | None = None
        self._posted = False
        self.when_begun: Callable[[], None] | None = None
        """For work that begins later than it is called (`python_runner.Served`)."""

    def progress(self, percent: float | None = None, message: str | None = None) -> None:
        """How far the work is, from 0 to 100, and what it does. Often is fine: only the newest is sent."""
        with self._lock:
            self._percent = self._percent if percent is None else float(percent)
            self._message = self._message if message is None else cut_text(str(message))
            self._post()

    def log(self, text: str) -> None:
        with self._lock:
            if len(self._lines) < LOG_LINES_MAX:
                self._lines.append(str(text))
            self._post()

    def printed(self, text: str) -> None:
        """Called with what the function writes to a standard stream (`prints.py`).

        Whole lines are logged; of one that a progress bar writes over and over, the last.
        """
        with self._lock:
            if self._is_over:
                return
            *lines, self._unended = (self._unended + text).split("\n")
            if len(self._unended) > LINE_CHARACTERS_MAX:
                lines.append(self._unended)
                self._unended = ""
            if lines:
                room = LOG_LINES_MAX - len(self._lines)
                self._lines += [line.rstrip("\r").rpartition("\r")[2] for line in lines[:room]]
                self._post()

    def checkpoint(self, data: object) -> None:
        """Save what the next attempt should start from; it finds it as `task.checkpoint`."""
        encoded = msgspec.json.encode(data)
        if len(encoded) > CHECKPOINT_BYTES_MAX:
            raise ValueError(f"a checkpoint is at most {CHECKPOINT_BYTES_MAX} bytes, this is {len(encoded)}")
        if is_too_deep(encoded):
            raise ValueError(f"a checkpoint nests at most {DEPTH_MAX} deep")
        if has_wild_number(encoded):
            raise ValueError("a number in the checkpoint is beyond what JSON readers can hold: save it as text")
        with self._lock:
            self._checkpoint = encoded
            self._post()

    @property
    def cancelled(self) -> bool:
        """Whether the work should stop. Async functions are cancelled by themselves."""
        return self._cancelled.is_set()

    def wait_cancelled(self, timeout: float | None = None) -> bool:
        """Sleep that a cancel ends: true as soon as the work should stop. Not for async functions."""
        return self._cancelled.wait(timeout)

    def raise_if_cancelled(self) -> None:
        if self._cancelled.is_set():
            raise TaskCancelled

    def begun(self) -> None:
        """The work runs now. Called on the loop by what begins later than it is called; everything else has begun."""
        if self.when_begun is not None:
            self.when_begun()

    def cancel(self) -> None:
        """Called by the runner."""
        self._cancelled.set()

    def finish(self) -> None:
        """Called by the runner before it tells the end: nothing more is printed for this task."""
        with self._lock:
            unended, self._unended, self._is_over = self._unended, "", True
            if unended and len(self._lines) < LOG_LINES_MAX:
                self._lines.append(unended)
        self.deliver()

    def deliver(self) -> None:
        """Hand over what gathered, on the loop."""
        with self._lock:
            self._posted = False
            percent, message, lines, data = self._percent, self._message, self._lines, self._checkpoint
            self._percent = self._message = self._checkpoint = None
            self._lines = []
        if percent is not None or message is not None or lines:
            self._news.progressed(self._key, percent, message, "\n".join(lines))
        if data is not None:
            self._news.checkpointed(self._key, data)

    def _post(self) -> None:
        if not self._posted:
            self._posted = True
            # A thread may outlive the loop; then nobody is left to be told.
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.deliver)

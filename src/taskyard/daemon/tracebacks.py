"""Where a function failed: for the task's error, and for who watches the daemon."""

import logging
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Final

from taskyard.wire.frames import TaskFailed

FRAMES_MAX: Final = 8
CHARACTERS_MAX: Final = 8_000
"""An error's details may have 32 KiB, which JSON with its escapes must not exceed."""
TOLD_MAX: Final = 5
"""In a second: work that fails by the thousand must not hold up its daemon."""
OURS: Final = str(Path(__file__).parent)

logger = logging.getLogger("taskyard.daemon")


def traceback_of(error: BaseException) -> str:
    """As Python prints it, with what caused it, but from where the function was called on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None and trace.tb_frame.f_code.co_filename.startswith(OURS):
        trace = trace.tb_next
    text = "".join(traceback.format_exception(type(error), error, trace, limit=-FRAMES_MAX))
    # What UTF-8 cannot say could not be told at all.
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= CHARACTERS_MAX else f"[…]\n{text[-CHARACTERS_MAX:]}"


def traceback_in(message: TaskFailed) -> str | None:
    found = (message.error.details or {}).get("traceback")
    return found if isinstance(found, str) else None


class Tracebacks:
    """Prints them to the daemon's own log, some in a second. Outside of any task: its log has none of it."""

    def __init__(self, clock_s: Callable[[], float]) -> None:
        self._clock_s = clock_s
        self._second = 0
        self._told = 0
        self._left_out = 0

    def tell(self, name: str, message: TaskFailed) -> None:
        found = traceback_in(message)
        if found is None:
            return
        second = int(self._clock_s())
        if second != self._second:
            self._second, self._told = second, 0
        if self._told == TOLD_MAX:
            self._left_out += 1
            return
        left_out, self._left_out = self._left_out, 0
        more = f" ({left_out} more tracebacks came too fast)" if left_out else ""
        self._told += 1
        logger.warning("%s failed in attempt %d%s:\n%s", name, message.attempt, more, found.rstrip())

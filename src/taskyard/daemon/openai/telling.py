"""An answer as it grows: its lines as log, its length as progress."""

from typing import Final

from taskyard.daemon.context import Context
from taskyard.daemon.openai.secrets import Hider

PENDING_CHARS_MAX: Final = 8 * 1024
"""Of a line that does not end; then it is told in pieces."""
REST: Final = "[… the rest of the answer is not in the log …]"


class Telling:
    def __init__(self, context: Context, hider: Hider, bytes_max: int) -> None:
        self._context = context
        self._hider = hider
        self._room = bytes_max
        self._pending = ""

    def add(self, text: str, characters: int) -> None:
        self._context.progress(None, f"{characters:,} characters so far")
        self._pending += text
        *lines, self._pending = self._pending.split("\n")
        for line in lines:
            self._tell(line)
        if len(self._pending) > PENDING_CHARS_MAX:
            # A key that is cut in two would be hidden in neither.
            safe = len(self._pending) - self._hider.length
            hidden = self._hider.hide(self._pending)
            if hidden != self._pending:
                self._tell(self._pending)
                self._pending = ""
            else:
                self._tell(self._pending[:safe])
                self._pending = self._pending[safe:]

    def end(self) -> None:
        self._tell(self._pending)
        self._pending = ""

    def _tell(self, line: str) -> None:
        line = self._hider.hide(line)
        if self._room <= 0 or not line:
            return
        self._room -= len(line.encode("utf-8", "replace")) + 1
        self._context.log(line if self._room > 0 else REST)

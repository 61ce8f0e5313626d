"""What a program prints, as a log that people read: no bytes that are no text, no colours, no endless line, no flood.

What was left out is said where it was left out.
"""

import codecs
import re
from typing import Final

from taskyard.daemon.outcome import cut_text

LINE_BYTES_MAX: Final = 16 * 1024
KEPT_BYTES_MAX: Final = 4 * 1024 * 1024
"""Of standard output, to find the result in: four times the largest result."""

# Escape sequences with parameters (colours, cursor), commands of terminals that end with BEL or ST, and short ones.
_ANSI: Final = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[@-~]"
)
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(line: str) -> str:
    """A line as a terminal would show it at its end, without what steers terminals."""
    line = _ANSI.sub("", line.rstrip("\r"))
    # A bar that grows is drawn over itself; what stands behind the last return is what stays.
    return _CONTROL.sub("", line.rsplit("\r", 1)[-1])


class Lines:
    """One stream, line by line. What has no end is cut, and comes when it is long enough or the stream ends."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._is_cut = False
        """The line under way has been told; the rest of it is left out."""

    def feed(self, data: bytes, *, last: bool = False) -> list[str]:
        text = self._rest + self._decoder.decode(data, last)
        *whole, self._rest = text.split("\n")
        lines = [line for raw in whole if (line := self._end_of(raw)) is not None]
        if len(self._rest) > LINE_BYTES_MAX:
            if not self._is_cut:
                lines.append(f"{plain(self._rest[:LINE_BYTES_MAX])} [… the rest of this line is left out …]")
            self._rest, self._is_cut = "", True
        if last and self._rest:
            rest, self._rest = self._rest, ""
            if (line := self._end_of(rest)) is not None:
                lines.append(line)
        return lines

    def _end_of(self, raw: str) -> str | None:
        if self._is_cut:
            self._is_cut = False
            return None
        return cut_text(plain(raw), LINE_BYTES_MAX)


class Log:
    """The lines of both streams, up to so many bytes; then one line that says so."""

    def __init__(self, bytes_max: int) -> None:
        self._room = bytes_max
        self._bytes_max = bytes_max
        self._is_full = False

    def take(self, lines: list[str]) -> str:
        """What of them is told, as one text."""
        if self._is_full or not lines:
            return ""
        kept: list[str] = []
        for line in lines:
            self._room -= len(line.encode("utf-8", "replace")) + 1
            if self._room < 0:
                self._is_full = True
                kept.append(f"[… more than {self._bytes_max} bytes of log: the rest is left out …]")
                break
            kept.append(line)
        return "\n".join(kept)


class Tail:
    """The last bytes of a stream."""

    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._chunks = bytearray()
        self._bytes_max = bytes_max
        self.missed_bytes = 0

    def feed(self, data: bytes) -> None:
        self._chunks += data
        # Only when twice as much is there, so that a flood is not copied for each of its pieces.
        if len(self._chunks) > 2 * self._bytes_max:
            self._cut()

    def read(self) -> bytes:
        self._cut()
        return bytes(self._chunks)

    def _cut(self) -> None:
        over = len(self._chunks) - self._bytes_max
        if over > 0:
            del self._chunks[:over]
            self.missed_bytes += over

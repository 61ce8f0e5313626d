"""The newest output of a process in a file of bounded size.

A ring: byte n of the stream is at n modulo the capacity. The writer never waits for the reader, since an agent must not
hang because a daemon is away. Before it overwrites it says how far (`claimed`), afterwards that it did (`written`); a
reader looks at `claimed` again after reading, and knows what was overwritten under its hands.
"""

import contextlib
import os
import struct
from pathlib import Path
from typing import Final

from taskyard.files.private import open_private

HEAD: Final = struct.Struct("<QQQ")
"""Written, claimed, capacity."""


class RingWriter:
    def __init__(self, path: Path, capacity: int) -> None:
        self._file = open_private(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self._capacity = capacity
        self._written = 0
        self._say(0)

    def write(self, data: bytes) -> None:
        """At most the capacity at once. A full disk costs this output, not the work."""
        after = self._written + len(data)
        place = self._written % self._capacity
        head = data[: self._capacity - place]
        with contextlib.suppress(OSError):
            self._say(after)
            _write_all(self._file, head, HEAD.size + place)
            _write_all(self._file, data[len(head) :], HEAD.size)
            self._written = after
            self._say(after)

    def close(self) -> None:
        os.close(self._file)

    def _say(self, claimed: int) -> None:
        _write_all(self._file, HEAD.pack(self._written, claimed, self._capacity), 0)


class RingReader:
    """Reads from the beginning, or from the oldest byte that is left."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._read = 0

    def read(self, bytes_max: int) -> tuple[bytes, int]:
        """What comes next, and how many bytes before it were overwritten unread."""
        written, _, capacity = self._head()
        start = max(self._read, written - capacity)
        data = self._at(start, min(written - start, bytes_max), capacity)
        _, claimed, _ = self._head()
        torn = min(max(0, claimed - capacity - start), len(data))
        missed = start + torn - self._read
        self._read = start + len(data)
        return data[torn:], missed

    def close(self) -> None:
        os.close(self._file)

    def _head(self) -> tuple[int, int, int]:
        head = os.pread(self._file, HEAD.size, 0)
        if len(head) < HEAD.size:
            return 0, 0, 1  # it was made this moment
        written, claimed, capacity = HEAD.unpack(head)
        return written, claimed, capacity

    def _at(self, start: int, count: int, capacity: int) -> bytes:
        place = start % capacity
        first = min(count, capacity - place)
        head = os.pread(self._file, first, HEAD.size + place)
        return head + os.pread(self._file, count - first, HEAD.size) if first < count else head


def _write_all(file: int, data: bytes, place: int) -> None:
    while data:
        count = os.pwrite(file, data, place)
        data, place = data[count:], place + count

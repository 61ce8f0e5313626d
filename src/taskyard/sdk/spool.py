"""Tasks on disk until the hub has them: what was given before a crash is sent after it, in its order and once.

A spool is a directory of segments, each two files that only grow: `….tasks` has one line per task, `….done` the
numbers of those that the hub has taken or will never take. A line is a checksum and JSON. `append` returns once its
lines are on disk; a crash in the middle leaves a line that nobody was promised, and it is passed over. `settle` returns
once the numbers are on disk. A crash before that sends a task again, and its idempotency key makes that harmless.

A segment whose tasks are all done is removed, so the directory is as large as what waits, give or take one segment. In
memory are only the tasks that were taken to be sent.
"""

import contextlib
import logging
import os
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal

import msgspec
from msgspec import Struct

from taskyard.files.private import make_private_directory, open_private
from taskyard.sdk.errors import TaskyardError

try:
    import fcntl
except ImportError:  # Windows has no such lock: two engines on one directory are not noticed there.
    fcntl = None  # type: ignore[assignment]

SEGMENT_BYTES: Final = 1024 * 1024
SPOOL_BYTES_MAX: Final = 256 * 1024 * 1024
TASKS, DONE, LOCK = ".tasks", ".done", "lock"
_HEAD: Final = len(b"00000000 ")
_DIGITS: Final = 10

log = logging.getLogger(__name__)
_encode: Final = msgspec.json.Encoder().encode


class BufferFull(TaskyardError):
    """More was produced than the hub takes at the moment: produce less, or drop something."""


class SpoolBusy(TaskyardError):
    """Another process has this spool open."""


class Place(Struct, frozen=True):
    """Where a task stands: the number of its segment, and of its line in there."""

    segment: int
    line: int


class Segment:
    """What is known of one without holding its tasks."""

    __slots__ = ("bytes", "done", "line", "number", "offset", "waiting")

    def __init__(self, number: int) -> None:
        self.number = number
        self.bytes = 0
        self.waiting = 0
        self.done: set[int] = set()
        """Lines that were done when the spool was opened; they are never taken."""
        self.line, self.offset = 0, 0
        """Where taking goes on."""


class Spool:
    def __init__(
        self, directory: str | Path, *, bytes_max: int = SPOOL_BYTES_MAX, segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        """Opens what is there; `SpoolBusy` if another process has it open."""
        self._directory = Path(directory)
        self._bytes_max = bytes_max
        self._segment_bytes = segment_bytes
        make_private_directory(self._directory)
        self._lock = self._locked()
        self._segments: dict[int, Segment] = {}
        self._ahead: deque[Segment] = deque()
        """Those with tasks that were not taken yet, the oldest first."""
        self._newest = 0
        self._writing: BinaryIO | None = None
        """To the newest segment, if it was made in this life."""
        self._settling: dict[int, BinaryIO] = {}
        self._recover()

    def __len__(self) -> int:
        """Tasks that are not done."""
        return sum(segment.waiting for segment in self._segments.values())

    def append(self, tasks: Sequence[Mapping[str, Any]]) -> None:
        """Keep these; once it returns they are on disk. `BufferFull` keeps none of them."""
        lines = [_line(_encode(task)) for task in tasks]
        size = sum(map(len, lines))
        held = sum(segment.bytes for segment in self._segments.values())
        if held + size > self._bytes_max:
            raise BufferFull(f"{len(self)} tasks wait in {self._directory}, and no more are kept there.")
        segment, file = self._room_for(size)
        try:
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            self._give_up_on(segment, file)
            raise
        segment.bytes += size
        segment.waiting += len(lines)

    def take(self, count: int) -> list[tuple[Place, Any]]:
        """The next tasks in their order, each once, until the spool is opened anew."""
        taken: list[tuple[Place, Any]] = []
        while len(taken) < count and self._ahead:
            segment = self._ahead[0]
            for text, size in _lines_of(self._path(segment.number, TASKS), segment.offset):
                if segment.offset >= segment.bytes:
                    # Left by a disk that would neither take it nor let it be cut off.
                    break
                if text is not None and segment.line not in segment.done:
                    taken.append((Place(segment.number, segment.line), msgspec.json.decode(text)))
                segment.line += 1
                segment.offset += size
                if len(taken) == count:
                    return taken
            if self._is_written(segment):
                break
            self._ahead.popleft()
            self._drop_if_done(segment)
        return taken

    def settle(self, places: Sequence[Place]) -> None:
        """These are done; once it returns that is on disk."""
        by_segment: dict[int, list[int]] = {}
        for place in places:
            by_segment.setdefault(place.segment, []).append(place.line)
        for number, lines in by_segment.items():
            file = self._settling.get(number)
            if file is None:
                file = self._settling[number] = _appending(self._path(number, DONE))
            file.write(b"".join(_line(str(line).encode()) for line in lines))
            file.flush()
            os.fsync(file.fileno())
            segment = self._segments[number]
            segment.waiting -= len(lines)
            self._drop_if_done(segment)

    def close(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None
            # Nothing is added to it any more. A disk that does not let go of it now is asked when it is opened again.
            newest = self._segments[self._newest]
            with contextlib.suppress(OSError):
                if not newest.waiting:
                    self._remove(newest)
        for file in (*self._settling.values(), self._lock):
            file.close()
        self._settling = {}

    # --- segments ------------------------------------------------------------------------------------------

    def _path(self, number: int, kind: str) -> Path:
        return self._directory / f"{number:0{_DIGITS}}{kind}"

    def _locked(self) -> BinaryIO:
        file = _appending(self._directory / LOCK)
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise SpoolBusy(f"Another engine sends from {self._directory}; give each a spool of its own.") from None
        return file

    def _recover(self) -> None:
        for path in sorted(self._directory.glob(f"{'[0-9]' * _DIGITS}{TASKS}")):
            self._newest = int(path.stem)
            if not (path.is_file() and _is_file_or_absent(self._path(self._newest, DONE))):
                log.warning("what is no file is passed over in the spool: %s", path)
                continue
            segment = self._segments[self._newest] = Segment(self._newest)
            whole = {line for line, text in self._known(segment, path) if text is not None}
            done = {int(text) for text, _ in _lines_of(self._path(segment.number, DONE)) if text is not None}
            segment.done = done & whole
            segment.waiting = len(whole - done)
            if segment.waiting:
                self._ahead.append(segment)
            else:
                self._remove(segment)
        for path in self._directory.glob(f"{'[0-9]' * _DIGITS}{DONE}"):
            # A crash while its segment was removed. The number is taken again one day, and must not be done already.
            if not self._path(int(path.stem), TASKS).exists():
                path.unlink()

    def _known(self, segment: Segment, path: Path) -> Iterator[tuple[int, bytes | None]]:
        """Its lines by number. What is broken is passed over: of a promise only if the disk itself lost it."""
        for line, (text, size) in enumerate(_lines_of(path)):
            segment.bytes += size
            if text is None:
                log.warning("a line of the spool is not whole, and is passed over: %s:%d", path, line + 1)
            yield line, text

    def _room_for(self, size: int) -> tuple[Segment, BinaryIO]:
        if self._writing is not None:
            newest = self._segments[self._newest]
            if newest.bytes + size <= self._segment_bytes:
                return newest, self._writing
            self._writing.close()
            self._writing = None
        self._newest += 1
        segment = self._segments[self._newest] = Segment(self._newest)
        self._writing = _opened(self._path(segment.number, TASKS), "xb")
        self._sync_directory()
        self._ahead.append(segment)
        return segment, self._writing

    def _give_up_on(self, segment: Segment, file: BinaryIO) -> None:
        """The disk did not take it. Nobody was promised these, so they must not be sent one day; and what comes next
        must not stand behind half a line."""
        with contextlib.suppress(OSError):
            os.truncate(file.fileno(), segment.bytes)
        with contextlib.suppress(OSError):
            file.close()
        self._writing = None

    def _is_written(self, segment: Segment) -> bool:
        return self._writing is not None and segment.number == self._newest

    def _drop_if_done(self, segment: Segment) -> None:
        if not segment.waiting and not self._is_written(segment) and segment not in self._ahead:
            self._remove(segment)

    def _remove(self, segment: Segment) -> None:
        """The tasks first, for good: without their numbers they would all be sent again."""
        file = self._settling.pop(segment.number, None)
        if file is not None:
            file.close()
        self._path(segment.number, TASKS).unlink()
        self._sync_directory()
        self._path(segment.number, DONE).unlink(missing_ok=True)
        del self._segments[segment.number]

    def _sync_directory(self) -> None:
        if os.name != "posix":
            return
        handle = os.open(self._directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _opened(path: Path, mode: Literal["ab", "xb"]) -> BinaryIO:
    """For its owner alone, from the moment that it is there."""
    return open(path, mode, opener=open_private)


def _appending(path: Path) -> BinaryIO:
    if not _is_file_or_absent(path):
        raise FileExistsError(f"{path} is in the way of the spool, and no file; remove it.")
    return _opened(path, "ab")


def _is_file_or_absent(path: Path) -> bool:
    """To open a pipe would wait for whoever is at its other end."""
    return path.is_file() or not path.exists()


def _line(text: bytes) -> bytes:
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _lines_of(path: Path, offset: int = 0) -> Iterator[tuple[bytes | None, int]]:
    """The text of each line with the line's size; None for one that is not whole."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        file.seek(offset)
        for raw in file:
            text = raw[_HEAD:-1]
            yield (text if raw == _line(text) else None), len(raw)

"""The daemon's memory on disk: who it is, and the outcomes the hub did not acknowledge soon.

A file of lines, each a batch: its CRC-32, a space, JSON. A line is there whole or not at all, so a torn
last line is a write that was not finished, and is cut off. A bad line that has its end is damage: the others
are still used, the damaged file is set aside, and `damage` says so.

Attempts without an outcome are not in it, since they die with their process: the hub sees a new `boot_id`
and an inventory without them, and runs them again.
"""

import contextlib
import errno
import fcntl
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from taskyard.daemon.orders import Batch, Key, Memory, Whole
from taskyard.files.private import Exposure, close_directory, exposures_in, make_private_directory, open_private

COMPACT_BYTES: Final = 16 * 1024 * 1024
# Below this the file is not worth rewriting; above it, it is rewritten when more than half of it is dead.
JOURNAL: Final = "journal"
LOCK: Final = "lock"
WHOLE_FILES_MAX: Final = 256
"""Results too large for the wire that are kept; beyond it the oldest go."""
WHOLE_BYTES_MAX: Final = 1024 * 1024 * 1024
"""Of them together. A program leaves at most 16 MiB; what a function returns has no other bound."""

_written: Final = re.compile(r"journal(\.new|\.damaged-[0-9a-f]{8})?|lock|daemon(\.old)?\.log").fullmatch
_directories: Final = frozenset({"results", "processes", "workspaces"})
"""Beside those in a daemon's directory."""

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Batch).decode


class JournalLocked(Exception):
    """Another process uses this directory."""


class JournalFull(Exception):
    """No room for a batch; nothing of it was written, and it can be tried again."""


class Journal:
    """One process at a time, one thread at a time. Opening it takes the lock and loads what is owed."""

    def __init__(self, directory: Path, *, compact_bytes: int = COMPACT_BYTES) -> None:
        self.directory = directory
        self.damage: str | None = None
        make_private_directory(directory)
        self._compact_bytes = compact_bytes
        self._lock = _locked(directory / LOCK)
        self._path = directory / JOURNAL
        self._memory = Memory()
        self._live_bytes = 0
        self._file = -1
        try:
            close_directory(directory, written=_is_written, belongs=_belongs)
            self._load()
        except BaseException:  # whatever kept it from being read, it is not in use
            os.close(self._lock)
            raise

    def _load(self) -> None:
        content = self._path.read_bytes() if self._path.exists() else b""
        batches, damaged, end = _read(content)
        for batch in batches:
            self._remember(batch)
        aside = f"journal.damaged-{zlib.crc32(content):08x}" if damaged else None
        try:
            self._rewrite(aside=aside)
        except OSError as error:
            if not isinstance(_told(error), JournalFull):
                raise
            # What is owed can be told all the same, and then there is less to remember.
            self._go_on_with_what_is_there(end)
        else:
            if damaged:
                self.damage = f"{damaged} bad lines in the journal; the damaged file is kept as {aside}"

    def _go_on_with_what_is_there(self, end: int) -> None:
        self._file = open_private(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        os.ftruncate(self._file, end)
        self._size = end

    @property
    def exposures(self) -> list[Exposure]:
        """What other users can read of the directory."""
        return exposures_in(self.directory, written=_is_written)

    @property
    def memory(self) -> Memory:
        """A copy: what was owed and known when this was asked for."""
        return Memory(daemon_id=self._memory.daemon_id, seen=self._memory.seen, ended=dict(self._memory.ended))

    def write(self, batches: Sequence[Batch], wholes: Sequence[Whole] = ()) -> None:
        """On disk when this returns. `JournalFull` leaves the file as it was; other errors are final."""
        lines = b"".join(_line(batch) for batch in batches)
        try:
            self._keep(wholes)
            _write_all(self._file, lines)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise _told(error) from error
        os.fdatasync(self._file)
        self._size += len(lines)
        for batch in batches:
            self._remember(batch)
        if self._size > self._compact_bytes and self._live_bytes < self._size // 2:
            self._compact()

    def close(self) -> None:
        os.close(self._file)
        os.close(self._lock)

    def _remember(self, batch: Batch) -> None:
        self._live_bytes += _apply(self._memory, batch)

    def _compact(self) -> None:
        try:
            self._rewrite()
        except OSError as error:
            if not isinstance(_told(error), JournalFull):
                raise
            self._compact_bytes = self._size * 2  # no room to tidy up: go on with the file there is

    def _rewrite(self, *, aside: str | None = None) -> None:
        """A new file with only what is alive, in place of the old one; that is kept by this name, if one is given."""
        fresh = self._path.with_name("journal.new")
        file = open_private(fresh, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
        head = Batch(daemon_id=self._memory.daemon_id, seen=self._memory.seen)
        lines = [_line(head), *(_line(_ended(key, outcome)) for key, outcome in self._memory.ended.items())]
        try:
            _write_all(file, b"".join(lines))
            os.fsync(file)
            if aside is not None:
                # One more name for it, so that there is a journal at every moment.
                with contextlib.suppress(FileExistsError):
                    os.link(self._path, self._path.with_name(aside))
        except OSError:
            os.close(file)
            fresh.unlink()
            raise
        fresh.rename(self._path)
        _sync_directory(self.directory)
        if self._file >= 0:
            os.close(self._file)
        self._file = file
        self._size = sum(map(len, lines))

    def _keep(self, wholes: Sequence[Whole]) -> None:
        if not wholes:
            return
        directory = self.directory / "results"
        make_private_directory(directory)
        for whole in wholes:
            file = open_private(directory / whole.name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
            try:
                _write_all(file, whole.content)
                os.fsync(file)
            except OSError:
                (directory / whole.name).unlink()  # the disk is full, of this
                raise
            finally:
                os.close(file)
        _keep_the_newest(directory)
        _sync_directory(directory)


def _is_written(name: str) -> bool:
    return _written(name) is not None


def _belongs(name: str) -> bool:
    return _is_written(name) or name in _directories


def _keep_the_newest(directory: Path) -> None:
    """Up to so many, and so many bytes, but for the very newest. What cannot go stays: people may put things there."""
    found: list[tuple[int, int, Path]] = []
    for path in directory.iterdir():
        with contextlib.suppress(OSError):
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    kept_bytes = 0
    for number, (_, size, path) in enumerate(sorted(found, reverse=True)):
        kept_bytes += size
        if number >= WHOLE_FILES_MAX or (number > 0 and kept_bytes > WHOLE_BYTES_MAX):
            with contextlib.suppress(OSError):
                path.unlink()


def peek(path: Path) -> Memory:
    """What a journal holds, read beside the process that writes it; what is not whole yet is left out."""
    memory = Memory()
    try:
        batches, _, _ = _read(path.read_bytes())
    except FileNotFoundError:
        return memory
    for batch in batches:
        _apply(memory, batch)
    return memory


def _apply(memory: Memory, batch: Batch) -> int:
    """By how many bytes more there is to remember."""
    more_bytes = 0
    for task_id, attempt, outcome in batch.ended:
        content = bytes(outcome)
        memory.ended[task_id, attempt] = content
        more_bytes += len(content)
    for key in batch.forgotten:
        more_bytes -= len(memory.ended.pop(key, b""))
    memory.daemon_id = batch.daemon_id or memory.daemon_id
    memory.seen = batch.seen or memory.seen
    return more_bytes


def _told(error: OSError) -> Exception:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return JournalFull(os.strerror(error.errno or 0)) if full else error


def _ended(key: Key, outcome: bytes) -> Batch:
    return Batch(ended=[(*key, msgspec.Raw(outcome))])


def _line(batch: Batch) -> bytes:
    content = _encode(batch)
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _read(content: bytes) -> tuple[list[Batch], int, int]:
    """What its good lines say, how many are bad, and where the last one ends. A torn end is no damage."""
    good: list[Batch] = []
    *lines, torn = content.split(b"\n")
    for line in lines:
        if line[8:9] == b" " and line[:8] == b"%08x" % zlib.crc32(line[9:]):
            with contextlib.suppress(msgspec.MsgspecError):  # of a version that has other words for it
                good.append(_decode(line[9:]))
    return good, len(lines) - len(good), len(content) - len(torn)


def _write_all(file: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]


def _locked(path: Path) -> int:
    lock = open_private(path, os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise JournalLocked(f"another daemon uses {path.parent}: give this one another name (--name)") from None
    # Whoever finds the lock taken can tell by whom.
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _sync_directory(directory: Path) -> None:
    opened = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

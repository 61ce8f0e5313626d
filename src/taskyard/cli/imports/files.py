"""Reading what somebody else wrote: regular files below one directory, whole, of a bounded size, unchanged meanwhile.

A directory is opened once and files are opened below it by their names, never through a link. So whatever is put into
it, nothing outside of it is read. What cannot be used is `Damaged`: said with the place, and left as it is.
"""

import codecs
import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from taskyard.wire.depth import DEPTH_MAX, is_too_deep

FILE_BYTES_MAX: Final = 256 * 1024 * 1024
# A hundred thousand tasks of ordinary size. All of it is in memory while it is read.
FILES_MAX: Final = 10_000
# Of one directory: a file a month, of many queues, for decades.
TASKS_MAX: Final = 1_000_000
_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_OPEN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Without O_NONBLOCK a pipe of that name would be waited for.

T = TypeVar("T")


class Damaged(Exception):
    """One file that cannot be used; the message says which, where in it, and what is wrong."""


class Unrecognised(Damaged):
    """JSON of something else."""


class NotADirectory(Exception):
    """What was named holds nothing to import; the message says what was looked for."""


class Directory:
    """An open directory. `shown` is how it is called in messages."""

    def __init__(self, fd: int, shown: str) -> None:
        self._fd = fd
        self.shown = shown

    def names(self, ending: str = "") -> list[str]:
        """In order, so that two readings are the same."""
        names = sorted(name for name in os.listdir(self._fd) if name.endswith(ending))
        if len(names) > FILES_MAX:
            raise Damaged(f"{self.shown}: has {len(names):,} files; at most {FILES_MAX:,} are read")
        return names

    def has(self, name: str) -> bool:
        try:
            os.stat(name, dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def below(self, name: str) -> "Iterator[Directory]":
        """A directory in this one; a link to one is `Damaged`."""
        shown = f"{self.shown}/{name}"
        try:
            fd = os.open(name, _OPEN | os.O_DIRECTORY, dir_fd=self._fd)
        except OSError as error:
            raise Damaged(f"{shown}: is no directory of its own: {error.strerror}") from error
        with _closing(fd):
            yield Directory(fd, shown)

    def read(self, name: str, *, bytes_max: int = FILE_BYTES_MAX) -> bytes:
        """The file of this name."""
        return _read_at(self._fd, name, f"{self.shown}/{name}", bytes_max=bytes_max)


@contextmanager
def directory(path: str) -> Iterator[Directory]:
    """The one that a person named, who may name it by a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise NotADirectory(f"{path}: {error.strerror}") from error
    with _closing(fd):
        yield Directory(fd, path.rstrip("/") or "/")


def _read_at(directory_fd: int, name: str, shown: str, *, bytes_max: int = FILE_BYTES_MAX) -> bytes:
    """A regular file that is not too large and does not change while it is read."""
    try:
        fd = os.open(name, _OPEN, dir_fd=directory_fd)
    except OSError as error:
        said = "is a link, and none is followed" if error.errno == errno.ELOOP else error.strerror
        raise Damaged(f"{shown}: {said}") from error
    with _closing(fd):
        before = os.fstat(fd)
        if not stat.S_ISREG(before.st_mode):
            raise Damaged(f"{shown}: is no regular file")
        if before.st_size > bytes_max:
            raise Damaged(f"{shown}: has {before.st_size:,} bytes; at most {bytes_max:,} are read")
        content = _read_whole(fd, before.st_size)
        after = os.fstat(fd)
        if len(content) != before.st_size or after.st_mtime_ns != before.st_mtime_ns:
            raise Damaged(f"{shown}: was written to while it was read; import again when nobody writes to it")
        return content.removeprefix(codecs.BOM_UTF8)


def _read_whole(fd: int, size: int) -> bytes:
    """As much as was there, and one more byte if it has grown."""
    parts, left = [], size + 1
    while left and (part := os.read(fd, min(left, 1 << 20))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


@contextmanager
def _closing(fd: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(fd)


class Tasks(Struct):
    """A file with tasks, taken apart without looking into them."""

    tasks: list[Raw] | UnsetType = UNSET


def parsed(content: bytes, kind: type[T], shown: str) -> T:
    """JSON of this shape; what is none is `Damaged`, with line and column."""
    if is_too_deep(content):
        raise Damaged(f"{shown}: is nested deeper than {DEPTH_MAX} levels")
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise Damaged(f"{shown}:1:1: {error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        found = _BYTE.search(str(error))
        said = str(error).partition(" (byte")[0]
        raise Damaged(f"{placed(content, shown, int(found[1]) if found else len(content))}: {said}") from error


def tasks_in(content: bytes, kind: type[T], shown: str) -> list[tuple[T, bytes]]:
    """The tasks of a file, each with its text: an object with `tasks`, or a bare list of them."""
    is_bare = content.lstrip()[:1] == b"["
    raws = parsed(content, list[Raw], shown) if is_bare else parsed(content, Tasks, shown).tasks
    if isinstance(raws, UnsetType):
        raise Unrecognised(f"{shown}:1:1: has no `tasks`; a queue's file is an object with a list of that name")
    if len(raws) > TASKS_MAX:
        raise Damaged(f"{shown}: has {len(raws):,} tasks; at most {TASKS_MAX:,} are taken")
    found, at = [], 0
    for raw in raws:
        text = bytes(raw)
        at = max(content.find(text, at), at)
        try:
            found.append((msgspec.json.decode(text, type=kind), text))
        except msgspec.ValidationError as error:
            raise Damaged(f"{placed(content, shown, at)}: {error}") from error
        at += len(text)
    return found


def placed(content: bytes, shown: str, at: int) -> str:
    """`file:line:column`, counted from 1, of a place in a text."""
    before = content[:at]
    line = before.count(b"\n") + 1
    column = len(before[before.rfind(b"\n") + 1 :].decode(errors="replace")) + 1
    return f"{shown}:{line}:{column}"

"""A disk that remembers every write and can be cut off, filled up or broken at any of them.

It is a layer over the real file system, under SQLite. What was written since a file's last sync is on the disk only by
luck, so the image after a power cut is the synced state and any part of the rest, sector by sector. A deletion
that was not synced may come undone. The simulated disk lies no further: what it synced is there.
"""

import enum
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import apsw


class Cut(enum.Enum):
    """What became of writes that were not synced."""

    LOST = "lost"
    """None of them reached the disk."""
    TORN = "torn"
    """They did in order, up to a sector within one of them."""
    SHUFFLED = "shuffled"
    """Any sectors of any of them did."""


SECTOR_BYTES = (512, 4096)


@dataclass(frozen=True)
class Write:
    file: str
    offset: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    file: str
    size: int


@dataclass(frozen=True)
class Sync:
    file: str


@dataclass(frozen=True)
class Delete:
    file: str
    synced: bool


@dataclass(frozen=True)
class Acknowledge:
    """Not of the disk: the store told its caller that this commit is durable."""

    seq: int


Operation = Write | Truncate | Sync | Delete | Acknowledge


@dataclass
class _File:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write | Truncate] = field(default_factory=list)
    linked: bool = False
    """Whether its name is on the disk: with its first sync."""


class Wreck:
    """What is on the disk after each operation, told one after the other."""

    def __init__(self) -> None:
        self.files: dict[str, _File] = {}
        self.ghosts: dict[str, _File] = {}
        """Deleted files that a power cut would bring back."""
        self.acknowledged = 0

    def apply(self, operation: Operation) -> None:
        match operation:
            case Write(file=name) | Truncate(file=name):
                self.files.setdefault(name, _File()).pending.append(operation)
            case Sync(file=name):
                file = self.files.setdefault(name, _File())
                for pending in file.pending:
                    _apply(file.durable, pending)
                file.pending.clear()
                if not file.linked:
                    # The first sync of a new file syncs its directory too, and with it all deletions.
                    file.linked = True
                    self.ghosts.clear()
            case Delete(file=name, synced=synced):
                gone = self.files.pop(name, None)
                if synced:
                    self.ghosts.clear()
                elif gone is not None and gone.linked:
                    self.ghosts[name] = gone
            case Acknowledge(seq=seq):
                self.acknowledged = seq

    def image(self, cut: Cut, rng: Random) -> dict[str, bytes]:
        """The files after a power cut now."""
        kept = {name: file for name, file in self.ghosts.items() if rng.random() < 0.5}
        kept.update(self.files)
        return {name: _after(file, cut, rng) for name, file in kept.items()}


def _apply(content: bytearray, operation: Write | Truncate) -> None:
    match operation:
        case Write(offset=offset, data=data):
            if len(content) < offset:
                content.extend(bytes(offset - len(content)))
            content[offset : offset + len(data)] = data
        case Truncate(size=size):
            del content[size:]


def _after(file: _File, cut: Cut, rng: Random) -> bytes:
    content = bytearray(file.durable)
    sectors = [sector for pending in file.pending for sector in _sectors(pending, rng.choice(SECTOR_BYTES))]
    match cut:
        case Cut.LOST:
            sectors = []
        case Cut.TORN:
            sectors = sectors[: rng.randint(0, len(sectors))]
        case Cut.SHUFFLED:
            sectors = [sector for sector in sectors if rng.random() < 0.5]
    for sector in sectors:
        _apply(content, sector)
    return bytes(content)


def _sectors(operation: Write | Truncate, size: int) -> Iterator[Write | Truncate]:
    """A write as the disk sees it: cut where its sectors end."""
    if isinstance(operation, Truncate):
        yield operation
        return
    start, end = operation.offset, operation.offset + len(operation.data)
    while start < end:
        stop = min(end, (start // size + 1) * size)
        yield Write(operation.file, start, operation.data[start - operation.offset : stop - operation.offset])
        start = stop


def restore(image: dict[str, bytes], directory: Path) -> None:
    directory.mkdir()
    for name, content in image.items():
        (directory / name).write_bytes(content)


class Disk(apsw.VFS):
    """Records operations, and fails those that it is told to. Registered under `name` while it lives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self._faults: Callable[[int, Operation], Exception | None] = lambda _number, _operation: None
        super().__init__(name, "")

    def fail(self, faults: Callable[[int, Operation], Exception | None]) -> None:
        """Ask this before every operation, with its number, whether and how it fails."""
        self._faults = faults

    def heal(self) -> None:
        self._faults = lambda _number, _operation: None

    def acknowledge(self, seq: int) -> None:
        self.operations.append(Acknowledge(seq))

    def note(self, operation: Operation) -> None:
        fault = self._faults(len(self.operations), operation)
        if fault is not None:
            raise fault
        self.operations.append(operation)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        return _RecordedFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.note(Delete(os.path.basename(filename), synced=syncdir))
        super().xDelete(filename, syncdir)


class _RecordedFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        super().__init__("", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self._disk = disk
        self._name = os.path.basename(path or "")

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.note(Write(self._name, offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:
        self._disk.note(Truncate(self._name, newsize))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:
        self._disk.note(Sync(self._name))
        super().xSync(flags)


@contextmanager
def a_disk(name: str) -> Iterator[Disk]:
    disk = Disk(name)
    try:
        yield disk
    finally:
        disk.unregister()

"""A new file that gets its name when it is whole and on disk. What is there already is never written over."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SQLITE_SUFFIXES: Final = ("", "-journal", "-wal", "-shm")
"""What SQLite may leave beside a file that was not finished."""


class NewFile:
    """A file that has no name yet. Made by `new_file`."""

    def __init__(self, target: Path, partial: Path) -> None:
        self._target = target
        self.partial = partial

    def finish(self) -> None:
        """Put it on disk and give it its name. By a link, which fails where the name was taken meanwhile; some file
        systems have none."""
        sync_file(self.partial)
        try:
            os.link(self.partial, self._target)
        except FileExistsError:
            raise
        except OSError:
            if os.path.lexists(self._target):
                raise FileExistsError(self._target) from None
            self.partial.rename(self._target)
        sync_directory(self._target.parent)


@contextmanager
def new_file(target: Path) -> Iterator[NewFile]:
    """A file beside the target, for its owner only. Unless it is finished, it leaves nothing.

    `FileExistsError` if the name is taken, now or when the file is finished.
    """
    if os.path.lexists(target):
        raise FileExistsError(target)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    try:
        yield NewFile(target, Path(name))
    finally:
        remove_partial(Path(name))


def remove_partial(partial: Path) -> None:
    for suffix in SQLITE_SUFFIXES:
        partial.with_name(f"{partial.name}{suffix}").unlink(missing_ok=True)


def sync_file(file: Path) -> None:
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

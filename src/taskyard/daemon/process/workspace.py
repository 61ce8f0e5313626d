"""A directory for each attempt: made before it, kept or removed after it, and what changed in it.

What is kept is bounded in number and age. Nothing here follows a link: the work may have made it.
"""

import contextlib
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from taskyard.daemon.process.removal import remove_tree
from taskyard.files.private import make_private_directory, open_private

FILES_MAX: Final = 20_000
"""Looked at. A checkout with more is listed as far as this."""
DIRECTORIES_MAX: Final = 20_000
CHANGED_MAX: Final = 1_000
"""Told. The hub keeps 64 KiB of them."""
KEPT_MAX: Final = 50
KEPT_DAYS_MAX: Final = 7
DAY_S: Final = 24 * 60 * 60
SKIPPED: Final = frozenset({".git"})
"""Changes whenever somebody looks at it, and says nothing that the files beside it do not."""
_BEFORE: Final = ".before"


_USED: Final[dict[Path, set[str]]] = {}
"""What is in use in each directory. Several agents of a daemon may share one, and none may tidy up another's work."""


class Keep(StrEnum):
    ALWAYS = "always"
    ON_FAILURE = "on_failure"
    NEVER = "never"


class Workspaces:
    def __init__(
        self,
        directory: Path,
        *,
        keep: Keep = Keep.ON_FAILURE,
        kept_max: int = KEPT_MAX,
        kept_s_max: float = KEPT_DAYS_MAX * DAY_S,
    ) -> None:
        self._directory = directory
        self._keep = keep
        self._kept_max = kept_max
        self._kept_s_max = kept_s_max
        self._used = _USED.setdefault(directory, set())

    def make(self, name: str) -> Path:
        """An empty one. `begin` when everything is in it that the work shall find."""
        make_private_directory(self._directory)
        path = self._directory / name
        self._remove(name)  # of a launch that failed
        path.mkdir(mode=0o700)
        self._used.add(name)
        return path

    def adopt(self, name: str) -> Path:
        """The one an earlier daemon made."""
        self._used.add(name)
        return self._directory / name

    def begin(self, name: str) -> None:
        """Remember what is there, also for a daemon that adopts the work."""
        with open(self._directory / (name + _BEFORE), "wb", opener=open_private) as file:
            file.write(msgspec.msgpack.encode(_listing(self._directory / name)))

    def changed(self, name: str) -> list[str]:
        """Which files the work made, changed or removed: relative paths in order, at most `CHANGED_MAX`."""
        try:
            content = (self._directory / (name + _BEFORE)).read_bytes()
            before = msgspec.msgpack.decode(content, type=dict[str, tuple[int, int, int]])
        except (OSError, msgspec.MsgspecError):
            return []
        after = _listing(self._directory / name)
        paths = [path for path in {**before, **after} if before.get(path) != after.get(path)]
        return sorted(paths)[:CHANGED_MAX]

    def end(self, name: str, *, succeeded: bool, now_s: float) -> None:
        """The work is gone; `now_s` is the time of day."""
        self._used.discard(name)
        (self._directory / (name + _BEFORE)).unlink(missing_ok=True)
        if self._keep is Keep.NEVER or (self._keep is Keep.ON_FAILURE and succeeded):
            self._remove(name)
        self._tidy(now_s)

    def discard(self, name: str) -> None:
        """Nothing came of it, whatever is kept otherwise."""
        self._used.discard(name)
        self._remove(name)

    def _tidy(self, now_s: float) -> None:
        """The oldest go first, and whatever is too old."""
        kept: list[tuple[float, str]] = []
        for entry in os.scandir(self._directory):
            if entry.is_dir(follow_symlinks=False) and entry.name not in self._used:
                with contextlib.suppress(FileNotFoundError):  # another agent's end has just removed it
                    kept.append((entry.stat(follow_symlinks=False).st_mtime, entry.name))
        kept.sort(reverse=True)
        for number, (changed_s, name) in enumerate(kept):
            if number >= self._kept_max or now_s - changed_s > self._kept_s_max:
                self._remove(name)

    def _remove(self, name: str) -> None:
        (self._directory / (name + _BEFORE)).unlink(missing_ok=True)
        remove_tree(self._directory / name)


def _listing(root: Path) -> dict[str, tuple[int, int, int]]:
    """Relative path → size, time of change, number of the file."""
    found: dict[str, tuple[int, int, int]] = {}
    for path in _files(root):
        if len(found) >= FILES_MAX:
            break
        with contextlib.suppress(OSError):
            status = os.lstat(path)
            name = os.path.relpath(path, root).encode("utf-8", "replace").decode()
            found[name] = (status.st_size, status.st_mtime_ns, status.st_ino)
    return found


def _files(root: Path) -> Iterator[str]:
    """All that is no directory, in the same order whenever it is asked. Not `os.walk`, which calls itself."""
    open_ends = [] if root.is_symlink() else [str(root)]
    for _ in range(DIRECTORIES_MAX):
        if not open_ends:
            return
        directory, below = open_ends.pop(), []
        with contextlib.suppress(OSError):
            for entry in sorted(_entries(directory), key=lambda entry: entry.name):
                if not entry.is_dir(follow_symlinks=False):
                    yield entry.path
                elif entry.name not in SKIPPED:
                    below.append(entry.path)
        open_ends += reversed(below)


def _entries(directory: str) -> list["os.DirEntry[str]"]:
    with os.scandir(directory) as entries:
        return list(entries)

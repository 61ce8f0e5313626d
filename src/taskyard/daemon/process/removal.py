"""Removes what the work left, whatever it made of it: closed, linked elsewhere, nested deeper than anybody can recurse.

Not `shutil.rmtree`: that calls itself and holds a file open for each level; a thousand are one line of shell.
Here what lies deeper is moved up, so that there are never more than two levels to look at. Nothing is followed.
"""

import contextlib
import os
import stat
import uuid
from pathlib import Path


def remove_tree(root: Path) -> None:
    """What cannot be removed stays, without a word: it is tried again with the next one."""
    with contextlib.suppress(OSError):
        if stat.S_ISDIR(os.lstat(root).st_mode):
            _empty(root)
            os.rmdir(root)
        else:
            os.unlink(root)


def _empty(root: Path) -> None:
    _open_up(root)
    prefix, moved = f".{uuid.uuid4().hex}-", 0
    stuck: set[str] = set()
    """What stays; everything else is gone after as many rounds as there are levels."""
    while directories := [name for name in _without_files(root) if name not in stuck]:
        for name in directories:
            directory = root / name
            _open_up(directory)
            for below in _without_files(directory):
                moved += 1
                with contextlib.suppress(OSError):
                    _open_up(directory / below)  # what is moved to another parent is written to
                    os.rename(directory / below, root / f"{prefix}{moved}")
            try:
                os.rmdir(directory)
            except OSError:
                stuck.add(name)


def _without_files(directory: Path) -> list[str]:
    """Removes whatever is no directory; the names of those that are."""
    found: list[str] = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found.append(entry.name)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)
    return found


def _open_up(directory: Path) -> None:
    """The work may have taken our permissions away."""
    with contextlib.suppress(OSError):
        if stat.S_IMODE(os.lstat(directory).st_mode) & stat.S_IRWXU != stat.S_IRWXU:
            os.chmod(directory, stat.S_IRWXU)

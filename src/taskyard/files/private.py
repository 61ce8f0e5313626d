"""Files and directories that only their owner can read, whatever the umask and the directory they lie in.

Everything that Taskyard writes about tasks and keys is opened here. Files that an earlier version left open are closed
at a start (`close_directory`); what cannot be closed is reported (`exposures_in`), with the command that ends it.
"""

import os
import shlex
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

try:
    import grp
    import pwd
except ImportError:  # Windows has neither these names nor modes; there the user's own directories are closed anyway.
    grp = pwd = None  # type: ignore[assignment]

FILE_MODE: Final = 0o600
DIRECTORY_MODE: Final = 0o700
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
# A file system makes this by itself at its root.
_FOUND_EVERYWHERE: Final = "lost+found"
_IS_POSIX: Final = pwd is not None

Named = Callable[[str], bool]
"""Whether a file of this name is one of those that are meant."""


class Exposure(NamedTuple):
    """A file or directory that other users can read."""

    path: Path
    who: str
    command: str
    """Ends it."""

    @property
    def sentence(self) -> str:
        return f"{self.who} can look into {self.path}: run `{self.command}`"


def open_private(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file for its owner only, also one that exists; can be the `opener` of `open`.

    A file of another user, or on a read-only disk, keeps its mode: `exposures_in` reports it.
    """
    # Not inheritable, as `os.open` makes every descriptor.
    descriptor = os.open(path, flags, FILE_MODE)
    found = os.fstat(descriptor)
    if _IS_POSIX and stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) != FILE_MODE:
        with suppress(OSError):
            os.fchmod(descriptor, FILE_MODE)
    return descriptor


def make_private_directory(directory: Path) -> None:
    """Make a directory and those that are missing above it for their owner only. One that exists keeps its mode."""
    for path in reversed([path for path in (directory, *directory.parents) if not path.is_dir()]):
        try:
            path.mkdir(mode=DIRECTORY_MODE)
        except FileExistsError:
            if not path.is_dir():
                raise
        else:
            # The umask may have taken something from the owner.
            path.chmod(DIRECTORY_MODE)


def close_to_others(path: Path) -> None:
    """Take a file or directory from everyone but its owner, as far as this process may; links are left alone.

    By its name: a descriptor of a database, once closed, would drop the locks that SQLite holds in this process.
    """
    with suppress(OSError):
        found = path.lstat().st_mode
        if found & OTHERS and (stat.S_ISREG(found) or stat.S_ISDIR(found)):
            path.chmod(stat.S_IMODE(found) & ~OTHERS)


def close_directory(directory: Path, *, written: Named, belongs: Named) -> None:
    """Take the files that Taskyard wrote here from other users; and the directory too if nothing else lies in it.

    `written` names the files, `belongs` all that is Taskyard's. A directory that is open to everybody by intent (the
    sticky bit) stays so.
    """
    names = _names_in(directory)
    for name in filter(written, names or ()):
        close_to_others(directory / name)
    if names is not None and all(map(belongs, names)) and not directory.stat().st_mode & stat.S_ISVTX:
        close_to_others(directory)


def exposures_in(directory: Path, *, written: Named) -> list[Exposure]:
    """What other users can read of this directory and of the files that Taskyard wrote into it."""
    if not _IS_POSIX:
        return []
    files = (directory / name for name in sorted(_names_in(directory) or ()) if written(name))
    return [found for path in (directory, *files) if (found := _exposure_of(path)) is not None]


def _names_in(directory: Path) -> list[str] | None:
    """None: this process may not look."""
    try:
        return [name for name in os.listdir(directory) if name != _FOUND_EVERYWHERE]
    except PermissionError:
        return None


def _exposure_of(path: Path) -> Exposure | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
        return None
    is_mine = found.st_uid == os.geteuid()
    if found.st_mode & stat.S_IRWXO:
        who = "every user of this machine"
    elif found.st_mode & stat.S_IRWXG:
        who = f"the group {_group_name(found.st_gid)}"
    elif not is_mine and found.st_uid != 0 and os.geteuid() != 0:
        # Root can look into everything anyway, and may run commands in a directory of the user who runs the hub.
        who = f"{_user_name(found.st_uid)}, who owns it,"
    else:
        return None
    quoted = shlex.quote(str(path))
    command = f"chmod {DIRECTORY_MODE if stat.S_ISDIR(found.st_mode) else FILE_MODE:o} {quoted}"
    if not is_mine:
        command = f"chown {shlex.quote(_user_name(os.geteuid()))} {quoted} && {command}"
    return Exposure(path, who, command)


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _group_name(gid: int) -> str:
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)

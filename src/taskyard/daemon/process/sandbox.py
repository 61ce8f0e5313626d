"""Where a command can run: as it is, in bubblewrap, or in whatever else is asked by a command line.

A sandbox is arguments in, arguments out. What it starts stays a child of the guard, so that it is counted, limited and
killed like any other; what it starts elsewhere (a container is the child of its service) it has to name in `clean`.
"""

import shutil
from pathlib import Path
from typing import Final

from msgspec import Struct

from taskyard.daemon.process.launching import LaunchFailed

WORKSPACE: Final = "{workspace}"
NAME: Final = "{name}"
"""Of the attempt, for what must have one on this machine: letters, digits, `-` and `_`."""


OWN_TMP: Final = "/tmp"
MISSING: Final = "bubblewrap is not installed: install it, or choose another sandbox for this agent"


class Bubblewrap(Struct, frozen=True, kw_only=True):
    """The machine read-only, an own `/tmp`, an own workspace to write to, and no network."""

    network: bool = False
    """With it: the hub and the models, but also everything else that this machine can reach."""
    writable: tuple[str, ...] = ()
    """Directories it may write to besides."""
    hidden: tuple[str, ...] = ()
    """Directories it finds empty: keys, other workspaces."""
    program: str = "bwrap"

    @property
    def is_installed(self) -> bool:
        return shutil.which(self.program) is not None

    def hides(self, path: Path) -> bool:
        """Whether what is there outside cannot be seen inside."""
        if any(path.is_relative_to(place) for place in self.writable):
            return False
        return any(path.is_relative_to(place) for place in (OWN_TMP, *self.hidden))

    def wrap(self, argv: list[str], *, workspace: str, name: str) -> list[str]:
        if not self.is_installed:
            raise LaunchFailed(MISSING)
        return [
            self.program,
            "--unshare-all",
            *(["--share-net"] if self.network else []),
            "--die-with-parent",
            "--new-session",
            *("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", OWN_TMP),
            *(part for path in self.hidden for part in ("--tmpfs", path)),
            *(part for path in (*self.writable, workspace) for part in ("--bind", path, path)),
            *("--chdir", workspace, "--"),
            *argv,
        ]

    def clean(self, *, name: str) -> list[str]:
        return []


class Around(Struct, frozen=True, kw_only=True):
    """Any program that runs another one: its arguments, in which `{workspace}` and `{name}` are filled in."""

    before: tuple[str, ...]
    """Put before the command."""
    after: tuple[str, ...] = ()
    """Run when the command has ended, also when it was killed: ends what is not our child."""

    def wrap(self, argv: list[str], *, workspace: str, name: str) -> list[str]:
        return [part.replace(WORKSPACE, workspace).replace(NAME, name) for part in self.before] + argv

    def clean(self, *, name: str) -> list[str]:
        return [part.replace(NAME, name) for part in self.after]

"""How a daemon's directory stands, for whoever is not that daemon: is it in use, and what is owed from it."""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from taskyard.daemon.journal import JOURNAL, LOCK, peek


@dataclass
class Standing:
    directory: str
    pid: int | None
    """Of the daemon that runs there; None: none does."""
    outcomes: int
    """That the hub has not acknowledged, as far as they were written."""
    outcome_bytes: int
    agents: int
    """Whose ends are not settled: they run, or their outcome is not safe elsewhere."""


def standing_of(directory: Path) -> Standing:
    owed = peek(directory / JOURNAL).ended
    attempts = directory / "processes" / "attempts"
    return Standing(
        directory=str(directory),
        pid=_pid_of(directory / LOCK),
        outcomes=len(owed),
        outcome_bytes=sum(map(len, owed.values())),
        agents=len(list(attempts.iterdir())) if attempts.is_dir() else 0,
    )


def _pid_of(lock: Path) -> int | None:
    try:
        file = os.open(lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        # Shared and for an instant: a daemon that starts in it would be told that the directory is in use.
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        said = os.pread(file, 32, 0).strip()
        return int(said) if said.isdigit() else None
    else:
        return None
    finally:
        os.close(file)

"""Which processes belong to some work, and their end.

A number alone names nobody: it is given anew once its process is gone. So a process is its number with its start time,
and no signal is sent before both were seen to fit, through a handle that keeps to the process it was opened for.

Where there is no `/proc` (macOS) nobody is found here, and what is left is the process group.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

IS_LINUX: Final = sys.platform.startswith("linux")
PROC: Final = Path("/proc")
PASSES_MAX: Final = 100
"""Of stopping what is new, before what was found is killed: each pass leaves fewer that can still fork."""
GENERATIONS_MAX: Final = 1000
MARK: Final = "TASKYARD_KEPT"
"""In the environment of all work: which keeper it is of, and which attempt."""
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class Identity(NamedTuple):
    pid: int
    started: int
    """In the kernel's ticks since the machine's."""


def identify(pid: int) -> Identity | None:
    """None if there is no such process, or only what is left of one that nobody has waited for."""
    fields = _stat(pid)
    return None if fields is None or fields[0] in (b"Z", b"X") else Identity(pid, int(fields[19]))


def descendants(pid: int) -> list[Identity]:
    """Children and theirs, dead ones that nobody waited for left out."""
    found: list[Identity] = []
    open_ends = [pid]
    while open_ends:
        for child in _children(open_ends.pop()):
            open_ends.append(child)
            if (identity := identify(child)) is not None:
                found.append(identity)
    return found


def children(pid: int) -> list[Identity]:
    return [identity for child in _children(pid) if (identity := identify(child)) is not None]


def is_below(pid: int, ancestor: int) -> bool:
    """Whether it descends from that one; also if it cannot be told, because it is gone."""
    for _ in range(GENERATIONS_MAX):
        fields = _stat(pid)
        if fields is None or pid == ancestor:
            return True
        pid = int(fields[1])
        if pid == 0:
            return False
    return True


def has_others(pid: int, known: Container[int]) -> bool:
    """Whether it has a child that is not known, dead or alive.

    All processes are looked at, since the kernel's list of children may leave one out while they come and go. One that
    is there all the while is seen; one whose parent dies meanwhile is ours by then, or its parent is still there.
    """
    return any(
        child not in known and (fields := _stat(child)) is not None and int(fields[1]) == pid for child in _all()
    )


def marked(keeper_id: str) -> list[Identity]:
    """What carries the mark of this keeper, whoever its parent is by now."""
    mark = f"{MARK}={keeper_id}/".encode()
    found = []
    for pid in _all():
        with contextlib.suppress(OSError):
            environment = (PROC / str(pid) / "environ").read_bytes()
            is_marked = environment.startswith(mark) or b"\0" + mark in environment
            if is_marked and (identity := identify(pid)) is not None:
                found.append(identity)
    return found


def send(identity: Identity, number: int) -> None:
    """To this very process, or to nobody; where it cannot be told, to nobody."""
    if not IS_LINUX:
        return
    try:
        handle = os.pidfd_open(identity.pid)
    except OSError:
        return
    try:
        if identify(identity.pid) == identity:
            signal.pidfd_send_signal(handle, number)
    except OSError:
        return  # gone meanwhile, or not ours any more
    finally:
        os.close(handle)


def terminate(find: Callable[[], Iterable[Identity]]) -> None:
    """Ask each to end. What is stopped by a signal hears it once it goes on."""
    for identity in find():
        send(identity, signal.SIGTERM)
        send(identity, signal.SIGCONT)


def kill(find: Callable[[], Iterable[Identity]]) -> bool:
    """Kill all that `find` finds, also what is started meanwhile; whether there was anybody.

    First each is stopped: what is stopped starts nothing, so that the passes end although some fork without end.
    """
    stopped: set[Identity] = set()
    for _ in range(PASSES_MAX):
        new = [identity for identity in find() if identity not in stopped]
        if not new:
            break
        for identity in new:
            send(identity, signal.SIGSTOP)
        stopped.update(new)
    for identity in stopped:
        send(identity, signal.SIGKILL)
    return bool(stopped)


def weigh(members: Iterable[Identity]) -> int:
    """How many bytes of RAM they use together; what they share counts for each of them."""
    pages = 0
    for identity in members:
        with contextlib.suppress(OSError, IndexError, ValueError):
            pages += int((PROC / str(identity.pid) / "statm").read_bytes().split()[1])
    return pages * PAGE_BYTES


def kill_group(leader: int) -> None:
    """All that is in its process group: what can be done where there is no `/proc`."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _all() -> Iterator[int]:
    with contextlib.suppress(OSError):
        for entry in os.scandir(PROC):
            if entry.name.isdecimal():
                yield int(entry.name)


def _children(pid: int) -> list[int]:
    """Of all its threads."""
    found = []
    try:
        for thread in os.scandir(f"{PROC}/{pid}/task"):
            with contextlib.suppress(OSError):
                found += [int(child) for child in Path(thread.path, "children").read_bytes().split()]
    except OSError:
        return []
    return found


def _stat(pid: int) -> list[bytes] | None:
    """From the state on: the name before it can hold anything, also brackets."""
    try:
        return (PROC / str(pid) / "stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return None

"""The first process of a worker: it waits, and takes everything along when it goes.

It forks before any thread is there. The child becomes the worker; the parent is what the daemon knows, adopts whatever
the work leaves without a parent, and ends when the worker ended or its daemon closed the pipe between them, by will
or by death. Nothing of the work is alive after it.
"""

import contextlib
import os
import select
import signal
import time
from typing import Final

from taskyard.daemon.process import tree
from taskyard.daemon.process.spawn import become_subreaper, die_with_parent

LOOK_S: Final = 0.05
KILL_S: Final = 10.0
KILLED: Final = 128
"""As shells tell it: this plus the signal's number."""


def guarded(pipe: int) -> None:
    """Returns in the child. The parent stays here until the end."""
    become_subreaper()
    told, tell = os.pipe()
    os.set_blocking(tell, False)
    signal.set_wakeup_fd(tell)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # it is told by the pipe alone
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for end in (pipe, told, tell):
            os.close(end)
        die_with_parent(parent)
        return
    status = _watch(pid, pipe, told)
    _kill_all()
    os._exit(status)


def _watch(pid: int, pipe: int, told: int) -> int:
    """Until the worker ended, or the daemon wants it ended; the exit code to leave with."""
    while True:
        ready, _, _ = select.select([pipe, told], [], [])
        if told in ready:
            os.read(told, 4096)
        ended = _reap().get(pid)
        if ended is not None:
            return os.WEXITSTATUS(ended) if os.WIFEXITED(ended) else KILLED + os.WTERMSIG(ended)
        if pipe in ready:
            return KILLED + signal.SIGKILL


def _reap() -> dict[int, int]:
    ended: dict[int, int] = {}
    with contextlib.suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def _kill_all() -> None:
    if not tree.IS_LINUX:
        os.killpg(0, signal.SIGKILL)  # us too
    until = time.monotonic() + KILL_S
    while tree.kill(lambda: tree.descendants(os.getpid())) and time.monotonic() < until:
        time.sleep(LOOK_S)
        _reap()

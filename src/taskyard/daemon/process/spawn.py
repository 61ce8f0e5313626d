"""From a fork to the program: what a child does to itself before it becomes the work.

A fork, and not `posix_spawn`, which knows neither limits nor whose death ends it. It is cheap because the process that
forks is small and has one thread.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Final, Never

from taskyard.daemon.process.launching import Limits
from taskyard.daemon.process.messages import Spawn

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
PR_SET_NO_NEW_PRIVS: Final = 38
OOM_SCORE: Final = b"500"
"""When memory runs out, the kernel shall choose the work and not who looks after it."""
MB: Final = 1024 * 1024
TROUBLE_BYTES_MAX: Final = 1000

# Loaded here and not in the child, which must not read files between its fork and its program.
_prctl: Final = ctypes.CDLL(None, use_errno=True).prctl if sys.platform == "linux" else None


def become_subreaper() -> None:
    """Orphans among our descendants become our children, and not those of the machine's first process."""
    if _prctl is not None:
        _prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(parent: int) -> None:
    if _prctl is not None:
        _prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)  # it was gone before we could ask


def spawn(asked: Spawn, stdin: Path) -> tuple[int, int, int]:
    """Its number, and our ends of its output and its errors. Raises `OSError` with a sentence."""
    out, out_work = os.pipe()
    err, err_work = os.pipe()
    said, say = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(asked, stdin, parent, (out_work, err_work), say)
    for end in (out_work, err_work, say):
        os.close(end)
    with os.fdopen(said, "rb") as trouble:
        sentence = trouble.read(TROUBLE_BYTES_MAX).decode(errors="replace")
    if sentence:
        os.waitpid(pid, 0)
        os.close(out)
        os.close(err)
        raise OSError(sentence)
    return pid, out, err


def _become(asked: Spawn, stdin: Path, parent: int, output: tuple[int, int], say: int) -> Never:
    """Never returns: the end of `say` closes when the program begins, or hears why it did not."""
    doing = f"cannot read {stdin}"
    try:
        os.setsid()
        die_with_parent(parent)
        with open(stdin, "rb") as source:
            os.dup2(source.fileno(), 0)
        os.dup2(output[0], 1)
        os.dup2(output[1], 2)
        doing = f"cannot go to {asked.cwd}"
        os.chdir(asked.cwd)
        doing = "cannot set its limits"
        _limit(asked.limits)
        _forget_signals()
        doing = f"cannot run {asked.argv[0]}"
        os.execvpe(asked.argv[0], asked.argv, asked.env)
    except BaseException as error:  # noqa: BLE001 - whatever it is, this child must not go on as its parent
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        with contextlib.suppress(OSError):
            os.write(say, f"{doing}: {reason}".encode(errors="replace")[:TROUBLE_BYTES_MAX])
    finally:
        os._exit(127)


def _forget_signals() -> None:
    """An interpreter ignores some, and a program would inherit that."""
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def bounds(kind: int, number: int, hard: int) -> tuple[int, int]:
    """Soft and hard; never more than we have ourselves, which only root could give."""
    # A second of grace between the signal that can be caught and the one that cannot.
    most = number + 1 if kind == resource.RLIMIT_CPU else number
    return (number, most) if hard == resource.RLIM_INFINITY else (min(number, hard), min(most, hard))


def _limit(limits: Limits) -> None:
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_NOFILE: limits.files,
        resource.RLIMIT_FSIZE: limits.file_mb and limits.file_mb * MB,
        resource.RLIMIT_AS: limits.address_space_mb and limits.address_space_mb * MB,
    }
    for kind, number in wanted.items():
        if number is not None:
            resource.setrlimit(kind, bounds(kind, number, resource.getrlimit(kind)[1]))
    if _prctl is not None:
        if not limits.may_gain_privileges:
            _prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb") as score:
            score.write(OOM_SCORE)

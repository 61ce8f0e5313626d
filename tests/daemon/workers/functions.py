"""Functions that run in processes of their own, well or badly behaved."""

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import stat
import subprocess
import sys
import time

from taskyard.daemon.context import Context
from taskyard.daemon.task import Result, Task, TaskError


def who(task: Task) -> dict[str, object]:
    return {"pid": os.getpid(), "input": task.input, "checkpoint": task.checkpoint, "before": task.previous_attempts}


def tells(task: Task, context: Context) -> Result:
    context.progress(50, "half way")
    context.log("a line")
    context.checkpoint({"done": 1})
    return Result("said", summary="all of it", usage={"output_tokens": 3})


def kills_its_daemon(task: Task) -> None:
    os.kill(int(os.environ["DAEMON_PID"]), signal.SIGKILL)


async def later(task: Task) -> int:
    await asyncio.sleep(0.01)
    return os.getpid()


async def sleeps(task: Task, context: Context) -> None:
    context.log("asleep")
    await asyncio.sleep(3600)


def waits(task: Task, context: Context) -> None:
    context.log("waits")
    context.wait_cancelled(3600)
    context.raise_if_cancelled()


def finishes(task: Task, context: Context) -> str:
    context.log("waits")
    context.wait_cancelled(3600)
    return "finished all the same"


def stubborn(task: Task, context: Context) -> None:
    """Ignores everything, and has children that do: one in a session of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep = "import time; time.sleep(3600)"
    children = [subprocess.Popen([sys.executable, "-c", sleep], start_new_session=own) for own in (False, True)]
    context.log(" ".join(str(pid) for pid in (os.getpid(), *(child.pid for child in children))))
    while True:
        time.sleep(3600)


def leaves(task: Task) -> int:
    """Done, but for a child that it forgot."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], start_new_session=True).pid


def fails(task: Task) -> None:
    raise TaskError("MY_CODE", "on purpose", retryable=False)


def raises(task: Task) -> None:
    raise RuntimeError("not on purpose")


def dies(task: Task) -> None:
    os._exit(3)


def crashes(task: Task) -> None:
    ctypes.string_at(0)


def not_json(task: Task) -> object:
    return object()


def interrupts(task: Task) -> None:
    raise KeyboardInterrupt


def details_not_json(task: Task) -> None:
    raise TaskError("MY_CODE", "on purpose", details={"inside": object()})


def garbles(task: Task) -> None:
    """Writes nonsense to every socket that it finds."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.write(int(name), b"\3\0\0\0{}x")
    time.sleep(60)


def prints(task: Task) -> None:
    print("printed in a process")
    logging.getLogger("my.agent").warning("logged in a process")
    print("and no more", end="")

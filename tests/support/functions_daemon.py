"""A program as a user writes one, with a function of each kind: `python tests/support/functions_daemon.py`.

It does not ask whether it is `__main__`, as many do not: workers import it again, and nothing must come of that.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from taskyard.daemon.context import Context
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.task import Task, TaskError

daemon = Daemon(name="functions", slots=8, data_dir=os.environ["FUNCTIONS_DATA"])


def _twice(task: Task, context: Context) -> dict[str, object]:
    """Fails once, and leaves something for the next attempt."""
    if task.attempt == 1:
        context.checkpoint({"page": 7})
        raise TaskError("MY_CODE", "not at once")
    return {"checkpoint": task.checkpoint, "before": [one["error"]["code"] for one in task.previous_attempts]}


@daemon.task("twice-thread")
def twice_in_a_thread(task: Task, context: Context) -> dict[str, object]:
    return _twice(task, context)


@daemon.task("twice-async")
async def twice_async(task: Task, context: Context) -> dict[str, object]:
    return _twice(task, context)


@daemon.task("twice-process", process=True)
def twice_in_a_process(task: Task, context: Context) -> dict[str, object]:
    return _twice(task, context)


@daemon.task("blocks")
async def blocks(task: Task) -> str:
    """What async code must not do, and does."""
    time.sleep(float(task.input))
    return "blocked"


@daemon.task("computes")
def computes(task: Task) -> str:
    until = time.monotonic() + float(task.input)
    while time.monotonic() < until:
        sum(range(1000))
    return "computed"


@daemon.task("computes-process", process=True)
def computes_in_a_process(task: Task) -> str:
    return computes(task)


@daemon.task("crashes", process=True)
def crashes(task: Task) -> str:
    if task.attempt == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    return "once more"


@daemon.task("stubborn", process=True)
def stubborn(task: Task) -> None:
    """Holds out, with children in this session and in one of their own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleep = [sys.executable, "-c", "import time; time.sleep(3600)"]
    children = [subprocess.Popen(sleep, start_new_session=own) for own in (False, True)]
    note = Path(task.input)
    note.with_suffix(".new").write_text(" ".join(str(pid) for pid in (os.getpid(), *(child.pid for child in children))))
    note.with_suffix(".new").rename(note)
    while True:
        time.sleep(3600)


@daemon.task("parent", process=True)
def parent(task: Task) -> object:
    """Makes a sub-task with its own token, and waits for it."""
    from taskyard.sdk.client import Client

    with Client(daemon.hub, task.token) as client:
        part = client.submit("0.1", type="computes-process", parent_task_id=task.id)
        return part.wait(30).result


daemon.run(drain_s=0)

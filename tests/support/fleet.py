"""A daemon process for tests: `python -m tests.support.fleet --name N --slots N --data DIR --journal FILE`.

Serves `noop`, `sleep` (`payload.ms`) and `record`, which sleeps too and writes down when it started and ended, by a
clock that all processes of a machine share; and `ask`, which does so too, of a provider that refuses whoever comes
before `payload.until` (on that clock, in ns), and says how long to wait. `nest` makes a sub-task of its own kind
by its token, `payload.depth` times, waits for it and answers how deep it went; `count` saves a checkpoint at once and
sleeps, unless an attempt before it has saved one: then it answers with that. Every line is on disk before the work goes
on, so that what a killed process did can be judged afterwards (`tests/acceptance/history.py`). The hub and the key are
in the environment.
"""

import argparse
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from taskyard.daemon.context import Context
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.task import Task, TaskError
from taskyard.sdk.client import Client


class Recorder:
    """Appends lines to a journal; whole lines, each fsynced."""

    def __init__(self, path: Path, name: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._name = name
        self._lock = threading.Lock()

    def note(self, what: str, **facts: Any) -> None:
        line = {"what": what, "daemon": self._name, "pid": os.getpid(), "at": time.monotonic_ns(), **facts}
        with self._lock:
            os.write(self._file, json.dumps(line).encode() + b"\n")
            os.fsync(self._file)


def result_of(task_id: str, attempt: int, pid: int) -> str:
    """What an attempt answers: no two attempts, and no two processes, answer the same."""
    return f"{task_id}/{attempt}/{pid}"


def _pause_s(task: Task) -> float:
    return float((task.payload or {}).get("ms", 0)) / 1000


def make_daemon(name: str, slots: int, data: Path, recorder: Recorder) -> Daemon:
    daemon = Daemon(name=name, slots=slots, data_dir=data)

    @daemon.task("noop")
    async def noop(task: Task) -> str:
        return "done"

    @daemon.task("sleep")
    def sleep(task: Task, context: Context) -> str:
        context.wait_cancelled(_pause_s(task))
        context.raise_if_cancelled()
        return "slept"

    @daemon.task("record")
    def record(task: Task, context: Context) -> str:
        facts = {"task": task.id, "attempt": task.attempt, "seen": len(task.context_input or ())}
        recorder.note("start", **facts)
        if "says" in (task.payload or {}):
            context.log(task.payload["says"])
        was_stopped = context.wait_cancelled(_pause_s(task))
        recorder.note("stopped" if was_stopped else "end", **facts)
        if was_stopped:
            context.raise_if_cancelled()
        return result_of(task.id, task.attempt, os.getpid())

    @daemon.task("ask")
    def ask(task: Task, context: Context) -> str:
        payload = task.payload or {}
        recorder.note("start", task=task.id, attempt=task.attempt)
        left_s = (int(payload["until"]) - time.monotonic_ns()) / 1e9
        if left_s > 0:
            recorder.note("refused", task=task.id, attempt=task.attempt)
            raise TaskError("PROVIDER", "HTTP error 429: Too Many Requests", details={"retry_after": left_s})
        context.wait_cancelled(_pause_s(task))
        recorder.note("end", task=task.id, attempt=task.attempt)
        return "answered"

    @daemon.task("nest")
    def nest(task: Task) -> int:
        depth = int((task.payload or {}).get("depth", 0))
        if depth == 0:
            return 0
        with Client(daemon.hub, task.token) as agent:
            child = agent.submit("deeper", type="nest", payload={"depth": depth - 1}).wait(timeout=60)
        return 1 + int(child.result)

    @daemon.task("count")
    def count(task: Task, context: Context) -> dict[str, Any]:
        if task.checkpoint is None:
            context.checkpoint({"saved_by": task.attempt})
            context.wait_cancelled(_pause_s(task))
            context.raise_if_cancelled()
        return {"found": task.checkpoint}

    return daemon


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.fleet")
    parser.add_argument("--name", required=True)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--journal", type=Path, required=True)
    asked = parser.parse_args()
    recorder = Recorder(asked.journal, asked.name)
    recorder.note("boot")
    make_daemon(asked.name, asked.slots, asked.data, recorder).run()


if __name__ == "__main__":
    main()

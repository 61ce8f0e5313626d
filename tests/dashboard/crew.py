"""A daemon that does whatever its tasks say: `python -m tests.dashboard.crew --name N --data DIR`.

A task's payload is its script: `ms` to take, `lines` to log, `progress` as a list of `[percent, words]`, and at the end
`fail` (`code`, `message`, `retryable`) or `result`. Lines and progress are spread over the time; after them it goes on
for `hold_ms` without a word. So a test, or a
demonstration, decides what happens and the hub sees honest work. The hub and the key are in the environment.
"""

import argparse
import itertools
from pathlib import Path
from typing import Any

from taskyard.daemon.context import Context
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.task import Task, TaskError

STEPS_MAX = 100


def perform(task: Task, context: Context) -> Any:
    script = task.payload or {}
    lines, progress = script.get("lines", []), script.get("progress", [])
    steps = min(max(len(lines), len(progress), 1), STEPS_MAX)
    for line, mark, _ in itertools.zip_longest(lines[:STEPS_MAX], progress[:STEPS_MAX], range(steps)):
        if line is not None:
            context.log(line)
        if mark is not None:
            context.progress(*mark)
        context.wait_cancelled(float(script.get("ms", 0)) / 1000 / steps)
        context.raise_if_cancelled()
    context.wait_cancelled(float(script.get("hold_ms", 0)) / 1000)
    context.raise_if_cancelled()
    if "checkpoint" in script:
        context.checkpoint(script["checkpoint"])
    if "fail" in script:
        raise TaskError(**script["fail"])
    return script.get("result", "done")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.crew")
    parser.add_argument("--name", required=True)
    parser.add_argument("--slots", type=int, default=4)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--can", default="", help="capabilities, with commas between them")
    parser.add_argument("--models", default="", help="likewise")
    parser.add_argument("--types", default="", help="likewise; none: all")
    parser.add_argument("--shared", action="store_true", help="takes everybody's tasks; its key is an admin's")
    asked = parser.parse_args()
    daemon = Daemon(
        name=asked.name,
        slots=asked.slots,
        data_dir=asked.data,
        capabilities=[word for word in asked.can.split(",") if word],
        models=[word for word in asked.models.split(",") if word],
        types=[word for word in asked.types.split(",") if word] or None,
        shared=asked.shared,
    )
    daemon.task("*")(perform)
    daemon.run()


if __name__ == "__main__":
    main()

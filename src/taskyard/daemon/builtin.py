"""Task types that every daemon can be tried with: `echo`, and `demo`, a make-believe agent."""

import asyncio
from random import Random
from typing import Final

from taskyard.daemon.context import Context
from taskyard.daemon.python_runner import Served, served
from taskyard.daemon.task import Result, Task, TaskError

STEPS: Final = (
    "reading the task",
    "looking around",
    "trying an idea",
    "writing it down",
    "checking the work",
)
STEP_S_MAX: Final = 0.6
FAILURES: Final = 0.1
"""The share of attempts that fail, so that retries can be seen."""


async def echo(task: Task) -> Result:
    """Answers its input."""
    return Result(task.input, summary=f"echo of {task.ref or task.id}")


async def demo(task: Task, context: Context) -> Result:
    """Looks like an agent at work. The same task and attempt always go the same way."""
    dice = Random(f"{task.id}/{task.attempt}")
    fails_at = dice.randrange(len(STEPS)) if dice.random() < FAILURES else None
    for number, step in enumerate(STEPS):
        context.progress(100 * number / len(STEPS), step)
        context.log(f"[{number + 1}/{len(STEPS)}] {step}")
        await asyncio.sleep(dice.random() * STEP_S_MAX)
        if number == fails_at:
            raise TaskError("DEMO_FAILURE", f"lost the thread while {step}")
    context.progress(100, "done")
    files = [f"notes/{task.ref or task.id}-{part}.md" for part in range(1, dice.randrange(2, 4))]
    return Result(
        {"answer": f"{task.title or task.input} — considered and done", "steps": len(STEPS)},
        summary=f"Did it in {len(STEPS)} steps and wrote {len(files)} files.",
        files_changed=files,
        usage={"input_tokens": dice.randrange(500, 5_000), "output_tokens": dice.randrange(100, 1_000)},
    )


BUILTIN: Final[dict[str, Served]] = {"echo": served(echo), "demo": served(demo)}

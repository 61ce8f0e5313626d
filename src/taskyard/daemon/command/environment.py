"""The environment of an agent's program: made anew for each attempt.

Nothing is handed on but what is listed. The daemon's own variables hold its key to the hub; what a shell exported for
other purposes is nobody's business either.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.task import Task

USUAL: Final = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_FILE",
)
"""Without these hardly a program finds its parts, its settings or its language. None of them is a secret."""
PATH: Final = "/usr/local/bin:/usr/bin:/bin"
TASK_BYTES_MAX: Final = 64 * 1024
# As a variable; Linux takes 128 KiB for one, and what is longer is in the file.


def environment_of(
    agent: Agent, task: Task, *, hub: str, whole: bytes, files: Mapping[str, Path], own: Mapping[str, str]
) -> dict[str, str]:
    """All of it. `own` is the daemon's; `whole` the task as JSON, `files` where an agent finds and leaves things."""
    names = dict.fromkeys((*USUAL, *agent.inherit))
    made = {"PATH": PATH, **{name: own[name] for name in names if name in own}, **agent.environment}
    made |= {
        "TASKYARD_HUB": hub,
        "TASKYARD_TASK_TOKEN": task.token,
        "TASKYARD_TASK_ID": task.id,
        "TASKYARD_TASK_REF": task.ref,
        "TASKYARD_ATTEMPT": str(task.attempt),
        "TASKYARD_FENCE": str(task.attempt),
        "TASKYARD_TIMEOUT_S": f"{task.timeout:g}",
        **{variable: str(files[name]) for variable, name in FILES.items()},
    }
    if len(whole) <= TASK_BYTES_MAX:
        made["TASKYARD_TASK"] = whole.decode()
    if task.traceparent is not None:
        made["TRACEPARENT"] = task.traceparent
    if task.tracestate is not None:
        made["TRACESTATE"] = task.tracestate
    # The hub makes these values, and a zero byte in one would keep the program from starting.
    return {name: value.replace("\0", "") for name, value in made.items()}


FILES: Final = {
    "TASKYARD_WORKSPACE": "workspace",
    "TASKYARD_TASK_FILE": "task_file",
    "TASKYARD_PROMPT_FILE": "prompt_file",
    "TASKYARD_RESULT": "result_file",
    "TASKYARD_CHECKPOINT": "checkpoint_file",
}

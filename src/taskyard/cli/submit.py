"""`taskyard submit`: hand in one task, or a file of them, and wait for the answer if asked to."""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import typer

from taskyard.cli import output, times, unserved
from taskyard.cli.card import headline, progress_line, task_table
from taskyard.cli.inputs import pairs_of
from taskyard.cli.options import Yard, expanded

if TYPE_CHECKING:
    from taskyard.sdk.requests import Batch
    from taskyard.sdk.submission import NewTask
    from taskyard.sdk.task import Task

FAILED: Final = 1
IN_PART: Final = 6


def _object(text: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError:
        raise typer.BadParameter("write a JSON object") from None


def _instant(text: str) -> str:
    from taskyard.sdk.clock import now

    try:
        return times.instant_of(text, now()).isoformat()
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _level(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _seconds(text: str) -> float:
    try:
        return times.seconds_of(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _list(*names: str, about: str, metavar: str = "TEXT") -> Any:
    return typer.Option(*names, metavar=metavar, help=f"{about} May be given several times.")


@dataclasses.dataclass
class Content:
    """What the work is. Fields have the names of the submission's."""

    type: Annotated[str | None, typer.Option("--type", "-t", help="The task's type [default: general].")] = None
    title: Annotated[str | None, typer.Option("--title", "--name", help="A name for people.")] = None
    goal: Annotated[str | None, typer.Option("--goal", help="What it is for.")] = None
    constraints: Annotated[list[str] | None, _list("--constraint", about="What must hold.")] = None
    context: Annotated[
        Any, typer.Option("--context", parser=_object, metavar="JSON", help="What the agent should know.")
    ] = None
    payload: Annotated[Any, typer.Option("--payload", parser=_object, metavar="JSON", help="Data for the agent.")] = (
        None
    )
    metadata: Annotated[Any, typer.Option("--metadata", parser=_object, metavar="JSON", help="Data for others.")] = None
    model: Annotated[str | None, typer.Option("--model", "-m", help="The model; names the queue too.")] = None
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="The queue, if not the model's.")] = None
    project_id: Annotated[str | None, typer.Option("--project", help="The project it belongs to.")] = None
    correlation_id: Annotated[
        str | None, typer.Option("--correlation-id", help="What it has in common with other tasks.")
    ] = None
    parent_task_id: Annotated[
        str | None, typer.Option("--parent", metavar="TASK", help="The task it is a part of.")
    ] = None


@dataclasses.dataclass
class Order:
    """When it runs: before whom, after what, by when."""

    priority: Annotated[
        Any,
        typer.Option(
            "--priority", "-p", parser=_level, metavar="LEVEL", help="critical, high, normal, low, or 1 to 10."
        ),
    ] = None
    deadline: Annotated[
        str | None,
        typer.Option("--deadline", parser=_instant, metavar="WHEN", help="Useless after this: 2h, or a date."),
    ] = None
    sla: Annotated[str | None, typer.Option("--sla", parser=_instant, metavar="WHEN", help="Late after this.")] = None
    scheduled_for: Annotated[
        str | None, typer.Option("--at", parser=_instant, metavar="WHEN", help="Not before: 10m, or a date.")
    ] = None
    depends_on: Annotated[list[str] | None, _list("--after", about="Only after this task.", metavar="TASK")] = None
    on_depends_fail: Annotated[
        str | None, typer.Option("--on-depends-fail", help="block, skip or continue [default: block].")
    ] = None
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", help="Submit once under this key, however often asked.")
    ] = None
    dedupe: Annotated[
        str | None, typer.Option("--dedupe", metavar="content", help="Submit once while the content is alike.")
    ] = None


@dataclasses.dataclass
class Run:
    """Where it runs, for how long, how often."""

    capabilities: Annotated[list[str] | None, _list("--capability", "-c", about="The daemon must have it.")] = None
    target_daemon: Annotated[str | None, typer.Option("--daemon", help="Only this daemon.")] = None
    excluded_daemons: Annotated[list[str] | None, _list("--not-daemon", about="Not this daemon.")] = None
    estimated_duration: Annotated[
        float | None, typer.Option("--estimate", parser=_seconds, metavar="TIME", help="About how long.")
    ] = None
    memory_mb: Annotated[int | None, typer.Option("--memory-mb", help="Free memory it needs.")] = None
    cpu_intensive: Annotated[bool, typer.Option("--cpu-intensive", help="Not beside another such.")] = False
    timeout: Annotated[
        float | None, typer.Option("--timeout", parser=_seconds, metavar="TIME", help="Of one attempt [300s].")
    ] = None
    max_attempts: Annotated[int | None, typer.Option("--max-attempts", help="How many tries [3].")] = None
    retry_delay: Annotated[
        float | None,
        typer.Option("--retry-delay", parser=_seconds, metavar="TIME", help="Before the next try [30s]."),
    ] = None
    retry_backoff: Annotated[
        str | None, typer.Option("--retry-backoff", help="linear or exponential [exponential].")
    ] = None
    require_decision_report: Annotated[
        bool, typer.Option("--require-decision-report", help="Incomplete without one.")
    ] = False
    on_lost: Annotated[
        str | None, typer.Option("--on-lost", help="requeue or fail, when its daemon is lost [requeue].")
    ] = None
    exclusive: Annotated[
        str | None, typer.Option("--exclusive", metavar="NAME", help="Never two of this name at once.")
    ] = None


@dataclasses.dataclass
class Filling:
    """The template that the task is made of."""

    template: Annotated[
        str | None,
        typer.Option("--template", metavar="NAME", help="Fill this template; what is named beside it wins."),
    ] = None
    set: Annotated[
        list[str] | None, _list("--set", about="What is put in a place of the template.", metavar="KEY=VALUE")
    ] = None

    def fields(self) -> dict[str, Any]:
        if self.set is not None and self.template is None:
            raise typer.BadParameter("name the template that has these places", param_hint="--template")
        named = {"template": self.template, "set": pairs_of(self.set, option="--set")}
        return {name: value for name, value in named.items() if value is not None}


@dataclasses.dataclass
class Waiting:
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Wait for the end and print the result; 1 if it failed.")
    ] = False
    wait_timeout: Annotated[
        float | None,
        typer.Option("--wait-timeout", parser=_seconds, metavar="TIME", help="Give up waiting after this."),
    ] = None


InputArgument = Annotated[
    str | None, typer.Argument(metavar="INPUT", help="What to do; - reads it from standard input.")
]
FileOption = Annotated[
    str | None,
    typer.Option("--file", "-f", metavar="FILE", help="A JSON array of tasks, which may depend on each other by name."),
]
PartialOption = Annotated[
    bool, typer.Option("--partial", help="With --file: take the good ones even if others are refused.")
]
SourceOption = Annotated[
    str | None, typer.Option("--source", help="user, proactive, webhook, schedule or agent [user].")
]


@expanded
def submit(
    *,
    content: Content,
    order: Order,
    run: Run,
    filling: Filling,
    waiting: Waiting,
    yard: Yard,
    input: InputArgument = None,
    file: FileOption = None,
    partial: PartialOption = False,
    source: SourceOption = None,
) -> int:
    """Hand in a task: prints its ref, or with --wait its result."""
    named = filling.fields()
    if [input is not None or bool(named), file is not None].count(True) != 1:
        raise typer.BadParameter("give the input of one task, its --template, or --file with many", param_hint="INPUT")
    if file is not None:
        batch = yard.client.submit_batch(read_tasks(file), partial=partial)
        return _batch_told(batch, waiting=waiting, yard=yard)
    options = given(content) | given(order) | given(run) | named
    text = sys.stdin.read() if input == "-" else input
    task = yard.client.submit(text, source={"type": source or "user", "channel": "cli"}, **options)
    if waiting.wait:
        return _task_awaited(task, waiting=waiting, yard=yard)
    if yard.json:
        output.say_json(task)
    else:
        output.say(task.ref)
        output.note(headline(task))
        unserved.warn([task], yard)
    return 0


def given(group: Any) -> Any:
    """The options that were named."""
    values = dataclasses.asdict(group)
    return {name: value for name, value in values.items() if value is not None and value is not False}


def read_tasks(file: str) -> "list[NewTask]":
    """Tasks from a file in the shape of the wire: an array, or an object with `tasks`."""
    raw = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        tasks = msgspec.json.decode(raw)
    except msgspec.DecodeError as error:
        raise typer.BadParameter(f"{file} is no JSON: {error}", param_hint="--file") from None
    if isinstance(tasks, dict):
        tasks = tasks.get("tasks")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise typer.BadParameter(f"{file} holds no array of tasks", param_hint="--file")
    return tasks


def _task_awaited(task: "Task", *, waiting: Waiting, yard: Yard) -> int:
    unserved.warn([task], yard)
    await_all([task], timeout_s=waiting.wait_timeout)
    if yard.json:
        output.say_json(task)
    elif task.succeeded:
        output.answer(task.result)
    if not task.succeeded:
        output.note(headline(task))
    return 0 if task.succeeded else FAILED


def _batch_told(batch: "Batch[Task]", *, waiting: Waiting, yard: Yard) -> int:
    unserved.warn(batch.tasks, yard)
    if waiting.wait:
        await_all(batch.tasks, timeout_s=waiting.wait_timeout)
    if yard.json:
        output.say_json(batch)
    elif batch.tasks:
        task_table(batch.tasks)
    for refused in batch.rejected:
        output.note(f"not taken: tasks[{refused.index}]: {refused.detail}")
    if waiting.wait and not all(task.succeeded for task in batch.tasks):
        return FAILED
    return IN_PART if batch.rejected else 0


def await_all(tasks: "Sequence[Task]", *, timeout_s: float | None) -> None:
    """Wait for one after the other, showing each as it goes. Of one that cannot go on by itself it is said why."""
    from taskyard.sdk.errors import TaskStuck

    stuck = []
    with output.live() as show:
        for task in tasks:
            try:
                task.wait(timeout_s, on_progress=lambda task: None if task.ended else show(progress_line(task)))
            except TaskStuck as error:
                stuck.append(error)
    for each in stuck:
        output.note(str(each))

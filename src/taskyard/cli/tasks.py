"""Commands about tasks that are there: list, show, cancel, retry, skip."""

import dataclasses
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskyard.cli import output
from taskyard.cli.card import card, headline, task_table
from taskyard.cli.options import LimitOption, ReasonOption, TaskArgument, TasksArgument, Yard, expanded
from taskyard.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from taskyard.sdk.answers import TaskRecord

NO: Final = 1
WAITS: Final = (Status.PENDING, Status.WAITING, Status.BLOCKED, Status.QUEUED)


@dataclasses.dataclass
class Filters:
    """Named as the interface names them."""

    status: Annotated[
        str | None, typer.Option("--status", "-s", help="Such as queued, running, in-progress, dead-letter.")
    ] = None
    queue: Annotated[str | None, typer.Option("--queue", "-q", help="Of this queue.")] = None
    type: Annotated[str | None, typer.Option("--type", "-t", help="Of this type.")] = None
    source: Annotated[str | None, typer.Option("--source", help="From this kind of source.")] = None
    priority: Annotated[str | None, typer.Option("--priority", "-p", help="Of this level.")] = None
    correlation_id: Annotated[str | None, typer.Option("--correlation-id", help="With this id.")] = None
    q: Annotated[str | None, typer.Option("--search", help="With this text in title or input.")] = None
    parent_task_id: Annotated[str | None, typer.Option("--parent", help="Parts of this task.")] = None
    archived: Annotated[bool, typer.Option("--archived", help="From the archive.")] = False


@expanded
def ls(filters: Filters, yard: Yard, limit: LimitOption = 50) -> None:
    """List tasks, newest first."""
    pages = yard.client.tasks(**dataclasses.asdict(filters), limit=min(limit, 500))
    tasks = list(islice(pages, limit))
    if yard.json:
        output.say_json(tasks)
    elif tasks:
        task_table(tasks)
    else:
        output.note("No tasks." if filters == Filters() else "No such tasks.")


@expanded
def show(task: TaskArgument, yard: Yard) -> None:
    """Show all about one task."""
    from taskyard.sdk.clock import now

    found = yard.client.task(task)
    if yard.json:
        output.say_json(found)
    else:
        output.say(card(found, now(), why=_why(found, yard)))


def _why(task: "TaskRecord", yard: Yard) -> str | None:
    """Of a task that waits: what for, if the hub is new enough to say."""
    from taskyard.sdk.errors import NotFound

    try:
        return yard.client.why(task.id).summary if task.status in WAITS else None
    except NotFound:
        return None


@expanded
def cancel(tasks: TasksArgument, yard: Yard, reason: ReasonOption = None) -> int:
    """Cancel tasks, and what depends on them."""
    from taskyard.sdk.answers import Cancellation

    def one(task: str) -> Cancellation:
        cancelled = yard.client.cancel(task, reason=reason)
        if not yard.json:
            output.say(_cancelling(task, yard.client.task(task), cancelled.also_cancelled))
        return cancelled

    return each(tasks, one, yard=yard)


def _cancelling(name: str, task: "TaskRecord", also: "Sequence[str]") -> str:
    """How far it has come: one that a daemon holds is cancelled only when that has stopped."""
    if not task.ended:
        heirs = f", and {', '.join(also)} will end with it" if also else ""
        return f"{name} was asked to stop{heirs}."
    if task.status is not Status.CANCELLED:
        return headline(task)
    heirs = f", and with it {', '.join(also)}" if also else ""
    return f"{name} is cancelled{heirs}."


@expanded
def retry(tasks: TasksArgument, yard: Yard) -> int:
    """Run failed or skipped tasks again. They get a new series of attempts."""
    return each(tasks, lambda task: told(yard.client.retry(task), yard=yard), yard=yard)


@expanded
def skip(tasks: TasksArgument, yard: Yard, reason: ReasonOption = None) -> int:
    """Leave tasks out. What depends on them follows its own policy."""
    return each(tasks, lambda task: told(yard.client.skip(task, reason=reason), yard=yard), yard=yard)


def told(task: "TaskRecord", *, yard: Yard) -> "TaskRecord":
    if not yard.json:
        output.say(headline(task))
    return task


def each(names: "Sequence[str]", act: "Callable[[str], object]", *, yard: Yard) -> int:
    """Do it to each task. One that is refused is told and does not keep the others from it."""
    from taskyard.sdk.errors import Conflict, NotFound

    if len(names) == 1:
        answers = [act(names[0])]
        refused = 0
    else:
        answers, refused = [], 0
        unread: OSError | None = None
        for name in names:
            try:
                answers.append(act(name))
            except (NotFound, Conflict) as error:
                output.note(f"{name}: {error}")
                refused += 1
            except OSError as error:
                # Whoever reads the answers has left; the others are meant all the same.
                unread = error
        if unread is not None:
            raise unread
    if yard.json:
        output.say_json(answers[0] if len(names) == 1 else answers)
    return NO if refused else 0

"""Commands that follow what happens: `watch` and `log`."""

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskyard.cli import output
from taskyard.cli.card import headline
from taskyard.cli.neutral import neutral, one_line
from taskyard.cli.options import TaskArgument, Yard, expanded
from taskyard.vocabulary import ENDED, EventName, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    from taskyard.sdk.answers import Event

FAILED: Final = 1

TypesOption = Annotated[
    str | None, typer.Option("--types", metavar="A,B", help="Only these events, such as task.completed.")
]
FollowOption = Annotated[bool, typer.Option("--follow", "-f", help="Go on until the task has ended.")]
AttemptOption = Annotated[int | None, typer.Option("--attempt", help="Of this attempt only.")]
WatchedArgument = Annotated[
    str | None, typer.Argument(metavar="TASK", help="One task until it has ended; without it, everything.")
]


@expanded
def watch(yard: Yard, task: WatchedArgument = None, types: TypesOption = None) -> int:
    """Show what happens as it happens. Of one task: from its beginning to its end; 1 if it failed."""
    wanted = [name.strip() for name in types.split(",")] if types else None
    if task is None:
        for event in yard.client.events(types=wanted):
            _show(event, yard=yard)
    else:
        for event in life_of(task, yard=yard):
            if wanted is None or event.event in wanted:
                _show(event, yard=yard)
        return 0 if yard.client.task(task).status is Status.COMPLETED else FAILED
    return 0


def life_of(task: str, *, yard: Yard) -> "Iterator[Event]":
    """A task's events, past and to come, until it has ended.

    The stream is asked for from the last past event on, so that nothing falls between the two.
    """
    past = yard.client.task_events(task)
    yield from past
    status = next((event.now for event in reversed(past) if event.now), None)
    # Of a task that ended long ago the events are gone, and none will come.
    if (status or yard.client.task(task).status) in ENDED:
        return
    last = next((event.id for event in reversed(past) if event.id), None)
    for event in yard.client.events(task=task, last_event_id=last):
        yield event
        if event.now in ENDED:
            return


@expanded
def log(task: TaskArgument, yard: Yard, attempt: AttemptOption = None, follow: FollowOption = False) -> None:
    """Print what a task wrote. Why it ends early is said beside it, if it was cancelled with a reason."""
    printed = _print_log(task, attempt=attempt, after=None, yard=yard)
    # The stream tells at most once a second that there is more, and skips what came too fast; the log itself
    # is whole. So an event is only the sign to look again.
    for event in life_of(task, yard=yard) if follow else ():
        if event.event == EventName.TASK_LOG or event.now in ENDED:
            printed = _print_log(task, attempt=attempt, after=printed, yard=yard)
    if not yard.json and (found := yard.client.task(task)).cancel_reason is not None:
        output.note(headline(found))


def _print_log(task: str, *, attempt: int | None, after: str | None, yard: Yard) -> str | None:
    """Print what came after a piece; the cursor of the last one now."""
    pieces = yard.client.log(task, attempt=attempt, after=after)
    for piece in pieces:
        if yard.json:
            output.say_json_line(piece)
        else:
            output.say(piece.text)
    return pieces[-1].cursor if pieces else after


def _show(event: "Event", *, yard: Yard) -> None:
    if yard.json:
        output.say_json_line(event)
    else:
        output.say(event_line(event))


def event_line(event: "Event") -> str:
    """`12:03:04  T-002  task.started  scheduled → running  attempt 1`"""
    words = [_clock(event.at), event.ref or event.task_id or "-", event.event]
    if event.now:
        words.append(f"{event.was} → {event.now}" if event.was and event.was != event.now else event.now)
    if event.attempt:
        words.append(f"attempt {event.attempt}")
    words += [
        f"{neutral(name)}={one_line(str(value), chars_max=80)}"
        for name, value in (event.data or {}).items()
        if isinstance(value, str | int | float) and value != ""
    ]
    return "  ".join(words)


def _clock(at: datetime | None) -> str:
    return at.astimezone().strftime("%H:%M:%S") if at else "--:--:--"

"""`taskyard why`: what a task waits for, in plain words; or why a daemon gets nothing to do."""

from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Final

import typer

from taskyard.cli import output
from taskyard.cli.neutral import one_line
from taskyard.cli.options import Yard, expanded
from taskyard.cli.times import relative

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from taskyard.sdk.answers import Why, WhyReason
    from taskyard.sdk.records import DaemonRecord

WIDTH: Final = 80
NAME_CHARS_MAX: Final = 20
PROMISE: Final = "It would "

WhyArgument = Annotated[str | None, typer.Argument(metavar="TASK", help="The task's ref (T-042) or id.")]
DaemonOption = Annotated[
    str | None, typer.Option("--daemon", metavar="NAME", help="Of this daemon: why it gets nothing more.")
]


@expanded
def why(yard: Yard, task: WhyArgument = None, daemon: DaemonOption = None) -> None:
    """Say why a task is not running. And what would change that, and when."""
    from taskyard.sdk.clock import now

    if (task is None) == (daemon is None):
        raise typer.BadParameter("name a task, or a daemon with --daemon", param_hint="TASK")
    if daemon is not None:
        found = yard.client.daemon(daemon)
        if yard.json:
            output.say_json(found)
        else:
            output.say("\n".join(daemon_told(found)))
        return
    told = yard.client.why(str(task))
    if yard.json:
        output.say_json(told)
    else:
        output.say("\n".join(_told(told, now())))


def daemon_told(daemon: "DaemonRecord") -> "Iterator[str]":
    used = f"{daemon.active_tasks} of {daemon.max_concurrent_tasks} tasks"
    return filled(f"{daemon.name} is {daemon.status} and runs {used}. {idle_because(daemon)}")


def idle_because(daemon: "DaemonRecord") -> str:
    """Why it gets nothing more; empty if it may well get something."""
    return daemon.idle_because or ("It is full." if daemon.status == "busy" else "")


def _told(told: "Why", now: "datetime") -> "Iterator[str]":
    yield from filled(f"{told.task}: {told.summary}")
    places = []
    if told.position is not None:
        places.append(f"It is number {told.position} of your tasks that wait in its queue.")
    if told.estimated_start is not None:
        places.append(f"It should start {relative(told.estimated_start, now)}.")
    yield from filled(" ".join(places)) if places else ()
    for reason in told.reasons:
        yield ""
        yield from _reason(reason, now)
    if told.daemons:
        yield ""
        yield "Daemons considered"
        width = min(max(len(one_line(one.name)) for one in told.daemons), NAME_CHARS_MAX)
        for one in told.daemons:
            lacks = "could take it now" if one.eligible else "; ".join(lack.message for lack in one.lacks)
            yield from filled(
                f"{one_line(one.name, chars_max=NAME_CHARS_MAX):{width}}  {lacks}", indent=2, hang=width + 4
            )


def _reason(reason: "WhyReason", now: "datetime") -> "Iterator[str]":
    yield reason.code + (f" ({relative(reason.until, now)})" if reason.until is not None else "")
    yield from filled(reason.message, indent=2)
    if reason.would_help:
        yield from filled(helpful(reason.would_help), indent=2, hang=4)


def helpful(would_help: str) -> str:
    """What would help is a noun, except where it is promised to: that is a sentence."""
    return f"{would_help}." if would_help.startswith(PROMISE) else f"Would help: {would_help}"


def filled(text: str, *, indent: int = 0, hang: int | None = None) -> "Iterator[str]":
    """A paragraph that fits a narrow window. Runs of spaces are kept: they align what follows."""
    first, rest = " " * indent, " " * (indent if hang is None else hang)
    yield from wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False, replace_whitespace=True
    )

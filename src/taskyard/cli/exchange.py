"""`taskyard import` and `taskyard export`: tasks from other queues come in, and one's own are written to be read."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import msgspec
import typer
from msgspec import Struct

from taskyard.cli import output
from taskyard.cli.neutral import one_line
from taskyard.cli.options import Yard, expanded
from taskyard.wire.fields import NAME_CHARS_MAX

if TYPE_CHECKING:
    from taskyard.cli.imports.cargo import Cargo
    from taskyard.sdk.client import Client
    from taskyard.sdk.task import Task

NO: Final = 1
LIMITED: Final = 5
IN_PART: Final = 6
SHOWN_MAX: Final = 20
_encode: Final = msgspec.json.Encoder().encode

app = typer.Typer(
    help="Take in tasks from other queues; twice is the same as once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DirectoryArgument = Annotated[str, typer.Argument(metavar="DIR", help="The directory with the queues' files.")]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Say what would be taken, and take nothing.")]


def _origin(given: str | None) -> str | None:
    if given is not None and not 0 < len(given) <= NAME_CHARS_MAX:
        raise typer.BadParameter(f"a name has 1 to {NAME_CHARS_MAX} characters", param_hint="--origin")
    return given


OriginOption = Annotated[
    str | None,
    typer.Option(
        "--origin",
        callback=_origin,
        help="What the directory is called: the same tasks are known by it [its path].",
    ),
]


UrgentFirstOption = Annotated[
    bool, typer.Option("--urgent-first", help="Priorities there go from 1, the most urgent, to 4.")
]


class Outcome(Struct):
    """What an import answers to programs."""

    new: int
    there: int
    damaged: list[str]
    left_out: list[str]
    rejected: list[str]
    notes: list[str]
    dry_run: bool
    queues: list[str]
    limited: bool = False


@app.command("loki")
@expanded
def loki(path: DirectoryArgument, yard: Yard, *, dry_run: DryRunOption = False, origin: OriginOption = None) -> int:
    """Take in Loki's task queue: .loki/queue/*.json, with its circuit breakers."""
    from taskyard.cli.imports import loki as source

    return _import(yard, lambda: source.read(path, origin=origin), dry_run=dry_run)


@app.command("model-queues")
@expanded
def model_queues(
    path: DirectoryArgument,
    yard: Yard,
    *,
    dry_run: DryRunOption = False,
    origin: OriginOption = None,
    urgent_first: UrgentFirstOption = False,
) -> int:
    """Take in the queues by model source, and their archive."""
    from taskyard.cli.imports import model_queues as source

    return _import(yard, lambda: source.read(path, origin=origin, urgent_first=urgent_first), dry_run=dry_run)


def _import(yard: Yard, read: "Callable[[], Cargo]", *, dry_run: bool) -> int:
    from taskyard.cli.imports.cargo import Circular, carry
    from taskyard.cli.imports.files import Damaged, NotADirectory

    try:
        cargo = read()
        carried = carry(yard.client, cargo, dry_run=dry_run, told=_told)
    except (Damaged, NotADirectory, Circular) as problem:
        output.note(f"taskyard: {problem}")
        return NO
    outcome = Outcome(
        new=carried.new,
        there=carried.there,
        damaged=cargo.damaged,
        left_out=cargo.left_out,
        rejected=carried.rejected,
        notes=cargo.notes,
        dry_run=dry_run,
        queues=carried.queues,
        limited=carried.is_limited,
    )
    _say(yard, outcome)
    if outcome.rejected:
        return LIMITED if outcome.limited else NO
    return IN_PART if outcome.damaged or outcome.left_out else 0


def _told(done: int, all_: int) -> None:
    if all_ > done or done > 1000:
        output.note(f"{done:,} of {all_:,} tasks are in.")


def _say(yard: Yard, outcome: Outcome) -> None:
    if yard.json:
        output.say_json(outcome)
        return
    for lines in (outcome.notes, outcome.damaged, outcome.left_out):
        opening = "Not read, and left as it is: " if lines is outcome.damaged else ""
        for line in lines[:SHOWN_MAX]:
            output.note(line if lines is outcome.notes else opening + one_line(line))
        if len(lines) > SHOWN_MAX:
            output.note(f"{len(lines) - SHOWN_MAX:,} more such remarks; --json has all of them.")
    for line in outcome.rejected[:SHOWN_MAX]:
        output.note(f"In the way: {one_line(line)}")
    if outcome.rejected:
        more = len(outcome.rejected) - SHOWN_MAX
        output.say("Nothing was taken in." + (f" {more:,} more are in the way." if more > 0 else ""))
    else:
        if outcome.queues:
            verb = "would be" if outcome.dry_run else "were"
            output.note(f"Queues that {verb} made: {', '.join(map(one_line, outcome.queues))}.")
        noun, was = ("task", "was") if outcome.new == 1 else ("tasks", "were")
        verb = "would be" if outcome.dry_run else was
        are = "is" if outcome.there == 1 else "are"
        output.say(f"{outcome.new:,} {noun} {verb} taken in; {outcome.there:,} {are} there already.")


# Going out.


ExportArgument = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Where to; must not exist yet [standard output].")
]


@expanded
def export(yard: Yard, path: ExportArgument = None) -> None:
    """Write all of one's tasks in full, with what became of them: a line of JSON each, to be read."""
    count, tasks = 0, _tasks(yard.client)
    # Whoever may not export is refused before anything of it stands on standard output.
    begun = list(islice(tasks, 1))
    with _written(path) as file:
        for task in chain(begun, tasks):
            file.write(_encode(task) + b"\n")
            count += 1
    noun, were = ("task", "was") if count == 1 else ("tasks", "were")
    output.note(f"{count:,} {noun} {were} written{'' if path is None else f' to {path}'}.")


def _tasks(client: "Client") -> "Iterator[Task]":
    """Newest first, then those in the archive. One that is archived meanwhile is in both lists, and written once."""
    seen = set()
    for archived in (False, True):
        for task in client.export(archived=archived):
            if task.id not in seen:
                seen.add(task.id)
                yield task


@contextmanager
def _written(path: str | None) -> Iterator[BinaryIO]:
    """A file that is whole or not there, for its owner's eyes; what is there already is not written over."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    if os.path.lexists(path):
        raise typer.BadParameter(f"{path} is there already", param_hint="FILE")
    try:
        # A name of its own: what an export that was killed has left is in nobody's way.
        fd, part = tempfile.mkstemp(
            prefix=f"{os.path.basename(path)}.", suffix=".part", dir=os.path.dirname(path) or "."
        )
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be written: {error.strerror}", param_hint="FILE") from error
    try:
        with os.fdopen(fd, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)
    finally:
        os.unlink(part)

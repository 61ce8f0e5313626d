"""`taskyard import` and `taskyard export`: tasks from other queues and other yards, and to them."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, BinaryIO, Final

import typer
from msgspec import Struct

from taskyard.cli import output
from taskyard.cli.neutral import one_line
from taskyard.cli.options import Yard, expanded
from taskyard.vocabulary import Scope
from taskyard.wire.fields import NAME_CHARS_MAX

if TYPE_CHECKING:
    from taskyard.cli.imports.cargo import Cargo, Carried
    from taskyard.cli.imports.yard_file import Part
    from taskyard.sdk.client import Client
    from taskyard.wire.imports import CarriedBreaker, CarriedTask

NO: Final = 1
NOT_ALLOWED: Final = 4
LIMITED: Final = 5
IN_PART: Final = 6
SHOWN_MAX: Final = 20

app = typer.Typer(
    help="Take in tasks from other queues and other yards; twice is the same as once.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DirectoryArgument = Annotated[str, typer.Argument(metavar="DIR", help="The directory with the queues' files.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="What `taskyard export` wrote; - is standard input.")]
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

    return _import(yard, lambda: [source.read(path, origin=origin)], dry_run=dry_run)


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

    return _import(yard, lambda: [source.read(path, origin=origin, urgent_first=urgent_first)], dry_run=dry_run)


@app.command("yard")
@expanded
def yard_file(path: FileArgument, yard: Yard, *, dry_run: DryRunOption = False) -> int:
    """Take in what `taskyard export` wrote."""
    from taskyard.cli.imports import yard_file as source

    return _import(yard, lambda: _addressed(yard, source.read(path)), dry_run=dry_run)


class NotYours(Exception):
    """The file holds what only an admin can bring."""


def _addressed(yard: Yard, cargoes: "list[Cargo]") -> "list[Cargo]":
    """To the users in the file, if an admin brings it; else to whoever does, if it is one user's."""
    if yard.user is None and Scope.ADMIN in yard.client.me().scopes:
        return cargoes
    if len(cargoes) > 1:
        raise NotYours("The file holds the tasks of several users; an admin can import it.")
    for cargo in cargoes:
        cargo.user = None
    return cargoes


def _import(yard: Yard, read: "Callable[[], list[Cargo]]", *, dry_run: bool) -> int:
    from taskyard.cli.imports.cargo import Circular, carry
    from taskyard.cli.imports.files import Damaged, NotADirectory

    outcome = Outcome(0, 0, [], [], [], [], dry_run, [])
    try:
        cargoes = read()
        for cargo in cargoes:
            outcome.damaged += cargo.damaged
            outcome.left_out += cargo.left_out
            outcome.notes += cargo.notes
        # All of them are looked at before the first is taken.
        for look_only in (True, False) if len(cargoes) > 1 and not dry_run else (dry_run,):
            if not outcome.rejected:
                outcome.new = outcome.there = 0
                for cargo in cargoes:
                    _add(outcome, carry(yard.client, cargo, dry_run=look_only, told=_told))
    except (Damaged, NotADirectory, Circular) as problem:
        output.note(f"taskyard: {problem}")
        return NO
    except NotYours as problem:
        output.note(f"taskyard: {problem}")
        return NOT_ALLOWED
    _say(yard, outcome)
    if outcome.rejected:
        return LIMITED if outcome.limited else NO
    return IN_PART if outcome.damaged or outcome.left_out else 0


def _add(outcome: Outcome, carried: "Carried") -> None:
    outcome.new += carried.new
    outcome.there += carried.there
    outcome.rejected += carried.rejected
    outcome.queues = list(dict.fromkeys([*outcome.queues, *carried.queues]))
    outcome.limited |= carried.is_limited


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
    """Write all tasks, with what became of them, as JSON lines; as an admin, those of all users."""
    from taskyard.cli.imports.yard_file import lines_of
    from taskyard.sdk.clock import now
    from taskyard.wire.imports import CarriedQueue

    queues = {
        queue.name: CarriedQueue(models=queue.models, max_concurrent=queue.max_concurrent)
        for queue in yard.client.queues()
    }
    count, parts = 0, _parts(yard)
    # Whoever may not export is refused before anything of it stands on standard output.
    begun = list(islice(parts, 1))
    with _written(path) as file:
        for line in lines_of(now(), queues, chain(begun, parts)):
            file.write(line + b"\n")
            count += 1
    output.note(f"{count:,} lines were written{'' if path is None else f' to {path}'}.")


def _parts(yard: Yard) -> "Iterator[Part]":
    from taskyard.sdk.client import Client
    from taskyard.wire.imports import CarriedUser
    from taskyard.wire.people import Overrides

    if yard.user is not None or Scope.ADMIN not in yard.client.me().scopes:
        yield None, _breakers(yard.client), _tasks(yard.client)
        return
    for user in sorted(yard.client.users(), key=lambda user: user.name):
        with Client(yard.hub, yard.key, data=yard.data, user=user.id) as client:
            overrides = Overrides(**user.overrides) if user.overrides else None
            named = CarriedUser(name=user.name, plan=user.plan, overrides=overrides, created_at=user.created_at)
            yield named, _breakers(client), _tasks(client)


def _tasks(client: "Client") -> "list[CarriedTask]":
    """Oldest first. One that is archived between the two lists is in both of them."""
    found = {task.id: task for archived in (False, True) for task in client.export(archived=archived)}
    return sorted(found.values(), key=lambda task: task.number or 0)


def _breakers(client: "Client") -> "list[CarriedBreaker]":
    from taskyard.wire.imports import CarriedBreaker

    return [
        CarriedBreaker(
            type=breaker.type,
            failures=breaker.failures,
            last_failure_at=breaker.last_failure_at,
            opened_at=breaker.opened_at,
            half_open_at=breaker.half_open_at,
        )
        for breaker in client.breakers()
    ]


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

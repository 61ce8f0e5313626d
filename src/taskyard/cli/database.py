"""Commands about the database itself: `migrate` and `copy`."""

import sys
from collections.abc import Callable
from typing import Annotated, Final

import msgspec
import typer

from taskyard.cli import output
from taskyard.cli.options import DatabaseOption, JsonOption, expanded

NO: Final = 1


@expanded
def migrate(database: DatabaseOption = None, as_json: JsonOption = False) -> int:
    """Bring a PostgreSQL database to this version's schema. Hubs may run meanwhile."""
    from taskyard.hub.databases import NotDone, migrate_database

    try:
        address, done = migrate_database(database)
    except NotDone as error:
        output.note(f"taskyard: {error}")
        return NO
    if as_json:
        output.say_json({"database": address, "before": done.before, "after": done.after})
    elif done.before == done.after:
        output.say(f"{address}: already at schema {done.after}.")
    else:
        output.say(f"{address}: schema {done.before} → {done.after}.")
    return 0


@expanded
def copy(
    source: Annotated[
        str, typer.Option("--from", metavar="YARD", help="sqlite:DIR, postgresql://… or FILE.jsonl; no hub runs on it.")
    ],
    target: Annotated[str, typer.Option("--to", metavar="YARD", help="The same, of an empty place or a new file.")],
    as_json: JsonOption = False,
) -> int:
    """Copy a whole yard to another database or to a file, while no hub runs. All of it, or nothing."""
    from taskyard.hub.copying import copy_yard
    from taskyard.hub.databases import NotDone

    try:
        with output.live() as show:
            moved = copy_yard(source, target, tell=progress(show))
    except NotDone as error:
        output.note(f"taskyard: {error}")
        return NO
    copied = moved.copied
    if as_json:
        output.say_json({**msgspec.to_builtins(copied), "has_secret": moved.has_secret})
        return 0
    output.table(
        ("COPIED", "NUMBER"), [(name.replace("_", " "), f"{count:,}") for name, count in copied.counts.items()]
    )
    output.say(f"Read back and found the same: yard {copied.identity.cluster_id}, digest {copied.digest}.")
    if not moved.has_secret:
        output.note(
            "There was no token.secret: browsers have to sign in again, and attempts that run lose their tokens."
        )
    if moved.is_file:
        output.note(
            f"The file holds the yard's keys and secrets: keep it as you keep those.\nRestore it with: {moved.next}"
        )
    else:
        output.note(f"Go on with: {moved.next}\nDo not start a hub on the old one again: it is the same yard.")
    return 0


def progress(show: Callable[[str], None]) -> Callable[[str, int, int], None]:
    """Say it each percent; where there is no terminal, each tenth."""
    step = 1 if sys.stderr.isatty() else 10
    said: set[tuple[str, int]] = set()

    def tell(done: str, count: int, total: int) -> None:
        part = 100 * count // max(total, 1) // step * step
        if (done, part) not in said:
            said.add((done, part))
            show(f"{done} {count:,} of {total:,}")

    return tell

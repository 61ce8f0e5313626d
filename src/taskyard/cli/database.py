"""Commands about the database itself: `migrate`."""

from typing import Annotated, Final

import typer

from taskyard.cli import output
from taskyard.cli.options import JsonOption, expanded

NO: Final = 1

DatabaseOption = Annotated[
    str | None,
    typer.Option("--database", metavar="URL", envvar="TASKYARD_DATABASE", help="postgresql://USER@HOST:PORT/DATABASE"),
]


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

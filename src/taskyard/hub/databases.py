"""A PostgreSQL database by its URL: which one is meant, and bringing its schema up to date."""

import os
from typing import Final

from taskyard.hub.yard import CannotStart
from taskyard.store.port import StoreRefused
from taskyard.store.postgres.migrate import Migrated
from taskyard.store.postgres.reach import address_of
from taskyard.store.postgres.upgrade import migrate

SCHEMES: Final = ("postgresql://", "postgres://")


class NotDone(Exception):
    """Nothing was changed; the message says why and what to do."""


def database_of(database: str | None) -> str | None:
    """The URL of a PostgreSQL database, as told or by the environment; None: a file in the data directory."""
    url = database or os.environ.get("TASKYARD_DATABASE")
    if url and not url.startswith(SCHEMES):
        raise CannotStart("--database takes the URL of a PostgreSQL database: postgresql://USER@HOST:PORT/DATABASE.")
    return url or None


def migrate_database(database: str | None) -> tuple[str, Migrated]:
    """Where the database is, and what was done."""
    try:
        url = database_of(database)
        if url is None:
            raise NotDone(
                "Name the database with --database postgresql://USER@HOST:PORT/DATABASE, or in TASKYARD_DATABASE. A "
                "yard on a file needs no such step: `taskyard up` migrates it."
            )
        return address_of(url), migrate(url)
    except (CannotStart, StoreRefused) as error:
        raise NotDone(str(error)) from error

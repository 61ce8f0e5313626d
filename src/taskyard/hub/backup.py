"""`taskyard backup`: a copy of a yard's database as of one commit, whether its hub runs or not.

The database is opened read-only by this process: a hub that runs goes on writing and notices nothing. The copy gets
its name last, when it is whole, sound and on disk, so that whatever has the name can be restored.
"""

from contextlib import closing
from pathlib import Path

import apsw

from taskyard.hub.databases import database_of
from taskyard.hub.yard import DATABASE, CannotStart
from taskyard.sdk.credentials import data_directory
from taskyard.store.new_file import new_file
from taskyard.store.port import StoreRefused
from taskyard.store.postgres.engine import PostgresStore
from taskyard.store.postgres.lead import Candidate
from taskyard.store.sqlite.engine import copy_database
from taskyard.store.sqlite.migrate import APPLICATION_ID


class CannotBackUp(Exception):
    """There is no copy; the message says why and what to do."""


def back_up(data: str | None, file: str, *, database: str | None = None) -> Path:
    """Copy the database of this data directory to a new file; where that is."""
    directory, target = data_directory(data).resolve(), Path(file).absolute()
    source = directory / DATABASE
    _refuse_server(database, target)
    if not source.is_file():
        raise CannotBackUp(
            f"There is no {DATABASE} in {directory}; name the hub's directory with --data, or its database with "
            "--database."
        )
    try:
        with new_file(target) as new:
            _copy(source, new.partial)
            new.finish()
    except FileExistsError:
        raise CannotBackUp(f"{target} exists; name a new file, so that no copy overwrites another.") from None
    except OSError as error:
        raise CannotBackUp(f"{target} cannot be written: {error.strerror}.") from error
    return target


def _refuse_server(database: str | None, target: Path) -> None:
    try:
        url = database_of(database)
        if url is not None:
            PostgresStore(url, new_cluster_id="", candidate=Candidate("")).backup(str(target))
    except (CannotStart, StoreRefused) as error:
        raise CannotBackUp(str(error)) from error


def _copy(source: Path, partial: Path) -> None:
    try:
        copy_database(source, partial, vfs=None)
        with closing(apsw.Connection(str(partial), flags=apsw.SQLITE_OPEN_READONLY)) as copy:
            is_ours = copy.pragma("application_id") == APPLICATION_ID
            verdict = copy.pragma("quick_check", 1)
    except (apsw.CorruptError, apsw.NotADBError, apsw.FormatError) as error:
        raise _damaged(source, str(error)) from error
    except apsw.Error as error:
        raise CannotBackUp(
            f"{source} could not be copied ({error}). See that there is room on the disk and that you may read the "
            "hub's directory."
        ) from error
    if verdict != "ok":
        raise _damaged(source, str(verdict))
    if not is_ours:
        raise CannotBackUp(f"{source} is not a hub's database; name the hub's directory with --data.")


def _damaged(source: Path, how: str) -> CannotBackUp:
    return CannotBackUp(f"{source} is damaged ({' '.join(how.split())}); keep the copies that you have.")

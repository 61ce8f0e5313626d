"""The schema and its versions: `migrations/NNNN_name.sql`, run in order, each in one transaction.

`user_version` counts the migrations that ran and `application_id` marks the file as ours. Both are in the
file's header, so that a file of a newer version, or of another program, is refused before it is touched.
"""

import functools
from typing import Final

import apsw

from taskyard.store.migrations import migrations_of
from taskyard.store.sqlite.statements import SQL

APPLICATION_ID: Final = 0x54595244
"""TYRD."""

_MIGRATIONS: Final = migrations_of(__package__)
SCHEMA_VERSION: Final = len(_MIGRATIONS)


def version_of(connection: apsw.Connection) -> int:
    version = connection.pragma("user_version")
    assert isinstance(version, int)
    return version


def is_empty(connection: apsw.Connection) -> bool:
    return not connection.execute(SQL["count_objects"]).get


def _schema_of(connection: apsw.Connection) -> dict[str, str]:
    return dict(connection.execute(SQL["read_schema"]))


@functools.cache
def _schema_intended() -> dict[str, str]:
    """What the migrations make of an empty database."""
    connection = apsw.Connection(":memory:")
    migrate(connection)
    return _schema_of(connection)


def missing_from_schema(connection: apsw.Connection) -> list[str]:
    """Tables, indexes and views that are not as the migrations made them: a flipped bit may have renamed a column.

    What somebody added by hand is theirs.
    """
    found = _schema_of(connection)
    return [name for name, sql in _schema_intended().items() if found.get(name) != sql]


def migrate(connection: apsw.Connection) -> None:
    """Bring the schema to this version. A crash in between leaves a whole number of migrations."""
    for version, script in _MIGRATIONS.items():
        if version > version_of(connection):
            with connection:
                connection.execute(script)
                connection.pragma("application_id", APPLICATION_ID)
                connection.pragma("user_version", version)

"""The schema and its versions: `migrations/NNNN_name.sql`, run in order, each in one transaction.

A hub never migrates by itself: with several of them nobody would have decided it. A migration only adds to what the
version before it needs, so that hubs of both run while they are replaced one by one: tables, indexes, and columns with
a default behind those that are there. A view that shows more gets another name.
"""

import shlex
from typing import Final

from msgspec import Struct

from taskyard.store.migrations import migrations_of
from taskyard.store.port import StoreRefused
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import SQL

NAMESPACE: Final = 0x54595244
"""TYRD: of our advisory locks, in databases that others use too."""

_MIGRATIONS: Final = migrations_of(__package__)
SCHEMA_VERSION: Final = len(_MIGRATIONS)


def version_of(session: Session) -> int:
    """How many migrations ran; 0 where there is no schema."""
    if not session.rows(SQL["has_migrations"])[0][0]:
        return 0
    version: int = session.rows(SQL["read_version"])[0][0]
    return version


class Migrated(Struct, frozen=True):
    """The versions of a schema, before and after."""

    before: int
    after: int


def run_migrations(session: Session) -> Migrated:
    """Bring the schema to this version. Others that do the same wait for us."""
    before = version_of(session)
    refuse_newer_schema(before)
    for version, script in _MIGRATIONS.items():
        if version > before:
            with session.transaction():
                session.rows(SQL["lock_migrations"], {"namespace": NAMESPACE})
                session.run_script(_MAKE_SCHEMA)
                session.change(SQL["make_migrations"])
                if version > version_of(session):
                    session.run_script(script)
                    session.change(SQL["note_migration"], {"version": version})
    return Migrated(before=before, after=version_of(session))


_MAKE_SCHEMA: Final = "CREATE SCHEMA IF NOT EXISTS taskyard"


def refuse_newer_schema(version: int) -> None:
    """Whoever migrates or copies writes all of a schema, and so has to know all of it."""
    if version > SCHEMA_VERSION:
        raise StoreRefused(
            f"This database was migrated by a newer Taskyard (schema {version}; this one knows {SCHEMA_VERSION}). "
            "Install that version to work on it; nothing was changed."
        )


def refuse_other_schema(version: int, *, url: str, known: int = SCHEMA_VERSION) -> None:
    """A hub runs on the schema it knows, and on the one after it. `url` is what to type, so without a password."""
    command = f"taskyard migrate --database {shlex.quote(url)}"
    if version == 0:
        raise StoreRefused(f"This database has no Taskyard schema yet. Run `{command}` once, then start again.")
    if version < known:
        raise StoreRefused(
            f"The schema of this database is version {version}, and this Taskyard needs {known}. "
            f"Run `{command}`; hubs that run meanwhile go on."
        )
    if version > known + 1:
        raise StoreRefused(
            f"This database was migrated by a newer Taskyard (schema {version}; this one runs on {known} and "
            f"{known + 1}). Install a version that knows it."
        )

"""A whole yard out of a file, and into a new one (`store/copy.py`).

The file that is read is locked against hubs and stays as it is. The one that is written gets its name when it is whole,
so a copy that was cut off has left nothing that a hub would open.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import apsw

from taskyard.store import dump
from taskyard.store.dump import (
    Believe,
    Kind,
    RestoredTask,
    Row,
    Summary,
    believer_of,
    checksum_of,
    restored,
    summary_of,
    task_row,
)
from taskyard.store.new_file import remove_partial, sync_directory, sync_file
from taskyard.store.port import RecordDamaged, StoreRefused
from taskyard.store.records import checksum, columns_of
from taskyard.store.sqlite import checks
from taskyard.store.sqlite.engine import PAGE_BYTES, check_structure, make_private
from taskyard.store.sqlite.faults import BREAKING, translated
from taskyard.store.sqlite.image import identity_of, task_of
from taskyard.store.sqlite.migrate import APPLICATION_ID, SCHEMA_VERSION, migrate, version_of
from taskyard.store.sqlite.text import leniently
from taskyard.store.statements import named_statements

SQL: Final = named_statements(resources.files(__package__).joinpath("dump.sql").read_text())

_TASKS: Final[tuple[tuple[Kind, str, str], ...]] = (
    (dump.ACTIVE_TASKS, SQL["dump_active_tasks"], SQL["restore_hot"]),
    (dump.ENDED_TASKS, SQL["dump_ended_tasks"], SQL["restore_history"]),
    (dump.ARCHIVED_TASKS, SQL["dump_archived_tasks"], SQL["restore_archive"]),
)
_TABLES: Final[tuple[tuple[Kind, str, str], ...]] = (
    (dump.CHECKPOINTS, SQL["dump_checkpoints"], SQL["restore_checkpoints"]),
    (dump.LATE_RESULTS, SQL["dump_late_results"], SQL["restore_late_results"]),
    (dump.LOGS, SQL["dump_logs"], SQL["restore_logs"]),
    (dump.COMMITS, SQL["dump_commits"], SQL["restore_commits"]),
    (dump.NUMBERS, SQL["dump_numbers"], SQL["restore_numbers"]),
    (dump.USERS, SQL["dump_users"], SQL["restore_users"]),
    (dump.KEYS, SQL["dump_keys"], SQL["restore_keys"]),
    (dump.DAEMONS, SQL["dump_daemons"], SQL["restore_daemons"]),
    (dump.KEPT, SQL["dump_kept"], SQL["restore_kept"]),
    (dump.AUDIT, SQL["dump_audit"], SQL["restore_audit"]),
    (dump.REQUESTS, SQL["dump_requests"], SQL["restore_requests"]),
    (dump.FIGURES, SQL["dump_figures"], SQL["restore_figures"]),
    (dump.TAKEOVERS, SQL["dump_takeovers"], SQL["restore_takeovers"]),
)


class SqliteYard:
    """What lies in a database. Made by `opened` and `made`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def summary(self) -> Summary:
        identity = identity_of(self._connection)
        assert identity is not None, "somebody opened this yard before"
        with translated():
            found: tuple[Any, ...] = self._connection.execute(SQL["dump_summary"]).fetchall()[0]
        return summary_of(identity, found[0], found[1:])

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        with translated():
            for kind, read, believe in self._readers():
                for row in self._connection.execute(read):
                    yield kind, believe(row)

    def damage(self) -> Iterator[RecordDamaged]:
        """Every row that is not what was written. `StoreBroken` if SQLite itself cannot read on."""
        with translated():
            for kind, read, believe in self._readers():
                yield from dump.damage_in(kind, leniently(self._connection, read), believe)

    def _readers(self) -> Iterator[tuple[Kind, str, Believe]]:
        for kind, read, _ in _TASKS:
            yield kind, read, partial(_task_row, kind)
        for kind, read, _ in _TABLES:
            yield kind, read, believer_of(kind)


class NewSqliteYard(SqliteYard):
    """One that is written: within one transaction, into a file that has no name yet."""

    def __init__(self, connection: apsw.Connection, *, keep_secret: Callable[[bytes], None]) -> None:
        super().__init__(connection)
        self._writers = {kind.name: (write, checksum_of(kind)) for kind, _, write in _TABLES}
        self._task_writers = {kind.name: write for kind, _, write in _TASKS}
        self.keep_secret = keep_secret
        """The secret lies beside the file, and what writes it there knows where."""
        self.is_whole = False

    def begin(self, summary: Summary) -> None:
        identity = summary.identity
        crc = checksum(b"", identity.cluster_id, identity.epoch)
        self._connection.execute(SQL["restore_identity"], (identity.cluster_id, identity.epoch, crc))

    def take(self, kind: Kind, rows: list[Row]) -> None:
        if kind in dump.TASKS:
            self._take_tasks(kind, [restored(kind, row) for row in rows])
            return
        write, checksum_in = self._writers[kind.name]
        with translated():
            self._connection.executemany(write, ((*row, checksum_in(row)) for row in rows))

    def _take_tasks(self, kind: Kind, tasks: list[RestoredTask]) -> None:
        connection = self._connection
        with translated():
            connection.executemany(self._task_writers[kind.name], (_row_of(task) for task in tasks))
            bodies = ((task.task.id, task.body, crc32(task.body)) for task in tasks)
            connection.executemany(SQL["restore_body"], bodies)
            outcomes = ((each.task.id, each.outcome, crc32(each.outcome)) for each in tasks if each.outcome is not None)
            connection.executemany(SQL["restore_outcome"], outcomes)

    def commit(self) -> None:
        with translated():
            self._connection.execute("COMMIT")
            # As a hub leaves it.
            self._connection.pragma("journal_mode", "wal")
        self.is_whole = True


def _task_row(kind: Kind, row: tuple[Any, ...]) -> Row:
    # Place and ten columns, the record and its checksum, when it ended, its contents.
    return task_row(kind, task_of(row), row[11], *row[13:])


def _row_of(task: RestoredTask) -> Row:
    row = (*columns_of(task.task), task.record, crc32(task.record))
    return row if task.completed_at is None else (*row, task.completed_at, task.task.key)


@contextmanager
def opened(file: Path) -> Iterator[SqliteYard]:
    """The yard in this file, while no hub uses it. `StoreRefused` says why not."""
    if not file.is_file():
        raise StoreRefused(f"There is no {file}. Name the directory or the database of a hub.")
    checks.refuse_old_sqlite(apsw.sqlite_lib_version())
    with _locked(file):
        checks.refuse_foreign_file(file)
        connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            _refuse_unreadable(file, connection)
            yield SqliteYard(connection)
        finally:
            connection.close()


def _refuse_unreadable(file: Path, connection: apsw.Connection) -> None:
    try:
        if connection.pragma("application_id") != APPLICATION_ID:
            raise StoreRefused(f"{file} is not a hub's database. Name the directory or the database of a hub.")
        version = version_of(connection)
        checks.refuse_newer_schema(file, version)
        if version < SCHEMA_VERSION:
            raise StoreRefused(
                f"{file} has the schema {version}, and this Taskyard copies {SCHEMA_VERSION}. Let a hub of this "
                "version open it once (`taskyard up`), stop that one, then copy."
            )
        if identity_of(connection) is None:
            raise StoreRefused(f"{file} is of no yard: no hub has ever opened it. There is nothing to copy.")
        check_structure(connection)
    except BREAKING as error:
        raise StoreRefused(f"{file} is damaged ({error}). Restore the last backup, then copy that.") from error


@contextmanager
def looked_at(file: Path) -> Iterator[SqliteYard]:
    """The yard in this file, beside a hub that may use it: nothing is locked, refused or changed."""
    with translated(), closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        yield SqliteYard(connection)


@contextmanager
def made(file: Path, *, keep_secret: Callable[[bytes], None]) -> Iterator[NewSqliteYard]:
    """A new file. If it was not committed, there is none."""
    checks.refuse_old_sqlite(apsw.sqlite_lib_version())
    checks.refuse_network_file_system(file.parent, mounts=checks.mounts_of_this_machine())
    with _locked(file):
        if os.path.lexists(file):
            raise StoreRefused(f"{file} exists, and nothing is copied over a yard. Name a new directory.")
        partial = file.with_name(f".{file.name}.copy")
        remove_partial(partial)
        try:
            make_private(partial)
            connection = apsw.Connection(str(partial))
            try:
                new = _begun(connection, keep_secret)
                yield new
            finally:
                connection.close()
            if new.is_whole:
                _give_name(partial, file)
        finally:
            remove_partial(partial)


def _begun(connection: apsw.Connection, keep_secret: Callable[[bytes], None]) -> NewSqliteYard:
    with translated():
        connection.pragma("page_size", PAGE_BYTES)
        # It has no name, so a crash makes it waste anyway: it is synced once, at the end.
        connection.pragma("journal_mode", "memory")
        connection.pragma("synchronous", "OFF")
        migrate(connection)
        connection.execute("BEGIN IMMEDIATE")
    return NewSqliteYard(connection, keep_secret=keep_secret)


def _give_name(partial: Path, file: Path) -> None:
    sync_file(partial)
    partial.rename(file)
    sync_directory(file.parent)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    try:
        lock = checks.take_lock(file)
    except checks.FileInUse as error:
        raise StoreRefused(
            f"A hub (process {error.holder}) uses {file}. Stop it first: a yard is copied while it stands still."
        ) from error
    try:
        yield
    finally:
        os.close(lock)

"""A whole yard out of a file, and into a new one (`store/copy.py`).

The file that is read is locked against hubs and stays as it is. The one that is written gets its name when it is whole,
so a copy that was cut off has left nothing that a hub would open.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Final
from zlib import crc32

import apsw

from taskyard.store import dump
from taskyard.store.dump import HeldTask, Kind, Row, checksum_of, held
from taskyard.store.port import Identity, StoreRefused
from taskyard.store.records import checksum
from taskyard.store.sqlite import checks
from taskyard.store.sqlite.engine import PAGE_BYTES, check_structure, sync_directory
from taskyard.store.sqlite.faults import BREAKING, translated
from taskyard.store.sqlite.image import identity_of, task_of
from taskyard.store.sqlite.migrate import APPLICATION_ID, SCHEMA_VERSION, migrate, version_of
from taskyard.store.statements import named_statements

SQL: Final = named_statements(resources.files(__package__).joinpath("dump.sql").read_text())
BESIDE: Final = ("", "-journal", "-wal", "-shm")
"""What SQLite may leave of a file that was not finished."""

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
)


class SqliteYard:
    """What lies in a database. Made by `opened` and `made`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    @property
    def identity(self) -> Identity:
        identity = identity_of(self._connection)
        assert identity is not None, "somebody opened this yard before"
        return identity

    @property
    def total(self) -> int:
        total = self._connection.execute(SQL["dump_total"]).get
        assert isinstance(total, int)
        return total

    def tasks(self) -> Iterator[HeldTask]:
        with translated():
            for row in self._connection.execute(SQL["dump_tasks"]):
                # Place and ten columns, the record and its checksum, when it ended, its contents.
                yield held(task_of(row), row[0], row[11], *row[13:])

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        with translated():
            for kind, read, _ in _TABLES:
                for believed in dump.believed(kind, self._connection.execute(read)):
                    yield kind, believed


class NewSqliteYard(SqliteYard):
    """One that is written: within one transaction, into a file that has no name yet."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(connection)
        self._writers = {kind.name: (write, checksum_of(kind)) for kind, _, write in _TABLES}
        self.is_whole = False

    def begin(self, identity: Identity) -> None:
        crc = checksum(b"", identity.cluster_id, identity.epoch)
        self._connection.execute(SQL["restore_identity"], (identity.cluster_id, identity.epoch, crc))

    def take_tasks(self, tasks: list[HeldTask]) -> None:
        connection = self._connection
        hot, history, archive = ([task for task in tasks if task.place == place] for place in range(3))
        with translated():
            connection.executemany(SQL["restore_hot"], (_row_of(task) for task in hot))
            connection.executemany(SQL["restore_history"], (_ended_row_of(task) for task in history))
            connection.executemany(SQL["restore_archive"], (_ended_row_of(task) for task in archive))
            bodies = ((task.id, task.body, crc32(task.body)) for task in tasks)
            connection.executemany(SQL["restore_body"], bodies)
            outcomes = ((task.id, task.outcome, crc32(task.outcome)) for task in tasks if task.outcome is not None)
            connection.executemany(SQL["restore_outcome"], outcomes)

    def take(self, kind: Kind, rows: list[Row]) -> None:
        write, checksum_in = self._writers[kind.name]
        with translated():
            self._connection.executemany(write, ((*row, checksum_in(row)) for row in rows))

    def commit(self) -> None:
        with translated():
            self._connection.execute("COMMIT")
            # As a hub leaves it.
            self._connection.pragma("journal_mode", "wal")
        self.is_whole = True


def _row_of(task: HeldTask) -> Row:
    return (*task.columns, task.record, crc32(task.record))


def _ended_row_of(task: HeldTask) -> Row:
    return (*_row_of(task), task.completed_at, task.key)


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
def made(file: Path) -> Iterator[NewSqliteYard]:
    """A new file. If it was not committed, there is none."""
    checks.refuse_old_sqlite(apsw.sqlite_lib_version())
    checks.refuse_network_file_system(file.parent, mounts=checks.mounts_of_this_machine())
    with _locked(file):
        if os.path.lexists(file):
            raise StoreRefused(f"{file} exists, and nothing is copied over a yard. Name a new directory.")
        partial = file.with_name(f".{file.name}.copy")
        _remove(partial)
        try:
            # For its owner only, from the first instant.
            os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = apsw.Connection(str(partial))
            try:
                new = _begun(connection)
                yield new
            finally:
                connection.close()
            if new.is_whole:
                _give_name(partial, file)
        finally:
            _remove(partial)


def _begun(connection: apsw.Connection) -> NewSqliteYard:
    with translated():
        connection.pragma("page_size", PAGE_BYTES)
        # It has no name, so a crash makes it waste anyway: it is synced once, at the end.
        connection.pragma("journal_mode", "memory")
        connection.pragma("synchronous", "OFF")
        migrate(connection)
        connection.execute("BEGIN IMMEDIATE")
    return NewSqliteYard(connection)


def _give_name(partial: Path, file: Path) -> None:
    descriptor = os.open(partial, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    partial.rename(file)
    sync_directory(file.parent)


def _remove(partial: Path) -> None:
    for suffix in BESIDE:
        partial.with_name(f"{partial.name}{suffix}").unlink(missing_ok=True)


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

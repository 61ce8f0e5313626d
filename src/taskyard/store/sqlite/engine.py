"""The SQLite engine: one file, one connection that writes and checkpoints, readers that only read.

A commit is durable when `write` returns: WAL with `synchronous=FULL` syncs the log at every commit. What
SQLite would do by itself at some commit, copying the log back into the file, is done here instead,
because its automatic checkpoint ignores errors; an fsync that failed and was ignored is how acknowledged
work gets lost. It happens between commits (`tend`), where nobody waits for it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final, Self

import apsw
from msgspec.structs import replace

from taskyard.core.changes import Batch
from taskyard.files.private import close_to_others, open_private
from taskyard.store.new_file import SQLITE_SUFFIXES, sync_directory
from taskyard.store.port import Figures, Identity, Image, Reader, StoreBroken, StoreRefused
from taskyard.store.records import checksum
from taskyard.store.rewind import Sighting
from taskyard.store.sqlite import checks
from taskyard.store.sqlite.faults import BREAKING, PASSING, translated
from taskyard.store.sqlite.image import begin_epoch, load_image
from taskyard.store.sqlite.migrate import migrate, missing_from_schema, version_of
from taskyard.store.sqlite.reader import SqliteReader
from taskyard.store.sqlite.rows import Steps, steps_of, write_rows
from taskyard.store.sqlite.statements import SQL

PAGE_BYTES: Final = 8192
# Measured (bench/ceiling.py): 10 % more lives a second than 4096; 16384 gains 5 % more in large batches and loses
# 15 % in small ones, where every commit writes whole pages to the log.
CACHE_KIB: Final = 32_768

LOG_PAGES: Final = 2_000
# 16 MiB of log before it is worth copying back: a page changed by many commits is copied once. More gained nothing.
UNTENDED_FACTOR: Final = 4
# Past this multiple `write` tends by itself: a hub that never does still does not fill its disk with log.
FORCED_FACTOR: Final = 16
# A reader that holds an old snapshot keeps the log from being begun anew. Past this multiple we wait for it.
BUSY_MS_MAX: Final = 2_000

CHECKED_WHOLE_BYTES_MAX: Final = 64 * 1024 * 1024
CHECKED_TABLES: Final = ("task", "user", "api_key", "daemon", "kept", "numbering", "identity", "commit_log", "takeover")


class SqliteStore:
    """`new_cluster_id` names a yard that this is the first to open; one that exists keeps its name.

    `log_pages` is how long the log grows between copies, `busy_ms` how long a lock of another program is waited for;
    `vfs` is for tests that own the disk.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        new_cluster_id: str,
        vfs: str | None = None,
        log_pages: int = LOG_PAGES,
        busy_ms: int = BUSY_MS_MAX,
    ) -> None:
        self._file = Path(path)
        self._new_cluster_id = new_cluster_id
        self._vfs = vfs
        self._lock: int | None = None
        self._open: apsw.Connection | None = None
        self._identity = Identity(cluster_id="", epoch=0, seq=0)
        self._log_pages_kept = log_pages
        self._busy_ms = busy_ms
        self._log_pages = 0

    def __enter__(self) -> Self:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _connection(self) -> apsw.Connection:
        assert self._open is not None, "the store is not open"
        return self._open

    def open(self, *, new_era: bool = False, seen: Sequence[Sighting] = ()) -> Identity:
        checks.refuse_old_sqlite(apsw.sqlite_lib_version())
        checks.refuse_network_file_system(self._file.parent, mounts=checks.mounts_of_this_machine())
        self._lock = checks.take_lock(self._file)
        try:
            checks.refuse_foreign_file(self._file)
            self._connect(new_era=new_era, seen=seen)
        except BaseException:  # whatever it was, the file is not in use
            self._release()
            raise
        return self._identity

    def _connect(self, *, new_era: bool, seen: Sequence[Sighting]) -> None:
        try:
            make_private(self._file)
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            self._open = connection = apsw.Connection(str(self._file), flags=flags, vfs=self._vfs)
            self._configure(connection)
            for suffix in SQLITE_SUFFIXES:
                # Those of an earlier version; SQLite gives a new log the mode of its database.
                close_to_others(self._file.with_name(f"{self._file.name}{suffix}"))
            migrate(connection)
            check_structure(connection)
            with connection:
                name = self._new_cluster_id
                self._identity = begin_epoch(connection, new_cluster_id=name, new_era=new_era, seen=seen)
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
        except (StoreBroken, apsw.CorruptError, apsw.NotADBError, apsw.FormatError, apsw.SQLError) as error:
            raise StoreRefused(
                f"{self._file} is damaged ({error}). Restore the last backup, or salvage what can be "
                "read with `sqlite3 FILE .recover`; keep a copy of the file and its -wal as they are."
            ) from error
        except (*PASSING, *BREAKING) as error:
            raise StoreRefused(
                f"{self._file} cannot be opened for writing ({error}). See that there is room on the disk, "
                "that the hub's user may write the file and its directory, and that no other program "
                "has it locked."
            ) from error

    def _configure(self, connection: apsw.Connection) -> None:
        # Until all checks have passed, closing must not copy the log: a refusal changes nothing.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.set_busy_timeout(self._busy_ms)
        if connection.readonly("main"):
            raise StoreRefused(f"{self._file} is read-only. Let the hub's user write it.")
        checks.refuse_foreign_database(self._file, connection)
        checks.refuse_newer_schema(self._file, version_of(connection))
        connection.pragma("page_size", PAGE_BYTES)
        mode = connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "FULL")
        if mode != "wal" or connection.pragma("synchronous") != 2:
            raise StoreRefused(f"{self._file} cannot be made durable here: no write-ahead log (mode is {mode}).")
        connection.pragma("cache_size", -CACHE_KIB)
        connection.pragma("journal_size_limit", UNTENDED_FACTOR * self._log_pages_kept * PAGE_BYTES)
        connection.pragma("temp_store", "MEMORY")
        connection.wal_autocheckpoint(0)
        connection.set_wal_hook(self._note_log_size)

    def _note_log_size(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK

    def load(self) -> Image:
        try:
            with translated():
                image = load_image(self._connection)
        except StoreBroken as error:
            raise StoreRefused(f"{self._file} cannot be trusted: {error}. Restore the last backup.") from error
        self._identity = image.identity
        return image

    def write(self, batch: Batch) -> None:
        self.writing(batch)()

    def writing(self, batch: Batch) -> Callable[[], None]:
        return partial(self._write, batch, steps_of(batch))

    def _write(self, batch: Batch, steps: Steps) -> None:
        connection, identity = self._connection, self._identity
        assert batch.seq == identity.seq + 1, "a batch follows the last commit"
        assert batch.epoch == identity.epoch, "a batch belongs to the epoch of its hub"
        with self._transaction():
            write_rows(connection, batch, steps)
        self._identity = replace(identity, seq=batch.seq, batch_id=batch.batch_id)
        if self._log_pages >= UNTENDED_FACTOR * self._log_pages_kept:
            self.tend()

    def probe(self) -> None:
        with self._transaction():
            self._connection.execute(SQL["touch_probe"])

    def keep_figures(self, figures: Sequence[Figures], *, kept: Mapping[int, tuple[int, int]]) -> None:
        with self._transaction():
            self._connection.executemany(
                SQL["upsert_figures"],
                [(one.step_s, one.at, one.record, checksum(one.record, one.step_s, one.at)) for one in figures],
            )
            self._connection.executemany(
                SQL["drop_figures"],
                [{"step": step_s, "first": first, "last": last} for step_s, (first, last) in kept.items()],
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        connection = self._connection
        with translated():
            try:
                connection.execute("BEGIN IMMEDIATE")
                yield
                connection.execute("COMMIT")
            except BaseException:
                # After some errors SQLite has rolled back already.
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def tend(self) -> None:
        """Copy the log back into the file, once there is enough of it to be worth two more syncs."""
        if self._log_pages < self._log_pages_kept:
            return
        forced = self._log_pages >= FORCED_FACTOR * self._log_pages_kept
        mode = apsw.SQLITE_CHECKPOINT_RESTART if forced else apsw.SQLITE_CHECKPOINT_PASSIVE
        with translated():
            try:
                pages, copied = self._connection.wal_checkpoint(mode=mode)
            except (apsw.FullError, apsw.BusyError, apsw.LockedError):
                # The commits are safe in the log; the next turn tries again.
                return
        if pages == copied:
            self._log_pages = 0

    def reader(self) -> Reader:
        return SqliteReader(self._file, vfs=self._vfs)

    def backup(self, path: str) -> None:
        """By a connection of its own: the writer goes on meanwhile, and the copy is of one commit."""
        target = Path(path)
        if target.exists():
            raise StoreRefused(f"{target} exists. Name a new file, so that no backup overwrites another.")
        partial = target.with_name(f"{target.name}.partial")
        partial.unlink(missing_ok=True)
        try:
            with translated():
                copy_database(self._file, partial, vfs=self._vfs)
            os.link(partial, target)
            sync_directory(target.parent)
        finally:
            partial.unlink(missing_ok=True)

    def close(self) -> None:
        self._release()

    def _release(self) -> None:
        connection, self._open = self._open, None
        lock, self._lock = self._lock, None
        try:
            if connection is not None:
                connection.close()
        finally:
            if lock is not None:
                os.close(lock)


def check_structure(connection: apsw.Connection) -> None:
    """Walk the trees of what a hub acts on, or of everything if that is quick; not of a long past."""
    changed = missing_from_schema(connection)
    if changed:
        raise apsw.CorruptError(f"the schema of {', '.join(changed)} is not what was written")
    size = connection.pragma("page_count") * PAGE_BYTES
    names = ("",) if size <= CHECKED_WHOLE_BYTES_MAX else CHECKED_TABLES
    for name in names:
        found = connection.pragma("integrity_check", name or 1)
        if found != "ok":
            raise apsw.CorruptError(str(found))


def make_private(file: Path) -> None:
    """Make a missing database file for its owner only; SQLite would go by the umask. What cannot be made it reports."""
    with suppress(OSError):
        os.close(open_private(file, os.O_RDWR | os.O_CREAT | os.O_EXCL))


def copy_database(source_file: Path, target_file: Path, *, vfs: str | None) -> None:
    make_private(target_file)
    source = apsw.Connection(str(source_file), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
    target = apsw.Connection(str(target_file))
    try:
        with target.backup("main", source, "main") as copy:
            copy.step(-1)
        # One file, without a log beside it, that can be moved about.
        target.pragma("journal_mode", "delete")
    finally:
        target.close()
        source.close()

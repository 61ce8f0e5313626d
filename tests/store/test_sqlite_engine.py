"""What only an engine with a file has: a log that is copied back, readers beside the writer, and backups."""

from pathlib import Path

import apsw
import msgspec
import pytest

from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable, TaskFilter
from taskyard.store.sqlite import SqliteStore
from taskyard.store.sqlite.engine import PAGE_BYTES, UNTENDED_FACTOR
from tests.support.records import Yard, a_batch, a_task, an_event
from tests.support.store_script import script, state_of

LOG_PAGES = 50


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "hub.db"


def test_a_commit_is_durable_and_the_log_is_on(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c"):
        beside = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        assert beside.pragma("journal_mode") == "wal"
        beside.close()


def log_bytes(file: Path) -> int:
    return file.with_name("hub.db-wal").stat().st_size


def test_the_log_does_not_grow_without_bound_while_readers_come_and_go(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c", log_pages=LOG_PAGES) as store:
        sizes = []
        for batch in script(store.load().identity, batches=120):
            reader = store.reader()
            reader.position()
            store.write(batch)
            store.tend()
            reader.tasks(TaskFilter(user_id=None))
            reader.close()
            sizes.append(log_bytes(file))
        assert max(sizes) <= 2 * LOG_PAGES * PAGE_BYTES


def test_a_store_that_is_never_tended_looks_after_its_log(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c", log_pages=LOG_PAGES) as store:
        sizes = []
        for batch in script(store.load().identity, batches=120):
            store.write(batch)
            sizes.append(log_bytes(file))
        assert max(sizes) <= 2 * UNTENDED_FACTOR * LOG_PAGES * PAGE_BYTES


def test_a_reader_that_holds_an_old_state_stops_neither_commits_nor_the_hub(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c", log_pages=5, busy_ms=1) as store:
        batches = script(store.load().identity, batches=60)
        store.write(next(batches))
        holder = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
        holder.execute("BEGIN")
        assert holder.execute("SELECT COUNT(*) FROM commit_log").get == 1
        for batch in batches:
            store.write(batch)
            store.tend()
        grown = log_bytes(file)
        assert holder.execute("SELECT COUNT(*) FROM commit_log").get == 1
        holder.close()

        # And once it lets go, the log is begun anew
        identity = store.load().identity
        for _ in range(20):
            store.tend()
            store.write(a_batch(identity, events=[an_event(a_task())]))
            identity = msgspec.structs.replace(identity, seq=identity.seq + 1)
        assert log_bytes(file) <= grown


def test_a_reader_sees_each_commit_once_it_is_made(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c") as store:
        yard = Yard.of(store)
        for n in range(1, 4):
            yard.has(a_task())
            assert yard.reader.position() == n
        yard.reader.close()


def test_a_reader_cannot_write(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c") as store:
        reader = Yard.of(store).reader
        with pytest.raises(apsw.ReadOnlyError):
            reader._connection.execute("DELETE FROM identity")  # type: ignore[attr-defined]
        reader.close()


def test_a_closed_yard_is_one_file(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c") as store:
        yard = Yard.of(store)
        yard.has(a_task())
        yard.reader.close()
    assert sorted(path.name for path in file.parent.iterdir()) == ["hub.db", "hub.lock"]


def test_a_backup_taken_while_running_is_the_whole_yard(file: Path, tmp_path: Path) -> None:
    with SqliteStore(file, new_cluster_id="c") as store:
        batches = script(store.load().identity, batches=30)
        for _ in range(20):
            store.write(next(batches))
        (tmp_path / "copy").mkdir()
        copy = tmp_path / "copy" / "hub.db"
        store.backup(str(copy))
        state = state_of(store)
        for batch in batches:
            store.write(batch)
    assert [path.name for path in copy.parent.iterdir()] == ["hub.db"]
    with SqliteStore(copy, new_cluster_id="c_other") as restored:
        assert state_of(restored) == state


def test_a_backup_never_overwrites_a_file(file: Path, tmp_path: Path) -> None:
    there = tmp_path / "there.db"
    there.write_text("precious")
    with SqliteStore(file, new_cluster_id="c") as store, pytest.raises(StoreRefused, match="exists"):
        store.backup(str(there))
    assert there.read_text() == "precious"


def test_a_backup_to_nowhere_is_an_error_of_the_caller(file: Path, tmp_path: Path) -> None:
    with SqliteStore(file, new_cluster_id="c") as store, pytest.raises(StoreUnavailable):
        store.backup(str(tmp_path / "nowhere" / "copy.db"))


def test_a_task_without_its_body_is_a_broken_store(file: Path) -> None:
    with SqliteStore(file, new_cluster_id="c") as store:
        task = a_task()
        Yard.of(store).write(created=[task], bodies=[])
        reader = store.reader()
        with pytest.raises(StoreBroken, match="lost its body"):
            reader.find(user_id=None, task=task.id)
        reader.close()


def test_a_task_that_is_created_twice_fails_its_batch_whole_and_the_next_is_written(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "hub.db", new_cluster_id="c_test") as store:
        yard = Yard.of(store)
        task, other = a_task(), a_task()
        yard.has(task)
        with pytest.raises(apsw.ConstraintError):
            yard.write(created=[other, task])
        assert store.load().tasks == [task]
        yard.has(other)
        assert store.load().tasks == [task, other]
        yard.reader.close()

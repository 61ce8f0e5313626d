"""A full disk passes and changes nothing; an I/O error ends the process, and nothing acknowledged is lost."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import apsw
import pytest

from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable
from taskyard.store.sqlite import SqliteStore
from tests.support.store_disk import Cut, Delete, Disk, Operation, Sync, Wreck, a_disk, restore
from tests.support.store_script import State, expected_states, script, state_of

STEP = int(os.environ.get("DISK_FAULT_STEP", "7"))
BATCHES = 10
LOG_PAGES = 30


@pytest.fixture
def disk() -> Iterator[Disk]:
    with a_disk("faulty") as disk:
        yield disk


@pytest.fixture(scope="module")
def states() -> list[State]:
    return expected_states(batches=BATCHES)


def a_store(disk: Disk, directory: Path) -> SqliteStore:
    return SqliteStore(directory / "hub.db", new_cluster_id="c_test", vfs=disk.name, log_pages=LOG_PAGES)


def operations_of_a_life(tmp_path: Path) -> int:
    with a_disk("measured") as disk, a_store(disk, tmp_path) as store:
        for batch in script(store.load().identity, batches=BATCHES):
            store.write(batch)
            store.tend()
        return len(disk.operations)


def full_from(first: int) -> Callable[[int, Operation], Exception | None]:
    """No room from this operation on. Syncs and deletions need none."""
    return lambda number, operation: (
        apsw.FullError("no room") if number >= first and not isinstance(operation, Sync | Delete) else None
    )


@pytest.mark.slow
def test_a_full_disk_changes_nothing_and_passes(disk: Disk, states: list[State], tmp_path: Path) -> None:
    (tmp_path / "measure").mkdir()
    failed = 0
    for first in range(0, operations_of_a_life(tmp_path / "measure"), STEP):
        # Given a yard whose disk fills up at some write
        place = tmp_path / str(first)
        place.mkdir()
        disk.operations.clear()
        disk.fail(full_from(first))
        store = a_store(disk, place)
        try:
            identity = store.open()
        except StoreRefused:
            disk.heal()
            identity = store.open()
        for batch in script(identity, batches=BATCHES):
            # When a commit finds no room
            try:
                store.write(batch)
                store.tend()
            except StoreUnavailable:
                failed += 1
                # Then nothing changed, and a probe says how it stands
                assert state_of(store) == states[batch.seq - 1]
                with pytest.raises(StoreUnavailable):
                    store.probe()
                # And once there is room, the same commit succeeds
                disk.heal()
                store.probe()
                store.write(batch)
        disk.heal()
        assert state_of(store) == states[-1]
        store.close()
    assert failed > 10


def broken_at(broken: int) -> Callable[[int, Operation], Exception | None]:
    return lambda number, _operation: apsw.IOError("the disk is gone") if number == broken else None


@pytest.mark.slow
def test_an_io_error_breaks_the_store_and_loses_nothing(disk: Disk, states: list[State], tmp_path: Path) -> None:
    (tmp_path / "measure").mkdir()
    total = operations_of_a_life(tmp_path / "measure")
    broke = 0
    for broken in range(0, total, STEP):
        # Given a disk that fails one operation, and none of the later ones
        place = tmp_path / str(broken)
        place.mkdir()
        disk.operations.clear()
        disk.fail(broken_at(broken))
        store = a_store(disk, place)
        try:
            for batch in script(store.open(), batches=BATCHES):
                store.write(batch)
                disk.acknowledge(batch.seq)
                store.tend()
        except StoreRefused:
            continue
        except StoreBroken:
            broke += 1
        # When the process ends there, and the machine with it
        wreck = Wreck()
        for operation in disk.operations:
            wreck.apply(operation)
        restore(wreck.image(Cut.LOST, Random(broken)), place / "wreck")
        disk.heal()
        store.close()

        # Then every acknowledged commit is there
        with SqliteStore(place / "wreck" / "hub.db", new_cluster_id="c_test") as after:
            state = state_of(after)
            assert state.image.identity.seq >= wreck.acknowledged
            assert state == states[state.image.identity.seq]
    assert broke > 10


def test_a_sync_that_failed_while_the_log_was_copied_back_is_not_ignored(disk: Disk, tmp_path: Path) -> None:
    with a_store(disk, tmp_path) as store:
        for batch in script(store.load().identity, batches=BATCHES):
            store.write(batch)
        # Wherever the last copy fell among those: enough of a log again to be worth one.
        for _ in range(LOG_PAGES):
            store.probe()
        disk.fail(lambda _, operation: apsw.IOError("fsync") if operation == Sync("hub.db") else None)
        with pytest.raises(StoreBroken):
            store.tend()
        disk.heal()

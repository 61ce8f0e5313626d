"""The faults that a simulator asks of the store in memory."""

import pytest

from taskyard.store.memory import MemoryStore
from taskyard.store.port import StoreBroken, StoreRefused, StoreUnavailable
from tests.support.records import Yard, a_batch, a_task


def test_a_crash_loses_nothing_that_was_committed() -> None:
    store = MemoryStore()
    yard = Yard(store)
    task = a_task()
    yard.has(task)
    store.crash()
    assert store.open().epoch == 2
    assert store.load().tasks == [task]


@pytest.mark.parametrize("fault", [StoreUnavailable("no room"), StoreBroken("gone")])
def test_a_commit_that_is_told_to_fail_changes_nothing_and_the_next_succeeds(fault: Exception) -> None:
    store = MemoryStore()
    yard = Yard(store)
    store.fail_next(fault)
    with pytest.raises(type(fault)):
        yard.has(a_task())
    assert store.load().tasks == []
    yard.has(a_task())


def test_a_commit_whose_answer_is_lost_happened_all_the_same() -> None:
    store = MemoryStore()
    identity = store.open()
    task = a_task()
    store.lose_next_answer()
    with pytest.raises(StoreUnavailable):
        store.write(a_batch(identity, created=[task]))
    assert store.load().identity.seq == 1
    assert store.load().tasks == [task]


def test_a_crash_forgets_the_faults_that_were_asked_for() -> None:
    store = MemoryStore()
    Yard(store)
    store.fail_next(StoreUnavailable("no room"))
    store.lose_next_answer()
    store.crash()
    Yard(store).has(a_task())


def test_a_probe_meets_the_faults_too() -> None:
    store = MemoryStore()
    Yard(store)
    store.fail_next(StoreUnavailable("no room"))
    with pytest.raises(StoreUnavailable):
        store.probe()
    store.probe()


def test_memory_has_no_file_to_copy(tmp_path: object) -> None:
    with pytest.raises(StoreRefused):
        MemoryStore().backup(f"{tmp_path}/copy")

"""What a hub goes back to its store for."""

from itertools import pairwise

from taskyard.core.changes import Batch, Event
from taskyard.hub import revisit
from taskyard.hub.revisit import events_between, newest_id
from taskyard.store.memory import MemoryStore
from taskyard.store.port import Identity
from taskyard.vocabulary import EventName
from tests.support.records import a_body, a_row, a_task, ended


def a_store(*counts: int) -> MemoryStore:
    """One commit per number, with that many events."""
    store = MemoryStore(new_cluster_id="c_test")
    epoch = store.open().epoch
    for seq, count in enumerate(counts, 1):
        events = [Event(EventName.TASK_CREATED, seq, data={"n": n}) for n in range(count)]
        store.write(Batch(seq, epoch, f"b_{seq}", seq, events=events, archive=(0, 0)))
    return store


def places(store: MemoryStore, here: int, there: int) -> list[tuple[int, int]]:
    found = events_between(Identity("c_test", 1, here), there, store.reader())
    return [(numbered.seq, numbered.index) for numbered in found]


def test_nothing_is_between_a_place_and_itself() -> None:
    assert places(a_store(2, 2), 2, 2) == []


def test_what_came_after_is_found_in_order() -> None:
    assert places(a_store(2, 1, 2), 1, 3) == [(2, 0), (3, 0), (3, 1)]
    assert places(a_store(2), 0, 1) == [(1, 0), (1, 1)]
    assert places(a_store(2, 0), 1, 2) == []


def test_more_than_a_page_is_found_whole() -> None:
    count = revisit.EVENTS_PER_PAGE * 2
    found = places(a_store(1, count), 1, 2)
    assert len(found) == count
    assert all(one < other for one, other in pairwise(found))


def test_the_newest_task_is_found_whether_it_has_ended_or_not() -> None:
    store = a_store()
    assert newest_id(store.reader()) is None
    first, second = a_task(), a_task()
    tasks = (first, second)
    store.write(Batch(1, 1, "b_1", 1, created=[a_row(t) for t in tasks], bodies=[a_body(t) for t in tasks]))
    store.write(Batch(2, 1, "b_2", 2, ended=[a_row(ended(second))]))
    assert newest_id(store.reader()) == second.id

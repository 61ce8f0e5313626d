"""Searching for a text among very many tasks: in pieces, none of which takes long, and none of which is missed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.core.task import Task
from taskyard.store.paging import cursor_of
from taskyard.store.port import TaskFilter
from taskyard.store.postgres import lists as postgres_lists
from taskyard.store.sqlite import lists as sqlite_lists
from tests.support.engines import Engine, opener
from tests.support.records import USER, Yard, a_task, ended

PIECE = 20


@pytest.fixture(params=[Engine.SQLITE, Engine.POSTGRES])
def yard(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    for lists in (sqlite_lists, postgres_lists):
        monkeypatch.setattr(lists, "SEARCHED_MAX", PIECE)
    store = opener(request.param, tmp_path)()
    yard = Yard(store)
    yield yard
    yard.reader.close()
    store.close()


def has_many(yard: Yard, count: int) -> list[Task]:
    """Half of them ended, newest first."""
    tasks = [a_task() if n % 2 else ended(a_task()) for n in range(count)]
    yard.has(*tasks)
    return tasks[::-1]


@pytest.mark.parametrize("user_id", [USER, None])
def test_a_search_ends_after_so_many_tasks_wherever_they_lie(yard: Yard, user_id: str | None) -> None:
    tasks = has_many(yard, 2 * PIECE + 5)
    stored = {one.task.id: one for one in yard.reader.tasks(TaskFilter(user_id=user_id, limit=500))}
    ends, before = [], None
    while (end := yard.reader.search_end(user_id=user_id, archived=False, before=before)) is not None:
        ends.append(end)
        before = end
    meant = [cursor_of(stored[tasks[n - 1].id], user_id=user_id) for n in (PIECE, 2 * PIECE)]
    assert ends == meant


@pytest.mark.parametrize("user_id", [USER, None])
def test_the_pieces_of_a_search_are_all_of_it(yard: Yard, user_id: str | None) -> None:
    tasks = has_many(yard, 2 * PIECE + 5)
    found, before = [], None
    while True:
        end = yard.reader.search_end(user_id=user_id, archived=False, before=before)
        query = TaskFilter(user_id=user_id, text="do", before=before, down_to=end, limit=500)
        piece = yard.reader.tasks(query)
        assert len(piece) <= PIECE
        found += [one.task.id for one in piece]
        if end is None:
            break
        before = end
    everything = yard.reader.tasks(TaskFilter(user_id=user_id, text="do", limit=500))
    assert found == [one.task.id for one in everything]
    assert len(found) == len(tasks)

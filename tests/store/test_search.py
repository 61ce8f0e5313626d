"""Searching for a text among very many tasks: in pieces, none of which takes long, and none of which is missed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from taskyard.core.task import Task
from taskyard.store.paging import cursor_of
from taskyard.store.port import TaskFilter
from taskyard.store.postgres import lists as postgres_lists
from taskyard.store.sqlite import lists as sqlite_lists
from taskyard.vocabulary import ENDED, Status
from tests.support.engines import Engine, opener
from tests.support.records import NOW, USER, Yard, a_task, ended

PIECE = 20


@pytest.fixture(params=[Engine.SQLITE, Engine.POSTGRES])
def yard(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Yard]:
    for lists in (sqlite_lists, postgres_lists):
        monkeypatch.setattr(lists, "SEARCHED_MAX", PIECE)
    monkeypatch.setattr(sqlite_lists, "SORTED_ROWS_MAX", PIECE)
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


def pieces_of(yard: Yard, query: TaskFilter) -> list[list[str]]:
    """The ids that each page of a search has, whatever it needs to look at."""
    pieces = []
    while True:
        end = yard.reader.search_end(query)
        found = yard.reader.tasks(replace(query, text="do", down_to=end, limit=500))
        pieces.append([one.task.id for one in found])
        if end is None:
            return pieces
        query = replace(query, before=end)


@pytest.mark.parametrize("user_id", [USER, None])
def test_a_search_ends_after_so_many_tasks_wherever_they_lie(yard: Yard, user_id: str | None) -> None:
    tasks = has_many(yard, 2 * PIECE + 5)
    stored = {one.task.id: one for one in yard.reader.tasks(TaskFilter(user_id=user_id, limit=500))}
    ends, query = [], TaskFilter(user_id=user_id)
    while (end := yard.reader.search_end(query)) is not None:
        ends.append(end)
        query = replace(query, before=end)
    meant = [cursor_of(stored[tasks[n - 1].id], user_id=user_id) for n in (PIECE, 2 * PIECE)]
    assert ends == meant


@pytest.mark.parametrize("user_id", [USER, None])
def test_the_pieces_of_a_search_are_all_of_it(yard: Yard, user_id: str | None) -> None:
    tasks = has_many(yard, 2 * PIECE + 5)
    pieces = pieces_of(yard, TaskFilter(user_id=user_id))
    assert [len(piece) for piece in pieces] == [PIECE, PIECE, 5]
    assert [id for piece in pieces for id in piece] == [task.id for task in tasks]


FEW = (Status.PENDING, Status.BLOCKED, Status.PERMANENTLY_FAILED)


@pytest.mark.parametrize("user_id", [USER, None])
@pytest.mark.parametrize("statuses", [(status,) for status in FEW] + [FEW])
def test_what_few_tasks_are_is_looked_for_in_pieces_where_there_are_many(
    yard: Yard, user_id: str | None, statuses: tuple[Status, ...]
) -> None:
    # Given many of each status, among others that are not meant
    kinds = (Status.QUEUED, *FEW)
    made = [(a_task(), kinds[n % len(kinds)]) for n in range(len(kinds) * (PIECE + 5))]
    tasks = [ended(task, status=status) if status in ENDED else replace(task, status=status) for task, status in made]
    yard.has(*tasks)

    # When they are searched
    pieces = pieces_of(yard, TaskFilter(user_id=user_id, statuses=statuses))

    # Then no piece is of more than is looked at in one go, and together they are all of it
    assert len(pieces) > 1
    assert max(map(len, pieces)) <= PIECE * len(statuses)
    found = [id for piece in pieces for id in piece]
    assert found == [task.id for task in reversed(tasks) if task.status in statuses]


@pytest.mark.parametrize("user_id", [USER, None])
def test_few_of_a_status_are_found_in_one_go_among_however_many_others(yard: Yard, user_id: str | None) -> None:
    blocked, dead = a_task(status=Status.BLOCKED), ended(a_task(), status=Status.PERMANENTLY_FAILED)
    yard.has(blocked, dead)
    has_many(yard, 2 * PIECE)
    query = TaskFilter(user_id=user_id, statuses=(Status.BLOCKED, Status.PERMANENTLY_FAILED))
    assert pieces_of(yard, query) == [[dead.id, blocked.id]]


def test_the_archive_is_searched_in_pieces_whatever_status_is_meant(yard: Yard) -> None:
    yard.has(*(ended(a_task()) for _ in range(PIECE + 5)))
    yard.write(archive=(NOW + 1, 0))
    dead = (Status.PERMANENTLY_FAILED,)
    assert pieces_of(yard, TaskFilter(user_id=USER, archived=True, statuses=dead)) == [[], []]


@pytest.mark.parametrize(
    "query", [TaskFilter(user_id=USER, correlation_id="c_1"), TaskFilter(user_id=USER, parent_id="t_1")]
)
def test_what_is_tied_together_is_searched_in_one_go(yard: Yard, query: TaskFilter) -> None:
    has_many(yard, PIECE + 5)
    assert yard.reader.search_end(query) is None

"""Lists of tasks: which index answers which filter, so that a page costs what it shows.

A list is one or more walks, each down an index in the order of the page and each cut at its length; their
rows are merged and cut again. Statuses decide the walks, because they say where tasks lie: what has ended is
never hot, and the few that run must not be looked for among the many that are queued.
"""

from collections.abc import Iterator
from typing import Any, Final

import apsw

from taskyard.store.paging import HISTORY, HOT, asked_of, is_broad, is_of_few, newest_end, places_of
from taskyard.store.port import TaskFilter
from taskyard.store.sqlite.image import json_of
from taskyard.store.sqlite.statements import SQL
from taskyard.store.sqlite.text import fetched
from taskyard.vocabulary import ENDED, Status

SORTED_ROWS_MAX: Final = 2_000
# Everybody's tasks of one status are sorted up to this many, about 2 ms; beyond, one in a hundred tasks or
# more has that status on any yard of 200,000, and walking down the ids meets a page of them soon.

SEARCHED_MAX: Final = 20_000
# Bodies that a search for a text looks through in one go: 25 to 40 ms.

_BY_ID: Final = SQL["list_by_id"]
_BY_NUMBER: Final = SQL["list_by_number"]

_Walk = tuple[str, dict[str, str | int | None]]


def list_rows(connection: apsw.Connection, query: TaskFilter) -> list[tuple[Any, ...]]:
    """One page of rows of `anywhere`, newest first."""
    asked = asked_of(query)
    walks = _walks(connection, query)
    rows = [row for statement, more in walks for row in fetched(connection, statement, {**asked, **more})]
    column = 1 if query.user_id is None else 3
    rows.sort(key=lambda row: row[column], reverse=True)
    return rows[: query.limit]


def search_end(connection: apsw.Connection, query: TaskFilter) -> str | None:
    """The cursor after `SEARCHED_MAX` more; of several walks, none goes further than that."""
    asked = {**asked_of(query), "passed": SEARCHED_MAX - 1}
    ends = [connection.execute(statement, {**asked, **more}).get for statement, more in _ends(connection, query)]
    return newest_end(ends, user_id=query.user_id)


def _ends(connection: apsw.Connection, query: TaskFilter) -> Iterator[_Walk]:
    """Statements that find where each walk of a search has passed enough."""
    plain = SQL["search_end_by_id"] if query.user_id is None else SQL["search_end_by_number"]
    if is_of_few(query):
        return
    if is_broad(query):
        yield plain, {**places_of(archived=query.archived)}
        return
    for status in dict.fromkeys(query.statuses):
        if status is Status.PERMANENTLY_FAILED:
            yield SQL["search_end_dead"], {}
        elif query.user_id is not None:
            yield SQL["search_end_status"], {"status": status}
        elif _have_many(connection, status):
            yield plain, {"place_min": HOT, "place_max": HOT}


def _walks(connection: apsw.Connection, query: TaskFilter) -> Iterator[_Walk]:
    """Statements to run, with what each asks besides the filter."""
    statuses = json_of(query.statuses) if query.statuses else None
    anywhere: dict[str, str | int | None] = {**places_of(archived=query.archived), "statuses": statuses}
    if query.correlation_id is not None:
        yield SQL["list_correlated"], anywhere
    elif query.parent_id is not None:
        yield SQL["list_children"], anywhere
    elif query.archived or not query.statuses:
        yield _plain(query), anywhere
    else:
        for status in dict.fromkeys(query.statuses):
            if status not in ENDED:
                yield _of_hot(connection, query, status)
        yield from _of_history(query)


def _plain(query: TaskFilter) -> str:
    return _BY_ID if query.user_id is None else _BY_NUMBER


def _of_hot(connection: apsw.Connection, query: TaskFilter, status: Status) -> _Walk:
    walk: _Walk = _plain(query), {"place_min": HOT, "place_max": HOT, "statuses": json_of([status])}
    if status is Status.QUEUED:
        # Of no index: it is what open tasks mostly are.
        return walk
    if query.user_id is not None:
        return SQL["list_status_by_number"], {"status": status}
    return walk if _have_many(connection, status) else (SQL["list_status_by_id"], {"status": status})


def _have_many(connection: apsw.Connection, status: Status) -> bool:
    counted = {"status": status, "count_max": SORTED_ROWS_MAX}
    return bool(connection.execute(SQL["count_status"], counted).get >= SORTED_ROWS_MAX)


def _of_history(query: TaskFilter) -> Iterator[_Walk]:
    """Dead letters have an index of their own; the others are what history mostly consists of."""
    if Status.PERMANENTLY_FAILED in query.statuses:
        yield SQL["list_dead"], {}
    others = [status for status in query.statuses if status in ENDED and status is not Status.PERMANENTLY_FAILED]
    if others:
        yield _plain(query), {"place_min": HISTORY, "place_max": HISTORY, "statuses": json_of(others)}

"""Lists of tasks: which index answers which filter, so that a page costs what it shows.

A list is one or two walks, each down an index in the order of the page and each cut at its length; their rows are
merged and cut again. Dead letters have an index of their own. No index is on the status of hot tasks, because every
change of a status would have to write it: those that run are looked for among all that are hot. Of 200,000 that takes
40 ms if none of the newest fits, which is what a person who looks at a list can wait for, and no decision ever does.
"""

import re
from collections.abc import Iterator
from typing import Final

from taskyard.store.paging import HISTORY, HOT, asked_of, is_broad, is_of_few, newest_end, places_of
from taskyard.store.port import TaskFilter
from taskyard.store.postgres.arrays import words
from taskyard.store.postgres.session import Row, Session, Value
from taskyard.store.postgres.statements import SQL, Statement
from taskyard.vocabulary import ENDED, Status

SEARCHED_MAX: Final = 10_000
# Bodies that a search for a text looks through in one go: 25 to 40 ms.

_PLAIN: Final = re.compile(r"[ \w!#$%()*+,.:;=?@\[\]^`{|}~-]+", re.ASCII)
"""Characters that no encoder of JSON writes otherwise."""

_BY_ID: Final = SQL["list_by_id"]
_BY_NUMBER: Final = SQL["list_by_number"]

_Walk = tuple[Statement, dict[str, Value]]


def list_rows(session: Session, query: TaskFilter) -> list[Row]:
    """One page of rows of `anywhere`, newest first."""
    asked: dict[str, Value] = {**asked_of(query), "raw": None}
    if query.text is not None:
        # A text column holds no U+0000; `said` has it as this.
        asked["text"] = pattern = str(asked["text"]).replace("\0", "\x1a")
        # What stands in a body as it is said can be sought there before anybody reads the body, which takes long.
        asked["raw"] = pattern.lower() if _PLAIN.fullmatch(query.text) else None
    rows = [row for statement, more in _walks(query) for row in session.rows(statement, {**asked, **more})]
    column = 1 if query.user_id is None else 3
    rows.sort(key=lambda row: row[column], reverse=True)
    return rows[: query.limit]


def search_end(session: Session, query: TaskFilter) -> str | None:
    """The cursor after `SEARCHED_MAX` more; of several walks, none goes further than that."""
    asked: dict[str, Value] = {**asked_of(query), "passed": SEARCHED_MAX - 1}
    found = [session.rows(statement, {**asked, **more}) for statement, more in _ends(query)]
    return newest_end((rows[0][0] if rows else None for rows in found), user_id=query.user_id)


def _ends(query: TaskFilter) -> Iterator[_Walk]:
    """Statements that find where each walk of a search has passed enough."""
    of_all = query.user_id is None
    if is_of_few(query):
        return
    if is_broad(query):
        yield SQL["search_end_by_id" if of_all else "search_end_by_number"], {**places_of(archived=query.archived)}
        return
    if Status.PERMANENTLY_FAILED in query.statuses:
        yield SQL["search_end_dead"], {}
    hot = [status for status in query.statuses if status not in ENDED]
    if hot:
        yield SQL["search_end_hot_by_id" if of_all else "search_end_hot_by_number"], {"statuses": words(hot)}


def _walks(query: TaskFilter) -> Iterator[_Walk]:
    """Statements to run, with what each asks besides the filter."""
    if query.correlation_id is not None:
        yield SQL["list_correlated"], _anywhere(query)
    elif query.parent_id is not None:
        yield SQL["list_children"], _anywhere(query)
    elif query.archived or not query.statuses:
        yield _plain(query), _anywhere(query)
    else:
        yield from _by_status(query)


def _by_status(query: TaskFilter) -> Iterator[_Walk]:
    """Statuses say where tasks lie: what has ended is never hot."""
    if Status.PERMANENTLY_FAILED in query.statuses:
        yield SQL["list_dead"], {}
    hot = [status for status in query.statuses if status not in ENDED]
    others = [status for status in query.statuses if status in ENDED and status is not Status.PERMANENTLY_FAILED]
    if hot or others:
        places = {"place_min": HOT if hot else HISTORY, "place_max": HISTORY if others else HOT}
        yield _plain(query), {**places, "statuses": words([*hot, *others])}


def _anywhere(query: TaskFilter) -> dict[str, Value]:
    return {**places_of(archived=query.archived), "statuses": words(query.statuses) if query.statuses else None}


def _plain(query: TaskFilter) -> Statement:
    return _BY_ID if query.user_id is None else _BY_NUMBER

"""Where a page of a list ends, and how people name tasks. Every engine pages and reads refs alike.

One person's list goes by task number and everybody's by id, because each is the order of a unique index:
a page after a cursor then costs as much as the first one. The cursor is text that callers hand back unread.
"""

import re
from collections.abc import Iterable
from typing import Final

from taskyard.store.port import BadCursor, StoredTask, TaskFilter
from taskyard.vocabulary import FINAL, Status

HOT, HISTORY, ARCHIVE = 0, 1, 2
"""Where a task lies: the `place` of the view `anywhere`."""
NUMBER_MAX: Final = 2**63 - 1
# Above every id: ids are ASCII, so this sorts after all of them, byte by byte and letter by letter.
ID_MAX: Final = "\U0010ffff"

MANY: Final = frozenset({Status.QUEUED, *FINAL, Status.SKIPPED})
"""What most tasks are, waiting or ended."""
_REF: Final = re.compile(r"[Tt]-([0-9]{1,18})")


def cursor_of(stored: StoredTask, *, user_id: str | None) -> str:
    """The `before` of the page after this task, in a list of this user's tasks (None: everybody's)."""
    return stored.task.id if user_id is None else str(stored.task.number)


def before_of(cursor: str | None, *, user_id: str | None) -> tuple[int, str]:
    """The number and the id that all of the next page lie below."""
    if cursor is None:
        return NUMBER_MAX, ID_MAX
    if user_id is None:
        return NUMBER_MAX, cursor
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 18):
        raise BadCursor("this cursor is not from a list of one user's tasks")
    return int(cursor), ID_MAX


def last_of(cursor: str | None, *, user_id: str | None) -> tuple[int, str]:
    """The number and the id that none of the page lies below."""
    if cursor is None:
        return 0, ""
    number, id_ = before_of(cursor, user_id=user_id)
    return (0, id_) if user_id is None else (number, "")


def places_of(*, archived: bool) -> dict[str, int]:
    """Where a plain list looks: what is archived is listed by itself."""
    return {"place_min": ARCHIVE, "place_max": ARCHIVE} if archived else {"place_min": HOT, "place_max": HISTORY}


def is_broad(query: TaskFilter) -> bool:
    """Whether it may be about most tasks there are; the others are found by indexes of their own.

    In the archive no index knows the status, so there everything is looked through whichever is meant.
    """
    return query.archived or not query.statuses or not MANY.isdisjoint(query.statuses)


def is_of_few(query: TaskFilter) -> bool:
    """Whether it is about what somebody tied together: looked through as a whole."""
    return query.correlation_id is not None or query.parent_id is not None


def newest_end(ends: Iterable[int | str | None], *, user_id: str | None) -> str | None:
    """Of where several walks have passed enough, what comes first: none of them goes further."""
    found = [end for end in ends if end is not None]
    if user_id is None:
        return max(map(str, found), default=None)
    return str(max(map(int, found))) if found else None


def number_of(ref: str) -> int | None:
    """The number that a ref like `T-001` names; None if it is not a ref."""
    found = _REF.fullmatch(ref)
    return int(found[1]) if found else None


def asked_of(query: TaskFilter) -> dict[str, str | int | None]:
    """What a list's statement is told of its query, whichever index it walks."""
    before_number, before_id = before_of(query.before, user_id=query.user_id)
    last_number, last_id = last_of(query.down_to, user_id=query.user_id)
    return {
        "user_id": query.user_id,
        "before_number": before_number,
        "before_id": before_id,
        "last_number": last_number,
        "last_id": last_id,
        "queue": query.queue,
        "type": query.type,
        "source": query.source,
        "level": query.level,
        "schedule_id": query.schedule_id,
        "correlation_id": query.correlation_id,
        "parent_id": query.parent_id,
        "text": None if query.text is None else _pattern_of(query.text),
        "limit": query.limit,
    }


def _pattern_of(text: str) -> str:
    """A LIKE pattern that finds exactly this text anywhere."""
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"

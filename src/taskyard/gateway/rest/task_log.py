"""What a task's attempts wrote: a page at a time, and from where somebody stopped reading."""

import re
from typing import Annotated, Final

from msgspec import Meta

from taskyard.gateway.call import Call, Empty, OfUser, Reply
from taskyard.gateway.pages import bad_cursor, cursor_at, link_to_next, place_of
from taskyard.gateway.rest.tasks import find
from taskyard.store.port import LogPiece
from taskyard.wire.fields import Name, instant_of
from taskyard.wire.tasks import LogAnswer

PAGE_BYTES: Final = 1024 * 1024
# A fifth of what one attempt may write. No answer is much longer, however many attempts there were.
PLACE: Final = re.compile(r"([0-9]{1,10})-([0-9]{1,19})", re.ASCII)
NUMBER_MAX: Final = 2**63 - 1


class LogQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    attempt: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    cursor: Name | None = None
    """Of the last piece that one has: those after it."""


async def task_log(call: Call[LogQuery], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    task_id, attempt, after = stored.task.id, call.query.attempt, _after(call.query.cursor)
    pieces = await call.hub.read(
        lambda reader: reader.log(task_id=task_id, attempt=attempt, after=after, bytes_max=PAGE_BYTES)
    )
    answers = [LogAnswer(one.attempt, instant_of(one.at), one.text, cursor_at(_place(one))) for one in pieces]
    is_full = sum(len(one.text.encode()) for one in pieces) >= PAGE_BYTES
    return Reply(answers, headers=link_to_next(call.path, call.query, _place(pieces[-1])) if is_full else [])


def _place(piece: LogPiece) -> str:
    return f"{piece.attempt}-{piece.n}"


def _after(cursor: str | None) -> tuple[int, int]:
    """The attempt of the piece that a cursor is of, and its number; without one, where a log begins."""
    place = place_of(cursor)
    if place is None:
        return 0, 0
    found = PLACE.fullmatch(place)
    if found is None or int(found[2]) > NUMBER_MAX:
        raise bad_cursor()
    return int(found[1]), int(found[2])

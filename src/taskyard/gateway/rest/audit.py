"""The audit trail: what admins and reviewers did. Verdicts on dead letters are entries of it."""

import datetime as calendar
from datetime import UTC, datetime, time, timedelta
from typing import Final

import msgspec

from taskyard.core.changes import AuditRecord
from taskyard.gateway.call import Call, Empty, OfUser, Reply
from taskyard.gateway.pages import bad_cursor, link_to_next, place_of
from taskyard.gateway.rest.tasks import find
from taskyard.store.port import Reader
from taskyard.wire.fields import PAGE, Limit, Name, instant_of, instant_or_none, ms_of
from taskyard.wire.people import AuditAnswer

REVIEWS_MAX: Final = 500
VERDICT: Final = "dead_letter."
CHUNK: Final = 500
READ_MAX: Final = 20_000
"""Entries of one day that are looked through for verdicts."""


class AuditQuery(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    subject: Name | None = None
    limit: Limit = PAGE
    cursor: Name | None = None


class DayQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    date: calendar.date | None = None
    """In UTC; today if left out."""


async def audit(call: Call[AuditQuery], _body: Empty) -> Reply:
    query = call.query
    before = _number_of(query.cursor)
    found = await call.hub.read(
        lambda reader: reader.audit(subject=query.subject, limit=query.limit + 1, before=before)
    )
    page = found[: query.limit]
    headers = link_to_next(call.path, query, str(page[-1][0])) if len(found) > query.limit else []
    return Reply([audit_answer(record, by=_name_of(call, record.actor)) for _, record in page], headers=headers)


def _name_of(call: Call[AuditQuery], actor: str) -> str:
    """Of a user, or of a user and the key that they used; whoever is neither, or is gone, as they were written down."""
    kind, _, id = actor.partition(":")
    directory = call.hub.directory
    key = directory.key(id) if kind == "key" else None
    user = directory.user(id if key is None else key.user_id)
    if user is None:
        return actor
    return user.name if key is None else f"{user.name} (key {key.name})"


def _number_of(cursor: str | None) -> int | None:
    place = place_of(cursor)
    if place is not None and not (place.isdecimal() and place.isascii() and len(place) < 19):
        raise bad_cursor()
    return None if place is None else int(place)


async def reviews(call: Call[OfUser], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    task_id = stored.task.id
    found = await call.hub.read(lambda reader: reader.audit(subject=task_id, limit=REVIEWS_MAX, before=None))
    return Reply([audit_answer(record) for _, record in found if record.action.startswith(VERDICT)])


async def reviews_of_day(call: Call[DayQuery], _body: Empty) -> Reply:
    """Of one's own dead letters, newest first."""
    today = instant_of(call.hub.now_ms()).date()
    midnight = datetime.combine(call.query.date or today, time(), UTC)
    begin, end = ms_of(midnight), ms_of(midnight + timedelta(days=1))
    user_id = call.users(call.query.user)
    found = await call.hub.read(lambda reader: _reviews_between(reader, user_id, begin, end))
    return Reply([audit_answer(record) for record in found])


def _reviews_between(reader: Reader, user_id: str | None, begin: int, end: int) -> list[AuditRecord]:
    found: list[AuditRecord] = []
    before, left = _first_at(reader, end), READ_MAX
    while left > 0 and len(found) < REVIEWS_MAX:
        entries = reader.audit(subject=None, limit=CHUNK, before=before)
        for _, record in entries:
            if record.at < begin:
                return found
            if record.action.startswith(VERDICT) and _is_of(reader, user_id, record.subject):
                found.append(record)
        if len(entries) < CHUNK:
            break
        before, left = entries[-1][0], left - CHUNK
    return found[:REVIEWS_MAX]


def _first_at(reader: Reader, at: int) -> int:
    """The number of the first entry that is not older: entries are numbered as they were made."""
    newest = reader.audit(subject=None, limit=1, before=None)
    low, high = 1, newest[0][0] + 1 if newest else 1
    while low < high:
        middle = (low + high) // 2
        entry = reader.audit(subject=None, limit=1, before=middle + 1)
        if entry and entry[0][1].at >= at:
            high = middle
        else:
            low = middle + 1
    return low


def _is_of(reader: Reader, user_id: str | None, task_id: str) -> bool:
    return user_id is None or reader.find(user_id=user_id, task=task_id) is not None


def audit_answer(record: AuditRecord, *, by: str | None = None) -> AuditAnswer:
    at, until = instant_of(record.at), instant_or_none(record.until)
    return AuditAnswer(
        at, record.actor, record.action, record.subject, record.old, record.new, by, until=until, to=record.to
    )

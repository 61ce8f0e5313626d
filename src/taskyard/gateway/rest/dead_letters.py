"""Dead letters: what they have in common, and a person's verdict on them.

A pattern is read off the newest dead letters, not kept: it is for the eyes of whoever reviews, and no
decision rests on it.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from taskyard.core.commands import ReviewTask
from taskyard.core.effects import Refused
from taskyard.core.task import Task
from taskyard.gateway.arrivals import BOOT_ELSEWHERE
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused, refuse_fields
from taskyard.gateway.pages import link_to_next, place_of
from taskyard.gateway.present import task_answer
from taskyard.gateway.rest.bulk import find_named
from taskyard.gateway.rest.tasks import act, find
from taskyard.store.paging import cursor_of
from taskyard.store.port import Reader, StoredTask
from taskyard.vocabulary import Refusal, Verdict
from taskyard.wire.fields import PAGE, Limit, Name, instant_of, ms_of
from taskyard.wire.people import PatternAnswer, PatternReview, PatternReviewAnswer, Review
from taskyard.wire.problems import FieldError
from taskyard.wire.tasks import Pattern

LOOKED_AT_MAX: Final = 1000
MESSAGE_CHARS_MAX: Final = 1000
# What a pattern goes by, and what is shown of a sample.
# Numbers, hexadecimal ids and quoted words differ between failures that are the same.
_PARTICULARS: Final = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+|'[^']*'|\"[^\"]*\"", re.IGNORECASE)


class DeadLetterQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    fingerprint: Name | None = None
    limit: Limit = PAGE
    cursor: Name | None = None


def fingerprint_of(stored: StoredTask) -> str:
    error = stored.task.error
    said = "" if error is None else f"{error.code}\n{_generally(error.message)}"
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _generally(message: str) -> str:
    return _PARTICULARS.sub("…", message[:MESSAGE_CHARS_MAX])


def patterns_of(letters: Sequence[StoredTask]) -> dict[str, Pattern]:
    return {fingerprint: _pattern(fingerprint, group) for fingerprint, group in _alike(letters).items()}


def _alike(letters: Sequence[StoredTask]) -> dict[str, list[StoredTask]]:
    alike: dict[str, list[StoredTask]] = {}
    for letter in letters:
        alike.setdefault(fingerprint_of(letter), []).append(letter)
    return alike


def _pattern(fingerprint: str, group: list[StoredTask]) -> Pattern:
    ends = [one.task.completed_at or one.task.created_at for one in group]
    # Whatever ran an imported task's tries is none of the daemons here.
    tries = [newest for one in group if (newest := one.task.newest) is not None]
    daemons = {None if one.boot_id == BOOT_ELSEWHERE else one.daemon_name for one in tries}
    return Pattern(
        fingerprint=fingerprint,
        same_error=len(group),
        same_daemon=daemons.pop() if len(daemons) == 1 else None,
        first_at=instant_of(min(ends)),
        last_at=instant_of(max(ends)),
    )


async def list_dead_letters(call: Call[DeadLetterQuery], _body: Empty) -> Reply:
    query = call.query
    user_id, before = call.users(query.user), place_of(query.cursor)
    newest = await call.hub.read(lambda reader: _newest(reader, user_id, None))
    patterns = patterns_of(newest)
    if before is not None:
        newest = await call.hub.read(lambda reader: _newest(reader, user_id, before))
    wanted = [one for one in newest if query.fingerprint in (None, fingerprint_of(one))]
    page = wanted[: query.limit]
    call.note_damaged(page)
    answers = []
    for one in page:
        answer = task_answer(one, in_list=True)
        fingerprint = fingerprint_of(one)
        answer.pattern = patterns.get(fingerprint) or _pattern(fingerprint, [one])
        answers.append(answer)
    headers = []
    if len(wanted) > query.limit:
        headers = link_to_next(call.path, query, cursor_of(page[-1], user_id=user_id))
    return Reply(answers, headers=headers)


async def list_patterns(call: Call[OfUser], _body: Empty) -> Reply:
    """Of the newest thousand, those that most have in common first."""
    user_id = call.users(call.query.user)
    letters = await call.hub.read(lambda reader: _newest(reader, user_id, None))
    answers = [_pattern_answer(fingerprint, group) for fingerprint, group in _alike(letters).items()]
    return Reply(sorted(answers, key=lambda one: one.count, reverse=True))


def _pattern_answer(fingerprint: str, group: list[StoredTask]) -> PatternAnswer:
    newest, common = group[0].task, _pattern(fingerprint, group)
    types = {one.task.kind.needs.type for one in group}
    return PatternAnswer(
        fingerprint=fingerprint,
        pattern="" if newest.error is None else _generally(newest.error.message),
        code=None if newest.error is None else newest.error.code,
        type=types.pop() if len(types) == 1 else None,
        count=common.same_error,
        first_at=common.first_at,
        last_at=common.last_at,
        same_daemon=common.same_daemon,
        sample_id=newest.id,
        sample_message=None if newest.error is None else newest.error.message[:MESSAGE_CHARS_MAX],
    )


def _newest(reader: Reader, user_id: str | None, before: str | None) -> list[StoredTask]:
    return reader.dead_letters(user_id=user_id, limit=LOOKED_AT_MAX, before=before)


async def review(call: Call[OfUser], body: Review) -> Reply:
    _check(body)
    stored = await find(call, call.query.user)
    return await act(call, _command(call, stored.task, body), stored)


async def review_pattern(call: Call[OfUser], body: PatternReview) -> Reply:
    _check(body)
    if (body.fingerprint is None) == (body.ids is None):
        message = "say either a fingerprint or ids"
        raise RequestRefused(Refusal.INVALID_INPUT, f"`ids`: {message}.", errors=(FieldError("ids", message),))
    found = await _named(call, body.ids) if body.ids is not None else await _of_pattern(call, body.fingerprint)
    reviewed: list[str] = []
    rejected = [name for name in dict.fromkeys(body.ids or ()) if name not in found]
    # One that has two names here is decided once.
    for letter in {letter.id: letter for letter in found.values()}.values():
        answer, _ = await call.hub.ask(_command(call, letter, body))
        (rejected if isinstance(answer, Refused) else reviewed).append(letter.id)
    return Reply(PatternReviewAnswer(reviewed, rejected))


async def _named(call: Call[OfUser], names: list[str]) -> dict[str, Task]:
    return await find_named(call, call.users(call.query.user), names)


async def _of_pattern(call: Call[OfUser], fingerprint: str | None) -> dict[str, Task]:
    user_id = call.users(call.query.user)
    letters = await call.hub.read(lambda reader: _newest(reader, user_id, None))
    return {letter.task.id: letter.task for letter in letters if fingerprint_of(letter) == fingerprint}


def _command(call: Call[OfUser], letter: Task, body: Review) -> ReviewTask:
    return ReviewTask(
        user_id=letter.user_id,
        task_id=letter.id,
        verdict=body.verdict,
        reason=body.reason,
        actor=call.principal.actor,
        until=None if body.until is None else ms_of(body.until),
        to=body.to,
    )


def _check(body: Review) -> None:
    """`wait` says until when, `escalate` to whom."""
    missing = {Verdict.WAIT: body.until, Verdict.ESCALATE: body.to}.get(body.verdict, "not needed") is None
    if missing:
        name = "until" if body.verdict is Verdict.WAIT else "to"
        raise refuse_fields([FieldError(name, f"is required with the verdict `{body.verdict}`")])

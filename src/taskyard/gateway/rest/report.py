"""`GET /report`: what happened since, in the words of whoever comes back in the morning.

It is read off the newest tasks and the live state, at most `LOOKED_AT_MAX` of them; nothing is kept for it.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, field

from taskyard.core.idle import Overview
from taskyard.core.task import Task
from taskyard.gateway.arrivals import BOOT_ELSEWHERE
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused
from taskyard.gateway.rest.dead_letters import fingerprint_of, patterns_of
from taskyard.gateway.rest.plans import HOUR_MS, hours_of
from taskyard.gateway.views import BreakerView
from taskyard.store.paging import cursor_of
from taskyard.store.port import Reader, StoredTask, TaskFilter
from taskyard.vocabulary import ENDED, HELD, BreakerState, Refusal, Status, ref_of
from taskyard.vocabulary.reasons import Reason
from taskyard.wire.fields import PAGE_MAX, Instant, Name, instant_of, ms_of
from taskyard.wire.problems import FieldError
from taskyard.wire.report import REPORT_S, DoneAnswer, FailedAnswer, NeedAnswer, ReportAnswer, WaitingAnswer
from taskyard.wire.tasks import Content, Outcome

LOOKED_AT_MAX: Final = 5000
# Of the newest tasks: ten pages, which a reader's thread turns in a fraction of a second.
LETTERS_MAX: Final = 1000
SHOWN_MAX: Final = 100
"""Of each list. How many there are is said beside it."""
AHEAD_MS: Final = 60_000
# So far a caller's clock may be ahead of the hub's.
REFS_MAX: Final = 10
FILES_MAX: Final = 50
TITLE_CHARS: Final = 120
STUCK: Final = frozenset({Reason.QUEUE_PAUSED, Reason.NO_DAEMON, Reason.NO_ELIGIBLE_DAEMON, Reason.USER_HOURS})
"""What ready tasks wait for that does not come by itself, or not soon."""
_content: Final = msgspec.json.Decoder(Content)
_outcome: Final = msgspec.json.Decoder(Outcome)


class ReportQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    since: Name | None = None
    """A time in ISO 8601, read by ourselves: where all is text, a number would pass for one."""


class Waits(Struct):
    reason: str
    refs: list[str] = field(default_factory=list)
    tasks: int = 0


class Gathered(Struct):
    """What the tasks tell."""

    letters: list[StoredTask]
    """All dead letters, whenever they failed."""
    done: list[DoneAnswer] = field(default_factory=list)
    failed: list[StoredTask] = field(default_factory=list)
    ended: dict[Status, int] = field(default_factory=dict)
    waits: dict[str, Waits] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    open: int = 0
    used_ms: int = 0
    truncated: bool = False


async def show(call: Call[ReportQuery], _body: Empty) -> Reply:
    user_id, until = call.user_id(call.query.user), call.hub.now_ms()
    since = until - REPORT_S * 1000 if call.query.since is None else _since(call.query.since, until)
    found = await call.hub.read(lambda reader: _gather(reader, user_id, since, until))
    overview, usage = await call.hub.overview(user_id), await call.hub.usage(user_id)
    user = call.hub.directory.user(user_id)
    return Reply(
        ReportAnswer(
            since=instant_of(since),
            until=instant_of(until),
            user=user_id if user is None else user.name,
            done=found.done,
            done_total=found.ended.get(Status.COMPLETED, 0),
            failed=_failures(found.failed)[:SHOWN_MAX],
            failed_total=found.ended.get(Status.PERMANENTLY_FAILED, 0),
            cancelled=found.ended.get(Status.CANCELLED, 0),
            skipped=found.ended.get(Status.SKIPPED, 0),
            stale=found.ended.get(Status.STALE, 0),
            running=overview.running,
            waiting=[*_held(overview), *map(_waiting, found.waits.values())][:SHOWN_MAX],
            waiting_total=found.open,
            hours=hours_of(found.used_ms),
            month_hours=hours_of(usage.used_ms),
            month_hours_limit=None if usage.limit_ms is None else usage.limit_ms / HOUR_MS,
            needs_person=_needs(found, overview, await call.hub.breakers(user_id)),
            truncated=found.truncated,
        )
    )


def _since(said: str, until: int) -> int:
    try:
        since = ms_of(msgspec.convert(said, Instant))
    except msgspec.ValidationError:
        raise _refused("is no time with a zone, as 2026-01-31T18:00:00Z") from None
    if since > until + AHEAD_MS:
        raise _refused("lies ahead; say when what is to be told began, as 2026-01-31T18:00:00Z")
    return min(since, until)


def _refused(message: str) -> RequestRefused:
    return RequestRefused(Refusal.INVALID_INPUT, f"`since` {message}.", errors=(FieldError("since", message),))


def _gather(reader: Reader, user_id: str, since: int, until: int) -> Gathered:
    """Page by page, so that no more than one of them is in memory."""
    letters = reader.dead_letters(user_id=user_id, limit=LETTERS_MAX, before=None)
    found, before = Gathered(letters), None
    for _ in range(LOOKED_AT_MAX // PAGE_MAX):
        page = reader.tasks(TaskFilter(user_id=user_id, before=before, limit=PAGE_MAX, shows_damaged=True))
        for stored in page:
            _take(found, stored, since, until)
        if len(page) < PAGE_MAX:
            return found
        before = cursor_of(page[-1], user_id=user_id)
    found.truncated = True
    return found


def _take(found: Gathered, stored: StoredTask, since: int, until: int) -> None:
    task = stored.task
    found.used_ms += _used_ms(task, since, until)
    if task.status not in ENDED:
        if task.status not in HELD:
            found.open += 1
            _take_waiting(found, task)
        return
    if task.completed_at is None or task.completed_at < since:
        return
    found.ended[task.status] = found.ended.get(task.status, 0) + 1
    if task.status is Status.PERMANENTLY_FAILED:
        found.failed.append(stored)
    elif task.status is Status.COMPLETED and len(found.done) < SHOWN_MAX:
        found.done.append(_done(stored, task.completed_at))


def _take_waiting(found: Gathered, task: Task) -> None:
    """What waits for something of its own. What is ready is told by what holds it back (`_held`)."""
    if task.status is Status.BLOCKED:
        found.blocked.append(ref_of(task.number))
        reason = "A task they depend on did not complete."
    elif task.status is Status.WAITING:
        reason = "Tasks they depend on have not ended yet."
    elif task.status is Status.PENDING:
        reason = "Their time has not come yet."
    else:
        return
    waits = found.waits.setdefault(reason, Waits(reason))
    waits.tasks += 1
    if len(waits.refs) < REFS_MAX:
        waits.refs.append(ref_of(task.number))


def _used_ms(task: Task, since: int, until: int) -> int:
    """What its tries ran within the period; those of before it was imported ran at others' cost."""
    tries = [one for one in task.attempts or () if one.boot_id != BOOT_ELSEWHERE]
    spans = ((one.started_at, one.ended_at or until) for one in tries if one.started_at is not None)
    return sum(max(0, min(end, until) - max(begin, since)) for begin, end in spans)


def _done(stored: StoredTask, completed_at: int) -> DoneAnswer:
    task, content = stored.task, _content.decode(stored.body)
    outcome = Outcome() if stored.outcome is None else _outcome.decode(stored.outcome)
    return DoneAnswer(
        ref=ref_of(task.number),
        id=task.id,
        title=_title(content),
        type=content.type,
        summary=task.summary,
        result_status=task.result_status,
        files_changed=(outcome.files_changed or [])[:FILES_MAX],
        completed_at=instant_of(completed_at),
        took_s=None if task.started_at is None else max(0, completed_at - task.started_at) / 1000,
    )


def _title(content: Content) -> str:
    text = " ".join((content.title or content.input).split())
    return text if len(text) <= TITLE_CHARS else f"{text[: TITLE_CHARS - 1]}…"


def _failures(letters: Sequence[StoredTask]) -> list[FailedAnswer]:
    """By pattern, the most frequent first."""
    alike: dict[str, list[StoredTask]] = {}
    for letter in letters:
        alike.setdefault(fingerprint_of(letter), []).append(letter)
    patterns = patterns_of(letters)
    failures = []
    for fingerprint, group in alike.items():
        error, pattern = group[0].task.error, patterns[fingerprint]
        failures.append(
            FailedAnswer(
                fingerprint=fingerprint,
                code="UNKNOWN" if error is None else error.code,
                message="" if error is None else error.message[:1000],
                tasks=len(group),
                refs=[ref_of(one.task.number) for one in group[:REFS_MAX]],
                same_daemon=pattern.same_daemon,
                last_at=pattern.last_at,
            )
        )
    return sorted(failures, key=lambda one: -one.tasks)


def _held(overview: Overview) -> list[WaitingAnswer]:
    return [
        WaitingAnswer(
            reason=group.cause.message, would_help=group.cause.would_help, tasks=group.tasks, refs=[group.example]
        )
        for group in overview.held
    ]


def _waiting(waits: Waits) -> WaitingAnswer:
    return WaitingAnswer(reason=waits.reason, would_help=None, tasks=waits.tasks, refs=waits.refs)


def _needs(found: Gathered, overview: Overview, breakers: Sequence[BreakerView]) -> list[NeedAnswer]:
    needs = [
        NeedAnswer(
            what=f"{one.tasks} failed for good: {one.code}: {one.message}",
            do=f"taskyard dlq retry --pattern {one.fingerprint}, or discard, after a look at {one.refs[0]}",
        )
        for one in _failures(found.letters)[:SHOWN_MAX]
    ]
    if found.blocked:
        what = f"{len(found.blocked)} blocked by what they depend on: {', '.join(found.blocked[:REFS_MAX])}"
        needs.append(NeedAnswer(what=what, do="retry or skip what they depend on, or cancel them"))
    needs += [
        NeedAnswer(what=f"{group.tasks} ready and stuck: {group.cause.message}", do=group.cause.would_help or "see why")
        for group in overview.held
        if group.cause.code in STUCK
    ]
    needs += [
        NeedAnswer(
            what=f"The breaker of {one.type} is {one.state.replace('_', '-')} after {one.failures} failures",
            do=f"taskyard breakers reset {one.type}, once the cause is gone",
        )
        for one in breakers
        if one.state is not BreakerState.CLOSED
    ]
    return needs

"""Reading tasks and acting on them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Final, TypeVar

from msgspec import Meta, Struct

from taskyard.core.commands import CancelTask, Command, RetryTask, SkipTask
from taskyard.core.effects import Done, Refused
from taskyard.core.lifecycle import UNHELD
from taskyard.core.priority import level_of
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused, refuse, task_not_found
from taskyard.gateway.pages import link_to_next, place_of
from taskyard.gateway.present import event_answer, task_answer
from taskyard.gateway.priority_scale import put_on_scale
from taskyard.gateway.translate import change_of
from taskyard.gateway.views import ProgressView
from taskyard.gateway.waiting import until_ended
from taskyard.store.paging import cursor_of
from taskyard.store.port import Reader, StoredTask, TaskFilter
from taskyard.vocabulary import ENDED, HELD, STATUS_ALIASES, Level, Refusal, SourceType, Status
from taskyard.wire.fields import NAME_CHARS_MAX, PAGE, REASON_CHARS_MAX, WAIT_S_MAX, Limit, Name
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import Change
from taskyard.wire.tasks import CancelAnswer, CountsAnswer

Q = TypeVar("Q")

OF_ITSELF: Final = "A task's token reads the sub-tasks of its task; the task itself was handed over with the token."

_LEVELS: Final = {level.value: level for level in Level}
_EXACT: Final = {status.value: (status,) for status in Status}
_STATUSES: Final = (
    _EXACT | STATUS_ALIASES | {Status.PENDING.value: tuple(status for status in Status if status in UNHELD)}
)


class TaskQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    status: Name | None = None
    """`pending` is what `queue-status` counts as pending: all that no daemon has."""
    exact: bool = False
    """Each word of `status` means that one status."""
    queue: Name | None = None
    type: Name | None = None
    source: SourceType | None = None
    priority: Name | None = None
    correlation_id: Name | None = None
    parent_task_id: Name | None = None
    schedule: Name | None = None
    q: Name | None = None
    archived: bool = False
    limit: Limit = PAGE
    cursor: Name | None = None


class ShowQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    wait_s: Annotated[float, Meta(ge=0, le=WAIT_S_MAX)] = 0


class ReasonQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    reason: Annotated[str, Meta(max_length=REASON_CHARS_MAX)] | None = None


class Shown(Struct):
    """A task with what its page needs besides."""

    stored: StoredTask
    parents: list[StoredTask]
    checkpoint: bytes | None


async def list_tasks(call: Call[TaskQuery], _body: Empty) -> Reply:
    query = call.query
    user_id = call.users(query.user)
    wanted = TaskFilter(
        user_id=user_id,
        statuses=_statuses(query.status, _EXACT if query.exact else _STATUSES),
        queue=query.queue,
        type=query.type,
        source=query.source or (None if query.schedule is None else SourceType.SCHEDULE),
        level=_level(query.priority),
        schedule_id=await _schedule_id(call, user_id, query.schedule),
        correlation_id=query.correlation_id,
        parent_id=query.parent_task_id,
        text=query.q,
        archived=query.archived,
        before=place_of(query.cursor),
        limit=query.limit + 1,
        shows_damaged=True,
    )
    found, after = await call.hub.read(partial(_list, wanted, query.limit))
    call.note_damaged(found)
    progress = await _progress(call, found)
    answers = [task_answer(one, progress=progress.get(one.task.id), in_list=True) for one in found]
    return Reply(answers, headers=[] if after is None else link_to_next(call.path, query, after))


async def _schedule_id(call: Call[Q], user_id: str | None, named: str | None) -> str | None:
    """Of a schedule that is named; what is not the name of one may be the id of one that is gone."""
    if named is None or user_id is None:
        return named
    view = await call.hub.schedule(user_id, named)
    return named if view is None else view.id


def _list(wanted: TaskFilter, limit: int, reader: Reader) -> tuple[list[StoredTask], str | None]:
    """A page, and the place of the next one; None: there is none.

    A search for a text or a schedule looks at so many tasks and no more, so that none keeps others waiting: its page
    may be short and still have a next one.
    """
    if wanted.text is not None or wanted.schedule_id is not None:
        wanted.down_to = reader.search_end(wanted)
    found = reader.tasks(wanted)
    if wanted.text is not None and wanted.before is None and limit > 1:
        meant = _meant(wanted, reader)
        if meant is not None:
            found = [meant, *(one for one in found if one.task.id != meant.task.id)]
    if len(found) > limit:
        return found[:limit], cursor_of(found[limit - 1], user_id=wanted.user_id)
    return found, wanted.down_to


def _meant(wanted: TaskFilter, reader: Reader) -> StoredTask | None:
    """The task whose id or ref is the very text that is sought, if it is one of those."""
    found = reader.find(user_id=wanted.user_id, task=wanted.text or "", shows_damaged=True)
    if found is None or found.archived is not wanted.archived:
        return None
    task = found.task
    asked = (
        (wanted.queue, task.kind.queue),
        (wanted.type, task.kind.needs.type),
        (wanted.source, task.kind.source),
        (wanted.level, task.level),
        (wanted.schedule_id, task.schedule_id),
        (wanted.correlation_id, task.correlation_id),
        (wanted.parent_id, task.parent_id),
    )
    fits = all(one is None or one == other for one, other in asked)
    return found if fits and (not wanted.statuses or task.status in wanted.statuses) else None


def _statuses(said: str | None, meanings: Mapping[str, tuple[Status, ...]]) -> tuple[Status, ...]:
    if said is None:
        return ()
    words = said.split(",")
    unknown = [word for word in words if word not in meanings]
    if unknown:
        raise _invalid("status", f"unknown: {', '.join(unknown)}; known are {', '.join(meanings)}")
    return tuple(dict.fromkeys(status for word in words for status in meanings[word]))


def _level(said: str | None) -> Level | None:
    if said is None or said in _LEVELS:
        return None if said is None else _LEVELS[said]
    if said.isdecimal() and said.isascii() and 1 <= int(said[:3]) <= 10:
        return level_of(int(said[:3]))
    raise _invalid("priority", f"expected one of {', '.join(_LEVELS)}, or 1 to 10")


def _invalid(path: str, message: str) -> RequestRefused:
    return RequestRefused(Refusal.INVALID_INPUT, f"`{path}`: {message}", errors=(FieldError(path, message),))


async def count(call: Call[OfUser], _body: Empty) -> Reply:
    user_id = call.users(call.query.user)
    counted = await call.door.counted.of(user_id)
    return Reply(CountsAnswer({status: counted.get(status, 0) for status in Status}, sum(counted.values())))


async def find(call: Call[Q], user_named: str | None) -> StoredTask:
    """The task a path names, if it is the caller's to see."""
    user_id = call.user_id(user_named)
    if len(call.id) > NAME_CHARS_MAX:
        raise task_not_found()
    stored = await call.hub.read(lambda reader: reader.find(user_id=user_id, task=call.id))
    if stored is None or stored.task.user_id != user_id:
        raise task_not_found()
    attempt = call.principal.attempt
    if attempt is not None and stored.task.id == attempt[0]:
        raise RequestRefused(Refusal.FORBIDDEN, OF_ITSELF)
    if attempt is not None and stored.task.parent_id != attempt[0]:
        raise task_not_found()
    return stored


async def show(call: Call[ShowQuery], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    if call.query.wait_s > 0 and stored.task.status not in ENDED:
        await until_ended(call, stored.task.id, call.query.wait_s)
    return await whole(call, stored.task.user_id, stored.task.id)


async def whole(call: Call[Q], user_id: str, task_id: str) -> Reply:
    shown = await call.hub.read(lambda reader: _look(reader, user_id, task_id))
    if shown is None:
        raise task_not_found()
    call.note_damaged(shown.parents)
    progress = await _progress(call, [shown.stored])
    return Reply(
        task_answer(
            shown.stored,
            progress=progress.get(task_id),
            parents=shown.parents,
            checkpoint=shown.checkpoint,
            forecast=await call.hub.forecast(task_id) if shown.stored.task.status is Status.QUEUED else None,
        )
    )


async def _progress(call: Call[Q], stored: Sequence[StoredTask]) -> dict[str, ProgressView]:
    """Of all of them in one question, and in none if no daemon holds one: only an attempt that runs has progress."""
    held = [one.task.id for one in stored if one.task.status in HELD]
    return await call.hub.progress(held) if held else {}


def _look(reader: Reader, user_id: str, task_id: str) -> Shown | None:
    stored = reader.find(user_id=user_id, task=task_id)
    if stored is None:
        return None
    ended = (one.id for one in stored.task.depends or () if one.outcome is not None)
    looked_up = (reader.find(user_id=user_id, task=one, shows_damaged=True) for one in ended)
    parents = [found for found in looked_up if found is not None]
    return Shown(stored, parents, reader.checkpoint(task_id) if stored.task.checkpoint else None)


async def cancel(call: Call[ReasonQuery], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    task = stored.task
    done, _ = await ask(
        call,
        CancelTask(user_id=task.user_id, task_id=task.id, reason=call.query.reason, actor=call.principal.actor),
    )
    return Reply(CancelAnswer(True, list(done.also)))


async def change(call: Call[OfUser], body: Change) -> Reply:
    put_on_scale(body, call.principal.priority_scale)
    stored = await find(call, call.query.user)
    command = change_of(
        body,
        user_id=stored.task.user_id,
        task_id=stored.task.id,
        ceiling=call.principal.max_priority,
        actor=call.principal.actor,
    )
    return await act(call, command, stored)


async def retry(call: Call[OfUser], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    task = stored.task
    command = RetryTask(user_id=task.user_id, task_id=task.id, actor=call.principal.actor)
    return await act(call, command, stored)


async def skip(call: Call[ReasonQuery], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    task = stored.task
    command = SkipTask(user_id=task.user_id, task_id=task.id, reason=call.query.reason, actor=call.principal.actor)
    return await act(call, command, stored)


async def ask(call: Call[Q], command: Command) -> tuple[Done, dict[str, StoredTask]]:
    answer, written = await call.hub.ask(command)
    if isinstance(answer, Refused):
        raise refuse(answer)
    assert isinstance(answer, Done), "only a submission is answered otherwise"
    return answer, written


async def act(call: Call[Q], command: Command, stored: StoredTask) -> Reply:
    """Ask, and show the task as the commit left it."""
    await ask(call, command)
    return await whole(call, stored.task.user_id, stored.task.id)


async def task_events(call: Call[OfUser], _body: Empty) -> Reply:
    stored = await find(call, call.query.user)
    found = await call.hub.read(lambda reader: reader.task_events(stored.task))
    return Reply([event_answer(one) for one in found])

"""The same for many tasks. Each is asked for as if it were the only one: what one is refused keeps no other from it."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Struct

from taskyard.core.cancel import objection_to
from taskyard.core.commands import CancelTask, Command, RetryTask, SkipTask
from taskyard.core.effects import Done, Refused
from taskyard.core.revival import objection_to_change, objection_to_retry
from taskyard.core.task import Task
from taskyard.gateway.call import Call, OfUser, Reply, RequestRefused, task_not_found
from taskyard.gateway.port import Unavailable
from taskyard.gateway.priority_scale import put_on_scale
from taskyard.gateway.translate import change_of
from taskyard.store.paging import number_of
from taskyard.store.port import Reader
from taskyard.vocabulary import Refusal, Status
from taskyard.wire.bulk import BULK_ALSO_MAX, BulkAct, BulkAction, BulkAnswer, BulkCounts, BulkResult
from taskyard.wire.problems import PROBLEMS, FieldError
from taskyard.wire.submission import Change

AT_ONCE: Final = 16
# So many are under way for one caller; a commit takes up what is at hand.

OBJECTIONS: Final[Mapping[BulkAction, Callable[[Task], Refused | None]]] = {
    "cancel": lambda task: objection_to(task, Status.CANCELLED),
    "skip": lambda task: objection_to(task, Status.SKIPPED),
    "retry": objection_to_retry,
    "reprioritise": objection_to_change,
}


class Told(Struct):
    """What one of them was answered."""

    code: Refusal | None = None
    detail: str | None = None
    also: tuple[str, ...] = ()


async def act(call: Call[OfUser], body: BulkAct) -> Reply:
    _check(body)
    put_on_scale(body, call.principal.priority_scale)
    user_id = call.users(call.query.user)
    names = list(dict.fromkeys(body.ids))
    found = await find_named(call, user_id, names)
    if body.preview:
        told = {name: _foreseen(body, task) for name, task in found.items()}
        allowed = [task.id for name, task in found.items() if told[name].code is None]
        also = await call.hub.heirs(allowed) if body.action == "cancel" and allowed else []
        return _reply(body, names, found, told, also)
    told = await _ask_all(call, body, found)
    also = list(dict.fromkeys(heir for one in told.values() for heir in one.also))
    now = await find_named(call, user_id, [task.id for task in found.values()])
    found = {name: now.get(task.id, task) for name, task in found.items()}
    return _reply(body, names, found, _with_heirs(body, found, told, also), also)


def _check(body: BulkAct) -> None:
    if body.action == "reprioritise" and body.priority is None:
        message = "is required to reprioritise"
        raise RequestRefused(Refusal.INVALID_INPUT, f"`priority` {message}.", errors=(FieldError("priority", message),))


async def find_named(call: Call[OfUser], user_id: str | None, names: list[str]) -> dict[str, Task]:
    """By the name that each was given and in that order, if it is the caller's to see."""
    refs = tuple(name for name in names if number_of(name) is not None) if user_id is not None else ()
    ids = tuple(name for name in names if name not in refs)

    def look(reader: Reader) -> dict[str, Task]:
        known = reader.known(user_id=user_id, ids=ids, refs=refs, keys=())
        named = ((name, known.tasks.get(known.refs.get(name, name))) for name in names)
        return {name: task for name, task in named if task is not None}

    return await call.hub.read(look)


def _foreseen(body: BulkAct, task: Task) -> Told:
    """By where it stands now. Whether another has taken its idempotency key, only a retry itself finds out."""
    objection = OBJECTIONS[body.action](task)
    return Told() if objection is None else Told(objection.code, objection.detail)


async def _ask_all(call: Call[OfUser], body: BulkAct, found: Mapping[str, Task]) -> dict[str, Told]:
    """In the order given, a bounded number at a time; one that has two names here is asked for once."""
    room = asyncio.Semaphore(AT_ONCE)
    tasks = {task.id: task for task in found.values()}

    async def ask(task: Task) -> Told:
        async with room:
            return await _ask(call, _command(call, body, task))

    answers = dict(zip(tasks, await asyncio.gather(*map(ask, tasks.values())), strict=True))
    return {name: answers[task.id] for name, task in found.items()}


async def _ask(call: Call[OfUser], command: Command) -> Told:
    try:
        answer, _ = await call.hub.ask(command)
    except Unavailable as unavailable:
        code = Refusal(unavailable.code)
        return Told(code, f"{PROBLEMS[code].title}; try again.")
    if isinstance(answer, Refused):
        return Told(answer.code, answer.detail)
    assert isinstance(answer, Done), "only a submission is answered otherwise"
    return Told(also=answer.also)


def _command(call: Call[OfUser], body: BulkAct, task: Task) -> Command:
    user_id, task_id, actor = task.user_id, task.id, call.principal.actor
    if body.action == "cancel":
        return CancelTask(user_id=user_id, task_id=task_id, reason=body.reason, actor=actor)
    if body.action == "skip":
        return SkipTask(user_id=user_id, task_id=task_id, reason=body.reason, actor=actor)
    if body.action == "retry":
        return RetryTask(user_id=user_id, task_id=task_id, actor=actor)
    assert body.priority is not None, "it was checked"
    change = Change(priority=body.priority)
    return change_of(change, user_id=user_id, task_id=task_id, ceiling=call.principal.max_priority, actor=actor)


def _with_heirs(
    body: BulkAct, found: Mapping[str, Task], told: Mapping[str, Told], also: list[str]
) -> Mapping[str, Told]:
    """Who asked to cancel a task and what depends on it has what they wanted, whichever of the two went first."""
    if body.action != "cancel":
        return told
    heirs = frozenset(also)
    return {name: Told() if found[name].id in heirs else one for name, one in told.items()}


def _reply(
    body: BulkAct, names: list[str], found: Mapping[str, Task], told: Mapping[str, Told], also: list[str]
) -> Reply:
    results = [_result(name, found.get(name), told.get(name)) for name in names]
    chosen = {task.id for task in found.values()}
    others = [heir for heir in also if heir not in chosen]
    done = sum(result.ok for result in results)
    return Reply(
        BulkAnswer(
            preview=body.preview,
            results=results,
            also=others[:BULK_ALSO_MAX],
            counts=BulkCounts(ok=done, refused=len(results) - done, also=len(others)),
        )
    )


def _result(name: str, task: Task | None, told: Told | None) -> BulkResult:
    if task is None or told is None:
        refused = task_not_found()
        return BulkResult(
            id=name,
            task_id=None,
            ref=None,
            ok=False,
            status=None,
            priority=None,
            code=refused.code,
            detail=refused.detail,
        )
    return BulkResult(
        id=name,
        task_id=task.id,
        ref=task.ref,
        ok=told.code is None,
        status=task.status,
        priority=task.level,
        code=told.code,
        detail=told.detail,
    )

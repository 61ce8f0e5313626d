"""`POST /import`, `GET /export`: tasks of other queues come in, and one's own go out, with all that became of them."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from taskyard.core.changes import BreakerRecord
from taskyard.core.commands import Arrival, ImportTasks
from taskyard.core.effects import Imported, Refused
from taskyard.core.settings import Queue
from taskyard.gateway.arrivals import arrival_of, id_of, too_many_files
from taskyard.gateway.call import Call, Empty, OfUser, Reply, RequestRefused, refuse
from taskyard.gateway.pages import link_to_next, place_of
from taskyard.gateway.present import task_answer
from taskyard.gateway.sizes import check_batch, oversize_of
from taskyard.store.paging import cursor_of
from taskyard.store.port import Reader, StoredTask, TaskFilter
from taskyard.vocabulary import ENDED, Refusal, Scope
from taskyard.wire.fields import PAGE, Limit, Name, ms_of
from taskyard.wire.imports import CarriedBreaker, CarriedQueue, CarriedTask, Import, ImportAnswer, Place
from taskyard.wire.problems import PROBLEMS, FieldError
from taskyard.wire.submission import faults_of
from taskyard.wire.tasks import Rejected


class ExportQuery(OfUser, forbid_unknown_fields=True, kw_only=True):
    archived: bool = False
    limit: Limit = PAGE
    cursor: Name | None = None


async def take_in(call: Call[OfUser], body: Import) -> Reply:
    """A piece of an import, or a look at what it would do."""
    check_batch(len(body.tasks), call.door.size)
    if misfits := _misfits(call, body.tasks):
        if not body.dry_run:
            raise misfits[0].refusal
        return Reply(ImportAnswer(new=[], there=[], rejected=[misfit.rejected for misfit in misfits]))
    command = _command(call, body)
    answer, _ = await call.hub.ask(command)
    if isinstance(answer, Refused):
        raise _told(answer, body.tasks)
    assert isinstance(answer, Imported), "an import is answered with what was imported"
    names = [record.id for record in body.tasks]
    return Reply(
        ImportAnswer(
            new=[name for name, is_there in zip(names, answer.there, strict=True) if not is_there],
            there=[name for name, is_there in zip(names, answer.there, strict=True) if is_there],
            rejected=[_rejected(refused) for refused in answer.refused],
            queues=list(answer.queues),
        )
    )


def _command(call: Call[OfUser], body: Import) -> ImportTasks:
    principal, is_admin = call.principal, Scope.ADMIN in call.principal.scopes
    user_id = call.user_id(call.query.user)
    here = {record.id: Place(created_at=record.created_at, order=record.order) for record in body.tasks}
    places = {**body.elsewhere, **here}
    ids = {name: id_of(user_id, body.origin, name, place) for name, place in places.items()}
    return ImportTasks(
        user_id=user_id,
        origin=body.origin,
        arrivals=_arrivals(call, body, user_id, ids),
        actor=principal.actor,
        queues={name: _queue(one) for name, one in body.queues.items()},
        breakers=[_breaker(one, user_id) for one in body.breakers],
        elsewhere=tuple(ids[name] for name in body.elsewhere),
        open_left=body.open_left,
        dry_run=body.dry_run,
        is_admin=is_admin,
        ceiling=principal.max_priority,
        sources=principal.sources,
    )


def _queue(one: CarriedQueue) -> Queue:
    return Queue(models=tuple(one.models), max_concurrent=one.max_concurrent)


def _breaker(one: CarriedBreaker, user_id: str) -> BreakerRecord:
    opened_at = None if one.opened_at is None else ms_of(one.opened_at)
    return BreakerRecord(
        user_id,
        one.type,
        failures=one.failures,
        last_failure_at=None if one.last_failure_at is None else ms_of(one.last_failure_at),
        opened_at=opened_at,
        half_open_at=(opened_at or 0) if one.half_open_at is None else ms_of(one.half_open_at),
    )


def _arrivals(call: Call[OfUser], body: Import, user_id: str, ids: Mapping[str, str]) -> list[Arrival]:
    settings, now_ms = call.hub.settings, call.hub.now_ms()
    return [arrival_of(record, user_id=user_id, ids=ids, now_ms=now_ms, settings=settings) for record in body.tasks]


class Misfit(Struct, frozen=True):
    """A task of a wrong shape or size: refused with the piece, or told of a look."""

    index: int
    name: str
    code: Refusal
    faults: tuple[FieldError, ...]

    @property
    def refusal(self) -> RequestRefused:
        named = tuple(FieldError(f"tasks[{self.index}].{fault.path}", fault.message) for fault in self.faults)
        return RequestRefused(self.code, f"{self.name}: {_said(named)}", errors=named)

    @property
    def rejected(self) -> Rejected:
        return _rejected(Refused(self.code, _said(self.faults), index=self.index))


def _misfits(call: Call[OfUser], records: Sequence[CarriedTask]) -> list[Misfit]:
    size, found = call.door.size, []
    for index, record in enumerate(records):
        if faults := faults_of(record):
            found.append(Misfit(index, record.id, Refusal.INVALID_INPUT, faults))
        elif faults := oversize_of(record, size) + too_many_files(record):
            found.append(Misfit(index, record.id, Refusal.TOO_LARGE, faults))
    return found


def _said(faults: Sequence[FieldError]) -> str:
    return "; ".join(f"`{fault.path}` {fault.message}" for fault in faults)


def _told(refused: Refused, records: Sequence[CarriedTask]) -> RequestRefused:
    """With the name of the task that is meant."""
    if refused.index is None:
        return refuse(refused)
    detail = f"{records[refused.index].id}: {refused.detail}"
    field = None if refused.field is None else f"tasks[{refused.index}].{refused.field}"
    return refuse(msgspec.structs.replace(refused, detail=detail, field=field))


def _rejected(refused: Refused) -> Rejected:
    """One that is about the piece as a whole is told of its first task."""
    return Rejected(
        index=refused.index or 0, status=PROBLEMS[refused.code].status, code=refused.code, detail=refused.detail
    )


async def give_out(call: Call[ExportQuery], _body: Empty) -> Reply:
    """A page of one user's tasks in full, newest first: those that are not archived, or those that are."""
    query = call.query
    user_id = call.user_id(query.user)
    wanted = TaskFilter(user_id=user_id, archived=query.archived, before=place_of(query.cursor), limit=query.limit + 1)
    found = await call.hub.read(lambda reader: _page(reader, wanted))
    page = found[: query.limit]
    headers = []
    if len(found) > query.limit:
        headers = link_to_next(call.path, query, cursor_of(page[-1][0], user_id=user_id))
    answers = [task_answer(stored, checkpoint=checkpoint) for stored, checkpoint in page]
    return Reply(answers, headers=headers)


def _page(reader: Reader, wanted: TaskFilter) -> list[tuple[StoredTask, bytes | None]]:
    """Each task with its checkpoint, which only an open one still needs."""
    return [
        (stored, reader.checkpoint(stored.task.id) if stored.task.checkpoint and _is_open(stored) else None)
        for stored in reader.tasks(wanted)
    ]


def _is_open(stored: StoredTask) -> bool:
    return stored.task.status not in ENDED

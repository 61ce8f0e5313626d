"""`POST /tasks` and `POST /tasks/batch`: from bytes to a committed task."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from taskyard.core.commands import Draft, SubmitTasks
from taskyard.core.effects import Refused, Submitted
from taskyard.core.forecast import Forecast
from taskyard.core.settings import Settings
from taskyard.gateway.call import Call, OfUser, Reply, RequestRefused, refuse, refuse_fields
from taskyard.gateway.present import batch_json, task_json
from taskyard.gateway.priority_scale import fault_on_scale
from taskyard.gateway.rest.filling import filled, filler_for
from taskyard.gateway.sameness import NO_NAMES, meanings_of, refs_in
from taskyard.gateway.sizes import check_batch, oversize_of, smallest_field
from taskyard.gateway.translate import draft_of
from taskyard.store.port import StoredTask
from taskyard.vocabulary import PriorityScale, Refusal, Scope, Status
from taskyard.wire.fields import NAME_CHARS_MAX
from taskyard.wire.invalid import faults_in, sentence_of
from taskyard.wire.problems import PROBLEMS
from taskyard.wire.submission import (
    Batch,
    BatchItem,
    RawBatch,
    SalvagedBatch,
    Submission,
    faults_of,
)
from taskyard.wire.tasks import Rejected
from taskyard.wire.traceparent import read_traceparent, read_tracestate

_raw_batch: Final = msgspec.json.Decoder(RawBatch)
_item: Final = msgspec.json.Decoder(BatchItem)


async def submit(call: Call[OfUser], body: Submission) -> Reply:
    user_id = call.user_id(call.query.user)
    body = await filled(call, user_id, body, Submission) or body
    key, as_agent = _header_key(call), _is_agent(call)
    meanings = await _meanings(call, user_id, [body])
    draft = _draft_or_refusal(
        body,
        call.hub.settings,
        call.hub.mint(),
        user_id,
        key=key,
        as_agent=as_agent,
        scale=call.principal.priority_scale,
        meanings=meanings,
    )
    if isinstance(draft, RequestRefused):
        raise draft
    submitted, written, forecast = await _ask(call, user_id, [draft], partial=False)
    task_id, deduplicated = submitted.ids[0], submitted.deduplicated[0]
    stored = written.get(task_id) or await _stored(call, user_id, task_id)
    is_queued = stored.task.status is Status.QUEUED
    answer = task_json(stored, deduplicated=deduplicated, forecast=forecast if is_queued else None)
    return Reply(answer, status=200 if deduplicated else 201)


async def submit_batch(call: Call[OfUser], body: Batch) -> Reply:
    check_batch(len(body.tasks) + len(_unread(body)), call.door.size)
    taken, rejected = await take_in(call, call.user_id(call.query.user), body)
    is_new = not all(was_known for _, was_known in taken)
    return Reply(batch_json(taken, rejected), status=201 if is_new else 200)


async def take_in(
    call: Call[OfUser], user_id: str, body: Batch
) -> tuple[list[tuple[StoredTask, bool]], list[Rejected]]:
    """The tasks of a batch, each with whether it was there already, and those that were not taken."""
    items = await _filled_items(call, user_id, body)
    meanings = await _meanings(call, user_id, [item for item in items if isinstance(item, BatchItem)])
    drafts, indexes, rejected = _drafts_of(call, user_id, body, items, meanings)
    taken: list[tuple[StoredTask, bool]] = []
    if drafts:
        submitted, written, _ = await _ask(call, user_id, drafts, partial=body.partial)
        rejected += [_rejected(refused, indexes) for refused in submitted.rejected]
        for task_id, deduplicated in zip(submitted.ids, submitted.deduplicated, strict=True):
            stored = written.get(task_id) or await _stored(call, user_id, task_id)
            taken.append((stored, deduplicated))
    rejected.sort(key=lambda one: one.index)
    return taken, rejected


async def _filled_items(call: Call[OfUser], user_id: str, body: Batch) -> Sequence[BatchItem | RequestRefused]:
    """The tasks of a batch with what templates make of them, or why nothing is made."""
    filler = await filler_for(call, user_id, body.tasks, is_batch=True)
    if filler is None:
        return body.tasks
    raws = _raw_batch.decode(call.raw).tasks
    return [
        item if item.template is None else filler.fill(item, bytes(raws[index]), BatchItem, _place(index))
        for index, item in zip(_indexes(body), body.tasks, strict=True)
    ]


def _indexes(body: Batch) -> Sequence[int]:
    """Where each of its tasks stood."""
    return body.indexes if isinstance(body, SalvagedBatch) else range(len(body.tasks))


async def _meanings(call: Call[OfUser], user_id: str, submissions: Sequence[Submission]) -> Mapping[str, str]:
    """What the names stand for by which these depend on others. Only what has a key is ever compared by it."""
    is_keyed = b"idempotency-key" in call.headers or any(
        one.idempotency_key is not None or one.dedupe is not None for one in submissions
    )
    if not is_keyed:
        return NO_NAMES
    ids, refs = NO_NAMES, refs_in(submissions)
    if refs:
        # One that is no task's stays as it is, and is refused.
        known = await call.hub.read(lambda reader: reader.known(user_id=user_id, ids=(), refs=refs, keys=()))
        ids = known.refs
    return meanings_of([one for one in submissions if isinstance(one, BatchItem)], user_id, ids)


def _drafts_of(
    call: Call[OfUser],
    user_id: str,
    body: Batch,
    items: Sequence[BatchItem | RequestRefused],
    meanings: Mapping[str, str],
) -> tuple[list[Draft], list[int], list[Rejected]]:
    """The drafts, where each stood in the batch, and what did not become one."""
    key, as_agent, mint, settings = _header_key(call), _is_agent(call), call.hub.mint, call.hub.settings
    scale = call.principal.priority_scale
    rejected = [_unreadable(index, message) for index, message in _unread(body).items()]
    drafts: list[Draft] = []
    indexes: list[int] = []
    for index, item in zip(_indexes(body), items, strict=True):
        item_key = None if key is None else f"{key}#{index}"
        draft = (
            item
            if isinstance(item, RequestRefused)
            else _draft_or_refusal(
                item,
                settings,
                mint(),
                user_id,
                key=item_key,
                as_agent=as_agent,
                scale=scale,
                index=index,
                meanings=meanings,
            )
        )
        if isinstance(draft, RequestRefused):
            if not body.partial:
                raise draft
            rejected.append(_of_refused(index, draft.code, draft.detail))
        else:
            indexes.append(index)
            drafts.append(draft)
    return drafts, indexes, rejected


def _unread(body: Batch) -> Mapping[int, str]:
    return body.unread if isinstance(body, SalvagedBatch) else {}


def salvage(raw: bytes) -> SalvagedBatch | None:
    """A partial batch with tasks that cannot be read: the others may still be taken."""
    try:
        batch = _raw_batch.decode(raw)
    except msgspec.ValidationError:
        return None
    if not batch.partial:
        return None
    tasks: list[BatchItem] = []
    indexes: list[int] = []
    unread: dict[int, str] = {}
    for index, one in enumerate(batch.tasks):
        try:
            tasks.append(_item.decode(one))
            indexes.append(index)
        except msgspec.ValidationError as error:
            unread[index] = " ".join(map(sentence_of, faults_in(str(error), BatchItem)))
    return SalvagedBatch(tasks, partial=True, indexes=indexes, unread=unread)


async def _ask(
    call: Call[OfUser], user_id: str, drafts: list[Draft], *, partial: bool
) -> tuple[Submitted, dict[str, StoredTask], Forecast | None]:
    principal, traceparent = call.principal, _header_trace(call)
    if traceparent is not None:
        tracestate = read_tracestate(call.headers.get(b"tracestate", b"").decode("latin-1"))
        for draft in drafts:
            draft.traceparent, draft.tracestate = traceparent, tracestate
    command = SubmitTasks(
        user_id=user_id,
        drafts=drafts,
        partial=partial,
        ceiling=principal.max_priority,
        sources=principal.sources,
        under=None if principal.attempt is None else principal.attempt[0],
    )
    (answer, written), forecast = await call.hub.submit(command)
    if isinstance(answer, Refused):
        raise refuse(answer)
    assert isinstance(answer, Submitted), "a submission is answered with what was submitted"
    return answer, written, forecast


async def _stored(call: Call[OfUser], user_id: str, task_id: str) -> StoredTask:
    """A task that was there before: a duplicate's original."""
    stored = await call.hub.read(lambda reader: reader.find(user_id=user_id, task=task_id))
    if stored is None:
        raise RequestRefused(
            Refusal.OUTCOME_UNKNOWN, "The task was archived away meanwhile; ask again.", retry_after_s=1
        )
    return stored


def _draft_or_refusal(
    submission: Submission,
    settings: Settings,
    id: str,
    user_id: str,
    *,
    key: str | None,
    as_agent: bool,
    scale: PriorityScale | None,
    index: int | None = None,
    meanings: Mapping[str, str] = NO_NAMES,
) -> Draft | RequestRefused:
    """A draft of it, or what is wrong with its shape or its size; `index` is its place in a batch."""
    faults = (*faults_of(submission), *fault_on_scale(submission, scale))
    if faults:
        return refuse_fields(faults, below=_place(index))
    draft = draft_of(
        submission, id=id, user_id=user_id, settings=settings, key=key, as_agent=as_agent, meanings=meanings
    )
    # The body has all of these fields, and encoded none is shorter: a small one holds none that is too large.
    size = settings.limits.size
    if len(draft.body) > smallest_field(size):
        faults = tuple(oversize_of(submission, size))
        if faults:
            return refuse_fields(faults, Refusal.TOO_LARGE, below=_place(index))
    return draft


def _place(index: int | None) -> str:
    return "" if index is None else f"tasks[{index}]"


def _header_key(call: Call[OfUser]) -> str | None:
    raw = call.headers.get(b"idempotency-key")
    if raw is None:
        return None
    key = raw.decode("latin-1").strip()
    if not 0 < len(key) <= NAME_CHARS_MAX:
        raise RequestRefused(Refusal.INVALID_INPUT, f"Idempotency-Key has 1 to {NAME_CHARS_MAX} characters.")
    return key


def _header_trace(call: Call[OfUser]) -> str | None:
    raw = call.headers.get(b"traceparent")
    return None if raw is None else read_traceparent(raw.decode("latin-1"))


def _is_agent(call: Call[OfUser]) -> bool:
    """Whether these tasks are an agent's, whatever they say of themselves."""
    scopes = call.principal.scopes
    return call.principal.attempt is not None or (Scope.AGENT in scopes and Scope.TASKS not in scopes)


def _unreadable(index: int, message: str) -> Rejected:
    return _of_refused(index, Refusal.INVALID_INPUT, message)


def _of_refused(index: int, code: Refusal, detail: str) -> Rejected:
    return Rejected(index=index, status=PROBLEMS[code].status, code=code, detail=detail)


def _rejected(refused: Refused, indexes: list[int]) -> Rejected:
    return _of_refused(indexes[refused.index or 0], refused.code, refused.detail)

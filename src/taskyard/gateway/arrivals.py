"""Tasks that come from elsewhere or go there: from the wire's record to what the core is asked, and from what is
stored back to the record. Shapes change here; no rule is applied.

The id of an imported task is derived: it begins with when the task was made, as all ids do, so that the oldest is
first in its lane, and ends in a hash of whose it is, where it comes from and what it was called there. So it is the
same however often it comes, and nobody can bring a task under another's id. What comes from a yard has an id already,
and keeps it unless that is somebody's here: so it is recognised in every yard it was in, whichever way it comes back.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from taskyard.core.commands import Arrival
from taskyard.core.imports import AHEAD_MS_MAX
from taskyard.core.priority import level_of
from taskyard.core.settings import Retry
from taskyard.core.task import Attempt, Failure, Task, Usage
from taskyard.gateway.translate import CONTENT_KEY_PREFIX, draft_of, failure_of, usage_of
from taskyard.store.port import StoredTask
from taskyard.vocabulary import ENDED, AttemptStatus, Level, ResultStatus, Status
from taskyard.wire.fields import FIELD_BYTES_MAX, NULL, instant_of, instant_or_none, ms_of
from taskyard.wire.frames import WireError, WireUsage
from taskyard.wire.imports import ORDER_MAX, CarriedAttempt, CarriedTask, Place
from taskyard.wire.problems import FieldError
from taskyard.wire.submission import Source
from taskyard.wire.tasks import Content, Outcome

_encoder: Final = msgspec.json.Encoder()
_content: Final = msgspec.json.Decoder(Content)
_outcome: Final = msgspec.json.Decoder(Outcome)
_details: Final = msgspec.json.Decoder(dict[str, object])
_NO_OUTCOME: Final = Outcome()
_MS_MAX: Final = (1 << 48) - 1
_MINTED: Final = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
BOOT_ELSEWHERE: Final = "imported"
"""The process under which a try ran that was no try of this yard's daemons."""


def id_of(user_id: str, origin: str, name: str, place: Place) -> str:
    """A UUIDv7 of its own for this name of this origin."""
    digest = hashlib.sha256(_encoder.encode([user_id, origin, name])).digest()
    drawn = int.from_bytes(digest[:10])
    ms = 0 if place.created_at is None else min(max(ms_of(place.created_at), 0), _MS_MAX)
    order = drawn >> 68 if place.order is None else place.order
    end = f"{1 << 63 | drawn & ((1 << 62) - 1):016x}"
    return f"{ms >> 16:08x}-{ms & 0xFFFF:04x}-7{order:03x}-{end[:4]}-{end[4:]}"


def kept_id(name: str, derived: str, *, owners: Mapping[str, str], user_id: str, now_ms: int) -> str:
    """Of a task that comes from a yard. `owners` has whose each of the two ids is that is a task's here."""
    for known in (name, derived):
        if owners.get(known) == user_id:
            return known
    minted = _MINTED.fullmatch(name)
    # One from far ahead would drag the ids of all later tasks along.
    is_past = minted is not None and int(minted[1] + minted[2], 16) <= now_ms + AHEAD_MS_MAX
    return name if is_past and name not in owners else derived


def user_id_of(cluster_id: str, name: str) -> str:
    """Of a user who comes with an import: the same at every gateway, before any of them knows the user."""
    return f"u_{hashlib.sha256(_encoder.encode([cluster_id, name])).hexdigest()[:32]}"


# Coming in.


def arrival_of(record: CarriedTask, *, user_id: str, ids: Mapping[str, str], now_ms: int, retry: Retry) -> Arrival:
    """`ids` are those of every name in the import that is known here."""
    draft = draft_of(record, id=ids[record.id], user_id=user_id, retry=retry, meanings=ids)
    draft.name = record.id
    draft.depends_on = tuple(ids.get(name, name) for name in draft.depends_on)
    draft.parent_id = None if draft.parent_id is None else ids.get(draft.parent_id, draft.parent_id)
    draft.scheduled_for = _ms(record.not_before) or draft.scheduled_for
    has_ended = record.status in ENDED
    return Arrival(
        draft=draft,
        status=record.status,
        created_at=now_ms if record.created_at is None else ms_of(record.created_at),
        number=record.number,
        queued_at=_ms(record.queued_at),
        scheduled_at=_ms(record.scheduled_at),
        started_at=_ms(record.started_at),
        completed_at=_ms(record.completed_at),
        attempts=[_attempt(one, number, now_ms) for number, one in enumerate(record.attempts, start=1)],
        error=_error(record),
        summary=record.result_summary if has_ended else None,
        result_status=_result_status(record),
        outcome=_outcome_of(record) if has_ended else None,
        checkpoint=None if has_ended or isinstance(record.checkpoint, UnsetType) else bytes(record.checkpoint),
        skipped_reason=record.skipped_reason,
        cancel_reason=record.cancel_reason,
        archived=record.archived and has_ended,
    )


def too_many_files(record: CarriedTask) -> tuple[FieldError, ...]:
    length = sum(map(len, record.files_changed or ()))
    if length <= FIELD_BYTES_MAX:
        return ()
    return (FieldError("files_changed", f"is {length:,} characters; at most {FIELD_BYTES_MAX:,} are possible"),)


def _attempt(record: CarriedAttempt, number: int, now_ms: int) -> Attempt:
    is_live = record.status is AttemptStatus.RUNNING
    started_at, ended_at = _ms(record.started_at), _ms(record.ended_at)
    return Attempt(
        number=number,
        daemon_id=record.daemon,
        daemon_name=record.daemon,
        boot_id=BOOT_ELSEWHERE,
        assigned_at=next((at for at in (started_at, ended_at) if at is not None), now_ms),
        series=record.series,
        status=AttemptStatus.LOST if is_live else record.status,
        started_at=started_at,
        ended_at=now_ms if ended_at is None and is_live else ended_at,
        error=None if record.error is None else failure_of(record.error),
        usage=usage_of(record.usage),
    )


def _error(record: CarriedTask) -> Failure | None:
    if record.status not in ENDED:
        return None
    if record.error is None and record.status is not Status.PERMANENTLY_FAILED:
        return None
    return failure_of(record.error or "It failed where it comes from; why was not kept.")


def _result_status(record: CarriedTask) -> ResultStatus | None:
    if record.status not in ENDED:
        return None
    return record.result_status or (ResultStatus.SUCCESS if record.status is Status.COMPLETED else None)


def _outcome_of(record: CarriedTask) -> bytes | None:
    """As it is stored; None when there is nothing to store."""
    outcome = Outcome(result=record.result, decision_report=record.decision_report)
    outcome.files_changed = record.files_changed
    raw = _encoder.encode(outcome)
    return None if raw == b"{}" else raw


def _ms(at: datetime | None) -> int | None:
    return None if at is None else ms_of(at)


# Going out.


def record_of(stored: StoredTask, checkpoint: bytes | None) -> CarriedTask:
    """Everything by which the task can be taken in elsewhere. Of what runs, the try that is under way is said to."""
    task, content = stored.task, _content.decode(stored.body)
    source, trouble = content.source or Source(), task.trouble
    level = task.asked or task.level
    record = CarriedTask(
        id=task.id,
        order=task.number % (ORDER_MAX + 1),
        number=task.number,
        status=task.status,
        input=content.input,
        type=content.type,
        title=content.title,
        goal=content.goal,
        constraints=content.constraints,
        context=_given(content.context),
        payload=_given(content.payload),
        metadata=_given(content.metadata),
        source=Source(task.kind.source, source.id, source.channel),
        model=content.model,
        queue=task.kind.queue,
        project_id=content.project_id,
        priority=_priority(level, task.value),
        on_depends_fail=task.terms.on_depends_fail,
        idempotency_key=task.key,
        requirements=content.requirements,
        execution=content.execution,
    )
    if task.key is not None and task.key.startswith(CONTENT_KEY_PREFIX):
        record.idempotency_key, record.dedupe = None, "content"
    record.depends_on = [dependency.id for dependency in task.depends or ()]
    record.parent_task_id, record.correlation_id = task.parent_id, task.correlation_id
    if trouble is not None:
        record.skipped_reason, record.cancel_reason = trouble.skipped_reason, trouble.cancel_reason
    record.checkpoint = UNSET if checkpoint is None else Raw(checkpoint)
    record.archived = stored.archived or task.shelved
    _tell_outcome(record, stored)
    _tell_times(record, task, content)
    return record


def _tell_outcome(record: CarriedTask, stored: StoredTask) -> None:
    task = stored.task
    outcome = _NO_OUTCOME if stored.outcome is None else _outcome.decode(stored.outcome)
    record.attempts = [_attempt_record(attempt) for attempt in task.attempts or ()]
    record.result, record.decision_report = outcome.result, outcome.decision_report
    record.files_changed = outcome.files_changed
    record.result_summary, record.result_status = task.summary, task.result_status
    record.error = _wire_error(task.error)


def _tell_times(record: CarriedTask, task: Task, content: Content) -> None:
    record.created_at = instant_of(task.created_at)
    record.scheduled_for = content.scheduled_for
    for name in ("deadline", "sla", "not_before", "queued_at", "scheduled_at", "started_at", "completed_at"):
        setattr(record, name, instant_or_none(getattr(task, name)))


def _priority(level: Level, value: int) -> Level | int:
    return value if level_of(value) is level else level


def _given(raw: Raw | UnsetType) -> Raw | UnsetType:
    return UNSET if raw is UNSET or bytes(raw) == NULL else raw


def _attempt_record(attempt: Attempt) -> CarriedAttempt:
    return CarriedAttempt(
        daemon=attempt.daemon_name,
        status=attempt.status,
        series=attempt.series,
        started_at=instant_or_none(attempt.started_at),
        ended_at=instant_or_none(attempt.ended_at),
        error=_wire_error(attempt.error),
        usage=_wire_usage(attempt.usage),
    )


def _wire_usage(usage: Usage | None) -> WireUsage | None:
    return None if usage is None else WireUsage(usage.input_tokens, usage.output_tokens, usage.cost_usd)


def _wire_error(error: Failure | None) -> WireError | None:
    if error is None:
        return None
    details = None if error.details is None else _details.decode(error.details)
    return WireError(error.code, error.message, error.retryable, details)

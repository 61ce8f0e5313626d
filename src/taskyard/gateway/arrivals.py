"""Tasks that come from elsewhere: from the wire's record to what the core is asked. No rule is applied here.

The id of an imported task is derived: it begins with when the task was made, as all ids do, so that the oldest is
first in its lane, and ends in a hash of whose it is, where it comes from and what it was called there. So it is the
same however often it comes, and nobody can bring a task under another's id.
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from taskyard.core.commands import Arrival
from taskyard.core.settings import Settings
from taskyard.core.task import Attempt, Failure
from taskyard.gateway.translate import draft_of, failure_of, usage_of
from taskyard.vocabulary import ENDED, AttemptStatus, ResultStatus, Status
from taskyard.wire.fields import FIELD_BYTES_MAX, ms_of
from taskyard.wire.imports import CarriedAttempt, CarriedTask, Place
from taskyard.wire.problems import FieldError
from taskyard.wire.tasks import Outcome

_encoder: Final = msgspec.json.Encoder()
_MS_MAX: Final = (1 << 48) - 1
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


def arrival_of(
    record: CarriedTask, *, user_id: str, ids: Mapping[str, str], now_ms: int, settings: Settings
) -> Arrival:
    """`ids` are those of every name in the import that is known here."""
    draft = draft_of(record, id=ids[record.id], user_id=user_id, settings=settings, meanings=ids)
    draft.name = record.id
    draft.depends_on = tuple(ids.get(name, name) for name in draft.depends_on)
    draft.parent_id = None if draft.parent_id is None else ids.get(draft.parent_id, draft.parent_id)
    draft.scheduled_for = _ms(record.not_before) or draft.scheduled_for
    has_ended = record.status in ENDED
    return Arrival(
        draft=draft,
        status=record.status,
        created_at=now_ms if record.created_at is None else ms_of(record.created_at),
        queued_at=_ms(record.queued_at),
        scheduled_at=_ms(record.scheduled_at),
        started_at=_ms(record.started_at),
        completed_at=_ms(record.completed_at),
        attempts=[_attempt(one, number, now_ms) for number, one in enumerate(record.attempts, start=1)],
        error=_error(record),
        summary=record.result_summary if has_ended else None,
        result_status=_result_status(record),
        outcome=_outcome_of(record) if has_ended else None,
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

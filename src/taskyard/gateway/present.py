"""From what is stored to what is shown: a task's answer, its attempts, its events, its `task.execute`.

A task goes to its daemon by splicing: the stored body is an object already, so the fields that the hub
adds are written before its first field and nothing is parsed.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import asdict, astuple

from taskyard.core.changes import Event
from taskyard.core.forecast import Forecast
from taskyard.core.task import Attempt, Failure, Kind, Reviewed, Task, Terms, Trouble
from taskyard.gateway.context_input import context_input_of
from taskyard.gateway.views import ProgressView
from taskyard.store.port import Numbered, RecordDamaged, StoredTask
from taskyard.store.records import task_named
from taskyard.vocabulary import CONTENT_KEY_PREFIX, HELD, EventName, Refusal, ref_of
from taskyard.wire.fields import NULL, instant_of, instant_or_none, ms_of
from taskyard.wire.submission import Execution, Requirements, Source
from taskyard.wire.tasks import (
    LIST_BODY_BYTES_MAX,
    AttemptAnswer,
    Content,
    ErrorAnswer,
    EventAnswer,
    ExecutionAnswer,
    Outcome,
    ProgressAnswer,
    Rejected,
    RequirementsAnswer,
    ReviewAnswer,
    SourceAnswer,
    TaskAnswer,
    TaskSaid,
)

T = TypeVar("T")

SOFT: Final = frozenset({EventName.TASK_PROGRESS, EventName.TASK_LOG, EventName.HUB_REWOUND})
"""Told to whoever watches, not kept: these have no place in the log."""

_content: Final = msgspec.json.Decoder(Content)
_outcome: Final = msgspec.json.Decoder(Outcome)
_members: Final = msgspec.json.Decoder(dict[str, Raw])
_encoder: Final = msgspec.json.Encoder()
_EMPTY: Final = Raw(b"{}")
_NO_OUTCOME: Final = Outcome()
_NO_CONTENT: Final = Content(type="", input="")
_NO_SOURCE: Final = Source()
_NO_REQUIREMENTS: Final = RequirementsAnswer()
_NO_EXECUTION: Final = ExecutionAnswer()
_TIMES: Final = (
    "not_before",
    "cancel_requested_at",
    "queued_at",
    "scheduled_at",
    "started_at",
    "completed_at",
)
_UNFORESEEN: Final = b',"queue_position":null,"estimated_start":null'
_ENDS_MAX: Final = 64
# Of answers to tasks that came in at one instant, which a batch and those beside it share.


def task_answer(
    stored: StoredTask,
    *,
    progress: ProgressView | None = None,
    parents: Sequence[StoredTask] = (),
    checkpoint: bytes | None = None,
    deduplicated: bool = False,
    forecast: Forecast | None = None,
    in_list: bool = False,
) -> TaskAnswer:
    task, newest = stored.task, stored.task.newest
    said = _said_of(task, _read(_content, stored.body, "body", task))
    answer = TaskAnswer(*astuple(said), created_at=instant_of(task.created_at))
    answer.raised_from = task.asked
    _tell_times(answer, task)
    if newest is not None and task.status in HELD:
        answer.assigned_daemon = newest.daemon_id
    if task.trouble is not None:
        _tell_trouble(answer, task.trouble)
    if parents or task.trouble is not None:
        answer.context_input = context_input_of(task, parents)
    if stored.outcome is not None or task.summary is not None or task.error is not None:
        _tell_end(answer, task, stored.outcome)
    answer.result_status = task.result_status
    answer.deduplicated = deduplicated
    if forecast is not None:
        answer.queue_position, answer.estimated_start = forecast.position, instant_or_none(forecast.starts_at)
    if progress is not None:
        answer.progress = ProgressAnswer(progress.percent, progress.message)
    if checkpoint is not None:
        answer.checkpoint = Raw(checkpoint)
    if stored.damaged is not None:
        answer.error = ErrorAnswer(Refusal.RECORD_DAMAGED, stored.damaged, False, None)
        answer.failure_reason = f"{Refusal.RECORD_DAMAGED}: {stored.damaged}"
    if in_list:
        _cut(answer)
    else:
        answer.attempts = [attempt_answer(attempt, stored) for attempt in task.attempts or ()]
    return answer


def task_json(stored: StoredTask, *, deduplicated: bool = False, forecast: Forecast | None = None) -> bytes:
    """`task_answer`, encoded."""
    content = bytearray()
    _write_task(content, stored, deduplicated=deduplicated, forecast=forecast)
    return bytes(content)


def batch_json(taken: Sequence[tuple[StoredTask, bool]], rejected: list[Rejected]) -> bytes:
    """A `BatchAnswer` of tasks and whether each was there already."""
    content = bytearray(b'{"tasks":[')
    for stored, was_known in taken:
        _write_task(content, stored, deduplicated=was_known)
        content += b","
    if taken:
        del content[-1:]
    content += b'],"rejected":'
    _encoder.encode_into(rejected, content, -1)
    content += b"}"
    return bytes(content)


def _write_task(
    content: bytearray, stored: StoredTask, *, deduplicated: bool, forecast: Forecast | None = None
) -> None:
    """Of tasks that just came in only what was said is looked at, the rest is the same for all.

    A batch is answered with hundreds of them: this takes a third of the time.
    """
    task = stored.task
    if deduplicated or stored.outcome is not None or not _is_untouched(task):
        _encoder.encode_into(task_answer(stored, deduplicated=deduplicated, forecast=forecast), content, -1)
        return
    _encoder.encode_into(_said_of(task, _content.decode(stored.body)), content, -1)
    end = _end_of_untouched(task.created_at, task.queued_at, task.not_before)
    # It goes on where its last bracket was.
    del content[-1:]
    if forecast is not None:
        content += _foreseen(forecast)
        end = end[len(_UNFORESEEN) :]
    content += end


def _foreseen(forecast: Forecast) -> bytes:
    """What stands at the beginning of the end, which is the same for many, in the place of `_UNFORESEEN`."""
    starts_at = _encoder.encode(instant_or_none(forecast.starts_at))
    return b',"queue_position":%d,"estimated_start":%b' % (forecast.position, starts_at)


def _is_untouched(task: Task) -> bool:
    """Whether it is open and nothing has happened to it since it came in but becoming ready."""
    return (
        task.attempts is None
        and task.trouble is None
        and task.asked is None
        and task.completed_at is None
        and task.cancel_requested_at is None
    )


@lru_cache(_ENDS_MAX)
def _end_of_untouched(created_at: int, queued_at: int | None, not_before: int | None) -> bytes:
    """What follows `TaskSaid` in the answer to such a task: whatever was said, it is cut off here."""
    said = _said_of(Task(id="", user_id="", number=0, kind=Kind(), terms=Terms(), created_at=0), _NO_CONTENT)
    answer = TaskAnswer(
        *astuple(said),
        attempts=[],
        not_before=instant_or_none(not_before),
        created_at=instant_of(created_at),
        queued_at=instant_or_none(queued_at),
    )
    return _encoder.encode(answer)[len(_encoder.encode(said)) - 1 :]


def _said_of(task: Task, content: Content) -> TaskSaid:
    source, key = content.source or _NO_SOURCE, task.key
    # By place, in the order of the fields: by name takes five times as long, for so many.
    return TaskSaid(
        task.id,
        ref_of(task.number),
        task.user_id,
        task.status,
        content.type,
        content.title,
        content.input,
        content.goal,
        content.constraints or [],
        _object(content.context),
        _object(content.payload),
        _object(content.metadata),
        SourceAnswer(type=task.kind.source, id=source.id, channel=source.channel),
        content.model,
        task.kind.queue,
        content.project_id,
        task.level,
        task.value,
        instant_or_none(task.deadline),
        instant_or_none(task.sla),
        _scheduled_for(content, task),
        [] if task.depends is None else [depends.id for depends in task.depends],
        task.terms.on_depends_fail,
        task.parent_id,
        task.correlation_id,
        None if key is None or key.startswith(CONTENT_KEY_PREFIX) else key,
        content.dedupe,
        _NO_REQUIREMENTS if content.requirements is None else _requirements(content.requirements),
        _NO_EXECUTION if content.execution is None else _execution(content.execution),
    )


def _tell_times(answer: TaskAnswer, task: Task) -> None:
    for name in _TIMES:
        at = getattr(task, name)
        if at is not None:
            setattr(answer, name, instant_of(at))


def _tell_trouble(answer: TaskAnswer, trouble: Trouble) -> None:
    answer.aged = trouble.aged
    answer.blocked_reason = trouble.blocked_reason
    answer.skipped_reason = trouble.skipped_reason
    answer.cancel_reason = trouble.cancel_reason
    answer.waiting_for_daemon = trouble.waiting_for_daemon
    answer.review = None if trouble.review is None else _review_answer(trouble.review)
    if trouble.preempted_by is not None:
        metadata = _members.decode(answer.metadata)
        metadata["preempted_by"] = Raw(_encoder.encode(trouble.preempted_by))
        answer.metadata = Raw(_encoder.encode(metadata))


def _review_answer(review: Reviewed) -> ReviewAnswer:
    return ReviewAnswer(
        verdict=review.verdict,
        reason=review.reason,
        by=review.by,
        at=instant_of(review.at),
        until=instant_or_none(review.until),
        to=review.to,
    )


def _tell_end(answer: TaskAnswer, task: Task, raw: bytes | None) -> None:
    outcome = _NO_OUTCOME if raw is None else _read(_outcome, raw, "outcome", task)
    answer.result = _value(outcome.result)
    answer.result_summary = task.summary
    answer.files_changed = outcome.files_changed or []
    answer.decision_report = _value(outcome.decision_report)
    if task.error is not None:
        answer.error = error_answer(task.error)
        answer.failure_reason = f"{task.error.code}: {task.error.message}"


def _read(decoder: msgspec.json.Decoder[T], content: bytes, what: str, task: Task) -> T:
    """What is stored has its checksum; it may have been written by a version with other bounds, or by none of ours."""
    try:
        return decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        named = task_named(task.id, task.number)
        raise RecordDamaged(f"the {what} of {named} cannot be read: {error}", task_id=task.id) from error


def _object(raw: Raw | UnsetType) -> Raw:
    return _EMPTY if raw is UNSET or bytes(raw) == NULL else raw


def _value(raw: Raw | UnsetType) -> Raw | None:
    return None if isinstance(raw, UnsetType) else raw


def _requirements(asked: Requirements) -> RequirementsAnswer:
    return RequirementsAnswer(
        capabilities=asked.capabilities,
        target_daemon=asked.target_daemon,
        excluded_daemons=asked.excluded_daemons,
        estimated_duration=asked.estimated_duration,
        memory_mb=asked.memory_mb,
        cpu_intensive=asked.cpu_intensive,
    )


def _execution(asked: Execution) -> ExecutionAnswer:
    return ExecutionAnswer(**{name: value for name, value in asdict(asked).items() if value is not UNSET})


def _scheduled_for(content: Content, task: Task) -> datetime | None:
    """Until its first attempt a task's `not_before` is the time it was asked for, also after a PATCH.

    Once it is ready that is gone, and its body has the time that it came with. One that was ready before that
    time, or never was, has had it removed.
    """
    if not task.attempts and task.not_before is not None:
        return instant_of(task.not_before)
    asked = content.scheduled_for
    ready_at = task.attempts[0].assigned_at if task.attempts else task.queued_at
    was_removed = asked is not None and (ready_at is None or ready_at < ms_of(asked))
    return None if was_removed else asked


def _cut(answer: TaskAnswer) -> None:
    """For lists: an object that is too long is left out, a text is cut."""
    truncated = []
    if len(answer.input) > LIST_BODY_BYTES_MAX:
        answer.input = answer.input[:LIST_BODY_BYTES_MAX]
        truncated.append("input")
    for name in ("context", "payload", "metadata", "result", "decision_report"):
        raw = getattr(answer, name)
        if isinstance(raw, Raw) and len(memoryview(raw)) > LIST_BODY_BYTES_MAX:
            setattr(answer, name, None)
            truncated.append(name)
    if truncated:
        answer.truncated = truncated


def error_answer(error: Failure | None) -> ErrorAnswer | None:
    if error is None:
        return None
    details = None if error.details is None else Raw(error.details.encode())
    return ErrorAnswer(error.code, error.message, error.retryable, details)


def attempt_answer(attempt: Attempt, stored: StoredTask | None = None) -> AttemptAnswer:
    late = None if stored is None else next((x for x in stored.late if x.attempt == attempt.number), None)
    return AttemptAnswer(
        number=attempt.number,
        series=attempt.series,
        daemon_id=attempt.daemon_id,
        daemon_name=attempt.daemon_name,
        status=attempt.status,
        started_at=instant_or_none(attempt.started_at),
        ended_at=instant_or_none(attempt.ended_at),
        error=error_answer(attempt.error),
        late_result=None if late is None else Raw(late.body),
        usage=attempt.usage,
    )


def event_answer(numbered: Numbered) -> EventAnswer:
    event = numbered.event
    return EventAnswer(
        id=None if event.name in SOFT else event_id(numbered),
        event=event.name,
        at=instant_of(event.at),
        user_id=event.user_id,
        task_id=event.task_id,
        ref=None if event.number is None else ref_of(event.number),
        attempt=event.attempt,
        was=event.was,
        now=event.now,
        data=_data_of(event),
    )


def event_id(numbered: Numbered) -> str:
    return f"{numbered.epoch}-{numbered.seq}-{numbered.index}"


def _data_of(event: Event) -> dict[str, Any]:
    data: dict[str, Any] = {} if event.data is None else dict(event.data)
    for name in ("until", "due_at"):
        if isinstance(data.get(name), int):
            data[name] = instant_of(data[name])
    return data

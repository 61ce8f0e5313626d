"""From what is stored to what is shown: a task's answer, its attempts, its events, its `task.execute`.

A task goes to its daemon by splicing: the stored body is an object already, so the fields that the hub
adds are written before its first field and nothing is parsed.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, UnsetType

from taskyard.core.changes import AuditRecord, Event
from taskyard.core.task import Attempt, Failure, Task, ref_of
from taskyard.gateway.context_input import context_input_of
from taskyard.gateway.port import ProgressView
from taskyard.gateway.translate import CONTENT_KEY_PREFIX
from taskyard.store.port import Load, Numbered, StoredTask
from taskyard.vocabulary import HELD, EventName
from taskyard.wire.fields import NULL, instant_of, instant_or_none
from taskyard.wire.people import AuditAnswer
from taskyard.wire.tasks import (
    LIST_BODY_BYTES_MAX,
    AttemptAnswer,
    Content,
    ContextInput,
    ErrorAnswer,
    EventAnswer,
    ExecutionAnswer,
    Outcome,
    ProgressAnswer,
    RequirementsAnswer,
    SourceAnswer,
    TaskAnswer,
)

SOFT: Final = frozenset({EventName.TASK_PROGRESS, EventName.TASK_LOG})
"""Told to whoever watches, not kept: these have no place in the log."""

_content: Final = msgspec.json.Decoder(Content)
_outcome: Final = msgspec.json.Decoder(Outcome)
_encoder: Final = msgspec.json.Encoder()
_EMPTY: Final = Raw(b"{}")
_NO_OUTCOME: Final = Outcome()


def task_answer(
    stored: StoredTask,
    *,
    progress: ProgressView | None = None,
    parents: Sequence[StoredTask] = (),
    checkpoint: bytes | None = None,
    deduplicated: bool = False,
    in_list: bool = False,
) -> TaskAnswer:
    task = stored.task
    content = _content.decode(stored.body)
    outcome = _NO_OUTCOME if stored.outcome is None else _outcome.decode(stored.outcome)
    trouble = task.trouble
    newest = task.newest
    answer = TaskAnswer(
        id=task.id,
        ref=ref_of(task.number),
        user_id=task.user_id,
        status=task.status,
        type=content.type,
        title=content.title,
        input=content.input,
        goal=content.goal,
        constraints=content.constraints or [],
        context=_object(content.context),
        payload=_object(content.payload),
        metadata=_object(content.metadata),
        source=_source(content, task),
        model=content.model,
        queue=task.kind.queue,
        project_id=content.project_id,
        priority=task.level,
        priority_value=task.value,
        deadline=instant_or_none(task.deadline),
        sla=instant_or_none(task.sla),
        scheduled_for=_scheduled_for(content, task),
        depends_on=[depends.id for depends in task.depends or ()],
        on_depends_fail=task.terms.on_depends_fail,
        parent_task_id=task.parent_id,
        correlation_id=task.correlation_id,
        idempotency_key=_own_key(task),
        dedupe=content.dedupe,
        requirements=_requirements(content),
        execution=_execution(content),
        assigned_daemon=newest.daemon_id if newest is not None and task.status in HELD else None,
        progress=None if progress is None else ProgressAnswer(progress.percent, progress.message),
        checkpoint=None if checkpoint is None else Raw(checkpoint),
        context_input=context_input_of(task, parents),
        result=_value(outcome.result),
        result_summary=task.summary,
        result_status=task.result_status,
        files_changed=outcome.files_changed or [],
        decision_report=_value(outcome.decision_report),
        error=error_answer(task.error),
        failure_reason=None if task.error is None else f"{task.error.code}: {task.error.message}",
        not_before=instant_or_none(task.not_before),
        blocked_reason=None if trouble is None else trouble.blocked_reason,
        skipped_reason=None if trouble is None else trouble.skipped_reason,
        waiting_for_daemon=None if trouble is None else trouble.waiting_for_daemon,
        cancel_requested_at=instant_or_none(task.cancel_requested_at),
        created_at=instant_of(task.created_at),
        queued_at=instant_or_none(task.queued_at),
        scheduled_at=instant_or_none(task.scheduled_at),
        started_at=instant_or_none(task.started_at),
        completed_at=instant_or_none(task.completed_at),
        deduplicated=deduplicated,
    )
    if in_list:
        _cut(answer)
    else:
        answer.attempts = [attempt_answer(attempt, stored) for attempt in task.attempts or ()]
    return answer


def _object(raw: Raw | UnsetType) -> Raw:
    return _EMPTY if isinstance(raw, UnsetType) or bytes(raw) == NULL else raw


def _value(raw: Raw | UnsetType) -> Raw | None:
    return None if isinstance(raw, UnsetType) else raw


def _source(content: Content, task: Task) -> SourceAnswer:
    source = content.source
    if source is None:
        return SourceAnswer(type=task.kind.source)
    return SourceAnswer(type=task.kind.source, id=source.id, channel=source.channel)


def _requirements(content: Content) -> RequirementsAnswer:
    asked = content.requirements
    if asked is None:
        return RequirementsAnswer()
    return RequirementsAnswer(
        capabilities=asked.capabilities,
        target_daemon=asked.target_daemon,
        excluded_daemons=asked.excluded_daemons,
        estimated_duration=asked.estimated_duration,
        memory_mb=asked.memory_mb,
        cpu_intensive=asked.cpu_intensive,
    )


def _execution(content: Content) -> ExecutionAnswer:
    asked = content.execution
    if asked is None:
        return ExecutionAnswer()
    return ExecutionAnswer(
        timeout=asked.timeout,
        max_attempts=asked.max_attempts,
        retry_delay=asked.retry_delay,
        retry_backoff=asked.retry_backoff,
        require_decision_report=asked.require_decision_report,
        on_lost=asked.on_lost,
        exclusive=asked.exclusive,
    )


def _scheduled_for(content: Content, task: Task) -> Any:
    """Until its first attempt a task's `not_before` is the time it was asked for, also after a PATCH."""
    if not task.attempts and task.not_before is not None:
        return instant_of(task.not_before)
    return content.scheduled_for


def _own_key(task: Task) -> str | None:
    return None if task.key is None or task.key.startswith(CONTENT_KEY_PREFIX) else task.key


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
    return {} if event.data is None else dict(event.data)


def audit_answer(record: AuditRecord) -> AuditAnswer:
    return AuditAnswer(instant_of(record.at), record.actor, record.action, record.subject, record.old, record.new)


def execute_frame(load: Load, attempt: int, timeout_ms: int, token: str) -> bytes:
    """The encoded `task.execute`. Every id in it is minted by the hub, so it needs no escaping."""
    task = load.task
    context = previous = b"[]"
    if task.depends is not None or task.trouble is not None:
        entries: list[ContextInput] = context_input_of(task, load.parents)
        context = _encoder.encode(entries)
    if attempt > 1:
        earlier = [attempt_answer(one) for one in task.attempts or () if one.number < attempt]
        previous = _encoder.encode(earlier)
    head = (
        f'{{"type":"task.execute","task":{{"id":"{task.id}","ref":"T-{task.number:03d}"'
        f',"user_id":"{task.user_id}","status":"scheduled","priority":"{task.level.value}",'
    )
    tail = f',"attempt":{attempt},"timeout":{timeout_ms / 1000},"token":"{token}","context_input":'
    return b"".join(
        (
            head.encode(),
            memoryview(load.body)[1:],
            tail.encode(),
            context,
            b',"checkpoint":',
            load.checkpoint or NULL,
            b',"previous_attempts":',
            previous,
            b"}",
        )
    )

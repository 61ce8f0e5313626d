"""From what a caller sent to what the core is asked. Shapes change here; no rule is applied."""

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from taskyard.core.commands import ChangeTask, CompleteTask, Draft, FailTask
from taskyard.core.priority import level_of
from taskyard.core.settings import Retry, Settings, Sizes
from taskyard.core.task import Failure, Kind, Needs, Terms, Usage
from taskyard.core.task import ms_of as ms_of_seconds
from taskyard.core.told import KEEP, Keep
from taskyard.gateway.retry_after import retry_after_ms
from taskyard.gateway.sameness import NO_NAMES, digest_of, input_of, plain
from taskyard.vocabulary import CONTENT_KEY_PREFIX, DEFAULT_QUEUE, ErrorCode, Level, SourceType
from taskyard.wire.fields import FIELD_BYTES_MAX, NULL, ms_of
from taskyard.wire.frames import DecisionReport, WireError, WireUsage
from taskyard.wire.submission import BatchItem, Change, Completion, Execution, Requirements, Source, Submission
from taskyard.wire.tasks import Content

T = TypeVar("T")

# Python 3.11 looks up a member of an enum by a call, and every submission is asked for this one.
_WEBHOOK: Final = SourceType.WEBHOOK
_SOURCE: Final = Source(SourceType.USER, None, "api")
_NEEDS: Final = Needs()
_REQUIREMENTS: Final = Requirements()
_EXECUTION: Final = Execution()
_TERMS: Final = Terms()
_BUILT_IN: Final = (Retry().timeout_s, Retry().max_attempts, Retry().delay_s)
_CUT_HEAD_BYTES: Final = 64 * 1024

_encoder: Final = msgspec.json.Encoder()


def draft_of(
    submission: Submission,
    *,
    id: str,
    user_id: str,
    settings: Settings,
    key: str | None = None,
    as_agent: bool = False,
    meanings: Mapping[str, str] = NO_NAMES,
) -> Draft:
    """`key` is the header's, for a submission without one of its own; `meanings` those of its batch's names."""
    source = submission.source or _SOURCE
    if as_agent and source.type is not SourceType.AGENT:
        source = Source(SourceType.AGENT, source.id, source.channel)
    key = submission.idempotency_key or key
    digest = None
    if key is not None or submission.dedupe is not None:
        digest = digest_of(submission, user_id, meanings)
        key = key or f"{CONTENT_KEY_PREFIX}{digest}"
    level, value = _priority_of(submission)
    execution, retry = _execution_of(submission, settings), settings.retry
    # By place, in the order of the fields: by name takes three times as long, for so many.
    return Draft(
        id,
        Kind(_needs_of(submission), DEFAULT_QUEUE, source.type),
        _terms_of(submission, execution, retry),
        _body_of(submission, source, execution),
        submission.name if isinstance(submission, BatchItem) else None,
        submission.queue,
        source.channel,
        level,
        value,
        _event_type(submission) if source.type is _WEBHOOK else None,
        None if submission.deadline is None else ms_of(submission.deadline),
        None if submission.sla is None else ms_of(submission.sla),
        None if submission.scheduled_for is None else ms_of(submission.scheduled_for),
        tuple(submission.depends_on),
        submission.parent_task_id,
        key,
        digest,
        submission.correlation_id,
    )


def _priority_of(submission: Submission) -> tuple[Level | None, int | None]:
    priority = submission.priority
    if priority is None or isinstance(priority, Level):
        return priority, None
    return level_of(priority), priority


def _needs_of(submission: Submission) -> Needs:
    requirements = submission.requirements or _REQUIREMENTS
    if requirements is _REQUIREMENTS and submission.model is None:
        return _NEEDS if submission.type == "general" else Needs(submission.type)
    return Needs(
        type=submission.type,
        model=submission.model,
        capabilities=tuple(requirements.capabilities),
        target=requirements.target_daemon,
        excluded=tuple(requirements.excluded_daemons),
        memory_mb=requirements.memory_mb or 0,
        cpu_intensive=requirements.cpu_intensive,
    )


def _execution_of(submission: Submission, settings: Settings) -> Execution | None:
    """How it is to be run, in the words that are kept: those mean the same whatever is configured later.

    None: nothing was said, and nothing is configured.
    """
    said, retry = submission.execution, settings.retry
    needs_report = settings.requires_report(submission.type)
    if said is None:
        if not needs_report and (retry.timeout_s, retry.max_attempts, retry.delay_s) == _BUILT_IN:
            return None
        said = _EXECUTION
    return replace(
        said,
        timeout=_given(said.timeout, retry.timeout_s),
        max_attempts=_given(said.max_attempts, retry.max_attempts),
        retry_delay=_given(said.retry_delay, retry.delay_s),
        require_decision_report=said.require_decision_report or needs_report,
    )


def _given(said: T | UnsetType, otherwise: T) -> T:
    return otherwise if isinstance(said, UnsetType) else said


def _terms_of(submission: Submission, execution: Execution | None, retry: Retry) -> Terms:
    estimated_s = (submission.requirements or _REQUIREMENTS).estimated_duration
    if execution is None and estimated_s is None and submission.on_depends_fail is _TERMS.on_depends_fail:
        return _TERMS
    execution = execution or _EXECUTION
    return Terms(
        timeout_ms=ms_of_seconds(_given(execution.timeout, retry.timeout_s)),
        max_attempts=_given(execution.max_attempts, retry.max_attempts),
        retry_delay_ms=ms_of_seconds(_given(execution.retry_delay, retry.delay_s)),
        backoff=execution.retry_backoff,
        decision_report=execution.require_decision_report,
        on_lost=execution.on_lost,
        on_depends_fail=submission.on_depends_fail,
        exclusive=execution.exclusive,
        estimated_ms=None if estimated_s is None else ms_of_seconds(estimated_s),
    )


def _body_of(submission: Submission, source: Source, execution: Execution | None) -> bytes:
    return _encoder.encode(
        Content(
            type=submission.type,
            input=input_of(submission),
            title=submission.title,
            goal=submission.goal,
            constraints=submission.constraints,
            context=submission.context,
            payload=submission.payload,
            metadata=submission.metadata,
            source=source,
            model=submission.model,
            project_id=submission.project_id,
            dedupe=submission.dedupe,
            scheduled_for=submission.scheduled_for,
            requirements=submission.requirements,
            execution=execution,
        )
    )


def _event_type(submission: Submission) -> str | None:
    context = plain(submission.context)
    said = context.get("event_type") if isinstance(context, dict) else None
    return said if isinstance(said, str) else None


def change_of(change: Change, *, user_id: str, task_id: str, ceiling: Level | None, actor: str) -> ChangeTask:
    level: Level | Keep = KEEP
    value = None
    if isinstance(change.priority, Level):
        level = change.priority
    elif isinstance(change.priority, int):
        level, value = level_of(change.priority), change.priority
    return ChangeTask(
        user_id=user_id,
        task_id=task_id,
        level=level,
        value=value,
        deadline=_kept(change.deadline),
        scheduled_for=_kept(change.scheduled_for),
        ceiling=ceiling,
        actor=actor,
    )


def _kept(at: object) -> int | Keep | None:
    if at is UNSET:
        return KEEP
    return None if at is None else ms_of(at)  # type: ignore[arg-type]


def outcome_of(
    result: Raw | UnsetType, files_changed: list[str] | None, report: DecisionReport | None, bytes_max: int
) -> bytes | None:
    """What is stored of a result; None when there is nothing to store.

    A result over its size is cut to its head: finished work is never thrown away, and refusing it
    would make its daemon send it again forever.
    """
    raw = NULL if isinstance(result, UnsetType) else bytes(result)
    if raw == NULL and files_changed is None and report is None:
        return None
    if len(raw) > bytes_max:
        head = raw[: min(_CUT_HEAD_BYTES, bytes_max)].decode(errors="replace")
        raw = _encoder.encode({"truncated": True, "bytes": len(raw), "head": head})
    parts = [b'{"result":', raw]
    if files_changed is not None:
        parts += [b',"files_changed":', _encoder.encode(files_changed)]
    if report is not None:
        parts += [b',"decision_report":', _encoder.encode(report)]
    return b"".join((*parts, b"}"))


def usage_of(usage: WireUsage | None) -> Usage | None:
    return None if usage is None else Usage(usage.input_tokens, usage.output_tokens, usage.cost_usd)


def failure_of(error: WireError | str | None) -> Failure:
    if error is None or isinstance(error, str):
        return Failure(ErrorCode.AGENT_REPORTED_FAILURE, cut(error or "The agent reported a failure."))
    details = None if error.details is None else _encoder.encode(error.details)
    if details is not None and len(details) > FIELD_BYTES_MAX:
        details = _encoder.encode({"truncated": True, "bytes": len(details)})
    return Failure(
        code=error.code[:255] or "UNKNOWN",
        message=cut(error.message),
        retryable=error.retryable,
        details=None if details is None else details.decode(),
    )


def said_retry_after(error: WireError | str | None, now_ms: int) -> int | None:
    if error is None or isinstance(error, str):
        return retry_after_ms(None, error or "", now_ms)
    return retry_after_ms((error.details or {}).get("retry_after"), error.message, now_ms)


def cut(text: str, bytes_max: int = FIELD_BYTES_MAX) -> str:
    """A field of an agent's own words, within its size; over it the end is missing and says so."""
    if len(text) <= bytes_max // 4:
        return text
    encoded = text.encode()
    if len(encoded) <= bytes_max:
        return text
    return encoded[: max(0, bytes_max - 16)].decode(errors="ignore") + "… (cut)"


def ending_of(
    completion: Completion, *, task_id: str, attempt: int, now_ms: int, size: Sizes
) -> CompleteTask | FailTask:
    """An attempt's end told over HTTP: its token or key vouches for it, no socket does."""
    if completion.status == "failed":
        return FailTask(
            daemon_id=None,
            task_id=task_id,
            attempt=attempt,
            error=failure_of(completion.error),
            usage=usage_of(completion.usage),
            retry_after_ms=said_retry_after(completion.error, now_ms),
        )
    return CompleteTask(
        daemon_id=None,
        task_id=task_id,
        attempt=attempt,
        outcome=outcome_of(completion.result, completion.files_changed, completion.decision_report, size.result),
        summary=completion.summary,
        result_status=completion.result_status,
        has_report=completion.decision_report is not None,
        usage=usage_of(completion.usage),
    )

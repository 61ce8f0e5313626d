"""How a task looks to a person: in a line, in a table, in full."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from taskyard.cli import output
from taskyard.cli.neutral import one_line
from taskyard.cli.times import relative, span
from taskyard.cli.why import filled
from taskyard.vocabulary import Status

if TYPE_CHECKING:
    from taskyard.sdk.answers import Attempt, TaskRecord

TITLE_CHARS_MAX: Final = 60
ATTEMPTS_SHOWN_MAX: Final = 10
_NEXT: Final = {
    Status.SCHEDULED: ": a daemon was given it",
    Status.WAITING: " for what it depends on",
}
_WAITING: Final = frozenset({Status.PENDING, Status.WAITING, Status.BLOCKED, Status.QUEUED})
COLUMNS: Final = ("REF", "STATUS", "PRIORITY", "TYPE", "QUEUE", "CREATED", "TITLE")


def status_of(task: "TaskRecord") -> str:
    if task.cancel_requested_at is not None and not task.ended:
        return f"{task.status} (cancelling)"
    percent = task.progress.percent if task.progress and not task.ended else None
    return str(task.status) if percent is None else f"{task.status} {percent:.0f}%"


def title_of(task: "TaskRecord") -> str:
    return one_line(task.title or task.input, chars_max=TITLE_CHARS_MAX)


def reason_of(task: "TaskRecord") -> str | None:
    """Why it stands as it does, if the hub said."""
    # What is tried again did not fail: that was the last time.
    failed = task.failure_reason if task.ended else None
    said = failed or task.blocked_reason or task.skipped_reason or task.cancel_reason
    return said or _awaited(task)


def _awaited(task: "TaskRecord") -> str | None:
    name = task.waiting_for_daemon
    return None if name is None else f"it waits for the daemon {name}, which is not there."


def headline(task: "TaskRecord") -> str:
    """`T-002 is queued, position 3.`"""
    words = f"{task.ref} is {status_of(task)}"
    if reason := reason_of(task):
        return f"{words}: {reason}"
    if task.deduplicated:
        return f"{words}; it had been submitted before."
    return f"{words}{_foreseen(task)}."


def _foreseen(task: "TaskRecord") -> str:
    """`, position 3, expected to start in 5 min`"""
    from taskyard.sdk.clock import now

    if task.status is Status.PENDING and (start := task.not_before or task.scheduled_for):
        return f" until its time comes, {relative(start, now())}"
    if task.status in _NEXT:
        return _NEXT[task.status]
    words = f", position {task.queue_position}" if task.queue_position else ""
    return f"{words}, expected to start {relative(task.estimated_start, now())}" if task.estimated_start else words


def progress_line(task: "TaskRecord") -> str:
    """`T-002 running 40%: reading`"""
    words = f"{task.ref} {status_of(task)}"
    if task.status in _WAITING:
        return f"{words}; taskyard why {task.ref} says why"
    message = task.progress.message if task.progress else None
    return f"{words}: {message}" if message else words


def task_table(tasks: "Iterable[TaskRecord]") -> None:
    from taskyard.sdk.clock import now

    at = now()
    output.table(
        COLUMNS,
        [
            (
                task.ref,
                status_of(task),
                str(task.priority) + (f" (was {task.raised_from})" if task.raised_from else ""),
                task.type,
                task.queue,
                relative(task.created_at, at),
                title_of(task),
            )
            for task in tasks
        ],
    )


def card(task: "TaskRecord", now: datetime, *, why: str | None = None) -> str:
    """Everything about a task that a person would ask next; `why` says why it is not running."""
    facts = [(name, value) for name, value in _facts(task, now, why) if value]
    width = max(len(name) for name, _ in facts)
    lines = [f"{task.ref}  {title_of(task) or task.type}", ""]
    for name, value in facts:
        line = f"{name.ljust(width)}  {one_line(value)}"
        lines += filled(line, hang=width + 2) if name == "because" else [line]
    if task.attempts:
        lines += ["", "attempts", *_attempts(task.attempts, now)]
    for name, body in (("traceback", _traceback(task)), ("input", task.input), ("result", task.result)):
        if body not in (None, ""):
            lines += ["", name, _indented(body)]
    return "\n".join(lines)


def _facts(task: "TaskRecord", now: datetime, why: str | None) -> Iterator[tuple[str, str | None]]:
    yield "status", status_of(task)
    yield "because", why or reason_of(task)
    yield "progress", task.progress.message if task.progress else None
    yield "type", task.type
    yield "priority", f"{task.priority} ({task.priority_value}){_raised(task)}"
    yield "queue", task.queue + (f", position {task.queue_position}" if task.queue_position else "")
    yield "model", task.model
    yield "daemon", _daemon_of(task)
    yield "depends on", ", ".join(task.depends_on)
    yield "needs", ", ".join(task.requirements.capabilities)
    yield "source", ", ".join(filter(None, (task.source.type, task.source.channel, task.source.id)))
    for name, at in (
        ("created", task.created_at),
        ("not before", task.not_before or task.scheduled_for),
        ("deadline", task.deadline),
        ("expected", task.estimated_start),
        ("started", task.started_at),
        ("ended", task.completed_at),
    ):
        yield name, relative(at, now) if at else None
    yield "reviewed", _reviewed(task, now)
    yield "summary", task.result_summary
    yield "files", ", ".join(task.files_changed or ())
    yield "id", task.id


def _reviewed(task: "TaskRecord", now: datetime) -> str | None:
    """`escalate to ann, by user:u_1 2 h ago: it needs a plane`"""
    review = task.review
    if review is None:
        return None
    to = f" to {review.to}" if review.to else ""
    until = f" until {relative(review.until, now)}" if review.until else ""
    return f"{review.verdict}{to}{until}, by {review.by} {relative(review.at, now)}: {review.reason}"


def _raised(task: "TaskRecord") -> str:
    if task.raised_from is not None:
        return f", raised from {task.raised_from}"
    return ", ordered as normal for waiting so long" if task.aged else ""


def _daemon_of(task: "TaskRecord") -> str | None:
    """By name: the task has its daemon's id alone, its attempts have both."""
    names = {attempt.daemon_id: attempt.daemon_name for attempt in task.attempts}
    return names.get(task.assigned_daemon) or task.assigned_daemon


def _attempts(attempts: "Sequence[Attempt]", now: datetime) -> list[str]:
    """The newest of them: a task may have a hundred."""
    left_out = len(attempts) - ATTEMPTS_SHOWN_MAX
    before = [f"  {left_out} before these; --json has all of them"] if left_out > 0 else []
    return [*before, *(f"  {_attempt(attempt, now)}" for attempt in attempts[-ATTEMPTS_SHOWN_MAX:])]


def _attempt(attempt: "Attempt", now: datetime) -> str:
    words = [f"{attempt.number}", str(attempt.status), f"on {attempt.daemon_name or attempt.daemon_id or '?'}"]
    if attempt.started_at and attempt.ended_at:
        words.append(f"for {span((attempt.ended_at - attempt.started_at).total_seconds())}")
    elif attempt.started_at:
        words.append(f"since {relative(attempt.started_at, now)}")
    words += _used(attempt.usage)
    if attempt.error:
        words.append(f"{attempt.error.code}: {one_line(attempt.error.message)}")
    if attempt.late_result is not None:
        words.append("(a late result is kept)")
    return "  ".join(words)


def _traceback(task: "TaskRecord") -> str | None:
    """Of the newest attempt that has one; what was done in the end failed nowhere."""
    if task.succeeded:
        return None
    errors = [task.error, *(attempt.error for attempt in reversed(task.attempts))]
    details = [error.details for error in errors if error is not None and isinstance(error.details, dict)]
    return next((found for each in details if isinstance(found := each.get("traceback"), str)), None)


def _used(usage: object) -> list[str]:
    """`read 3210 tokens, wrote 40, $0.0125`"""
    said = usage if isinstance(usage, dict) else {}
    tokens = [f"{verb} {said[name]}" for verb, name in _TOKENS if name in said]
    tokens[:1] = [f"{first} tokens" for first in tokens[:1]]
    cost = [f"${said['cost_usd']:.6f}".rstrip("0").rstrip(".")] if "cost_usd" in said else []
    return [", ".join(tokens + cost)] if tokens or cost else []


_TOKENS: Final = (("read", "input_tokens"), ("wrote", "output_tokens"))


def _indented(body: object) -> str:
    text = body if isinstance(body, str) else output.indented(body)
    return "\n".join(f"  {line}" for line in text.splitlines())

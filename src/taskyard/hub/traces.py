"""One trace per task, from its submission to its result, told when the task has ended.

Nothing is remembered for it: a task's record says when it came and when each attempt began and ended, and the ids of
its spans follow from its own. So a trace outlives a hub that is killed halfway, and the work can be given a span to
stand under long before that span is told. Of a task without a caller's trace, the trace's id is the task's own.

    task                created or, if it was revived, queued → ended
    ├ waiting           from the submission, or from the attempt before, until a daemon was chosen
    ├ attempt 1         given to a daemon → ended; what the work does itself belongs below
    ├ waiting
    └ attempt 2
"""

import os
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import Final, Protocol

from msgspec import Struct

from taskyard.core.changes import Batch
from taskyard.core.task import Attempt, Task
from taskyard.hub.observe import Log
from taskyard.vocabulary import AttemptStatus, Status
from taskyard.wire.traceparent import parts_of, write_traceparent

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""The names by which other programs are told where to send their traces; each of them is enough."""

_GOOD: Final = frozenset({AttemptStatus.SUCCESS, AttemptStatus.PREEMPTED, AttemptStatus.DRAINED})
"""Ends of an attempt that are nobody's error."""


class Span(Struct, frozen=True, kw_only=True):
    """A stretch of a trace. Ids are hexadecimal, instants wall-clock milliseconds."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    started_at: int
    ended_at: int
    attributes: Mapping[str, str | int]
    state: str | None = None
    """What came with the trace (`tracestate`)."""
    error: str | None = None
    """The code of what went wrong; never a message, which may quote anybody."""


class Sender(Protocol):
    """Takes spans without waiting, and loses those that it has no room for."""

    def send(self, spans: list[Span]) -> None: ...

    def close(self) -> None:
        """What was taken is sent, or given up after a few seconds. Blocks."""


class Traces:
    def __init__(self, sender: Sender, log: Log) -> None:
        self._sender = sender
        self._log = log
        self._is_broken = False

    def observe(self, batch: Batch) -> None:
        """A commit is released: tell of the tasks that ended with it."""
        if self._is_broken or not batch.ended:
            return
        try:
            self._sender.send([span for row in batch.ended for span in spans_of(row.task)])
        except Exception as error:  # noqa: BLE001 - whatever a library makes of it: no task may suffer from being told of
            self._is_broken = True
            self._log.fault("telemetry.failed", error, level="error")

    def handed_context(self, task: Task, attempt: int) -> str:
        """What the work of an attempt is given, so that what it does belongs to the attempt's span."""
        trace_id, _, is_sampled = _context_of(task)
        return write_traceparent(trace_id, _attempt_id(task, attempt), is_sampled=is_sampled)

    def close(self) -> None:
        self._sender.close()


def open_traces(endpoint: str | None, log: Log) -> Traces | None:
    """None unless somebody said where traces go: the settings, or the environment."""
    if endpoint is None and not any(os.environ.get(name) for name in ENDPOINTS):
        return None
    try:
        from taskyard.hub.otlp import Otlp
    except ModuleNotFoundError as error:
        advice = "Traces are configured, but what sends them is not installed: pip install 'taskyard[otel]'."
        log.say("telemetry.missing", level="warning", module=error.name, advice=advice)
        return None
    return Traces(Otlp(endpoint), log)


def spans_of(task: Task) -> list[Span]:
    """The spans of an ended task; none if its caller's trace is not recorded."""
    trace_id, parent_id, is_sampled = _context_of(task)
    if not is_sampled:
        return []
    series = [attempt for attempt in task.attempts or () if attempt.series == task.series]
    root_id = _span_id(task, "task")
    began, ended = _beginning(task, series), task.completed_at or task.created_at
    root = Span(
        name=f"task {task.kind.needs.type}",
        trace_id=trace_id,
        span_id=root_id,
        parent_id=parent_id,
        started_at=began,
        ended_at=max(began, ended),
        attributes=_attributes_of(task),
        state=task.tracestate,
        error=_code_of(task),
    )
    return [root, *_children(task, series, root)]


def _children(task: Task, series: list[Attempt], root: Span) -> Iterator[Span]:
    since = root.started_at
    for attempt in series:
        if attempt is series[-1] and task.queued_at is not None and task.queued_at <= attempt.assigned_at:
            since = max(since, task.queued_at)
        yield _child(root, "waiting", _span_id(task, f"waiting {attempt.number}"), (since, attempt.assigned_at))
        since = attempt.ended_at or root.ended_at
        yield _child(
            root,
            "attempt",
            _attempt_id(task, attempt.number),
            (attempt.assigned_at, since),
            attributes={
                "taskyard.attempt.number": attempt.number,
                "taskyard.attempt.status": attempt.status.value,
                "taskyard.daemon.id": attempt.daemon_id,
                "taskyard.daemon.name": attempt.daemon_name,
            },
            error=None if attempt.status in _GOOD else attempt.error.code if attempt.error else attempt.status.value,
        )
    if not series and task.queued_at is not None:
        yield _child(root, "waiting", _span_id(task, "waiting"), (task.queued_at, root.ended_at))


def _child(
    root: Span,
    name: str,
    span_id: str,
    between: tuple[int, int],
    *,
    attributes: Mapping[str, str | int] | None = None,
    error: str | None = None,
) -> Span:
    started_at, ended_at = between
    return Span(
        name=name,
        trace_id=root.trace_id,
        span_id=span_id,
        parent_id=root.span_id,
        started_at=started_at,
        # The wall clock may be set back in between.
        ended_at=max(started_at, ended_at),
        attributes=attributes or {},
        state=root.state,
        error=error,
    )


def _beginning(task: Task, series: list[Attempt]) -> int:
    """When it was submitted. When it was revived is written nowhere: the first thing that happened since."""
    if task.series == 1:
        return task.created_at
    return series[0].assigned_at if series else task.queued_at or task.created_at


def _attributes_of(task: Task) -> dict[str, str | int]:
    return {
        "taskyard.task.id": task.id,
        "taskyard.task.ref": task.ref,
        "taskyard.task.type": task.kind.needs.type,
        "taskyard.task.status": task.status.value,
        "taskyard.task.series": task.series,
        "taskyard.task.priority": task.level.value,
        "taskyard.task.source": task.kind.source.value,
        "taskyard.queue": task.kind.queue,
        "taskyard.user.id": task.user_id,
    }


def _code_of(task: Task) -> str | None:
    if task.status is not Status.PERMANENTLY_FAILED:
        return None
    return task.error.code if task.error else task.status.value


def _context_of(task: Task) -> tuple[str, str | None, bool]:
    """The trace a task belongs to, the span it hangs under, and whether it is recorded."""
    if task.traceparent is not None:
        return parts_of(task.traceparent)
    return task.id.replace("-", ""), None, True


def _attempt_id(task: Task, attempt: int) -> str:
    return _span_id(task, f"attempt {attempt}")


def _span_id(task: Task, what: str) -> str:
    return blake2b(f"{task.id} {task.series} {what}".encode(), digest_size=8).hexdigest()

"""Every call of the hub's HTTP interface, without doing any of them: one function, one `Request`.

Those about people, schedules, templates, webhooks and notifications are in files of their own.
"""

import secrets
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Final, Generic, TypeVar, cast

from msgspec import Struct

from taskyard.sdk.answers import (
    Acknowledged,
    Backpressure,
    Cancellation,
    Claimed,
    Event,
    LogLine,
    Overview,
    PatternReview,
    Rejected,
    Said,
    TaskRecord,
    Why,
)
from taskyard.sdk.errors import NotFound
from taskyard.sdk.records import (
    AuditEntry,
    BreakerRecord,
    DaemonRecord,
    HubRecord,
    Metrics,
    QueueRecord,
)
from taskyard.sdk.request import API, PAGE, Request, encode, get, given, segment, send
from taskyard.sdk.submission import is_keyed, wire_shape
from taskyard.vocabulary import Refusal
from taskyard.wire.imports import Import, ImportAnswer
from taskyard.wire.problems import NO_SUCH_TASK, PROBLEMS, names_a_task
from taskyard.wire.report import ReportAnswer

WAIT_S_MAX: Final = 20.0

H = TypeVar("H", bound=TaskRecord)


class Batch(Struct, Generic[H], kw_only=True):
    tasks: list[H]
    rejected: list[Rejected] = []


# --- submitting --------------------------------------------------------------------------------------------


def submit_task(handle: type[H], options: Mapping[str, Any], *, wait: bool = True) -> Request[H]:
    """Carries a key of its own unless the caller gave one, so that repeating it is always safe."""
    body = wire_shape(given(**options))
    headers = {"Content-Type": "application/json"}
    if not is_keyed(body):
        headers["Idempotency-Key"] = secrets.token_urlsafe(16)
    return Request(
        method="POST",
        path=API + "/tasks",
        answer=handle,
        headers=headers,
        body=encode(body),
        idempotent=True,
        waits_for_limits=wait,
    )


def submit_batch(
    handle: type[H], tasks: Sequence[Mapping[str, Any]], *, partial: bool = False, wait: bool = True
) -> Request[Batch[H]]:
    """As `submit_task`: one key in the header for all, or, where some have their own, one in each other."""
    bodies = [wire_shape(given(**task)) for task in tasks]
    key = secrets.token_urlsafe(16)
    headers = {"Content-Type": "application/json"}
    if not any(map(is_keyed, bodies)):
        headers["Idempotency-Key"] = key
    else:
        for index, body in enumerate(bodies):
            if not is_keyed(body):
                body["idempotency_key"] = f"{key}#{index}"
    return Request(
        method="POST",
        path=API + "/tasks/batch",
        answer=Batch[handle],  # type: ignore[valid-type]
        headers=headers,
        body=encode({"tasks": bodies, "partial": partial}),
        idempotent=True,
        waits_for_limits=wait,
    )


def say(handle: type[H], text: str, *, channel: str | None = None, dry_run: bool = False) -> Request[Said[H]]:
    """Not repeated: a retry that was said twice is done twice."""
    body = {"text": text, **given(channel=channel, dry_run=dry_run or None)}
    return send("POST", "/intake", Said[handle], body, idempotent=False)  # type: ignore[valid-type]


def import_piece(piece: Import) -> Request[ImportAnswer]:
    """Safe to repeat: what came before is recognised."""
    return Request(
        method="POST",
        path=API + "/import",
        answer=ImportAnswer,
        headers={"Content-Type": "application/json"},
        body=encode(piece),
        idempotent=True,
    )


def report(*, since: str | None = None) -> Request[ReportAnswer]:
    return get("/report", ReportAnswer, since=since)


def export_tasks(handle: type[H], *, archived: bool = False, limit: int = PAGE) -> Request[list[H]]:
    return get("/export", list[handle], archived="true" if archived else None, limit=limit)  # type: ignore[valid-type]


# --- tasks -------------------------------------------------------------------------------------------------


def _task(task: str) -> str:
    if not names_a_task(task):
        raise NotFound(code=Refusal.TASK_NOT_FOUND, status=PROBLEMS[Refusal.TASK_NOT_FOUND].status, detail=NO_SUCH_TASK)
    return f"/tasks/{segment(task)}"


def list_tasks(
    handle: type[H],
    *,
    status: str | None = None,
    queue: str | None = None,
    type: str | None = None,
    source: str | None = None,
    priority: str | None = None,
    correlation_id: str | None = None,
    parent_task_id: str | None = None,
    q: str | None = None,
    archived: bool = False,
    limit: int = PAGE,
) -> Request[list[H]]:
    return get(
        "/tasks",
        list[handle],  # type: ignore[valid-type]
        status=status,
        queue=queue,
        type=type,
        source=source,
        priority=priority,
        correlation_id=correlation_id,
        parent_task_id=parent_task_id,
        q=q,
        archived="true" if archived else None,
        limit=limit,
    )


def get_task(handle: type[H], task: str, *, wait_s: float | None = None) -> Request[H]:
    request = get(_task(task), handle, wait_s=wait_s)
    request.wait_s = wait_s or 0.0
    return request


def cancel_task(task: str, *, reason: str | None = None) -> Request[Cancellation]:
    return Request(
        method="DELETE",
        path=API + _task(task),
        answer=Cancellation,
        query={"reason": reason},
        idempotent=True,
    )


def patch_task(handle: type[H], task: str, changes: Mapping[str, Any]) -> Request[H]:
    return send("PATCH", _task(task), handle, wire_shape(changes), idempotent=True)


def retry_task(handle: type[H], task: str) -> Request[H]:
    return send("POST", f"{_task(task)}/retry", handle, None, idempotent=False)


def skip_task(handle: type[H], task: str, *, reason: str | None = None) -> Request[H]:
    request = send("POST", f"{_task(task)}/skip", handle, None, idempotent=False)
    request.query = {"reason": reason}
    return request


def task_events(task: str) -> Request[list[Event]]:
    return get(f"{_task(task)}/events", list[Event])


def why(task: str) -> Request[Why]:
    return get(f"{_task(task)}/why", Why)


def overview() -> Request[Overview]:
    return get("/why", Overview)


def task_log(task: str, *, attempt: int | None = None, after: str | None = None) -> Request[list[LogLine]]:
    return get(f"{_task(task)}/log", list[LogLine], attempt=attempt, cursor=after)


# --- of an attempt, by whoever runs it ---------------------------------------------------------------------


def complete_task(
    task: str,
    *,
    status: str = "completed",
    result: Any = None,
    summary: str | None = None,
    result_status: str | None = None,
    files_changed: Sequence[str] | None = None,
    decision_report: Mapping[str, Any] | None = None,
    error: str | Mapping[str, Any] | None = None,
    usage: Mapping[str, float] | None = None,
    attempt: int | None = None,
) -> Request[Acknowledged]:
    """An outcome may be said twice: the hub takes one result of an attempt and acknowledges every other."""
    body = given(
        status=status,
        result=result,
        summary=summary,
        result_status=result_status,
        files_changed=files_changed,
        decision_report=decision_report,
        error=error,
        usage=usage,
        attempt=attempt,
    )
    return send("POST", f"{_task(task)}/complete", Acknowledged, body, idempotent=True)


def claim(
    name: str,
    *,
    capabilities: Sequence[str] | None = None,
    types: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    wait_s: float = WAIT_S_MAX,
) -> Request[Claimed | None]:
    """Not repeated once it was sent: that would be another claim. One whose answer was lost ends with its lease."""
    body = {"name": name, "wait_s": wait_s, **given(capabilities=capabilities, types=types, models=models)}
    request: Request[Claimed | None] = send(
        "POST", "/claim", cast("type[Claimed]", Claimed | None), body, idempotent=False
    )
    request.wait_s, request.may_be_nothing = wait_s, True
    return request


def report_progress(
    task: str,
    *,
    percent: float | None = None,
    message: str | None = None,
    log: str | None = None,
    attempt: int | None = None,
) -> Request[Acknowledged]:
    """Not repeated when it carries log, which would then be there twice."""
    body = given(percent=percent, message=message, log=log, attempt=attempt)
    return send("POST", f"{_task(task)}/progress", Acknowledged, body, idempotent=log is None)


def save_checkpoint(task: str, data: Any, *, attempt: int | None = None) -> Request[Acknowledged]:
    body = {"data": data, **given(attempt=attempt)}
    return send("POST", f"{_task(task)}/checkpoint", Acknowledged, body, idempotent=True)


def beat(task: str, *, attempt: int | None = None) -> Request[Acknowledged]:
    return send("POST", f"{_task(task)}/heartbeat", Acknowledged, given(attempt=attempt), idempotent=True)


# --- dead letters ------------------------------------------------------------------------------------------


def dead_letters(handle: type[H], *, fingerprint: str | None = None, limit: int = PAGE) -> Request[list[H]]:
    return get(
        "/dead-letters",
        list[handle],  # type: ignore[valid-type]
        fingerprint=fingerprint,
        limit=limit,
    )


def review(handle: type[H], task: str, verdict: Mapping[str, Any]) -> Request[H]:
    path = f"/dead-letters/{segment(task)}/review"
    return send("POST", path, handle, verdict, idempotent=False)


def reviews(day: date) -> Request[list[AuditEntry]]:
    return get("/dead-letters/reviews", list[AuditEntry], date=day.isoformat())


def review_pattern(fingerprint: str, verdict: Mapping[str, Any]) -> Request[PatternReview]:
    body = {"fingerprint": fingerprint, **verdict}
    return send("POST", "/dead-letters/review", PatternReview, body, idempotent=False)


# --- daemons, queues, breakers, the hub --------------------------------------------------------------------


def daemons() -> Request[list[DaemonRecord]]:
    return get("/daemons", list[DaemonRecord])


def get_daemon(daemon: str) -> Request[DaemonRecord]:
    return get(f"/daemons/{segment(daemon)}", DaemonRecord)


def resume_daemon(daemon: str) -> Request[Acknowledged]:
    return send("POST", f"/daemons/{segment(daemon)}/resume", Acknowledged, None, idempotent=True)


def drain_daemon(daemon: str) -> Request[Acknowledged]:
    return send("POST", f"/daemons/{segment(daemon)}/drain", Acknowledged, None, idempotent=True)


def forget_daemon(daemon: str) -> Request[Acknowledged]:
    return send("DELETE", f"/daemons/{segment(daemon)}", Acknowledged, None, idempotent=False)


def backpressure() -> Request[Backpressure]:
    return get("/backpressure", Backpressure)


def queues() -> Request[list[QueueRecord]]:
    return get("/queues", list[QueueRecord])


def put_queue(name: str, *, models: Sequence[str] = (), max_concurrent: int | None = None) -> Request[QueueRecord]:
    body = {"models": list(models), "max_concurrent": max_concurrent}
    return send("PUT", f"/queues/{segment(name)}", QueueRecord, body, idempotent=True)


def delete_queue(name: str) -> Request[Acknowledged]:
    """Not repeated: a queue that is gone is not found a second time."""
    return send("DELETE", f"/queues/{segment(name)}", Acknowledged, None, idempotent=False)


def pause_queue(name: str) -> Request[QueueRecord]:
    return send("POST", f"/queues/{segment(name)}/pause", QueueRecord, None, idempotent=True)


def resume_queue(name: str) -> Request[QueueRecord]:
    return send("POST", f"/queues/{segment(name)}/resume", QueueRecord, None, idempotent=True)


def breakers() -> Request[list[BreakerRecord]]:
    return get("/breakers", list[BreakerRecord])


def reset_breaker(type: str) -> Request[BreakerRecord]:
    return send("POST", f"/breakers/{segment(type)}/reset", BreakerRecord, None, idempotent=True)


def open_breaker(type: str) -> Request[BreakerRecord]:
    return send("POST", f"/breakers/{segment(type)}/open", BreakerRecord, None, idempotent=True)


def hubs() -> Request[list[HubRecord]]:
    return get("/hubs", list[HubRecord])


def metrics() -> Request[Metrics]:
    return get("/metrics", Metrics)


def healthz() -> Request[dict[str, Any]]:
    return Request(method="GET", path="/healthz", answer=dict[str, Any], idempotent=True)


def events(
    *, task: str | None = None, types: Sequence[str] | None = None, last_event_id: str | None = None
) -> Request[Event]:
    """The stream. Its answer has no end; `sdk/events.py` reads it."""
    headers = {"Accept": "text/event-stream"}
    if last_event_id is not None:
        headers["Last-Event-ID"] = last_event_id
    return Request(
        method="GET",
        path=API + "/events",
        answer=Event,
        query={"task": task, "types": ",".join(types) if types else None},
        headers=headers,
        idempotent=True,
    )

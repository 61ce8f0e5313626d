"""Loki's task queue: `queue/*.json`, its breakers' state and their configuration.

A task is in the file that says how it stands. Files are moved between one task at a time and without care, so one that
is in two of them is taken from the one it was moved to. Priorities are from 1 to 10, ten first, as ours. `maxRetries`
counts all tries, `backoffSeconds` was multiplied at each of them and is taken back to where it began.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from taskyard.cli.imports.cargo import Cargo
from taskyard.cli.imports.circuit import breakers_in, settings_in
from taskyard.cli.imports.files import Damaged, Directory, NotADirectory, directory, tasks_in
from taskyard.cli.imports.foreign import (
    CHANNEL,
    attempts_of,
    complete,
    error_of,
    gather,
    instant_of,
    metadata_of,
    missing_in,
    origin_of,
    raw_of,
    seconds_of,
    tell_empty,
    text_of,
    within,
)
from taskyard.vocabulary import AttemptStatus, Level, ResultStatus, Status
from taskyard.wire.fields import ATTEMPTS_MAX, DEPENDENCIES_MAX, Name
from taskyard.wire.imports import CarriedTask
from taskyard.wire.submission import Execution, Requirements, Source

FILES: Final = {
    "completed.json": Status.COMPLETED,
    "cancelled.json": Status.CANCELLED,
    "dead-letter.json": Status.PERMANENTLY_FAILED,
    "in-progress.json": Status.RUNNING,
    "pending.json": Status.PENDING,
}
"""In the order of which is believed: a task is written into one file, and only then taken out of the other."""
MISSING: Final = "it was in none of the queue's files"
BACKOFF_S: Final = 60.0
BACKOFF_S_MAX: Final = 600.0
TIMEOUT_S: Final = 3600.0


class LokiTask(Struct, rename="camel", kw_only=True):
    """What is read of one; the rest is kept as it is. Numbers and times may be missing, or of either form."""

    id: Name | int
    type: Name | None = None
    priority: Level | float | None = None
    dependencies: Annotated[list[Name | int], Meta(max_length=DEPENDENCIES_MAX)] | None = None
    payload: dict[str, Any] | str | None = None
    created_at: str | float | None = None
    claimed_by: str | None = None
    claimed_at: str | float | None = None
    timeout: float | None = None
    retries: int | None = None
    max_retries: int | None = None
    backoff_seconds: float | None = None
    last_error: Any = None
    available_at: str | float | None = None
    completed_at: str | float | None = None
    cancelled_at: str | float | None = None
    cancel_reason: str | None = None
    idempotency_key: Name | int | None = None
    result: Raw | UnsetType = UNSET


def read(path: str, *, origin: str | None = None) -> Cargo:
    """All of it, from the directory that holds `queue`, or from `queue` itself."""
    with directory(path) as found:
        if found.has("queue"):
            with found.below("queue") as queue:
                return _read(found, queue, origin_of("loki", path, origin))
        if not any(found.has(name) for name in FILES):
            raise NotADirectory(f"{path}: holds neither `queue` nor one of {', '.join(sorted(FILES))}")
        return _read(None, found, origin_of("loki", f"{path}/..", origin))


def _read(root: Directory | None, queue: Directory, origin: str) -> Cargo:
    cargo = Cargo(origin=origin)
    tasks: dict[str, CarriedTask] = {}
    for name, status in FILES.items():
        if not queue.has(name):
            continue
        shown = f"{queue.shown}/{name}"
        try:
            found = tasks_in(queue.read(name), LokiTask, shown)
        except Damaged as damage:
            cargo.damaged.append(str(damage))
            continue
        carried = (carried_task(task, {**msgspec.json.decode(text), "file": name}, status) for task, text in found)
        gather(carried, shown, cargo, tasks)
    cargo.tasks = list(tasks.values())
    tell_empty(cargo, "`action`, `target` or `goal` in its `payload`")
    complete(cargo, dict.fromkeys(missing_in(cargo.tasks), MISSING))
    if root is not None:
        cargo.breakers = breakers_in(root, cargo)
        settings_in(root, cargo)
    return cargo


def carried_task(task: LokiTask, record: Mapping[str, Any], status: Status) -> CarriedTask:
    payload = task.payload if isinstance(task.payload, dict) else {}
    result = _result_of(task)
    if status is Status.COMPLETED and result.get("status") == "failed":
        status = Status.PERMANENTLY_FAILED
    error, failed = error_of(task.last_error), max(task.retries or 0, 0)
    carried = CarriedTask(
        id=str(task.id),
        type=task.type or "general",
        input=text_of(
            f"{payload.get('action') or ''} {payload.get('target') or ''}", task.payload, payload.get("goal")
        ),
        goal=payload["goal"] if isinstance(payload.get("goal"), str) else None,
        constraints=payload["constraints"] if _are_texts(payload.get("constraints")) else None,
        context=raw_of(payload["context"]) if isinstance(payload.get("context"), dict) else UNSET,
        payload=raw_of({name: value for name, value in payload.items() if not _has_place(name, value)}),
        source=Source(channel=CHANNEL),
        priority=_priority(task.priority),
        status=status,
        created_at=instant_of(task.created_at),
        depends_on=list(dict.fromkeys(str(name) for name in task.dependencies or ())),
        idempotency_key=None if task.idempotency_key is None else str(task.idempotency_key),
        requirements=Requirements(capabilities=[task.type] if task.type else []),
        execution=Execution(
            timeout=seconds_of(task.timeout, TIMEOUT_S),
            max_attempts=int(within(task.max_retries, 1, ATTEMPTS_MAX, 3)),
            retry_delay=_backoff_s(task),
            require_decision_report=True,
        ),
    )
    carried.attempts = attempts_of(failed, daemon=task.claimed_by, error=error, last=_last_try(task, status))
    _tell_end(carried, task, result)
    carried.metadata = metadata_of("loki", _left_of(record, carried), left_out=("payload",))
    return carried


def _left_of(record: Mapping[str, Any], carried: CarriedTask) -> dict[str, Any]:
    """The record without what was taken from its result."""
    left = dict(record)
    if carried.result is UNSET:
        return left
    result = left.pop("result", None)
    if isinstance(result, dict) and "output" in result:
        rest = {name: value for name, value in result.items() if name not in ("output", "decisionReport")}
        left.update({"result": rest} if rest else {})
    return left


def _tell_end(carried: CarriedTask, task: LokiTask, result: Mapping[str, Any]) -> None:
    claimed_at = instant_of(task.claimed_at)
    carried.started_at = claimed_at
    match carried.status:
        case Status.COMPLETED | Status.PERMANENTLY_FAILED:
            carried.completed_at = instant_of(task.completed_at) or claimed_at
            carried.result = raw_of(result["output"]) if "output" in result else task.result
            if "decisionReport" in result:
                carried.decision_report = raw_of(result["decisionReport"])
        case Status.CANCELLED:
            carried.completed_at = instant_of(task.cancelled_at) or claimed_at
            carried.result_summary = task.cancel_reason
        case _:
            carried.started_at = None
            carried.not_before = instant_of(task.available_at)
    if carried.status is Status.COMPLETED:
        carried.result_status = ResultStatus.SUCCESS
    if carried.status is Status.PERMANENTLY_FAILED:
        carried.error = error_of(task.last_error) or error_of(result.get("output"))


def _last_try(task: LokiTask, status: Status) -> AttemptStatus | None:
    """Of what was claimed and has not failed since."""
    if status is Status.COMPLETED:
        return AttemptStatus.SUCCESS
    if status is Status.RUNNING and task.claimed_by is not None:
        return AttemptStatus.RUNNING
    return None


def _result_of(task: LokiTask) -> dict[str, Any]:
    result = None if isinstance(task.result, UnsetType) else msgspec.json.decode(task.result)
    return result if isinstance(result, dict) else {}


def _has_place(name: str, value: object) -> bool:
    """Of Loki's payload, what has a place of its own here, if it is what it should be."""
    kinds = {"goal": isinstance(value, str), "constraints": _are_texts(value), "context": isinstance(value, dict)}
    return kinds.get(name, False)


def _are_texts(said: object) -> bool:
    return isinstance(said, list) and all(isinstance(one, str) for one in said)


def _priority(said: Level | float | None) -> Level | int | None:
    if said is None or isinstance(said, Level):
        return said
    return int(within(said, 1, 10, 5))


def _backoff_s(task: LokiTask) -> float:
    """Where it began: the n-th try multiplied it by 2^(n-1), and the result was multiplied again at the next."""
    stored, tries = task.backoff_seconds, min(max(task.retries or 0, 0), 40)
    if stored is None:
        return BACKOFF_S
    begun = stored / 2 ** (tries * (tries - 1) // 2)
    # Reset tries leave a delay that no longer tells.
    return within(begun if begun >= 1 else stored, 0, BACKOFF_S_MAX, BACKOFF_S)

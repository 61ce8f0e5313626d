"""What a caller says about a new task, and how it looks on the wire.

Callers name options flat (`timeout=60, capabilities=["browser"]`); the wire groups some of them under
`requirements` and `execution`. Nothing is checked here that the hub checks: its answer names the field.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from math import isfinite
from typing import Any, Final, TypedDict

from msgspec.json import encode

from taskyard.sdk.answers import TaskRecord

REQUIREMENTS: Final = frozenset(
    {"capabilities", "target_daemon", "excluded_daemons", "estimated_duration", "memory_mb", "cpu_intensive"}
)
EXECUTION: Final = frozenset(
    {
        "timeout",
        "max_attempts",
        "retry_delay",
        "retry_backoff",
        "require_decision_report",
        "on_lost",
        "exclusive",
    }
)
TIMES: Final = frozenset({"deadline", "sla", "scheduled_for"})


class TaskOptions(TypedDict, total=False):
    """Everything about a task but its input. What is left out has the hub's default, or is as in the `template`."""

    template: str
    """The name of a template; `set` says what stands in its places."""
    set: Mapping[str, str | int | float | bool]
    type: str
    title: str
    goal: str
    constraints: Sequence[str]
    context: Mapping[str, Any]
    payload: Mapping[str, Any]
    metadata: Mapping[str, Any]
    source: Mapping[str, Any]
    project_id: str
    correlation_id: str
    parent_task_id: str
    idempotency_key: str
    dedupe: str
    model: str
    queue: str
    priority: str | int
    deadline: datetime | str
    sla: datetime | str
    scheduled_for: datetime | str
    depends_on: Sequence[str | TaskRecord]
    on_depends_fail: str
    # Requirements.
    capabilities: Sequence[str]
    target_daemon: str
    excluded_daemons: Sequence[str]
    estimated_duration: float
    memory_mb: int
    cpu_intensive: bool
    # Execution.
    timeout: float
    max_attempts: int
    retry_delay: float
    retry_backoff: str
    require_decision_report: bool
    on_lost: str
    exclusive: str


class NewTask(TaskOptions, total=False):
    """One task of a batch, by whose `name` others of it depend on it. It has an `input`, or its template has."""

    input: str
    name: str


_NAMES: Final = frozenset(NewTask.__annotations__) | TaskOptions.__annotations__.keys() | {"requirements", "execution"}


def wire_shape(options: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a submission. Groups that are already in the shape of the wire are kept."""
    body: dict[str, Any] = {}
    for name, value in options.items():
        if name in REQUIREMENTS:
            body.setdefault("requirements", {})[name] = value
        elif name in EXECUTION:
            body.setdefault("execution", {})[name] = value
        elif name in TIMES:
            body[name] = _aware(name, value)
        elif name == "depends_on":
            body[name] = [entry.id if isinstance(entry, TaskRecord) else entry for entry in value]
        elif isinstance(value, Mapping) and name in ("requirements", "execution"):
            body[name] = {**value, **body.get(name, {})}
        else:
            body[name] = value
    return body


def check_sendable(task: Any) -> None:
    """For who sends later: by then, whoever made the mistake is elsewhere. `TypeError` or `ValueError` says which."""
    if not isinstance(task, Mapping) or not isinstance(task.get("input", task.get("template")), str):
        raise TypeError("A task is a mapping with its `input`, a text, or with the `template` that has it.")
    unknown = [str(name) for name in task if name not in _NAMES]
    if unknown:
        raise TypeError(f"A task has no {', '.join(unknown)}; it has {', '.join(sorted(_NAMES))}.")
    if not isinstance(task.get("source") or {}, Mapping):
        raise TypeError("`source` is a mapping, like {'type': 'proactive', 'id': 'trigger_1'}.")
    for name, value in wire_shape(task).items():
        try:
            encode(value)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"`{name}` cannot be written as JSON: {error}.") from None
        if not _is_finite(value):
            raise ValueError(f"`{name}` has a number that JSON does not know (NaN or infinity).")


def _is_finite(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or isfinite(value)


def is_keyed(body: Mapping[str, Any]) -> bool:
    """Whether the hub would recognise this submission when it comes twice."""
    return body.get("idempotency_key") is not None or body.get("dedupe") is not None


def _aware(name: str, instant: datetime | str | None) -> datetime | str | None:
    if isinstance(instant, datetime) and instant.tzinfo is None:
        raise ValueError(f"{name} needs a time zone: write datetime.now(UTC), not datetime.now()")
    return instant

"""What a log line tells beside what its event does: facts of the task's row, in the words that the log has for them.

An event has ids and numbers only, since it is stored, streamed and sent to other people's addresses. What its line
needs besides is in the row that the same commit writes, so it is read there and stored once.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from taskyard.core.changes import Event
from taskyard.core.pressure import ACTIONS
from taskyard.core.task import Attempt, Failure, Task
from taskyard.vocabulary import EventName, Pressure

LEVELS: Final = {
    EventName.SETTINGS_REFUSED: "error",
    EventName.NOTIFICATION_DEAD: "warning",
    EventName.TASK_FAILED: "warning",
    EventName.TASK_PERMANENTLY_FAILED: "error",
    EventName.DAEMON_DISCONNECTED: "warning",
    EventName.BACKPRESSURE_WARNING: "warning",
    EventName.BACKPRESSURE_CRITICAL: "error",
}
"""Events that matter to an operator who reads only of trouble; the others are `info`."""
MESSAGE_CHARACTERS_MAX: Final = 500
"""Of an error's message: enough for its sentence, and a failure repeated by thousands does not fill the log."""
_SECRETS: Final = re.compile(r"\b(ty[kt]_|whsec_)[A-Za-z0-9_\-.+/=]+")

Facts = Callable[[Event, Mapping[str, Task]], object]


def _attempt(event: Event, tasks: Mapping[str, Task]) -> Attempt | None:
    """Attempts are numbered from 1, without a gap."""
    task = tasks.get(event.task_id)  # type: ignore[arg-type]
    if task is None or event.attempt is None or task.attempts is None:
        return None
    return task.attempts[event.attempt - 1]


def _created(event: Event, tasks: Mapping[str, Task]) -> object:
    task = tasks.get(event.task_id or "")
    return event.data if task is None else {"source": task.kind.source, "priority": task.level}


def _assigned(event: Event, tasks: Mapping[str, Task]) -> object:
    attempt = _attempt(event, tasks)
    return event.data if attempt is None else {"daemon_id": attempt.daemon_id}


def _completed(event: Event, tasks: Mapping[str, Task]) -> object:
    attempt = _attempt(event, tasks)
    if attempt is None:
        return event.data
    began_at = attempt.assigned_at if attempt.started_at is None else attempt.started_at
    # The calendar may have gone back meanwhile.
    return {"duration_ms": max(event.at - began_at, 0), "daemon_id": attempt.daemon_id}


def _failed(event: Event, tasks: Mapping[str, Task]) -> object:
    attempt = _attempt(event, tasks)
    return _with(event, error=None if attempt is None else _error(attempt.error))


def _permanently_failed(event: Event, tasks: Mapping[str, Task]) -> object:
    task = tasks.get(event.task_id or "")
    return event.data if task is None else _with(event, error=_error(task.error), total_attempts=event.attempt or 0)


def _backpressure(event: Event, _tasks: Mapping[str, Task]) -> object:
    data: dict[str, Any] = dict(event.data or {})
    wait_s, level = data.pop("estimated_wait_time", None), data.get("level", Pressure.NORMAL)
    return {**data, "estimated_wait": wait_s, "actions_taken": ACTIONS[level]}


def _with(event: Event, **facts: object) -> dict[str, object]:
    return {**(event.data or {}), **facts}


def _error(error: Failure | None) -> dict[str, str] | None:
    """As its agent said it, but short, and without the secrets that have our prefixes."""
    if error is None:
        return None
    message = _SECRETS.sub(r"\1…", error.message)
    return {"code": error.code, "message": message[:MESSAGE_CHARACTERS_MAX]}


FACTS: Final[Mapping[EventName, Facts]] = {
    EventName.TASK_CREATED: _created,
    EventName.TASK_SCHEDULED: _assigned,
    EventName.TASK_STARTED: _assigned,
    EventName.TASK_COMPLETED: _completed,
    EventName.TASK_FAILED: _failed,
    EventName.TASK_PERMANENTLY_FAILED: _permanently_failed,
    EventName.BACKPRESSURE_NORMAL: _backpressure,
    EventName.BACKPRESSURE_WARNING: _backpressure,
    EventName.BACKPRESSURE_CRITICAL: _backpressure,
}
"""By name of event. A name that is not here is told with what the event has."""

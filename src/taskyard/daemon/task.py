"""What a task function is given, and what it may answer."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct

from taskyard.vocabulary import ResultStatus
from taskyard.wire.frames import DecisionReport, TaskCompleted, TaskExecute, TaskFailed, WireError, WireUsage


class Task(Struct, kw_only=True):
    """One attempt at a task, as sent by the hub."""

    id: str
    ref: str = ""
    type: str = ""
    input: Any = None
    title: str | None = None
    goal: Any = None
    constraints: Any = None
    context: Any = None
    payload: Any = None
    metadata: Any = None
    model: str | None = None
    parent_task_id: Any = None
    """The task it is a sub-task of."""
    execution: Any = None
    """How it is to be run, as far as its submission said."""
    attempt: int = 1
    timeout: float = 0.0
    """Seconds until the hub gives this attempt up."""
    context_input: Any = None
    """Results of the tasks this one depends on."""
    checkpoint: Any = None
    """What an earlier attempt saved last."""
    previous_attempts: Any = None
    token: str = ""
    """Authorises this attempt's callbacks and sub-tasks."""
    traceparent: str | None = None
    """The trace that what this attempt does belongs to, as the W3C writes it."""
    tracestate: str | None = None
    """What goes on with it, where it does."""
    raw: bytes = b""
    """The task as the hub sent it, with the fields that have no name here."""


class Result:
    """A result with more to say than its value."""

    def __init__(
        self,
        value: object = None,
        *,
        summary: str | None = None,
        status: str = ResultStatus.SUCCESS,
        files_changed: list[str] | None = None,
        decision_report: dict[str, object] | None = None,
        usage: dict[str, float] | None = None,
    ) -> None:
        self.value = value
        self.summary = summary
        self.status = status
        self.files_changed = files_changed
        self.decision_report = decision_report
        self.usage = usage


class TaskError(Exception):
    """The task failed, with a code the hub's retry rules know."""

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        retryable: bool | None = None,
        details: dict[str, object] | None = None,
        usage: dict[str, float] | None = None,
    ) -> None:
        super().__init__(message or code)
        self.code = code
        self.message = message or code
        self.retryable = retryable
        self.details = details
        self.usage = usage


class NotNow(Exception):
    """This machine cannot begin it now; nothing was begun. The hub offers it again, elsewhere or later."""


class TaskCancelled(Exception):
    """Raised by `context.raise_if_cancelled()`."""


UNTELLABLE: Final = (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)
"""What is raised for values that are not JSON, or not of the shape that the hub takes."""

_task: Final = msgspec.json.Decoder(Task).decode
_anything: Final = msgspec.json.Decoder().decode
_encode: Final = msgspec.json.Encoder().encode


def read_task(execute: TaskExecute) -> Task:
    """Raises what msgspec raises for what cannot be read."""
    task = _task(execute.task)
    task.attempt = execute.attempt
    task.timeout = execute.timeout
    task.token = execute.token
    task.context_input = _anything(execute.context_input)
    task.checkpoint = _anything(execute.checkpoint)
    task.previous_attempts = _anything(execute.previous_attempts)
    task.raw = bytes(execute.task)
    return task


def words_of(value: object) -> str:
    """As text, whatever it is: an error of somebody else's may not even be able to say what it is."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - the name of its kind is all that is left to tell
        return type(value).__name__


def completed(task_id: str, attempt: int, value: object) -> TaskCompleted:
    """The answer of a task function as a message. Raises one of `UNTELLABLE` for what is not JSON."""
    if not isinstance(value, Result):
        return TaskCompleted(task_id, attempt, UNSET if value is None else Raw(_encode(value)))
    return TaskCompleted(
        task_id,
        attempt,
        result=UNSET if value.value is None else Raw(_encode(value.value)),
        summary=None if value.summary is None else words_of(value.summary),
        result_status=ResultStatus(value.status),
        files_changed=None if value.files_changed is None else [words_of(path) for path in value.files_changed],
        decision_report=_converted(value.decision_report, DecisionReport),
        usage=_converted(value.usage, WireUsage),
    )


def failed(task_id: str, attempt: int, error: TaskError) -> TaskFailed:
    """Work that failed has used something too; if nobody can read how much, the failure is told all the same."""
    retryable = None if error.retryable is None else bool(error.retryable)
    details = error.details if isinstance(error.details, dict) else None
    told = WireError(words_of(error.code), words_of(error.message), retryable, details)
    try:
        usage = _converted(error.usage, WireUsage)
    except UNTELLABLE:
        usage = None
    return TaskFailed(task_id, attempt, told, usage)


def _converted(value: object, into: type[Any]) -> Any:
    return None if value is None else msgspec.convert(value, into)

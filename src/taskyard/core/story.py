"""What became of a task, in a sentence or two, from its record alone: an ended one is in no state any more."""

from typing import Final

from taskyard.core.sentences import clock, counted, listed, span
from taskyard.core.task import Attempt, Task
from taskyard.vocabulary import AttemptStatus, Status

_ENDS: Final = {
    Status.COMPLETED: "Completed",
    Status.CANCELLED: "Cancelled",
    Status.STALE: "Stale",
    Status.SKIPPED: "Skipped",
    Status.PERMANENTLY_FAILED: "Failed for good",
}
NOT_TRIED: Final = "Nothing was tried"


def story_of(task: Task, now_ms: int) -> str:
    """How it ended, or where it stands, and what was tried."""
    ended = _ENDS.get(task.status)
    if ended is None:
        return f"It is {task.status}."
    return f"{_end(task, ended, now_ms)}. {_tried(task)}."


def _end(task: Task, ended: str, now_ms: int) -> str:
    at = "" if task.completed_at is None else f" at {clock(task.completed_at, now_ms)}"
    because = _because(task)
    return f"{ended}{at}: {because.rstrip('.')}" if because else f"{ended}{at}"


def _because(task: Task) -> str | None:
    """What there is to say beside the status."""
    match task.status:
        case Status.PERMANENTLY_FAILED:
            return None if task.error is None else f"{task.error.code}: {task.error.message}"
        case Status.SKIPPED:
            return None if task.trouble is None else task.trouble.skipped_reason
        case Status.STALE:
            return "its deadline passed before anything started it"
        case Status.COMPLETED:
            return None if task.result_status is None else f"result {task.result_status}"
        case _:  # cancelled: of the ends no other is left
            return None if task.trouble is None else task.trouble.cancel_reason


def _tried(task: Task) -> str:
    attempts = task.attempts or []
    if not attempts:
        return NOT_TRIED
    if len(attempts) == 1:
        return f"Tried once: {_attempt(attempts[0])}"
    return f"Tried {counted(len(attempts), 'time')}: {listed([_attempt(one) for one in attempts])}"


def _attempt(attempt: Attempt) -> str:
    """`on mac-1 for 2 min (failed: BOOM)`"""
    began, ended = attempt.started_at, attempt.ended_at
    lasted = "" if began is None or ended is None else f" for {span(ended - began)}"
    code = "" if attempt.error is None else f": {attempt.error.code}"
    return f"on {attempt.daemon_name}{lasted} ({attempt.status}{code})"


def last_failure(task: Task) -> str:
    """What its last attempt met, to begin a sentence with; empty if there was none or it went well."""
    attempt = task.newest
    if attempt is None or attempt.status in (AttemptStatus.RUNNING, AttemptStatus.SUCCESS):
        return ""
    code = "" if attempt.error is None else f" ({attempt.error.code})"
    return f"attempt {attempt.number} on {attempt.daemon_name} ended as {attempt.status}{code}, and "

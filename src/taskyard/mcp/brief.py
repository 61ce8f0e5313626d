"""What an agent is shown: its words are counted and paid for, so what says nothing is left out."""

from collections.abc import Mapping
from typing import Any, Final

from taskyard.vocabulary import Status

_GIVEN: Final = frozenset(
    {
        "input",
        "goal",
        "constraints",
        "context",
        "payload",
        "metadata",
        "requirements",
        "execution",
        "source",
        "idempotency_key",
        "priority_value",
        "on_depends_fail",
    }
)
"""What whoever submitted a task said itself."""
_OURS: Final = frozenset(
    {"user_id", "dedupe", "raised_from", "aged", "queued_at", "scheduled_at", "truncated", "pattern", "checkpoint"}
)
"""What only people look at."""


def _says_something(value: Any) -> bool:
    """Zero does."""
    return bool(value) or (isinstance(value, int | float) and value is not False)


def whole(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task with all that somebody who works on it or with it may want to know."""
    shown = {name: value for name, value in task.items() if name not in _OURS and _says_something(value)}
    if task.get("status") == Status.COMPLETED:
        # Null is a result, and one may be waited for.
        shown["result"] = task.get("result")
    return shown


def state(task: Mapping[str, Any]) -> dict[str, Any]:
    """A task to whoever knows what it is about: how it stands and what came of it."""
    return {name: value for name, value in whole(task).items() if name not in _GIVEN}

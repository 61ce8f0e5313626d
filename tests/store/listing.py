"""What of a list is compared."""

from taskyard.store.port import (
    StoredTask,
    TaskFilter,
)

EVERYBODY = TaskFilter(user_id=None)


def ids(stored: list[StoredTask]) -> list[str]:
    return [entry.task.id for entry in stored]

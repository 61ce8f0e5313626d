"""What the attempts that occupy slots ask for, taken together."""

from collections.abc import Iterator, Mapping

from taskyard.daemon.attempt import Attempt
from taskyard.daemon.orders import Key


def has_room(live: Mapping[Key, Attempt], slots: int, attempt: Attempt) -> bool:
    """Whether it can be taken, in a slot or beside its parent; which of both is noted on it."""
    attempt.beside = attempt.parent_id is not None and _goes_beside(live, attempt)
    return attempt.beside or len(live) < slots or sum(not held.beside for held in live.values()) < slots


def _goes_beside(live: Mapping[Key, Attempt], attempt: Attempt) -> bool:
    """Of each task that runs here one sub-task is run beside it, in no slot: it may be what the task waits for."""
    parent_id = attempt.parent_id
    if any(held.beside and held.parent_id == parent_id for held in live.values()):
        return False
    return any(held.key[0] == parent_id for held in live.values())


def instants(live: Mapping[Key, Attempt]) -> Iterator[int | None]:
    """When the clock has something to say about one of them."""
    for attempt in live.values():
        if attempt.ending is None:
            yield attempt.deadline_at
        if attempt.has_news:
            yield attempt.progress_at

"""What the attempts that occupy slots ask for, taken together."""

from collections.abc import Iterator, Mapping

from taskyard.daemon.attempt import Attempt, Ending
from taskyard.daemon.orders import Key, Stop


def to_fence(live: Mapping[Key, Attempt], *, kills_on_loss: bool) -> list[Attempt]:
    """Work that must not outlive the lease: also what is stopping, whose grace may be longer than that."""
    return [held for held in live.values() if (held.exclusive or kills_on_loss) and not held.fenced]


def fence(attempt: Attempt, grace_ms: int) -> Stop:
    attempt.fenced = True
    attempt.ending = attempt.ending or Ending.FENCED
    return Stop(attempt.key, Ending.FENCED, grace_ms)


def are_full(live: Mapping[Key, Attempt], slots: int) -> bool:
    return len(live) >= slots and sum(not held.beside for held in live.values()) >= slots


def goes_beside(live: Mapping[Key, Attempt], attempt: Attempt) -> bool:
    """Of each task that runs here one sub-task is run beside it, in no slot: it may be what the task waits for."""
    parent_id = attempt.parent_id
    if parent_id is None or any(held.beside and held.parent_id == parent_id for held in live.values()):
        return False
    return any(held.key[0] == parent_id for held in live.values())


def older(live: Mapping[Key, Attempt], key: Key) -> list[Attempt]:
    """Earlier attempts at the same task; the hub has given them up."""
    task_id, number = key
    return [held for held in live.values() if held.key[0] == task_id and held.key[1] < number]


def instants(live: Mapping[Key, Attempt]) -> Iterator[int | None]:
    """When the clock has something to say about one of them."""
    for attempt in live.values():
        if attempt.ending is None:
            yield attempt.deadline_at
        if attempt.has_news:
            yield attempt.progress_at

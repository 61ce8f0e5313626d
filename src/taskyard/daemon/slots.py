"""What the attempts that occupy slots ask for, taken together."""

from collections.abc import Iterator, Mapping

from taskyard.daemon.attempt import Attempt
from taskyard.daemon.orders import Key


def fenced(live: Mapping[Key, Attempt]) -> list[Attempt]:
    """Work that must not outlive the lease: also what is stopping, whose grace may be longer than that."""
    return [attempt for attempt in live.values() if attempt.exclusive and not attempt.fenced]


def are_full(live: Mapping[Key, Attempt], attempt: Attempt, slots: int) -> bool:
    """Whether there is no slot for this one. One sub-task of each task that runs here is run beside it, in none."""
    taken = {held.key[0]: None for held in live.values()}
    beside = {held.parent_id: None for held in (*live.values(), attempt) if held.parent_id in taken}
    return len(live) + 1 - len(beside) > slots


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

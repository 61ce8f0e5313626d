"""How many tasks there are of each status, from what an engine counts without looking at each of them."""

from collections.abc import Iterable
from typing import Final

from taskyard.store.paging import ID_MAX
from taskyard.vocabulary import ENDED, Status

_WORDS: Final = frozenset(Status)


def whose_of(user_id: str | None) -> dict[str, str]:
    """The first and the last user of those that are meant, for a walk down an index; None: everybody."""
    return {"user_min": user_id or "", "user_max": ID_MAX if user_id is None else user_id}


def by_status(hot: int, history: int, others: Iterable[tuple[str, int]]) -> dict[Status, int]:
    """Of all that are hot and all that have ended. `others` says it of every status but the two that most have."""
    # A damaged row may name no status. It is counted among those that most have, so that the total is right.
    counts = {Status(status): count for status, count in others if status in _WORDS}
    ended = sum(count for status, count in counts.items() if status in ENDED)
    counts[Status.QUEUED] = hot - (sum(counts.values()) - ended)
    counts[Status.COMPLETED] = history - ended
    return {status: count for status, count in counts.items() if count}

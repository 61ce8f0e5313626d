"""Which log is older: a hub that began from an old copy must not decide anything before somebody said that it may.

Commits are numbered, and epochs count the times a hub opened the log. A copy that was put back counts both again, and
those who have seen more of the log than it holds know by that. Who puts one back on purpose begins a new era, past
every epoch of the one before.
"""

from typing import Protocol

from taskyard.vocabulary import EPOCHS_PER_ERA


class Place(Protocol):
    """A place in the log of a yard."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def epoch(self) -> int: ...

    @property
    def seq(self) -> int: ...


def next_epoch(epoch: int, *, new_era: bool) -> int:
    """A new era begins past every epoch of the one before, whichever copy of the store they were counted in."""
    return (epoch // EPOCHS_PER_ERA + 1) * EPOCHS_PER_ERA if new_era else epoch + 1


def is_behind(end: Place, seen: Place) -> bool:
    """Whether a log that ends here lacks what somebody has seen of it: it is an older copy.

    Whoever begins a new era knows that, and says so to all.
    """
    if seen.cluster_id != end.cluster_id or end.epoch // EPOCHS_PER_ERA > seen.epoch // EPOCHS_PER_ERA:
        return False
    return seen.epoch > end.epoch or seen.seq > end.seq

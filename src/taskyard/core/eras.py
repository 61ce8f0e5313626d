"""Log lineage: whether a position that was seen belongs to this log's history, or this log is an older copy.

Commits are numbered, epochs count the times a hub took the lead, and both are counted again on a copy that was put back
or on a server that was promoted without the last commits. Takeovers and batches therefore have random ids, and the
takeovers of a log are kept for ever. Going on from an older copy on purpose begins a new era, past every epoch of the
one before; positions of an earlier era are no objection.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from taskyard.vocabulary import EPOCHS_PER_ERA, REFS_PER_ERA


class Place(Protocol):
    """A position in the log of a yard. Without ids its teller knows no lineage: it is known by its numbers alone."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def epoch(self) -> int: ...

    @property
    def seq(self) -> int: ...

    @property
    def takeover(self) -> str:
        """Id of the takeover that began the epoch."""

    @property
    def batch_id(self) -> str: ...


class Takeover(Struct, frozen=True):
    """The beginning of an epoch: a hub took the lead."""

    epoch: int
    id: str
    after: int
    """Number of the newest commit before it."""


class Lack(Struct, frozen=True):
    """Commits that a log lacks up to a position that was seen."""

    commits: int
    is_exact: bool
    """False: at least so many are missing. Where the logs parted is not known."""


def next_epoch(epoch: int, *, new_era: bool) -> int:
    """A new era begins past every epoch of the one before, whichever copy of the store they were counted in."""
    return (epoch // EPOCHS_PER_ERA + 1) * EPOCHS_PER_ERA if new_era else epoch + 1


def raised_numbers(numbers: Mapping[str, int], users: Iterable[str]) -> dict[str, int]:
    """The highest task number of every user in a new era: none that was given in the lost time comes again."""
    return {user_id: numbers.get(user_id, 0) + REFS_PER_ERA for user_id in sorted({*numbers, *users})}


def is_of_earlier_era(end: Place, seen: Place) -> bool:
    """Whether a person has decided since that the log goes on without what was lost."""
    return end.epoch // EPOCHS_PER_ERA > seen.epoch // EPOCHS_PER_ERA


def objection_of(end: Place, takeovers: Sequence[Takeover], seen: Place, *, held: str | None) -> Lack | None:
    """Return what a log that ends here lacks of its own era, or None if it may be led."""
    return None if is_of_earlier_era(end, seen) else lack_of(end, takeovers, seen, held=held)


def lost_with_era(end: Place, takeovers: Sequence[Takeover], seen: Place, *, held: str | None) -> Lack | None:
    """Return what was given up of an earlier era. Positions without ids tell nothing of that."""
    is_known = seen.takeover and is_of_earlier_era(end, seen)
    return lack_of(end, takeovers, seen, held=held) if is_known else None


def lack_of(end: Place, takeovers: Sequence[Takeover], seen: Place, *, held: str | None) -> Lack | None:
    """Return what this log lacks up to a position, or None if that is in its history.

    `takeovers` are those known of this log, by ascending epoch. `held` is the id of its batch at the position's number;
    None: the log does not reach there, or no longer keeps it.
    """
    if seen.cluster_id != end.cluster_id:
        return None
    if not seen.takeover:
        return _lack_by_number(end, seen)
    same = [each for each in takeovers if each.epoch == seen.epoch and each.id == seen.takeover]
    later = [each.after for each in takeovers if each.epoch > seen.epoch or (each.epoch == seen.epoch and not same)]
    last_shared = min([*later[:1], end.seq])
    if same and seen.seq > last_shared:
        return Lack(seen.seq - last_shared, is_exact=True)
    if not same or (held is not None and seen.batch_id and held != seen.batch_id):
        return Lack(max(seen.seq - last_shared, 1), is_exact=False)
    return None


def _lack_by_number(end: Place, seen: Place) -> Lack | None:
    if seen.epoch > end.epoch or seen.seq > end.seq:
        return Lack(max(seen.seq - end.seq, 1), is_exact=False)
    return None


def is_behind(end: Place, seen: Place) -> bool:
    """Whether a log that ends here lacks a position, by numbers alone: of its lineage nothing is known here."""
    is_other = seen.cluster_id != end.cluster_id
    return not is_other and not is_of_earlier_era(end, seen) and _lack_by_number(end, seen) is not None

"""Whether a database may be led: what hubs and daemons saw of this yard against the log that is here.

The rule is `core/eras.py`'s. Here are the records that travel and lie beside it, and the one sentence that people read.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from taskyard.core.eras import Lack, Takeover, lost_with_era, objection_of
from taskyard.store.port import Identity, StoreRefused

COMMAND: Final = "taskyard up --accept-rewind"


class Sighting(Struct, frozen=True):
    """A position in the log, and who saw it."""

    by: str
    """As people read it: "hub h_…", "daemon mac-1 (d_…)"."""
    position: Identity


class Lineage(Struct, frozen=True):
    """What a log says of its own history."""

    end: Identity
    takeovers: list[Takeover]
    """Those that are known, by ascending epoch."""
    held: dict[int, str]
    """Of the commits that were asked for, the batch ids of those that the log still keeps."""


class Missing(Struct, frozen=True):
    """Commits that a log lacks, and who saw them."""

    sighting: Sighting
    lack: Lack


class Rewound(StoreRefused):
    """This log lacks commits of its own era: no hub may lead by it before a person accepts that."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(sentence_of(missing))
        self.missing = missing


def seqs_of(sightings: Iterable[Sighting]) -> list[int]:
    """The commits that a `Lineage` has to be asked for to judge these."""
    return sorted({sighting.position.seq for sighting in sightings})


def objection_to(lineage: Lineage, sightings: Sequence[Sighting]) -> Missing | None:
    """What stands in the way of leading: of several the one by which most is missing."""
    found = [
        Missing(sighting, lack)
        for sighting in sightings
        if (lack := objection_of(lineage.end, lineage.takeovers, sighting.position, held=_held(lineage, sighting)))
    ]
    return max(found, key=lambda missing: missing.lack.commits, default=None)


def refuse_rewind(lineage: Lineage, sightings: Sequence[Sighting]) -> None:
    """Before anything is written: each try would add a commit, until the log looked as long as it was."""
    missing = objection_to(lineage, sightings)
    if missing is not None:
        raise Rewound(missing)


def given_up(lineage: Lineage, sightings: Sequence[Sighting]) -> list[Missing]:
    """What an earlier era lost."""
    return [
        Missing(sighting, lack)
        for sighting in sightings
        if (lack := lost_with_era(lineage.end, lineage.takeovers, sighting.position, held=_held(lineage, sighting)))
    ]


def _held(lineage: Lineage, sighting: Sighting) -> str | None:
    return lineage.held.get(sighting.position.seq)


def loss_of(missing: Missing) -> str:
    """As half a sentence: what, who saw it, and which was the last."""
    commits, seen = missing.lack.commits, missing.sighting.position
    at_least = "" if missing.lack.is_exact else "at least "
    number = "1 commit" if commits == 1 else f"{commits} commits"
    last = f"the last was commit {seen.seq} of epoch {seen.epoch}"
    return f"{at_least}{number} that {missing.sighting.by} saw; {last}"


def sentence_of(missing: Missing) -> str:
    """What happened, and what to do."""
    return (
        f"This database lacks {loss_of(missing)}: it is an older copy. Use the newer one if there is one. To go on "
        f"from here instead, start one hub with `{COMMAND}`; daemons then drop what it never knew."
    )

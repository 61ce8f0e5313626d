"""`position.json`: the newest position that this hub saw, and those of others that a log was found to lack.

It lies in the hub's own directory, so that no database that is put back or promoted can take it away.
"""

from pathlib import Path
from typing import Final

import msgspec
from msgspec.structs import replace

from taskyard.core.eras import is_behind, is_of_earlier_era
from taskyard.hub.yard import write_private
from taskyard.store.port import Identity
from taskyard.store.rewind import Sighting

POSITION: Final = "position.json"
TOLD_MAX: Final = 16
"""Objections of others that are kept; one is enough to stand in the way."""


class Positions(Identity, frozen=True):
    """What is remembered: a position, and those that others told."""

    told: tuple[Sighting, ...] = ()

    def seen_by(self, who: str) -> list[Sighting]:
        """All of them, with who saw each."""
        own = Identity(self.cluster_id, self.epoch, self.seq, self.takeover, self.batch_id)
        return [Sighting(who, own), *self.told] if self.cluster_id else list(self.told)

    def with_seen(self, seen: Identity) -> "Positions":
        """This hub saw a newer one."""
        told = self.settled_by(seen).told
        return Positions(seen.cluster_id, seen.epoch, seen.seq, seen.takeover, seen.batch_id, told)

    def settled_by(self, end: Identity) -> "Positions":
        """What an era has settled since is told no more."""
        return replace(self, told=tuple(each for each in self.told if not is_of_earlier_era(end, each.position)))

    def with_told(self, sighting: Sighting) -> "Positions":
        """Another saw this one, and a log lacks it."""
        others = [each for each in self.told if each.position != sighting.position]
        return replace(self, told=(*others, sighting)[-TOLD_MAX:])


NOTHING: Final = Positions("", 0, 0)

_read: Final = msgspec.json.Decoder(Positions).decode


class Remembered:
    """What one hub remembers, and whether that is on disk."""

    def __init__(self, data: Path, who: str) -> None:
        self._path = data / POSITION
        self._who = who
        self._written = self.positions = positions_in(data)

    @property
    def sightings(self) -> list[Sighting]:
        return self.positions.seen_by(self._who)

    def see(self, seen: Identity) -> None:
        """The yard has come so far, as the hub that leads says. Nothing, if it was further already."""
        if seen.seq and not is_behind(seen, self.positions):
            self.positions = self.positions.with_seen(seen)

    def hear(self, sighting: Sighting) -> None:
        """Another saw this, and a log lacks it."""
        if sighting not in self.sightings:
            self.positions = self.positions.with_told(sighting)

    def settle(self, end: Identity) -> None:
        """A log that ends here is led: what was said against it in an earlier era is over."""
        self.positions = self.positions.settled_by(end)

    @property
    def is_written(self) -> bool:
        return self.positions == self._written

    def write(self) -> None:
        """On disk when this returns; raises `CannotStart` as `write_private` does."""
        positions = self.positions
        write_private(self._path, msgspec.json.encode(positions).decode())
        self._written = positions


def positions_in(data: Path) -> Positions:
    """What was last remembered there."""
    try:
        return _read((data / POSITION).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return NOTHING

"""What stops a hub that leads: proof that commits of this yard are missing from its log.

Proof comes from other hubs, over the link, and from daemons, as positions that this yard sealed. A hub that stops for
it leaves the log as it is; a person decides (`docs/adr/0037-a-log-is-known-by-its-lineage.md`).
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from taskyard.core.changes import Data, Event
from taskyard.core.effects import Contradicted
from taskyard.core.eras import is_of_earlier_era
from taskyard.core.yard_commands import NoteRewind
from taskyard.hub.observe import Log
from taskyard.hub.outbox import Outbox
from taskyard.store.port import Identity
from taskyard.store.rewind import Missing, Sighting, given_up, loss_of, objection_to, sentence_of, seqs_of
from taskyard.vocabulary import EventName

if TYPE_CHECKING:
    from taskyard.hub.hub import Hub


class Guard:
    """Of one hub that leads."""

    def __init__(self, hub: "Hub", outbox: Outbox, log: Log) -> None:
        self._hub = hub
        self._outbox = outbox
        self._log = log
        self._noted: set[Sighting] = set()
        """Losses of an earlier era that the audit has from this hub."""
        self.missing: Missing | None = None
        """Why this hub leads no more; None: nothing is known to be missing."""
        self.on_missing: Callable[[Missing], None] = lambda missing: None
        """Called once, before the hub stops."""
        outbox.on_contradicted = self._hear

    def _hear(self, contradicted: Contradicted) -> None:
        seen = contradicted.seen
        position = Identity(seen.cluster_id, seen.epoch, seen.seq, seen.takeover, seen.batch_id)
        self.stop(Missing(Sighting(contradicted.by, position), contradicted.lack))

    async def judge(self, sightings: Sequence[Sighting]) -> bool:
        """Whether this hub may go on leading, by what others saw; it has stopped if not. Raises `Unavailable`."""
        if not sightings:
            return True
        seqs = seqs_of(sightings)
        lineage = await self._hub.read(lambda reader: reader.lineage(seqs))
        missing = objection_to(lineage, sightings)
        if missing is not None:
            self.stop(missing)
            return False
        await self.note(sightings)
        return True

    async def note(self, sightings: Sequence[Sighting]) -> None:
        """Write what an earlier era gave up into the audit, once. Raises `Unavailable`."""
        end = self._hub.identity
        old = [each for each in sightings if is_of_earlier_era(end, each.position) and each not in self._noted]
        if not old:
            return
        seqs = seqs_of(old)
        lineage = await self._hub.read(lambda reader: reader.lineage(seqs))
        lost = given_up(lineage, old)
        if lost:
            await self._hub.ask(NoteRewind(tuple(map(loss_of, lost))))
        self._noted.update(old)

    def stop(self, missing: Missing) -> None:
        """Decide nothing more. What is not committed is dropped; readers of events are told why."""
        if self.missing is not None:
            return
        self.missing = missing
        self.on_missing(missing)
        tell_missing(self._log, missing)
        data: Data = {"reason": sentence_of(missing), "missing_commits": missing.lack.commits}
        self._outbox.publish_soft([Event(EventName.HUB_REWOUND, self._hub.now_ms(), data=data)])
        self._hub.depose(sentence_of(missing))


def tell_missing(log: Log, missing: Missing) -> None:
    position = missing.sighting.position
    log.say(
        "hub.rewound",
        level="error",
        reason=sentence_of(missing),
        missing_commits=missing.lack.commits,
        seen=position.seq,
        epoch=position.epoch,
        seen_by=missing.sighting.by,
    )

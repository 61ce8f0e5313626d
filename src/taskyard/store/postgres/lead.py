"""Taking the lead: the lease, a new epoch and a record at the end of the log, in one transaction.

The record is what makes it true. A hub that led before and does not know it yet commits behind the last batch it
wrote, finds this record in its place, and writes nothing.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace
from psycopg.errors import UniqueViolation

from taskyard.core.eras import Takeover, next_epoch, raised_numbers
from taskyard.store.port import Holder, Identity, LedElsewhere, StoreFenced, StoreUnavailable
from taskyard.store.postgres.arrays import numbers, words
from taskyard.store.postgres.image import lineage_of, numbers_of, users_of
from taskyard.store.postgres.session import Session, Value
from taskyard.store.postgres.statements import SQL
from taskyard.store.records import checksum, encode_events, takeover_row
from taskyard.store.rewind import Sighting, refuse_rewind, seqs_of

LEASE_MS: Final = 5_000
TAKEOVERS_MAX: Final = 5
# The hub before us may commit while we take over, which makes us look again; it cannot once we were faster.


class Candidate(Struct, frozen=True):
    """A hub that may lead: its id, where the others reach it, and for how long it leads without renewing."""

    hub_id: str
    address: str = ""
    lease_ms: int = LEASE_MS


class Lead(Struct, frozen=True):
    """What a leader's next commit is built upon: the identity, and the batch id at the end of the log."""

    identity: Identity
    batch_id: str


class Standing(Struct, frozen=True):
    """What the lease says."""

    holder: Holder
    is_locked: bool
    """Whether its holder had the lock when it last said so."""

    def has_ended(self, *, has_lock: bool) -> bool:
        """Whether another may lead: it ran out, or whoever has its holder's lock now knows that it died."""
        return self.holder.left_ms <= 0 or (has_lock and self.is_locked)


def standing_of(session: Session) -> Standing:
    epoch, hub_id, address, since, left_ms, is_locked = session.rows(SQL["read_lease"])[0]
    holder = Holder(id=hub_id, address=address, epoch=epoch, since=since, left_ms=left_ms)
    return Standing(holder=holder, is_locked=is_locked)


def take_over(
    session: Session,
    candidate: Candidate,
    *,
    new_cluster_id: str,
    new_era: bool,
    has_lock: bool,
    seen: Sequence[Sighting] = (),
) -> Lead:
    """Begin an epoch, if nobody leads. `Rewound`: what was seen of this yard is not in this log's history."""
    for _ in range(TAKEOVERS_MAX):
        try:
            with session.transaction():
                session.rows(SQL["lock_identity"])
                standing = standing_of(session)
                if not standing.has_ended(has_lock=has_lock):
                    raise LedElsewhere(standing.holder)
                lineage = lineage_of(session, seqs_of(seen), new_cluster_id=new_cluster_id)
                if not new_era:
                    refuse_rewind(lineage, seen)
                lead = _begin_epoch(session, lineage.end, new_era=new_era)
                session.change(SQL["take_lease"], _lease_of(candidate, lead.identity.epoch, has_lock=has_lock))
                return lead
        except UniqueViolation:
            continue
    raise StoreUnavailable("the hub that led before goes on committing")


def _lease_of(candidate: Candidate, epoch: int, *, has_lock: bool) -> dict[str, Value]:
    return {
        "epoch": epoch,
        "holder": candidate.hub_id,
        "address": candidate.address,
        "lease_ms": candidate.lease_ms,
        "locked": has_lock,
    }


def _begin_epoch(session: Session, before: Identity, *, new_era: bool) -> Lead:
    epoch, seq = next_epoch(before.epoch, new_era=new_era), before.seq + 1
    crc = checksum(b"", before.cluster_id, epoch)
    session.change(SQL["set_epoch"], {"cluster_id": before.cluster_id, "epoch": epoch, "crc": crc})
    events = encode_events([])
    record: dict[str, Value] = {"seq": seq, "epoch": epoch, "events": events, "crc": checksum(events, seq, epoch)}
    batch_id = session.rows(SQL["append_takeover"], record)[0][0]
    # The record's own batch id names the takeover.
    _, _, _, row_crc = takeover_row(Takeover(epoch, batch_id, before.seq))
    session.change(SQL["insert_takeover"], {"epoch": epoch, "id": batch_id, "seq": before.seq, "crc": row_crc})
    if new_era:
        _raise_numbers(session)
    identity = Identity(before.cluster_id, epoch, seq, takeover=batch_id, batch_id=batch_id)
    return Lead(identity=identity, batch_id=batch_id)


def _raise_numbers(session: Session) -> None:
    raised = raised_numbers(numbers_of(session), (user.id for user in users_of(session)))
    crcs = numbers([checksum(b"", user_id, number) for user_id, number in raised.items()])
    session.change(SQL["drop_numbers"])
    session.change(
        SQL["insert_numbers"], {"user": words(list(raised)), "number": numbers(list(raised.values())), "crc": crcs}
    )


def end_lease(session: Session, candidate: Candidate, *, epoch: int) -> None:
    """Let another hub lead at once; nothing, if one does already."""
    session.change(SQL["end_lease"], {"epoch": epoch, "holder": candidate.hub_id})


def lead_of(session: Session, identity: Identity) -> Lead:
    """Where the log ends now. `StoreFenced` if it is no longer ours."""
    seq, epoch, batch_id = session.rows(SQL["last_commit"])[0]
    if epoch != identity.epoch:
        raise StoreFenced(f"another hub leads: the log ends in epoch {epoch}, and ours is {identity.epoch}")
    if seq < identity.seq:
        raise StoreFenced(f"the log ends before commit {identity.seq}, which was ours: it is an older copy")
    return Lead(identity=replace(identity, seq=seq, batch_id=batch_id), batch_id=batch_id)

"""Taking the lead: the lease, a new epoch and a record at the end of the log, in one transaction.

The record is what makes it true. A hub that led before and does not know it yet commits behind the last batch it
wrote, finds this record in its place, and writes nothing.
"""

from typing import Final

from msgspec import Struct
from psycopg.errors import UniqueViolation

from taskyard.core.eras import is_behind, next_epoch
from taskyard.store.port import (
    Holder,
    Identity,
    LedElsewhere,
    StoreFenced,
    StoreRefused,
    StoreUnavailable,
)
from taskyard.store.postgres.image import identity_of
from taskyard.store.postgres.session import Session, Value
from taskyard.store.postgres.statements import SQL
from taskyard.store.records import checksum, encode_events

LEASE_MS: Final = 5_000
TAKEOVERS_MAX: Final = 5
# The hub before us may commit while we take over, which makes us look again; it cannot once we were faster.


class Candidate(Struct, frozen=True):
    """A hub that may lead: its id, where the others reach it, and for how long it leads without renewing."""

    hub_id: str
    address: str = ""
    lease_ms: int = LEASE_MS
    seen: Identity = Identity("", 0, 0)
    """How far this yard had come when it last heard of it."""


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


def take_over(session: Session, candidate: Candidate, *, new_cluster_id: str, new_era: bool, has_lock: bool) -> Lead:
    """Begin an epoch, if nobody leads."""
    for _ in range(TAKEOVERS_MAX):
        try:
            with session.transaction():
                session.rows(SQL["lock_identity"])
                standing = standing_of(session)
                if not standing.has_ended(has_lock=has_lock):
                    raise LedElsewhere(standing.holder)
                before = identity_of(session) or Identity(cluster_id=new_cluster_id, epoch=0, seq=0)
                if not new_era:
                    _refuse_rewind(before, candidate.seen)
                lead = _begin_epoch(session, before, new_era=new_era)
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


def _refuse_rewind(log: Identity, seen: Identity) -> None:
    """Before anything is written: each try would add a commit, until the log looked as long as it was."""
    if is_behind(log, seen):
        raise StoreRefused(
            f"This database ends before commit {seen.seq} of epoch {seen.epoch}, which this hub has seen: it is an "
            "older copy. Restore the newer one, or start with --accept-rewind to go on from here; daemons then drop "
            "what it never knew."
        )


def _begin_epoch(session: Session, before: Identity, *, new_era: bool) -> Lead:
    epoch, seq = next_epoch(before.epoch, new_era=new_era), before.seq + 1
    crc = checksum(b"", before.cluster_id, epoch)
    session.change(SQL["set_epoch"], {"cluster_id": before.cluster_id, "epoch": epoch, "crc": crc})
    events = encode_events([])
    record: dict[str, Value] = {"seq": seq, "epoch": epoch, "events": events, "crc": checksum(events, seq, epoch)}
    batch_id = session.rows(SQL["append_takeover"], record)[0][0]
    return Lead(identity=Identity(cluster_id=before.cluster_id, epoch=epoch, seq=seq), batch_id=batch_id)


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
    return Lead(identity=Identity(cluster_id=identity.cluster_id, epoch=epoch, seq=seq), batch_id=batch_id)

"""What a commit must have reached before it counts, and which settings of a server promise less.

A commit waits for the standbys that the server names. If that wait is cancelled, by an operator or because its client
gave up, PostgreSQL answers with success and a warning: the commit stands on this server and may be missing on the
standby. `Session` writes something small then, until that is confirmed without a warning. The log of the server is
replicated in order, so everything before it is confirmed too.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from taskyard.store.port import StoreRefused
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import SQL

ABANDONED_MS: Final = 10_000
"""Longer than any hub waits for a commit: the hub that asked for it has given it up."""


class Durability(StrEnum):
    REPLICATED = "replicated"
    """Flushed by the server and by the standbys that it names; without any, by the server."""
    LOCAL = "local"
    """Flushed by the server, whatever its standbys have. A failover may lose acknowledged commits."""


def settings_of(durability: Durability) -> Mapping[str, str]:
    """What a session that writes is told. A server that waits until standbys have applied a commit goes on to."""
    return {"synchronous_commit": "on" if durability is Durability.REPLICATED else "local"}


def refuse_weak(*, synchronous_commit: str, standbys: str, durability: Durability) -> None:
    """Refuse a server that is set to promise less than its hubs do, unless that is meant. The hubs' own sessions would
    wait all the same, but the setting says that the operator expects something else."""
    if durability is Durability.LOCAL:
        return
    if synchronous_commit == "remote_write":
        raise StoreRefused(
            "This server runs with synchronous_commit = remote_write: a standby whose machine fails can lose commits "
            f"that were acknowledged. {_HOW}"
        )
    if synchronous_commit == "local" and standbys:
        raise StoreRefused(
            f"This server names standbys (synchronous_standby_names = {standbys}) and runs with synchronous_commit = "
            f"local: commits do not wait for them, and a failover can lose what was acknowledged. {_HOW}"
        )


_HOW: Final = (
    "Set synchronous_commit = on in postgresql.conf (and for this user and database, if it was changed there), then "
    'reload the server; or set durability = "local" under [cluster] in taskyard.toml, if that is meant.'
)


def end_abandoned_waits(session: Session) -> None:
    """Cancel commits that wait for a standby although their hubs have given them up or were killed: they would keep
    their locks until the standby comes back. Cancelled, they stand on this server, unconfirmed."""
    session.rows(SQL["end_abandoned_waits"], {"older_ms": ABANDONED_MS})

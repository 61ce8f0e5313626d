"""Keeps the lead, and watches whoever has it: on connections of its own, whatever the writer waits for.

Two things tell who leads. The lease is a row that its holder renews, on the database's clock; when it has run out,
another hub may lead. The advisory lock is held by a connection, so it is free the moment its holder dies, and whoever
gets it then need not wait for the lease. Neither is proof; the log is (`lead.py`).

A hub that took over from one that hung got no lock, since that one still holds it. Its lease says so, lest somebody
who gets the lock later take a living leader for dead; it takes the lock itself as soon as it can.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from msgspec import Struct

from taskyard.store.port import Holder, StoreFenced, StoreUnavailable
from taskyard.store.postgres.durability import Durability, settings_of
from taskyard.store.postgres.faults import Busy
from taskyard.store.postgres.lead import Candidate, end_lease, standing_of
from taskyard.store.postgres.migrate import NAMESPACE
from taskyard.store.postgres.session import Session, Value
from taskyard.store.postgres.statements import SQL

ASK_S: Final = 0.8
# Below the margin that a leader keeps to the end of its lease: who asks has an answer before it matters.
WAIT_S_MAX: Final = 30.0
ANSWER_S: Final = 3.0
# How much later than agreed the server may say that a wait has ended: one that vanished says nothing.
HUBS_MAX: Final = 1_000

T = TypeVar("T")


class HubSeen(Struct, frozen=True):
    """A hub of this yard, by its own word. `started_at` and `seen_ms_ago` are on the database's clock."""

    id: str
    address: str
    url: str
    version: str
    started_at: int
    seen_ms_ago: int


class Lease:
    """Used by one thread at a time. Every call ends, and raises `StoreUnavailable` if it cannot tell."""

    def __init__(self, url: str, candidate: Candidate, durability: Durability = Durability.REPLICATED) -> None:
        self._url = url
        self._settings = settings_of(durability)
        self._candidate = candidate
        self._epoch = 0
        """Which we lead, or led last."""
        self._asking: Session | None = None
        self._locking: Session | None = None
        self._has_lock = False
        self._is_lost = False

    # --- the lease ---

    def begin(self, epoch: int) -> None:
        """This hub leads; said by the store that took over."""
        self._epoch = epoch
        self._is_lost = False

    def renew(self) -> None:
        """Lead for another while, which counts from before this was called. `StoreFenced`: another does."""
        self._renew()
        if self._takes_lock():
            self._renew()

    def _renew(self) -> None:
        given: dict[str, Value] = {
            "epoch": self._epoch,
            "holder": self._candidate.hub_id,
            "lease_ms": self._candidate.lease_ms,
            "locked": self._has_lock,
        }
        if not self._ask(lambda session: session.change(SQL["renew_lease"], given)):
            raise StoreFenced("another hub leads: it holds the lease")

    def resign(self) -> None:
        """End it, so that another may lead at once."""
        try:
            self._ask(lambda session: end_lease(session, self._candidate, epoch=self._epoch))
        finally:
            self._let_go()

    def holder(self) -> Holder | None:
        """Who leads by the row, also if the lease has run out; None: nobody ever did."""
        holder = self._ask(standing_of).holder
        return holder if holder.epoch else None

    # --- the lock ---

    @property
    def has_lock(self) -> bool:
        return self._has_lock

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock has gone. Asks nobody: the socket knows."""
        if self._has_lock and (self._locking is None or self._locking.has_ended):
            self._let_go()
            self._is_lost = True
        return self._is_lost

    def wait_for_death(self, timeout_s: float) -> bool:
        """Wait for the lock of whoever leads, and keep it: true means that it died or let go, and nobody leads."""
        session, timeout_s = self._lock_session(), min(timeout_s, WAIT_S_MAX)
        try:
            with session.answered_within(timeout_s + ANSWER_S):
                if not self._has_lock:
                    session.bound_locks(timeout_s, is_local=False)
                    session.rows(SQL["wait_for_lock"], {"namespace": NAMESPACE})
                    self._has_lock = True
                if standing_of(session).has_ended(has_lock=True):
                    return True
            # Who leads never had it. Leave it to them, and do not come back at once.
            self._let_go()
            self._lock_session().rows(SQL["pause"], {"seconds": timeout_s})
        except Busy:
            return False
        except BaseException:  # who does not know whether it has the lock must not keep it
            self._let_go()
            raise
        return False

    def _takes_lock(self) -> bool:
        """For a leader that never had it: nothing depends on it, but that its death would be noticed sooner."""
        if self._has_lock or self._is_lost:
            return False
        try:
            self._has_lock = self._lock_session().rows(SQL["try_lock"], {"namespace": NAMESPACE})[0][0]
        except StoreUnavailable:
            self._let_go()
        return self._has_lock

    def _lock_session(self) -> Session:
        if self._locking is None or self._locking.is_closed:
            self._let_go()
            self._locking = Session(self._url, purpose="lock", timeout_s=WAIT_S_MAX + 1)
        return self._locking

    def _let_go(self) -> None:
        session, self._locking = self._locking, None
        self._has_lock = False
        if session is not None:
            session.close()

    # --- hubs ---

    def announce(self, *, url: str, version: str) -> None:
        """Tell the others that this hub is there. Those that were not for a day are forgotten."""
        given: dict[str, Value] = {
            "id": self._candidate.hub_id,
            "address": self._candidate.address,
            "url": url,
            "version": version,
        }
        self._ask(lambda session: session.change(SQL["announce_hub"], given))
        self._ask(lambda session: session.change(SQL["forget_hubs"]))

    def withdraw(self) -> None:
        self._ask(lambda session: session.change(SQL["forget_hub"], {"id": self._candidate.hub_id}))

    def hubs(self) -> list[HubSeen]:
        """Who announced itself within the last day, latest first."""
        rows = self._ask(lambda session: session.rows(SQL["every_hub"], {"rows_max": HUBS_MAX}))
        return [HubSeen(*row) for row in rows]

    def clock(self) -> int:
        """The server's, in ms."""
        return self._ask(lambda session: session.now_ms)

    def secret(self) -> bytes:
        """By which hubs of this yard know each other."""
        secret: bytes = self._ask(lambda session: session.rows(SQL["read_secret"]))[0][0]
        return secret

    # --- asking ---

    def _ask(self, question: Callable[[Session], T]) -> T:
        """On the connection that is there, or else on a new one: it may have been lost since it was last used."""
        if self._asking is None or self._asking.has_ended:
            self._hang_up()
            self._asking = Session(self._url, purpose="lease", timeout_s=ASK_S, settings=self._settings)
        return question(self._asking)

    def _hang_up(self) -> None:
        session, self._asking = self._asking, None
        if session is not None:
            session.close()

    def close(self) -> None:
        self._let_go()
        self._hang_up()

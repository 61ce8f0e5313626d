"""Several hubs of one yard on one database, and what is done to whichever leads.

What is judged is the history (`history.py`), the log in the database, and how long it took until every hub that was
left accepted a new task.
"""

import threading
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count, pairwise
from typing import Final

from taskyard.sdk.client import Client
from taskyard.sdk.errors import HubUnreachable, Unavailable
from taskyard.sdk.retry import NEVER, RetryPolicy
from tests.acceptance.faults import Yard
from tests.acceptance.history import Fault, Kind
from tests.support.live import Door, LiveHub, LiveYard, wait_until
from tests.support.postgres import Cluster

LEASE_S: Final = 1.5
"""Of the leader, in the soak."""
LEADS_S: Final = 30.0

DEAF_S_MAX: Final[Mapping[Kind, float]] = {
    Kind.LEADER_KILL: 5.0,
    Kind.LEADER_STOP: LEASE_S + 2.0,
    Kind.LEADER_CUT: LEASE_S + 2.0,
    Kind.SESSIONS_END: 5.0,
    Kind.HAND_OVER: 5.0,
}
"""From the beginning of a fault until every hub that was left accepts a new task."""


CHANGES_LEADER: Final = (Kind.LEADER_KILL, Kind.LEADER_STOP, Kind.LEADER_CUT, Kind.HAND_OVER)


class LiveHubs:
    """Several hubs as one door: each who comes begins at another of them, and knows them all."""

    def __init__(self, hubs: Sequence[LiveHub]) -> None:
        self._hubs = hubs
        self._turns = count()

    @property
    def url(self) -> str:
        first = next(self._turns) % len(self._hubs)
        return ",".join(hub.url for hub in (*self._hubs[first:], *self._hubs[:first]))

    @cached_property
    def key(self) -> str:
        """The first hub's, also when its directory is gone."""
        return self._hubs[0].key

    def client(self, *, retry: RetryPolicy = NEVER, key: str | None = None, timeout_s: float = 10.0) -> Client:
        return Client(self.url, key or self.key, retry=retry, patience=retry, timeout_s=timeout_s)


class HubsYard(Yard):
    """The hubs, the daemons and the load of every fault test, and how to hurt whoever leads."""

    def __init__(
        self,
        live: LiveYard,
        server: Cluster,
        database: str,
        hubs: Sequence[LiveHub],
        *,
        seed: int,
        lease_s: float,
        daemons_at: Sequence[Door] = (),
    ) -> None:
        """`hubs` are not started yet. `daemons_at`: where daemons come in, one after another, if not by any of them."""
        self.server = server
        self.database = database
        self.hubs = hubs
        for hub in hubs:
            # Each may reach the database by another address.
            hub.fellows = [other for other in hubs if other is not hub]
            hub.start(wait=False)
        for hub in hubs:
            hub.wait_ready()
        door = LiveHubs(hubs)
        super().__init__(live, hubs[0], seed=seed, lease_s=lease_s, server=server, door=door, daemons_at=daemons_at)

    # --- who leads -----------------------------------------------------------------------------------------

    def look(self, question: str) -> list[tuple[object, ...]]:
        return self.server.administer(question, database=self.database)

    def leader(self) -> int:
        """Which of the hubs leads, once one does and all are there."""
        self.await_hubs()
        names = {(hub.data / "hub.id").read_text().strip(): number for number, hub in enumerate(self.hubs)}

        def find() -> int | None:
            rows = self.look("SELECT holder FROM taskyard.lease WHERE until > clock_timestamp()")
            found = names.get(str(rows[0][0])) if rows else None
            return None if found is None else found + 1

        return wait_until(find, within_s=LEADS_S, what="a hub that leads") - 1

    def await_hubs(self) -> None:
        for hub in self.hubs:
            hub.wait_ready()

    def strike(self) -> tuple[int, LiveHub, list[LiveHub]]:
        """Whom to hurt, while there is work: the leader's number, the leader, and the others."""
        number = self.leader()
        self.await_work(None)
        return number, self.hubs[number], [hub for hub in self.hubs if hub is not self.hubs[number]]

    def deaf_s(self, began_ns: int, hubs: Sequence[LiveHub]) -> float:
        """How long it took until each of these accepted a task that was submitted after the fault."""
        took: list[float] = []

        def submit(hub: LiveHub) -> None:
            with hub.client(key=self.door.key) as client:
                # Without the pause that a refusal asks for: it is the hub that is measured.
                wait_until(lambda: is_accepted(client), within_s=LEADS_S, what="a new task", every_s=0.05)
            took.append((time.monotonic_ns() - began_ns) / 1e9)

        threads = [threading.Thread(target=submit, args=(hub,), daemon=True) for hub in hubs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LEADS_S)
        assert len(took) == len(hubs), f"no new task was accepted within {LEADS_S:g} s"
        return max(took)

    def kill_leader(self) -> int:
        _, leader, others = self.strike()
        pid, began = leader.process.pid, time.monotonic_ns()
        leader.kill()
        deaf_s = self.deaf_s(began, others)
        self.note(Kind.LEADER_KILL, pid, began, deaf_s)
        leader.start(wait=False)
        return 1

    # --- afterwards ----------------------------------------------------------------------------------------

    def broken_log(self) -> list[str]:
        """Every place of the log is of one epoch, and epochs never go back."""
        rows = self.look(
            "SELECT seq, epoch, before FROM (SELECT seq, epoch, lag(epoch) OVER (ORDER BY seq) AS before, "
            "lag(seq) OVER (ORDER BY seq) AS last FROM taskyard.commit_log) AS log "
            "WHERE epoch < before OR seq <> last + 1 LIMIT 10"
        )
        twice = self.look("SELECT seq FROM taskyard.commit_log GROUP BY seq HAVING count(*) > 1 LIMIT 10")
        streamed: dict[int, set[int]] = {}
        for place, _ in self.load.streamed:
            epoch, seq, _ = map(int, place.split("-"))
            streamed.setdefault(seq, set()).add(epoch)
        return [
            *(f"commit {seq} is of epoch {epoch}, after {before}" for seq, epoch, before in rows),
            *(f"commit {seq} is there twice" for (seq,) in twice),
            *(
                f"commit {seq} was told of epochs {sorted(epochs)}"
                for seq, epochs in streamed.items()
                if len(epochs) > 1
            ),
        ]

    def out_of_line(self) -> list[str]:
        """Who submits one task after another finds them in that order, whichever hub led, by whatever clock."""
        by_submitter: dict[str, list[str]] = {}
        for asked in self.load.acknowledged:
            by_submitter.setdefault(asked.key.rpartition("-")[0], []).append(asked.task)
        return [
            f"{later} was submitted after {earlier}, and stands before it"
            for ids in by_submitter.values()
            for earlier, later in pairwise(ids)
            if later < earlier
        ]

    @property
    def epochs(self) -> int:
        return int(str(self.look("SELECT count(DISTINCT epoch) FROM taskyard.commit_log")[0][0]))

    def died(self) -> list[str]:
        """Hubs that nobody ended."""
        return [
            f"{hub.data.name} left with {hub.process.exit_code}: {hub.process.said[-500:]}"
            for hub in self.hubs
            if hub.process.exit_code is not None
        ]

    def broken(self) -> dict[str, list[str]]:
        """What must hold of any hubs of one yard, and did not."""
        leaders = sum(fault.kind in CHANGES_LEADER for fault in self.faults)
        return {
            "log": self.broken_log(),
            "tasks out of line": self.out_of_line(),
            "hubs that died": self.died(),
            "leaders that stayed": [] if self.epochs > leaders else [f"{self.epochs} epochs, {leaders} faults"],
        }


def is_accepted(client: Client) -> bool:
    try:
        client.submit("after the fault", type="noop")
    except (HubUnreachable, Unavailable):
        return False
    return True


def slow_takeovers(faults: Sequence[Fault]) -> list[str]:
    return [
        f"{fault.kind}: {fault.deaf_s:.1f} s until a new task was accepted, where {DEAF_S_MAX[fault.kind]:g} s may be"
        for fault in faults
        if fault.deaf_s > DEAF_S_MAX.get(fault.kind, LEADS_S)
    ]


def takeovers(faults: Sequence[Fault]) -> str:
    """For each kind how many there were, and how long until a new task was accepted: the median and the longest."""
    told = []
    for kind in Kind:
        took = sorted(fault.deaf_s for fault in faults if fault.kind is kind)
        if took:
            told.append(f"{len(took)} {kind}: {took[len(took) // 2]:.2f} s, {took[-1]:.2f} s at most")
    return "; ".join(told)

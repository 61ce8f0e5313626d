"""Two hubs of one yard on one machine, as the guide starts them, and the leader killed again and again under load.

Each daemon knows one of the hubs. One whose hub goes on keeps its socket when the lead moves; one whose hub was killed
comes back when that is started again.
"""

import time
from itertools import cycle
from pathlib import Path
from typing import Final

from tests.acceptance.faults import INNOCENCE, Report, suffer
from tests.acceptance.history import Kind
from tests.acceptance.hubs import LEADS_S, HubsYard, slow_takeovers, takeovers
from tests.support.live import LONG_LEASES, LiveYard, live_yard, wait_until
from tests.support.postgres import cluster

LEASE_S: Final = 20.0
"""Of daemons, as `LONG_LEASES` says: longer than a hub that was killed takes to come back."""


class TwoHubs(HubsYard):
    def __init__(self, live: LiveYard, *, seed: int) -> None:
        server = cluster()
        database = server.new_database()
        hubs = [
            live.hub(name, settings=LONG_LEASES + INNOCENCE, database=server.url(database), start=False)
            for name in ("one", "two")
        ]
        super().__init__(live, server, database, hubs, seed=seed, lease_s=LEASE_S, daemons_at=hubs)
        self._homes = list(zip(self.daemons, cycle(hubs), strict=False))
        self.elsewhere = 0
        """Daemons at the hub that did not lead, counted once for each kill."""
        self.cut_off: list[str] = []
        """Those of them that lost their socket."""

    def kill_leader(self) -> int:
        wait_until(
            lambda: all(daemon.sockets_to(home) for daemon, home in self._homes),
            within_s=LEADS_S,
            what="daemons at their hubs",
        )
        leader = self.hubs[self.leader()]
        sockets = {daemon: daemon.sockets_to(home) for daemon, home in self._homes if home is not leader}
        done = super().kill_leader()
        self.elsewhere += len(sockets)
        self.cut_off += [
            f"{daemon.name} when {leader.data.name} was killed"
            for daemon, home in self._homes
            if daemon in sockets and daemon.sockets_to(home) != sockets[daemon]
        ]
        return done


def run_two_hubs(directory: Path, *, kills: int, seed: int, until: float | None = None) -> Report:
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with live_yard(directory) as live:
        yard = TwoHubs(live, seed=seed)
        history = suffer(yard, {Kind.LEADER_KILL: (kills, TwoHubs.kill_leader)}, until=until)
        broken = {
            **yard.broken(),
            "slow takeovers": slow_takeovers(history.faults),
            "daemons cut off": yard.cut_off,
        }
        stayed = yard.elsewhere - len(yard.cut_off)
        note = f"{takeovers(history.faults)}; {stayed} of {yard.elsewhere} daemons at the other hub stayed connected"
        return Report("two hubs on one machine", history, yard.load.errors, time.monotonic() - began, broken, note)

"""A pair of PostgreSQL servers that hubs, and the servers themselves, reach over wires which can be cut.

What decides about a failover is the test: it promotes the standby, and lets the old primary follow it afterwards. A
promoted standby confirms commits alone until it is followed, as high-availability managers configure it.
"""

import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

from tests.support.live import wait_until
from tests.support.pg_proxy import Loss, Proxy, a_proxy
from tests.support.replication import LOOK_S, WITHIN_S, Pair, Server, a_pair

WAITS: Final = "SELECT pid, query_start::text FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
FED: Final = "SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming' AND conninfo LIKE '%port={}%'"


class Wait(NamedTuple):
    """A commit that waits for the standby: its session, and since when."""

    pid: int
    since: str


class Wires:
    """Of one server: `front` is where hubs come in, `feed` where its standby reads."""

    def __init__(self, stack: ExitStack, port: int, *others: int) -> None:
        self.front: Proxy = stack.enter_context(a_proxy(port))
        self.feed: Proxy = stack.enter_context(a_proxy(port))
        self.others = [stack.enter_context(a_proxy(other)) for other in others]

    def cut(self, *, is_silent: bool) -> None:
        """Nothing passes any more: connections break, or nobody is told."""
        for wire in (self.front, self.feed, *self.others):
            if is_silent:
                wire.lose(Loss.EVERYTHING)
            else:
                wire.close_to_new(True)
                wire.cut()

    def mend(self) -> None:
        for wire in (self.front, self.feed, *self.others):
            wire.lose(Loss.NOTHING)
            wire.close_to_new(False)
            # What was lost on a wire is missing in the middle of what is said over it.
            wire.cut()


class WiredPair:
    """`primary` and `standby` change places when the standby is promoted."""

    def __init__(self, pair: Pair, stack: ExitStack, *others: int, is_synchronous: bool) -> None:
        """`others` are ports that each of the servers reaches over a wire of its own too."""
        self._pair = pair
        self._is_synchronous = is_synchronous
        self._wires = {server: Wires(stack, server.port, *others) for server in (pair.primary, pair.standby)}

    @property
    def primary(self) -> Server:
        return self._pair.primary

    @property
    def standby(self) -> Server:
        return self._pair.standby

    def url(self, database: str) -> str:
        """It names both servers, in an order that never changes."""
        places = ",".join(f"127.0.0.1:{wires.front.port}" for wires in self._wires.values())
        return f"postgresql://yard@{places}/{database}?target_session_attrs=read-write"

    # --- replication ---

    def feed(self) -> None:
        """The standby reads over the wire from now on; commits wait for it if they are to."""
        port = self._wires[self.primary].feed.port
        source = f"host=127.0.0.1 port={port} user=yard application_name={self.standby.name}"
        self.standby.administer(f"ALTER SYSTEM SET primary_conninfo = '{source}'")
        self.standby.administer("SELECT pg_reload_conf()")
        is_fed = FED.format(port)
        wait_until(
            lambda: self.standby.administer(is_fed), within_s=WITHIN_S, what="a standby that is fed", every_s=LOOK_S
        )
        self._pair.until_streaming()
        self._pair.replicate(synchronously=self._is_synchronous)

    def stall(self) -> None:
        """What the primary writes does not reach the standby any more, and neither knows it."""
        self._wires[self.primary].feed.lose(Loss.EVERYTHING)

    def waiting(self) -> list[Wait]:
        """Commits of the primary that wait for the standby."""
        return [Wait(int(str(pid)), str(since)) for pid, since in self.primary.administer(WAITS)]

    def cancel(self, waits: Sequence[Wait], *, ends_session: bool) -> None:
        """End these waits, as an operator does who sees sessions that hang; returns when they have ended."""
        end = "pg_terminate_backend" if ends_session else "pg_cancel_backend"
        for wait in waits:
            self.primary.administer(f"SELECT {end}({wait.pid})")
        over = f"the end of {len(waits)} waits"
        wait_until(lambda: not {*waits} & {*self.waiting()}, within_s=WITHIN_S, what=over, every_s=LOOK_S)

    # --- failover ---

    def kill_primary(self) -> None:
        self.primary.kill()

    def cut_primary(self, *, is_silent: bool) -> None:
        self._wires[self.primary].cut(is_silent=is_silent)

    def switch_over(self) -> None:
        """The primary ends every session and stops; before that it has told the standby all that it wrote."""
        self.primary.stop(signal.SIGINT)

    def promote(self) -> None:
        if self._is_synchronous:
            self.standby.reload("synchronous_standby_names", "")
        self._pair.promote()

    def reconnect(self) -> None:
        """The old primary, which was cut off, can be reached again, and still believes that it is the primary."""
        self._wires[self.standby].mend()

    def rejoin(self) -> None:
        """The old primary, whatever became of it, begins anew as a copy of the new one."""
        if self.standby.is_running:
            self.standby.kill()
        self.reconnect()
        self._pair.rejoin()
        self.feed()


@contextmanager
def a_wired_pair(*, is_synchronous: bool) -> Iterator[WiredPair]:
    with a_pair(synchronous=False) as pair, ExitStack() as stack:
        wired = WiredPair(pair, stack, is_synchronous=is_synchronous)
        wired.feed()
        yield wired

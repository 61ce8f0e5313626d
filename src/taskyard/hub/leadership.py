"""Who leads: try to, follow whoever does, and stop at once when it is no longer certain that this hub may.

The lease is a row on the database's clock; the fence that keeps a deposed leader from writing is in every commit. This
file decides nothing about tasks: it says when a hub of this process begins to lead and when it ends, and which other
one the gateway speaks to meanwhile. Whatever cannot be found out counts as a no.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar

from taskyard.hub.clock import read_age
from taskyard.hub.hub import Hub
from taskyard.hub.link.remote import Remote
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.store.port import Holder, LedElsewhere, StoreFenced, StoreUnavailable

T = TypeVar("T")

RENEWALS_PER_LEASE: Final = 3
MARGIN: Final = 0.2
# Of the lease: so much before its end a leader that could not renew it stops answering.
LOOK_S: Final = 0.5
# A sign of death comes by itself; this is how often a standby looks at the lease if none does.
RETRY_S: Final = 0.2


class Lease(Protocol):
    """What `store.postgres.lease.Lease` offers. Called from one thread at a time; every call has a deadline."""

    def holder(self) -> Holder | None:
        """Who leads by the row, also if the lease has run out; None: nobody ever did."""

    def wait_for_death(self, timeout_s: float) -> bool:
        """Whether the leader's lock is ours now: then it is dead, or has let go."""

    def renew(self) -> None:
        """Raises `StoreFenced` when the lease is another's."""

    def resign(self) -> None:
        """End it: whoever waits may lead."""

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock has gone."""


class Leadership:
    """Runs for as long as the process.

    `begin` makes a hub that leads, started, and calls back as soon as the lease is its own; it raises `LedElsewhere` if
    it may not.
    """

    def __init__(
        self,
        lease: Lease,
        switchboard: Switchboard,
        links: LinkServer,
        log: Log,
        *,
        hub_id: str,
        lease_s: float,
        begin: Callable[[Callable[[], None]], Awaitable[Hub]],
        dial: Callable[[Holder], Awaitable[Remote]],
    ) -> None:
        self._lease = lease
        self._switchboard = switchboard
        self._links = links
        self._log = log
        self._hub_id = hub_id
        self._lease_s = lease_s
        self._begin = begin
        self._dial = dial
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._remote: Remote | None = None
        self._followed: tuple[str, int] | None = None
        self._resigning = asyncio.Event()
        self.is_leading = False

    async def run(self) -> None:
        """Until it is told to resign, and then until nobody needs it to follow any more (it is cancelled)."""
        while True:
            if not self._resigning.is_set() and await self._may_lead():
                await self._lead()
            else:
                await self._follow()

    async def resign(self) -> None:
        """Lead no more, and do not try to: others shall. What this hub's gateway is asked is asked of them."""
        self._resigning.set()

    # Standing by.

    async def _may_lead(self) -> bool:
        try:
            if await self._in_thread(lambda: self._lease.wait_for_death(LOOK_S)):
                return True
            holder = await self._in_thread(self._lease.holder)
        except StoreUnavailable as error:
            self._log.say("lease.unread", level="warning", reason=str(error))
            await asyncio.sleep(RETRY_S)
            return False
        return holder is None or holder.left_ms <= 0

    async def _follow(self) -> None:
        """See that the gateway speaks to whoever leads."""
        try:
            holder = await self._in_thread(self._lease.holder)
        except StoreUnavailable:
            await asyncio.sleep(RETRY_S)
            return
        if holder is None or holder.id == self._hub_id:
            await asyncio.sleep(RETRY_S)
            return
        if self._remote is not None and self._remote.ready and self._followed == (holder.id, holder.epoch):
            if self._resigning.is_set():
                await asyncio.sleep(RETRY_S)
            return
        self._unfollow()
        try:
            remote = await self._dial(holder)
        except OSError as error:
            self._log.say("link.refused", level="warning", leader=holder.id, reason=str(error))
            await asyncio.sleep(RETRY_S)
            return
        self._remote, self._followed = remote, (holder.id, holder.epoch)
        remote.lost.add_done_callback(lambda _: self._drop(remote))
        self._switchboard.connect(remote)
        self._log.say("link.made", leader=holder.id, epoch=holder.epoch)

    def _drop(self, remote: Remote) -> None:
        if self._remote is remote:
            self._remote = self._followed = None
            self._switchboard.disconnect()

    def _unfollow(self) -> None:
        if self._remote is not None:
            remote = self._remote
            self._drop(remote)
            remote.close()

    # Leading.

    async def _lead(self) -> None:
        self._unfollow()
        keeper = Keeper(self._lease, self._log, lease_s=self._lease_s)
        try:
            hub = await self._begin(keeper.begin)
        except LedElsewhere:
            keeper.end()
            return
        except StoreUnavailable as error:
            keeper.end()
            self._log.say("lease.untaken", level="warning", reason=str(error))
            await asyncio.sleep(RETRY_S)
            return
        hub.is_trusted = keeper.is_trusted
        self.is_leading = True
        self._links.serve(hub)
        self._switchboard.connect(hub)
        self._log.say("hub.leads", epoch=hub.identity.epoch)
        try:
            await self._until_over(hub, keeper)
        finally:
            self.is_leading = False
            self._switchboard.disconnect()
            self._links.dismiss()
            await asyncio.to_thread(keeper.end)
            await hub.stop()

    async def _until_over(self, hub: Hub, keeper: "Keeper") -> None:
        """Until told to resign, deposed, or uncertain."""
        told = asyncio.ensure_future(self._resigning.wait())
        try:
            await asyncio.wait((told, keeper.lost, hub.deposed, hub.failure), return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
        if keeper.lost.done():
            hub.depose(keeper.lost.result())
        elif not hub.deposed.done() and not hub.failure.done():
            await hub.retire()
            await asyncio.to_thread(keeper.end)
            await self._in_thread(self._lease.resign)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


class Keeper:
    """Renews the lease in a thread of its own, whatever the event loop is busy with: loading a million tasks takes it
    longer than a lease lasts."""

    def __init__(self, lease: Lease, log: Log, *, lease_s: float) -> None:
        self._lease = lease
        self._log = log
        self._lease_s = lease_s
        self._loop = asyncio.get_running_loop()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keeper", daemon=True)
        # Counted from before it is asked for.
        self._trusted_until = read_age() + self._lease_s * (1 - MARGIN)
        self.lost: asyncio.Future[str] = self._loop.create_future()
        """Why, once this hub may no longer believe that it leads."""

    def begin(self) -> None:
        """The lease is ours: keep it. From whichever thread."""
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        if self._thread.ident is not None:
            self._thread.join()

    def is_trusted(self) -> bool:
        """Whether no other hub can lead at this moment."""
        return read_age() < self._trusted_until

    def _run(self) -> None:
        while not self._is_over.wait(self._lease_s / RENEWALS_PER_LEASE):
            reason = self._renew()
            if reason is not None:
                self._loop.call_soon_threadsafe(self._lose, reason)
                return

    def _renew(self) -> str | None:
        """Why it is over, if it is."""
        if not self.is_trusted():
            return "its lease may have run out"
        if self._lease.is_lost:
            return "the connection that says it is alive was cut"
        asked_at = read_age()
        try:
            self._lease.renew()
            self._trusted_until = asked_at + self._lease_s * (1 - MARGIN)
        except StoreFenced as error:
            return str(error)
        except StoreUnavailable as error:
            self._loop.call_soon_threadsafe(self._warn, str(error))
        return None

    def _warn(self, reason: str) -> None:
        self._log.say("lease.unrenewed", level="warning", reason=reason)

    def _lose(self, reason: str) -> None:
        if not self.lost.done():
            self.lost.set_result(reason)

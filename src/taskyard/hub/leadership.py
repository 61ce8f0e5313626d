"""Who leads: try to, follow whoever does, and stop at once when it is no longer certain that this hub may.

The lease is a row on the database's clock; the fence that keeps a deposed leader from writing is in every commit. This
file decides nothing about tasks: it says when a hub of this process begins to lead and when it ends, and which other
one the gateway speaks to meanwhile. Whatever cannot be found out counts as a no.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

from taskyard.hub.clock import read_age
from taskyard.hub.hub import Hub
from taskyard.hub.link.remote import Remote
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.store.port import Holder, LedElsewhere, StoreFenced, StoreRefused, StoreUnavailable
from taskyard.store.rewind import sentence_of

T = TypeVar("T")

RENEWALS_PER_LEASE: Final = 3
MARGIN: Final = 0.2
# Of the lease: so much before its end a leader that could not renew it stops answering.
LOOK_S: Final = 0.5
# A sign of death comes by itself; this is how often a standby looks at the lease if none does.
RETRY_S: Final = 0.2
UNREAD_S_MAX: Final = 1.0
UNREAD_MAX: Final = 10
# A server that is away is asked less and less often, down to once a second: asking is dialling.
DIAL_S: Final = 1.5
# Who waits for a leader that hangs cannot take its place meanwhile.
REFUSED_S, REFUSED_S_MAX = 1.0, 30.0
# How long a hub that was refused leaves it to others to lead: at first, and at most.
STUCK_S: Final = 60.0
# How long an event loop may be busy with one thing: several times what loading a million tasks takes. One that is stuck
# for good leads nobody, and must not keep others from it.
RAN_OUT: Final = "its lease may have run out"
RETIRE_S: Final = 5.0
# How long a leader that is to go tries to write what it has decided.


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

    def close(self) -> None: ...

    @property
    def is_lost(self) -> bool:
        """Whether the connection that held the lock has gone."""


class Leadership:
    """Runs for as long as the process.

    `begin` makes a hub that leads, started, and calls back as soon as the lease is its own; it raises `LedElsewhere` if
    it may not, and `StoreRefused` if nobody should. Before it, `canvass` asks other hubs what they have seen, which
    takes no longer than a second or two. `address` is where others reach this one.
    """

    def __init__(
        self,
        lease: Lease,
        switchboard: Switchboard,
        links: LinkServer,
        log: Log,
        *,
        address: str,
        lease_s: float,
        begin: Callable[[Callable[[], None]], Coroutine[None, None, Hub]],
        dial: Callable[[Holder], Awaitable[Remote]],
        canvass: Callable[[], Awaitable[None]],
    ) -> None:
        self._lease = lease
        self._switchboard = switchboard
        self._links = links
        self._log = log
        self._address = address
        self._lease_s = lease_s
        self._begin = begin
        self._dial = dial
        self._canvass = canvass
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lease")
        self._remote: Remote | None = None
        self._followed: tuple[str, int] | None = None
        self._resigning = asyncio.Event()
        self._ending: set[asyncio.Task[None]] = set()
        """Hubs that lead no more, on their way out: one whose writer hangs takes a while."""
        self._has_served = False
        self._unread = 0
        """How often in a row nobody could say who leads."""
        self._refusals = 0
        self._barred_until = 0.0
        self.is_leading = False

    async def run(self) -> None:
        """Until it is told to resign, and then until nobody needs it to follow any more (it is cancelled).

        Raises `StoreRefused` if that is why nobody leads from the beginning; later that is logged, and tried again.
        """
        while True:
            if self._may_try and await self._may_lead():
                await self._lead()
            else:
                await self._follow()

    async def resign(self) -> None:
        """Lead no more, and do not try to: others shall. What this hub's gateway is asked is asked of them."""
        self._resigning.set()

    async def close(self) -> None:
        """After it ran: returns when nothing of it is left."""
        while self._ending:
            await asyncio.wait(self._ending)
        await self._in_thread(self._lease.close)
        self._thread.shutdown()

    # Standing by.

    @property
    def _may_try(self) -> bool:
        return not self._resigning.is_set() and read_age() >= self._barred_until

    async def _may_lead(self) -> bool:
        try:
            if await self._in_thread(lambda: self._lease.wait_for_death(LOOK_S)):
                return True
            holder = await self._in_thread(self._lease.holder)
        except StoreUnavailable as error:
            await self._cannot_read(error)
            return False
        return holder is None or holder.left_ms <= 0

    async def _follow(self) -> None:
        """See that the gateway speaks to whoever leads."""
        try:
            holder = await self._in_thread(self._lease.holder)
        except StoreUnavailable as error:
            await self._cannot_read(error)
            return
        self._unread = 0
        if holder is None or holder.address == self._address:
            await asyncio.sleep(RETRY_S)
        elif self._remote is None or not self._remote.ready or self._followed != (holder.id, holder.epoch):
            await self._turn_to(holder)
        elif not self._may_try:
            await asyncio.sleep(RETRY_S)

    async def _turn_to(self, holder: Holder) -> None:
        self._unfollow()
        try:
            async with asyncio.timeout(DIAL_S):
                remote = await self._dial(holder)
        except OSError as error:
            reason = str(error) or "it does not answer"
            self._log.say("link.refused", level="warning", leader=holder.id, reason=reason)
            await asyncio.sleep(RETRY_S)
            return
        self._remote, self._followed = remote, (holder.id, holder.epoch)
        remote.lost.add_done_callback(lambda _: self._drop(remote))
        self._has_served = True
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

    async def _cannot_read(self, error: StoreUnavailable) -> None:
        if not self._unread:
            self._log.say("lease.unread", level="warning", reason=str(error))
        await asyncio.sleep(min(RETRY_S * 2**self._unread, UNREAD_S_MAX))
        self._unread = min(self._unread + 1, UNREAD_MAX)

    # Leading.

    async def _lead(self) -> None:
        self._unfollow()
        # Before the lease is asked for: it would run out meanwhile.
        await self._canvass()
        keeper = Keeper(self._lease, self._log, lease_s=self._lease_s)
        try:
            hub = await self._begun(keeper)
            if hub is not None:
                await self._serve(hub, keeper)
        except StoreRefused as error:
            if not self._has_served:
                raise
            self._bar(str(error))
            await self._end(keeper)
            await self._let_others()
        finally:
            await self._end(keeper)

    async def _begun(self, keeper: "Keeper") -> Hub | None:
        """A hub that leads. None: it could not, or what it would lead by was lost before it did."""
        beginning = asyncio.ensure_future(self._begin(keeper.begin))
        try:
            await asyncio.wait((beginning, keeper.lost), return_when=asyncio.FIRST_COMPLETED)
            return beginning.result() if beginning.done() else None
        except LedElsewhere:
            return None
        except StoreUnavailable as error:
            self._log.say("lease.untaken", level="warning", reason=str(error))
            await asyncio.sleep(RETRY_S)
            return None
        finally:
            if not beginning.done():
                beginning.cancel()
                self._see_out(_ended(beginning))

    async def _serve(self, hub: Hub, keeper: "Keeper") -> None:
        hub.is_trusted = keeper.is_trusted
        self.is_leading = self._has_served = True
        self._unread = self._refusals = 0
        self._links.serve(hub)
        self._switchboard.connect(hub)
        self._log.say("hub.leads", epoch=hub.identity.epoch)
        try:
            await self._until_over(hub, keeper)
        finally:
            self.is_leading = False
            self._switchboard.disconnect()
            self._links.dismiss()
            self._see_out(hub.stop())

    async def _until_over(self, hub: Hub, keeper: "Keeper") -> None:
        """Until told to resign, deposed, or uncertain."""
        told = asyncio.ensure_future(self._resigning.wait())
        signs: set[asyncio.Future[Any]] = {told, keeper.lost, hub.deposed, hub.failure}
        try:
            while not any(sign.done() for sign in signs) and keeper.is_trusted():
                await asyncio.wait(signs, timeout=keeper.trusted_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
        if hub.missing is not None:
            self._bar(sentence_of(hub.missing))
            await self._end(keeper)
            await self._let_others()
            return
        if hub.deposed.done() or hub.failure.done():
            return
        if keeper.lost.done():
            hub.depose(keeper.lost.result())
        elif not keeper.is_trusted():
            # A renewal is under way that nobody answers.
            hub.depose(RAN_OUT)
        else:
            await self._step_down(hub, keeper)

    async def _step_down(self, hub: Hub, keeper: "Keeper") -> None:
        """On purpose: what was decided is written and told first."""
        try:
            async with asyncio.timeout(RETIRE_S):
                await hub.retire()
        except TimeoutError:
            hub.depose("it was told to stop, and could not write what it had decided")
        await self._end(keeper)
        await self._let_others()

    async def _let_others(self) -> None:
        """Whoever waits need not wait for the lease to run out."""
        try:
            await self._in_thread(self._lease.resign)
        except StoreUnavailable as error:
            self._log.say("lease.kept", level="warning", reason=str(error))

    def _bar(self, reason: str) -> None:
        """This hub may not lead as things are, and another may."""
        self._barred_until = read_age() + min(REFUSED_S * 2**self._refusals, REFUSED_S_MAX)
        self._refusals += 1
        self._log.say("lease.refused", level="error", reason=reason)

    async def _end(self, keeper: "Keeper") -> None:
        """The lease is used by one thread at a time."""
        await asyncio.shield(self._see_out(asyncio.to_thread(keeper.end)))

    def _see_out(self, ending: Coroutine[None, None, None]) -> "asyncio.Task[None]":
        """Whoever else waits for it, `close` does."""
        task = asyncio.get_running_loop().create_task(ending)
        self._ending.add(task)
        task.add_done_callback(self._on_ended)
        return task

    def _on_ended(self, task: "asyncio.Task[None]") -> None:
        self._ending.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._log.fault("hub.unstopped", error, level="error")

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


async def _ended(beginning: "asyncio.Future[Hub]") -> None:
    """It was cancelled, or has come to its end nevertheless."""
    await asyncio.wait((beginning,))
    if not beginning.cancelled() and beginning.exception() is None:
        await beginning.result().stop()


class Keeper:
    """Renews the lease in a thread of its own, whatever the event loop is busy with: loading a million tasks takes it
    longer than a lease lasts."""

    def __init__(self, lease: Lease, log: Log, *, lease_s: float) -> None:
        self._lease = lease
        self._log = log
        self._lease_s = lease_s
        self._loop = asyncio.get_running_loop()
        self._is_over = threading.Event()
        self._turned_at = read_age()
        """When the event loop was last seen to go on."""
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

    @property
    def trusted_s(self) -> float:
        """For how long no other can, if it is not renewed."""
        return max(0.0, self._trusted_until - read_age())

    def _run(self) -> None:
        # At once: opening may have taken a while.
        reason = self._renew()
        while reason is None and not self._is_over.wait(self._lease_s / RENEWALS_PER_LEASE):
            self._loop.call_soon_threadsafe(self._turn)
            reason = self._objection() or self._renew()
        if reason is not None:
            self._loop.call_soon_threadsafe(self._lose, reason)

    def _objection(self) -> str | None:
        """Why it should not be renewed: another can lead by now, or this hub cannot."""
        if not self.is_trusted():
            return RAN_OUT
        return None if read_age() - self._turned_at < STUCK_S else "it did nothing else for too long"

    def _turn(self) -> None:
        """On the event loop."""
        self._turned_at = read_age()

    def _renew(self) -> str | None:
        """Why it is over, if it is."""
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

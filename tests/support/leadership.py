"""Hubs that share one lease, each with a gateway of its own, in one process."""

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from taskyard.core.settings import Settings
from taskyard.hub.clock import read_age
from taskyard.hub.hub import Hub
from taskyard.hub.leadership import Leadership
from taskyard.hub.link.remote import Remote, dial
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.store.port import Holder, LedElsewhere, StoreFenced, StoreUnavailable
from tests.support.hub_scene import SECRET, WAIT_S, ALog, Gate, HeldStore, Scene, raise_next
from tests.support.room import without_rates

HERE = "127.0.0.1"
LEASE_S = 2.0
"""A leader that is not renewed stops a fifth of it before another can lead: more than a busy machine is late by."""
LONG_S = 60.0
AWAY = StoreUnavailable("the server is gone")


class Row:
    """The lease in the database, and the lock beside it."""

    def __init__(self) -> None:
        self.condition = threading.Condition()
        self.holder: Holder | None = None
        self.until = 0.0
        self.is_locked = False
        """Whether the holder had the lock when it last said so."""
        self.lock_owner: object | None = None

    @property
    def left_ms(self) -> int:
        return max(0, round((self.until - read_age()) * 1000))


class ALease:
    """One hub's hold on the row. Its calls can be held back, and told to fail."""

    def __init__(self, row: Row, name: str, lease_s: float) -> None:
        self._row = row
        self._name = name
        self._lease_s = lease_s
        self.address = ""
        self.epoch = 0
        self.renewals = Gate()
        self.renewed = 0
        self.renew_faults: list[Exception | None] = []
        self.look_faults: list[Exception | None] = []
        self.resign_faults: list[Exception | None] = []
        self.is_lost = False
        self.is_closed = False

    def take(self) -> None:
        """What a store does when it opens."""
        row = self._row
        with row.condition:
            has_lock = row.lock_owner is self
            if row.holder is not None and row.left_ms and not (has_lock and row.is_locked):
                raise LedElsewhere(row.holder)
            self.epoch = (0 if row.holder is None else row.holder.epoch) + 1
            row.holder = Holder(self._name, self.address, self.epoch, 0, 0)
            row.is_locked, self.is_lost = has_lock, False
            row.until = read_age() + self._lease_s
            row.condition.notify_all()

    def holder(self) -> Holder | None:
        raise_next(self.look_faults)
        with self._row.condition:
            found = self._row.holder
            return found and Holder(found.id, found.address, found.epoch, found.since, self._row.left_ms)

    def wait_for_death(self, timeout_s: float) -> bool:
        raise_next(self.look_faults)
        row = self._row
        with row.condition:
            row.condition.wait_for(lambda: row.lock_owner in (None, self), timeout_s)
            if row.lock_owner in (None, self) and (row.is_locked or not row.left_ms):
                row.lock_owner = self
                return True
        return False

    def renew(self) -> None:
        self.renewals.pass_through()
        raise_next(self.renew_faults)
        row = self._row
        with row.condition:
            if row.holder is None or row.holder.epoch != self.epoch:
                raise StoreFenced("another hub leads")
            row.until = read_age() + self._lease_s
            self.renewed += 1

    def resign(self) -> None:
        raise_next(self.resign_faults)
        row = self._row
        with row.condition:
            if row.holder is not None and row.holder.epoch == self.epoch:
                row.until = 0.0
            self._let_go()

    def _let_go(self) -> None:
        if self._row.lock_owner is self:
            self._row.lock_owner = None
            self._row.condition.notify_all()

    def cut(self) -> None:
        """The connection that holds the lock is gone."""
        with self._row.condition:
            self.is_lost = True
            self._let_go()

    def close(self) -> None:
        with self._row.condition:
            self.is_closed = True
            self._let_go()


class ANode:
    """One process: a gateway, links, and the hub that it is while it leads."""

    def __init__(self, row: Row, name: str, *, lease_s: float) -> None:
        self.log = ALog()
        self.lease = ALease(row, name, lease_s)
        self.board = Switchboard(Settings(), HeldStore().reader, secret=SECRET)
        self.links = LinkServer(SECRET, Log(self.log))
        self.begin_faults: list[Exception | None] = []
        self.begins = 0
        self.canvassed = 0
        self.before_begin: Callable[[], None] = lambda: None
        self.loads = Gate()
        self.hubs: list[Hub] = []
        self.stores: list[HeldStore] = []
        self.dial: Callable[[Holder], Awaitable[Remote]] = self._dial
        self._lease_s = lease_s
        self.running: asyncio.Task[None]

    async def start(self) -> None:
        self.lease.address = f"{HERE}:{await self.links.listen(HERE, 0)}"
        self.leadership = Leadership(
            self.lease,
            self.board,
            self.links,
            Log(self.log),
            address=self.lease.address,
            lease_s=self._lease_s,
            begin=self._begin,
            dial=self.dial,
            canvass=self._canvass,
        )
        self.running = asyncio.get_running_loop().create_task(self.leadership.run())

    async def _begin(self, on_open: Callable[[], None]) -> Hub:
        self.begins += 1
        self.before_begin()
        raise_next(self.begin_faults)
        self.lease.take()
        on_open()
        await asyncio.to_thread(self.loads.pass_through)
        store = HeldStore()
        hub = Hub(store, without_rates(Settings()), Log(self.log), secret=SECRET)
        await hub.start()
        self.hubs.append(hub)
        self.stores.append(store)
        await Scene(store, hub, self.log).a_user()
        return hub

    async def _canvass(self) -> None:
        self.canvassed += 1

    async def _dial(self, holder: Holder) -> Remote:
        host, _, port = holder.address.rpartition(":")
        return await dial(host, int(port), SECRET)

    @property
    def hub(self) -> Hub:
        return self.hubs[-1]

    async def said(self, event: str, times: int = 1) -> Any:
        """The line of that name, once it was logged so often."""
        async with asyncio.timeout(WAIT_S):
            while True:
                lines = [line for line in self.log.told.all if line["event"] == event]
                if len(lines) >= times:
                    return lines[times - 1]
                await asyncio.sleep(0.001)

    async def leads(self) -> None:
        await self.said("hub.leads", len(self.hubs) + (not self.leadership.is_leading))
        assert self.board.leader is self.hub

    async def follows(self, other: "ANode") -> Remote:
        async with asyncio.timeout(WAIT_S):
            while not (isinstance(self.board.leader, Remote) and self.board.identity == other.hub.identity):
                await asyncio.sleep(0.001)
        return self.board.leader

    async def loses(self) -> None:
        async with asyncio.timeout(WAIT_S):
            while self.board.leader is not None:
                await asyncio.sleep(0.001)

    async def stop(self) -> None:
        self.lease.renewals.open()
        self.loads.open()
        for store in self.stores:
            store.writes.open()
        self.running.cancel()
        await asyncio.gather(self.running, return_exceptions=True)
        await self.leadership.close()
        self.links.stop()
        self.board.close()


class Yard:
    def __init__(self, stack: AsyncExitStack, lease_s: float) -> None:
        self.row = Row()
        self._stack = stack
        self._lease_s = lease_s

    async def node(self, name: str, **planned: Any) -> ANode:
        """One that has started; `planned` are faults that it meets from its beginning on."""
        node = ANode(self.row, name, lease_s=self._lease_s)
        node.begin_faults = planned.pop("begin_faults", [])
        node.lease.look_faults = planned.pop("look_faults", [])
        await node.start()
        self._stack.push_async_callback(node.stop)
        return node

    async def leader(self, name: str = "a") -> ANode:
        node = await self.node(name)
        await node.leads()
        return node


@asynccontextmanager
async def a_yard(lease_s: float = LONG_S) -> AsyncIterator[Yard]:
    async with AsyncExitStack() as stack:
        yield Yard(stack, lease_s)

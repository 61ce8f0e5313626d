"""The hubs of a yard on PostgreSQL, as their table tells, and this hub's own line in it.

On a connection and in a thread of its own, so that who leads, and what it writes, is never waited for.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, TypeVar

from taskyard.gateway.port import RETRY_AFTER_S, Unavailable
from taskyard.gateway.views import HubView
from taskyard.hub.clock import SharedClock, read_clock
from taskyard.hub.link.remote import place_of
from taskyard.store.port import Holder, StoreUnavailable
from taskyard.store.postgres.lease import HubSeen, Lease
from taskyard.vocabulary import Refusal

T = TypeVar("T")

ANNOUNCE_S: Final = 1.0


class Members:
    def __init__(self, lease: Lease, hub_id: str, clock: SharedClock) -> None:
        """`clock` is told what the database's says."""
        self._lease = lease
        self._hub_id = hub_id
        self._clock = clock
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hubs")

    async def announce(self, *, url: str, version: str) -> None:
        """Say that this hub is there, and ask what time it is."""
        await self._in_thread(lambda: self._lease.announce(url=url, version=version))
        await self.ask_time()

    async def ask_time(self) -> None:
        await self._in_thread(self._hear_time)

    def _hear_time(self) -> None:
        asked = read_clock()
        self._clock.hear(self._lease.clock(), asked=asked)

    async def places(self) -> list[tuple[str, int]]:
        """Where the other hubs are reached; none if that cannot be read."""
        with suppress(StoreUnavailable):
            hubs = await self._in_thread(self._lease.hubs)
            return [place_of(hub.address) for hub in hubs if hub.id != self._hub_id and hub.address]
        return []

    async def others(self) -> bool:
        """Whether any other hub is there to lead."""
        with suppress(StoreUnavailable):
            hubs = await self._in_thread(self._lease.hubs)
            return any(hub.id != self._hub_id and hub.seen_ms_ago < 5 * ANNOUNCE_S * 1000 for hub in hubs)
        return False

    async def views(self) -> list[HubView]:
        try:
            hubs, holder = await self._in_thread(lambda: (self._lease.hubs(), self._lease.holder()))
        except StoreUnavailable as error:
            raise Unavailable(Refusal.STORE_UNAVAILABLE, RETRY_AFTER_S) from error
        leads = None if holder is None or holder.left_ms <= 0 else holder
        return [_view(hub, leads) for hub in hubs]

    async def close(self) -> None:
        """Take this hub's line away, if that can be done."""
        with suppress(StoreUnavailable):
            await self._in_thread(self._lease.withdraw)
        await self._in_thread(self._lease.close)
        self._thread.shutdown()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def _view(hub: HubSeen, leader: Holder | None) -> HubView:
    leads = leader is not None and leader.id == hub.id
    return HubView(
        id=hub.id,
        address=hub.url,
        leader=leads,
        epoch=None if leader is None else leader.epoch,
        since=leader.since if leader is not None and leads else hub.started_at,
        lag_ms=hub.seen_ms_ago,
    )

"""One hub of several on a PostgreSQL database: a gateway for whoever comes, and the leader when it is its turn.

To the composition root it is what a `Hub` on a file is: something to start, to serve a gateway with, and to stop.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from taskyard.core.eras import is_behind
from taskyard.core.settings import Settings
from taskyard.gateway.port import RETRY_AFTER_S, Unavailable
from taskyard.gateway.views import HubView
from taskyard.hub.beside import Beside
from taskyard.hub.clock import SharedClock, read_clock
from taskyard.hub.damage import Damage
from taskyard.hub.hub import Hub
from taskyard.hub.ids import Mint
from taskyard.hub.leadership import Leadership
from taskyard.hub.link.remote import Remote, dial, place_of
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.standby import Standby
from taskyard.hub.switchboard import Leader, Switchboard
from taskyard.hub.traces import Traces
from taskyard.hub.yard import HUB_ID, POSITION, CannotStart, write_private
from taskyard.store.port import Holder, Identity, Reader, RecordDamaged, StoreUnavailable
from taskyard.store.postgres.durability import Durability
from taskyard.store.postgres.engine import PostgresStore
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.lease import HubSeen, Lease
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.sqlite.checks import take_lock
from taskyard.vocabulary import Refusal

T = TypeVar("T")

ANNOUNCE_S: Final = 1.0
HAND_OVER_S: Final = 5.0
# How long a hub that leaves waits for another to lead, so that those who asked it something are answered.

_read_position: Final = msgspec.json.Decoder(Identity).decode


async def open_node(
    data: Path,
    database: str,
    settings: Settings,
    log: Log,
    *,
    version: str,
    link: tuple[str, int],
    lease_s: float,
    durability: Durability = Durability.REPLICATED,
    traces: Traces | None = None,
) -> "Node":
    """A hub on this database. `link` is where others reach it while it leads; port 0 takes a free one.

    `StoreRefused` says why the database or the directory cannot be used, `OSError` why nobody could listen there.
    """
    # Two processes in one directory would be one hub to all others, and write into each other's log.
    lock = take_lock(data / HUB_ID)
    try:
        hub_id = hub_id_of(data)
        secret = await asyncio.to_thread(_introduce, database, Candidate(hub_id), durability)
        links = LinkServer(secret, log)
        host, port = link
        candidate = Candidate(hub_id, f"{host}:{await links.listen(host, port)}", round(lease_s * 1000))
        return Node(
            data,
            database,
            candidate,
            links,
            lock=lock,
            secret=secret,
            settings=settings,
            log=log,
            version=version,
            durability=durability,
            traces=traces,
        )
    except BaseException:  # whatever it was, the directory is not in use
        os.close(lock)
        raise


def _introduce(database: str, candidate: Candidate, durability: Durability) -> bytes:
    """Whether this database can be used at all; and what its hubs know each other by."""
    PostgresStore(database, new_cluster_id="", candidate=candidate, durability=durability).check()
    lease = Lease(database, candidate, durability)
    try:
        return lease.secret()
    finally:
        lease.close()


class Node(Switchboard):
    """Made by `open_node`."""

    def __init__(
        self,
        data: Path,
        database: str,
        candidate: Candidate,
        links: LinkServer,
        *,
        lock: int,
        secret: bytes,
        settings: Settings,
        log: Log,
        version: str,
        durability: Durability,
        traces: Traces | None,
    ) -> None:
        super().__init__(settings, lambda: PostgresReader(database), secret=secret, damage=Damage(log))
        self._hub: Hub | None = None
        """The one that leads here, if one does."""
        self._data = data
        self._database = database
        self._log = log
        self._candidate = candidate
        self._links = links
        self._lock = lock
        """Of the directory, as an open file: ours until it is closed."""
        self._secret = secret
        """What this yard's hubs prove themselves with."""
        self._version = version
        self._durability = durability
        self._traces = traces
        self._own_settings = settings
        self._clock = SharedClock()
        self._name = self.mint()
        """Of this process's gateway among all that ever link to a leader."""
        self._seen = self._remembered = position_in(data)
        self._keeps: dict[str, float] = {}
        self._new_era = False
        self._standby = Standby(database, log)
        self._beside = Beside(self._fail)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hubs")
        self._peers, self._lease = (Lease(database, candidate, durability) for _ in range(2))
        self._leadership = Leadership(
            self._lease,
            self,
            links,
            log,
            address=candidate.address,
            lease_s=candidate.lease_ms / 1000,
            begin=self._begin,
            dial=self._dial,
        )
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Set when the process must be stopped by whoever runs it."""

    async def start(self, *, new_era: bool = False) -> None:
        """Until somebody leads. `StoreRefused` says why nobody can."""
        self._new_era = new_era
        self.watch(self._leadership.run())
        led = asyncio.ensure_future(self.has_leader())
        await asyncio.wait((led, self.failure), return_when=asyncio.FIRST_COMPLETED)
        led.cancel()
        if self.failure.done():
            await self.failure
        # Whoever leads has begun the era, or there was no need to.
        self._new_era = False

    async def hand_over(self) -> None:
        """Let another hub lead, and answer through it what is still asked here."""
        await self._leadership.resign()
        others = await self._others()
        deadline = asyncio.get_running_loop().time() + (HAND_OVER_S if others else 0)
        while self._leadership.is_leading or (self.leader is None and asyncio.get_running_loop().time() < deadline):
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        await self._beside.close()
        self.disconnect()
        self._links.stop()
        await self._remember()
        with suppress(StoreUnavailable):
            await self._in_thread(self._peers.withdraw)
        await self._leadership.close()
        await self._in_thread(self._peers.close)
        self._thread.shutdown()
        self._standby.hand_out()
        self.close()
        os.close(self._lock)

    def watch(self, work: Coroutine[None, None, None]) -> None:
        """Run this beside the hub until it ends or the hub does; should it fail, so does the hub."""
        self._beside.run(work)

    def _fail(self, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)

    def now_ms(self) -> int:
        """By the clock of the database: what one hub gives an end to, another takes for ended at the same time."""
        return self._clock.read().wall

    # Settings.

    def keep_for(self, *, archive_after_s: float, events_s: float, daemons_s: float) -> None:
        self._keeps = {"archive_after_s": archive_after_s, "events_s": events_s, "daemons_s": daemons_s}
        if self._hub is not None:
            self._hub.keep_for(**self._keeps)

    async def change_settings(self, settings: Settings, names: tuple[str, ...]) -> None:
        """In force at once if this hub leads; else when it does."""
        if self._hub is not None:
            await self._hub.change_settings(settings, names)
            self._links.adopt(settings)
        self._own_settings = settings

    async def read(self, look: Callable[[Reader], T]) -> T:
        try:
            return await super().read(look)
        except RecordDamaged as damaged:
            if self._hub is not None:
                self._hub.judge(damaged)
            raise

    # Leading.

    async def _begin(self, on_open: Callable[[], None]) -> Hub:
        await self._in_thread(self._ask_time)
        store = PostgresStore(
            self._database,
            new_cluster_id=f"c_{Mint().id()}",
            candidate=replace(self._candidate, seen=self._newest()),
            lease=self._lease,
            mirror=self._standby.hand_out(),
            durability=self._durability,
        )
        clock = self._clock.read
        hub = Hub(
            store,
            self._own_settings,
            self._log,
            secret=self._secret,
            clock=clock,
            traces=self._traces,
            damage=self.damage,
        )
        hub.members = self._members
        if self._keeps:
            hub.keep_for(**self._keeps)
        try:
            await hub.start(new_era=self._new_era, on_open=on_open)
        except BaseException:  # also a cancel: half a hub must not stay
            await hub.stop()
            raise
        self._new_era = False
        self._hub = hub
        hub.failure.add_done_callback(self._on_failure)
        hub.deposed.add_done_callback(lambda _: self._forget(hub))
        return hub

    def _forget(self, hub: Hub) -> None:
        if self._hub is hub:
            self._hub = None

    def _on_failure(self, failure: "asyncio.Future[None]") -> None:
        error = None if failure.cancelled() else failure.exception()
        if error is not None and not self.failure.done():
            self.failure.set_exception(error)

    async def _dial(self, holder: Holder) -> Remote:
        remote = await dial(*place_of(holder.address), self._secret, gateway=self._name)
        self._standby.follow(remote)
        return remote

    # What it has seen.

    def connect(self, leader: Leader) -> None:
        seen = self._newest()
        if is_behind(leader.identity, seen):
            # Daemons that have seen it too take no work from there; whoever leads has not.
            self._log.say("hub.rewound", level="error", seen=seen.seq, epoch=seen.epoch, now=leader.identity.seq)
        super().connect(leader)

    def disconnect(self) -> None:
        super().disconnect()
        self._newest()

    def _newest(self) -> Identity:
        """How far this hub knows the yard to have come, now or before it was started."""
        heard = self.identity
        if heard.seq and not is_behind(heard, self._seen):
            self._seen = heard
        return self._seen

    async def _remember(self) -> None:
        """On disk. What cannot be written is not remembered, and the hub goes on."""
        newest = self._newest()
        if newest == self._remembered:
            return
        try:
            await self._in_thread(lambda: write_private(self._data / POSITION, msgspec.json.encode(newest).decode()))
            self._remembered = newest
        except CannotStart as error:
            self._log.say("hub.unremembered", level="warning", reason=str(error))

    # Its place among others.

    def announce(self, url: str) -> None:
        """Say from now on that it is there, and where it is reached."""
        self.watch(self._announce(url))

    async def _announce(self, url: str) -> None:
        """Now and then; and note how far it has come."""
        is_known = True
        while True:
            try:
                await self._in_thread(lambda: self._peers.announce(url=url, version=self._version))
                await self._in_thread(self._ask_time)
                is_known = True
            except StoreUnavailable as error:
                if is_known:
                    self._log.say("hub.unannounced", level="warning", reason=str(error))
                is_known = False
            await self._remember()
            await asyncio.sleep(ANNOUNCE_S)

    def _ask_time(self) -> None:
        """On the thread that asks for hubs."""
        asked = read_clock()
        self._clock.hear(self._peers.clock(), asked=asked)

    async def _others(self) -> bool:
        """Whether any other hub is there to lead."""
        with suppress(StoreUnavailable):
            seen = await self._in_thread(self._peers.hubs)
            return any(hub.id != self._candidate.hub_id and hub.seen_ms_ago < 5 * ANNOUNCE_S * 1000 for hub in seen)
        return False

    async def _members(self) -> list[HubView]:
        try:
            seen, holder = await self._in_thread(lambda: (self._peers.hubs(), self._peers.holder()))
        except StoreUnavailable as error:
            raise Unavailable(Refusal.STORE_UNAVAILABLE, RETRY_AFTER_S) from error
        leads = None if holder is None or holder.left_ms <= 0 else holder
        return [_view(hub, leads) for hub in seen]

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


def position_in(data: Path) -> Identity:
    """What was last remembered there."""
    try:
        return _read_position((data / POSITION).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return Identity("", 0, 0)


def hub_id_of(data: Path) -> str:
    """The name of this hub among others, kept in its directory: made once."""
    path = data / HUB_ID
    if not path.exists():
        write_private(path, f"h_{Mint().id()}")
    return path.read_text().strip()

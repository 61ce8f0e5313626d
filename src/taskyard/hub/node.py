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

from taskyard.core.eras import is_behind
from taskyard.core.settings import Settings
from taskyard.gateway.port import Unavailable
from taskyard.hub import members
from taskyard.hub.beside import Beside
from taskyard.hub.clock import SharedClock
from taskyard.hub.damage import Damage
from taskyard.hub.hub import Hub
from taskyard.hub.ids import Mint
from taskyard.hub.leadership import Leadership
from taskyard.hub.lineage import tell_missing
from taskyard.hub.link.asking import ask_all
from taskyard.hub.link.remote import Remote, dial, place_of
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.positions import Remembered
from taskyard.hub.standby import Standby
from taskyard.hub.switchboard import Leader, Switchboard
from taskyard.hub.traces import Traces
from taskyard.hub.yard import HUB_ID, CannotStart, write_private
from taskyard.store.port import Holder, Reader, RecordDamaged, StoreUnavailable
from taskyard.store.postgres.durability import Durability
from taskyard.store.postgres.engine import PostgresStore
from taskyard.store.postgres.lead import Candidate
from taskyard.store.postgres.lease import Lease
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.rewind import Missing, Rewound, Sighting
from taskyard.store.sqlite.checks import take_lock

T = TypeVar("T")

HAND_OVER_S: Final = 5.0
# How long a hub that leaves waits for another to lead, so that those who asked it something are answered.


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
    accepts_rewind: bool = False,
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
            accepts_rewind=accepts_rewind,
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
        accepts_rewind: bool,
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
        self._remembered = Remembered(data, f"hub {candidate.hub_id}")
        self._heard: list[Sighting] = []
        """What the others had seen when this hub was about to lead."""
        self._accepts_rewind = accepts_rewind
        """A new era begins without asking a person."""
        self._keeps: dict[str, float] = {}
        self._new_era = False
        self._standby = Standby(database, log)
        self._beside = Beside(self._fail)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="position")
        self._members = members.Members(Lease(database, candidate, durability), candidate.hub_id, self._clock)
        self._lease = Lease(database, candidate, durability)
        self._leadership = Leadership(
            self._lease,
            self,
            links,
            log,
            address=candidate.address,
            lease_s=candidate.lease_ms / 1000,
            begin=self._begin,
            dial=self._dial,
            canvass=self._ask_others,
        )
        links.remembered = self._sightings
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
        others = await self._members.others()
        deadline = asyncio.get_running_loop().time() + (HAND_OVER_S if others else 0)
        while self._leadership.is_leading or (self.leader is None and asyncio.get_running_loop().time() < deadline):
            await asyncio.sleep(0.01)

    async def stop(self) -> None:
        await self._beside.close()
        self.disconnect()
        self._links.stop()
        await self._remember()
        await self._members.close()
        await self._leadership.close()
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

    async def _ask_others(self) -> None:
        """What other hubs have seen of this yard. Those that say nothing stand in no way."""
        self._heard = await ask_all(await self._members.places(), self._secret)

    def _sightings(self) -> list[Sighting]:
        """What this hub remembers."""
        self._remembered.see(self.identity)
        return self._remembered.sightings

    async def _begin(self, on_open: Callable[[], None]) -> Hub:
        """A hub that leads. `Rewound`: this database lacks what was seen, and leading it was not accepted."""
        seen = list(dict.fromkeys([*self._sightings(), *self._heard]))
        try:
            return await self._begin_era(seen, on_open, new_era=self._new_era)
        except Rewound as rewound:
            if rewound.missing != self.missing:
                tell_missing(self._log, rewound.missing)
            self._note_missing(rewound.missing)
            if not self._accepts_rewind:
                raise
        return await self._begin_era(seen, on_open, new_era=True)

    async def _begin_era(self, seen: list[Sighting], on_open: Callable[[], None], *, new_era: bool) -> Hub:
        await self._members.ask_time()
        store = PostgresStore(
            self._database,
            new_cluster_id=f"c_{Mint().id()}",
            candidate=self._candidate,
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
        hub.members = self._members.views
        hub.guard.on_missing = self._note_missing
        if self._keeps:
            hub.keep_for(**self._keeps)
        try:
            await hub.start(new_era=new_era, seen=seen, on_open=on_open)
            with suppress(Unavailable):
                # If the store goes away now, hubs that remember it say it again when they link.
                await hub.guard.note(seen)
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
        place, seen = place_of(holder.address), self._sightings()
        remote = await dial(*place, self._secret, gateway=self._name, sightings=seen)
        self._standby.follow(remote)
        return remote

    # What it has seen.

    def _note_missing(self, missing: Missing) -> None:
        """This hub may not lead for it."""
        self.missing = missing
        self._remembered.hear(missing.sighting)

    def connect(self, leader: Leader) -> None:
        self._remembered.see(self.identity)
        seen = self._remembered.positions
        if is_behind(leader.identity, seen):
            # A leader of an older version does not judge what we told it.
            self._log.say("hub.rewound", level="error", seen=seen.seq, epoch=seen.epoch, now=leader.identity.seq)
        super().connect(leader)

    def disconnect(self) -> None:
        super().disconnect()
        self._remembered.see(self.identity)

    async def _remember(self) -> None:
        """On disk. What cannot be written is not remembered, and the hub goes on."""
        self._remembered.see(self.identity)
        if self._remembered.is_written:
            return
        try:
            await self._in_thread(self._remembered.write)
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
                await self._members.announce(url=url, version=self._version)
                is_known = True
            except StoreUnavailable as error:
                if is_known:
                    self._log.say("hub.unannounced", level="warning", reason=str(error))
                is_known = False
            await self._remember()
            await asyncio.sleep(members.ANNOUNCE_S)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)


def hub_id_of(data: Path) -> str:
    """The name of this hub among others, kept in its directory: made once."""
    path = data / HUB_ID
    if not path.exists():
        write_private(path, f"h_{Mint().id()}")
    return path.read_text().strip()

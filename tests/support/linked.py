"""A hub that leads and the gateway's end of a link to it, in one process, over a real socket of this machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, cast

from taskyard.core.settings import Settings
from taskyard.hub.hub import Hub
from taskyard.hub.link.remote import Remote, dial
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from tests.support.hub_scene import SECRET, WAIT_S, Scene, a_scene

HERE: Final = "127.0.0.1"


class Linked:
    """A scene that leads, and one that only has its gateway's end: speak to either."""

    def __init__(self, lead: Scene, links: LinkServer, address: int) -> None:
        self.lead = lead
        self.links = links
        self.port = address
        self.board = Switchboard(lead.hub.settings, lead.store.reader, secret=SECRET)
        self.far = Scene(lead.store, cast("Hub", self.board), lead.log)

    async def dial(self, secret: bytes = SECRET, *, gateway: str = "") -> Remote:
        async with asyncio.timeout(WAIT_S):
            return await dial(HERE, self.port, secret, gateway=gateway)

    async def connect(self) -> Remote:
        return self.connected_by(await self.dial())

    def connected_by(self, remote: Remote) -> Remote:
        remote.lost.add_done_callback(lambda _: self.board.disconnect())
        self.board.connect(remote)
        return remote


@asynccontextmanager
async def linked(*, connected: bool = True, settings: Settings | None = None) -> AsyncIterator[Linked]:
    async with a_scene(settings=settings) as lead:
        links = LinkServer(SECRET, Log(lead.log))
        links.serve(lead.hub)
        both = Linked(lead, links, await links.listen(HERE, 0))
        try:
            if connected:
                await both.connect()
            yield both
        finally:
            lead.held.writes.open()
            lead.held.reads.open()
            both.board.close()
            links.stop()

"""Hubs that share one database on a real server, in one process, each with a directory of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from taskyard.core.settings import Settings
from taskyard.hub.hub import Hub
from taskyard.hub.node import Node, open_node
from taskyard.hub.observe import Log
from taskyard.hub.positions import POSITION
from taskyard.vocabulary import EPOCHS_PER_ERA
from tests.support.hub_scene import WAIT_S, ALog, Scene
from tests.support.postgres import Cluster
from tests.support.room import without_rates

HERE = "127.0.0.1"
LEASE_S = 10.0
"""No hub here loses the lead for being slow."""


class Place:
    """A database, and directories for the hubs on it."""

    def __init__(self, server: Cluster, directory: Path) -> None:
        self.server = server
        self.database = server.new_database()
        self.directory = directory

    @asynccontextmanager
    async def hub(self, name: str = "a", *, accept_rewind: bool = False, **more: Any) -> AsyncIterator[Scene]:
        """One that has started; its `hub` is the node."""
        log, data = ALog(), self.directory / name
        data.mkdir(exist_ok=True)
        made = await open_node(
            data,
            self.server.url(self.database),
            without_rates(Settings()),
            Log(log),
            version="test",
            link=(HERE, 0),
            lease_s=LEASE_S,
            **more,
        )
        try:
            async with asyncio.timeout(WAIT_S):
                await made.start(new_era=accept_rewind)
            made.announce(f"http://{name}")
            yield Scene(cast("Any", None), cast("Hub", made), log)
        finally:
            await made.stop()

    def copy(self) -> str:
        """A database with all that is in this one, while nobody uses it."""
        return self.server.new_database(template=self.database)

    def replace_by(self, copy: str) -> None:
        """Whoever uses the database finds the copy in its place."""
        server = self.server
        server.administer(f"ALTER DATABASE {self.database} ALLOW_CONNECTIONS false")
        server.administer(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{self.database}'")
        server.administer(f"ALTER DATABASE {self.database} RENAME TO {self.database}_gone")
        server.administer(f"ALTER DATABASE {copy} RENAME TO {self.database}")

    @property
    def log_ends(self) -> int:
        [(seq,)] = self.server.administer("SELECT max(seq) FROM taskyard.commit_log", database=self.database)
        return int(str(seq))


def era_of(scene: Scene) -> int:
    """How often somebody went on from an older copy. A hub that takes the lead twice does not raise it."""
    return scene.hub.identity.epoch // EPOCHS_PER_ERA


def node_of(scene: Scene) -> Node:
    return cast("Node", scene.hub)


async def remembered(directory: Path) -> None:
    async with asyncio.timeout(WAIT_S):
        while not (directory / POSITION).exists():
            await asyncio.sleep(0.001)

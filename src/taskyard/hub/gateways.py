"""Gateways of this machine: processes of their own that share the hub's port, so that parsing, sockets and answers use
other cores than the one that decides.

The listening socket is opened here and inherited; what a gateway has to know comes over its standard input, the secret
too, which neither a command line nor an environment may hold. When that input ends, because this process did, the
gateway ends too. One that dies is started again.
"""

import asyncio
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from taskyard.core.settings import Settings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import listen
from taskyard.hub.hub import Hub
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.yard import CannotStart

GATEWAYS_MAX: Final = 64
AGAIN_S, AGAIN_S_MAX = 0.2, 5.0
START_S: Final = 30.0
STOP_S: Final = 10.0
LOOK_S: Final = 0.02


class Order(Struct, frozen=True):
    """The first line that a gateway reads."""

    listener: int
    """The descriptor of the listening socket."""
    link: str
    """The path of the hub's link."""
    database: str
    secret: str
    settings: Settings
    gateway: GatewaySettings


class Change(Struct, frozen=True):
    """Every later one."""

    gateway: GatewaySettings


read_order: Final = msgspec.json.Decoder(Order).decode
read_change: Final = msgspec.json.Decoder(Change).decode


class Gateways:
    """In the place of a `GatewayServer` of this process: so many of them in others."""

    def __init__(
        self, hub: Hub, count: int, log: Log, *, secret: bytes, database: str, gateway: GatewaySettings
    ) -> None:
        self._hub = hub
        self._count = count
        self._log = log
        self._links = LinkServer(secret, log)
        self._directory = Path(tempfile.mkdtemp(prefix="taskyard-"))
        # Not in the data directory: a socket's path may have no more than 107 bytes.
        self._order = Order(
            listener=-1,
            link=str(self._directory / "link"),
            database=database,
            secret=secret.decode(),
            settings=hub.settings,
            gateway=gateway,
        )
        self._listener: socket.socket | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._inputs: dict[int, asyncio.StreamWriter] = {}
        self._is_stopping = False

    @property
    def port(self) -> int:
        assert self._listener is not None, "started"
        return int(self._listener.getsockname()[1])

    async def start(self) -> None:
        """Returns when they take connections; `OSError` says why none can be."""
        gateway = self._order.gateway
        self._listener = listen(gateway.host, gateway.port)
        self._order = replace(self._order, listener=self._listener.fileno())
        self._links.serve(self._hub)
        await self._links.listen_beside(self._order.link)
        self._keepers = [asyncio.create_task(self._keep(number)) for number in range(self._count)]
        for _ in range(round(START_S / LOOK_S)):
            if self._links.peers == self._count:
                return
            await asyncio.sleep(LOOK_S)
        raise CannotStart(f"Of {self._count} gateways {self._links.peers} came up within {START_S:g} s; see the log.")

    def adopt(self, gateway: GatewaySettings) -> None:
        """Other settings hold from here on, also for those that are started again."""
        self._order = replace(self._order, gateway=gateway, settings=self._hub.settings)
        self._links.adopt(self._hub.settings)
        for pipe in self._inputs.values():
            pipe.write(msgspec.json.encode(Change(gateway)) + b"\n")

    async def stop(self) -> None:
        """Let each finish what it was asked."""
        self._is_stopping = True
        for pipe in self._inputs.values():
            pipe.close()
        if self._keepers:
            await asyncio.wait(self._keepers, timeout=STOP_S)
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._links.stop()
        if self._listener is not None:
            self._listener.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    async def _keep(self, number: int) -> None:
        """One gateway, again and again."""
        wait_s = AGAIN_S
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            code = await self._run(number)
            if self._is_stopping:
                return
            wait_s = AGAIN_S if loop.time() - began > AGAIN_S_MAX else min(wait_s * 2, AGAIN_S_MAX)
            self._log.say("gateway.ended", level="error", number=number, code=code)
            await asyncio.sleep(wait_s)

    async def _run(self, number: int) -> int:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "taskyard.hub.gateway_process"),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=(self._order.listener,),
            # Ctrl-C is for the hub, which then closes our input.
            start_new_session=True,
        )
        pipe = process.stdin
        assert pipe is not None, "it was asked for"
        self._inputs[number] = pipe
        pipe.write(msgspec.json.encode(self._order) + b"\n")
        try:
            return await process.wait()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        finally:
            del self._inputs[number]

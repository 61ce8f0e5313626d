"""Gateways of this machine: processes of their own that share the hub's port, so that parsing, sockets and answers use
other cores than the one that decides.

Each listens on the port itself, and the system divides among them who comes: by one socket that all had inherited, some
were given most. What a gateway has to know comes over its standard input, the secret too, which neither a command line
nor an environment may hold. When that input ends, because this process did, the
gateway ends too. One that dies is started again. Over its standard output it says when it takes connections.

On a file they speak to the hub that started them, by a socket of this machine. On a server they follow whoever leads,
as hubs do, and keep their connections when that changes.
"""

import asyncio
import errno
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
from taskyard.gateway.server import bind
from taskyard.hub.hub import Hub
from taskyard.hub.link.server import LinkServer
from taskyard.hub.observe import Log
from taskyard.hub.switchboard import Switchboard
from taskyard.hub.yard import CannotStart

GATEWAYS_MAX: Final = 64
AGAIN_S, AGAIN_S_MAX = 0.2, 5.0
START_S: Final = 30.0
STOP_S: Final = 10.0
PORT_S: Final = 3.0
# Gateways of a hub that was killed have its port until they notice, which takes them a tenth of a second.
LOOK_S: Final = 0.05
READY: Final = b"ready\n"
LINE_BYTES_MAX: Final = 1024 * 1024


class Beside(Struct, frozen=True, tag=True):
    """The hub that started it, whose database is a file."""

    link: str
    """The path of the hub's socket; it is on the command line too."""
    file: str


class ByLease(Struct, frozen=True, tag=True):
    """Whoever leads by the lease in this database."""

    url: str


class Order(Struct, frozen=True):
    """The first line that a gateway reads."""

    number: int
    """Which of them it is, from 0."""
    leader: Beside | ByLease
    secret: bytes
    settings: Settings
    gateway: GatewaySettings


class Change(Struct, frozen=True):
    """Every later one."""

    gateway: GatewaySettings


read_order: Final = msgspec.json.Decoder(Order).decode
read_change: Final = msgspec.json.Decoder(Change).decode


class Gateways:
    """In the place of a `GatewayServer` of this process: so many of them in others.

    `database` is the file of a `Hub`, or the URL of a hub that is one of several.
    """

    def __init__(
        self, hub: Hub | Switchboard, count: int, log: Log, *, secret: bytes, database: str, gateway: GatewaySettings
    ) -> None:
        self._hub = hub
        self._count = count
        self._log = log
        self._links = LinkServer(secret, log)
        self._directory: Path | None = None
        leader = Beside("", database) if isinstance(hub, Hub) else ByLease(database)
        self._order = Order(number=-1, leader=leader, secret=secret, settings=hub.settings, gateway=gateway)
        self._port: HeldPort | None = None
        self._keepers: list[asyncio.Task[None]] = []
        self._inputs: dict[int, asyncio.StreamWriter] = {}
        self._came: set[int] = set()
        """Those that ever took connections: one that dies later is started again, one that cannot come ends all."""
        self._stopping = asyncio.Event()
        self._news = asyncio.Event()
        """Set when one came or went."""
        self._failures = 0

    @property
    def port(self) -> int:
        assert self._port is not None, "started"
        return self._port.number

    async def start(self) -> None:
        """Returns when they take connections; `OSError` says why none can be, `CannotStart` why none are."""
        gateway = self._order.gateway
        self._port = await _hold(gateway.host, gateway.port)
        self._order = replace(self._order, gateway=replace(gateway, port=self.port))
        if isinstance(self._hub, Hub):
            self._links.serve(self._hub)
            await self._listen_for_links()
        self._keepers = [asyncio.create_task(self._keep(number)) for number in range(self._count)]
        with suppress(TimeoutError):
            async with asyncio.timeout(START_S):
                while len(self._came) < self._count and not self._failures:
                    await self._news.wait()
                    self._news.clear()
        if len(self._came) < self._count:
            raise CannotStart(
                f"Of {self._count} gateways {len(self._came)} came up. What the others said stands before this; "
                "start with fewer, or without --gateways."
            )

    async def _listen_for_links(self) -> None:
        """Not in the data directory: a socket's path may have no more than 107 bytes."""
        leader = self._order.leader
        assert isinstance(leader, Beside), "on a file"
        try:
            self._directory = Path(tempfile.mkdtemp(prefix="taskyard-"))
            path = str(self._directory / "link")
            await self._links.listen_beside(path)
        except OSError as error:
            where = self._directory or tempfile.gettempdir()
            raise CannotStart(
                f"Gateways need a socket in {where}, and there can be none ({error.strerror or error}); "
                "set TMPDIR to a short path that can be written."
            ) from error
        self._order = replace(self._order, leader=replace(leader, link=path))

    def adopt(self, gateway: GatewaySettings) -> None:
        """Other settings hold from here on, also for those that are started again."""
        gateway = replace(gateway, port=self.port)
        self._order = replace(self._order, gateway=gateway, settings=self._hub.settings)
        self._links.adopt(self._hub.settings)
        for pipe in self._inputs.values():
            if not pipe.is_closing():
                pipe.write(msgspec.json.encode(Change(gateway)) + b"\n")

    async def stop(self) -> None:
        """Let each finish what it was asked."""
        self._stopping.set()
        if self._port is not None:
            self._port.release()
        for pipe in self._inputs.values():
            pipe.close()
        if self._keepers:
            await asyncio.wait(self._keepers, timeout=STOP_S)
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        self._links.stop()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)

    async def _keep(self, number: int) -> None:
        """One gateway, again and again."""
        wait_s = AGAIN_S
        loop = asyncio.get_running_loop()
        while not self._stopping.is_set():
            began = loop.time()
            was_killed = False
            try:
                code = await self._run(number)
                how: dict[str, object] = {"code": code}
                was_killed = code < 0
            except OSError as error:
                # No process can be had at the moment, or no pipe.
                how = {"reason": str(error)}
            if self._stopping.is_set():
                return
            # Whoever kills one while it comes up says nothing of whether it can.
            self._failures += number not in self._came and not was_killed
            self._news.set()
            self._log.say("gateway.ended", level="error", number=number, **how)
            wait_s = AGAIN_S if loop.time() - began > AGAIN_S_MAX else min(wait_s * 2, AGAIN_S_MAX)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stopping.wait()

    async def _run(self, number: int) -> int:
        leader = self._order.leader
        # Should this process be killed before it has said anything, somebody has to clear the socket away.
        link = (leader.link,) if isinstance(leader, Beside) else ()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "taskyard.hub.gateway_process", *link),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES_MAX,
            # Ctrl-C is for the hub, which then closes our input.
            start_new_session=True,
        )
        pipe, said = process.stdin, process.stdout
        assert pipe is not None, "it was asked for"
        assert said is not None, "and so was this"
        self._inputs[number] = pipe
        hearing = asyncio.create_task(self._hear(number, process.pid, said))
        if not pipe.is_closing():
            # Else it has died already, and to write would be a mistake.
            pipe.write(msgspec.json.encode(replace(self._order, number=number)) + b"\n")
        if self._stopping.is_set():
            pipe.close()
        try:
            return await process.wait()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            raise
        finally:
            hearing.cancel()
            del self._inputs[number]

    async def _hear(self, number: int, pid: int, said: asyncio.StreamReader) -> None:
        """That it takes connections, and what it wants in the log."""
        while line := await said.readline():
            if line == READY:
                self._came.add(number)
                self._news.set()
                self._log.say("gateway.started", number=number, pid=pid)
            else:
                self._log.carry(line)


class HeldPort:
    """A port that this process has, and its gateways listen on. Raises `OSError`.

    They ask the system to share it, which it does with everybody of this user who asks for that. So another hub, which
    would do the same, is kept out by a name that only one may have; the system frees it with this process.
    """

    def __init__(self, host: str, port: int) -> None:
        # First without sharing: nobody else may have it.
        self._bound = bind(host, port)
        self._bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self.number = int(self._bound.getsockname()[1])
        self._name = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if sys.platform == "linux":
            try:
                self._name.bind(f"\0taskyard {host}:{self.number}")
            except OSError:
                self.release()
                raise

    def release(self) -> None:
        self._bound.close()
        self._name.close()


async def _hold(host: str, port: int) -> HeldPort:
    """Raises `OSError`."""
    loop = asyncio.get_running_loop()
    until = loop.time() + PORT_S
    while True:
        try:
            return HeldPort(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or loop.time() > until:
                raise
        await asyncio.sleep(LOOK_S)

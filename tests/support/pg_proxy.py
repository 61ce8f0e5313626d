"""A wire between a client and PostgreSQL that can be cut, and that loses what it is told to lose.

It runs in a thread of its own and is told what to do from the test's. What it does to a connection it does to both
ends of it, so that neither waits for a wire that is not there; only a blackhole lets them wait.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto

CHUNK_BYTES = 65_536
START_S = 10
INTRODUCTION_BYTES = 100
# With this the server says which process of it answers, by a number of four bytes, the first of them zero; a pooler
# says something of its own.
KEY_MESSAGE = b"K\0\0\0\x0c\0"
POOLERS_KEY = b"K\0\0\0\x0c\x7f"


class Loss(Enum):
    """What becomes of the next thing that is said."""

    NOTHING = auto()
    REQUEST = auto()
    """What the client says does not arrive, and the connection is cut."""
    ANSWER = auto()
    """The server has done what it was asked, and its answer does not arrive."""
    EVERYTHING = auto()
    """Nothing arrives from now on, and nobody is told."""


class Wire:
    """One connection through the proxy."""

    def __init__(self, ends: tuple[asyncio.StreamWriter, asyncio.StreamWriter]) -> None:
        self.ends = ends
        self._introduction = b""

    def hear(self, data: bytes) -> None:
        """The client asks for encryption first, and then says who it is."""
        if len(self._introduction) < INTRODUCTION_BYTES:
            self._introduction += data

    def is_for(self, purpose: str) -> bool:
        return not purpose or f"taskyard {purpose}".encode() in self._introduction


class Proxy:
    def __init__(self, port: int) -> None:
        self._server_port = port
        self._loss = Loss.NOTHING
        self._purpose = ""
        self._is_closed_to_new = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._ended = asyncio.Event()
        self.port = 0
        self.lost = 0
        """How many things were lost so far."""
        self.is_pooler = False
        """Whether it introduces itself as one in session mode does."""
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), name="pg-proxy")

    # --- from the test ---

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(START_S), "the proxy did not start"

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()

    def lose(self, loss: Loss, *, purpose: str = "") -> None:
        """From now on, or the next time, as the loss says: on a connection of this purpose, or on any."""

        def note() -> None:
            self._loss, self._purpose = loss, purpose

        self._on_loop(note)

    def cut(self) -> None:
        """Every connection, now."""
        self._on_loop(self._cut_all)

    def close_to_new(self, closed: bool) -> None:
        self._on_loop(lambda: setattr(self, "_is_closed_to_new", closed))

    def _on_loop(self, act: Callable[[], None]) -> None:
        done = threading.Event()

        def run() -> None:
            act()
            done.set()

        self._loop.call_soon_threadsafe(run)
        assert done.wait(START_S)

    # --- on the loop ---

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._ended.wait()
        server.close()
        self._cut_all()
        # Each carries on until it notices that its ends are gone.
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    def _cut_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        if self._is_closed_to_new:
            writer.transport.abort()
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._server_port)
        except OSError:
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(server_writer)
        wire = Wire((writer, server_writer))
        try:
            await asyncio.gather(
                self._carry(reader, server_writer, Loss.REQUEST, wire),
                self._carry(server_reader, writer, Loss.ANSWER, wire),
            )
        finally:
            for end in wire.ends:
                end.transport.abort()
                self._writers.discard(end)

    async def _carry(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        kind: Loss,
        wire: "Wire",
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK_BYTES):
                if kind is Loss.REQUEST:
                    wire.hear(data)
                if self._loss is kind and wire.is_for(self._purpose):
                    self._loss, self.lost = Loss.NOTHING, self.lost + 1
                    break
                if self._loss is Loss.EVERYTHING:
                    self.lost += 1
                    continue
                writer.write(data.replace(KEY_MESSAGE, POOLERS_KEY) if self.is_pooler else data)
                await writer.drain()
        for end in wire.ends:
            end.transport.abort()


@contextmanager
def a_proxy(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.stop()

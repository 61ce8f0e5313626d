"""A hub's end of the socket, in process: tests say each message it sends, and wait for each it receives."""

import asyncio
from http import HTTPStatus
from types import TracebackType

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from taskyard.daemon.orders import Key
from taskyard.vocabulary import InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import FromDaemon, Hello, ToDaemon

KEY = "ty_secret"
HEARTBEAT_S, LEASE_S = 60.0, 120.0
"""No heartbeat comes between what a test waits for, and nobody is left for being slow, but where a test says so."""


class Session:
    """One connection of a daemon."""

    def __init__(self, socket: ServerConnection) -> None:
        self._socket = socket
        self.frames: list[list[FromDaemon]] = []
        self._unread: list[FromDaemon] = []

    async def receive(self, *types: type[FromDaemon]) -> FromDaemon:
        """The next message, or the next of these types."""
        while True:
            while not self._unread:
                received = frames.decode_from_daemon(await self._socket.recv(decode=False))
                self.frames.append(received)
                self._unread += received
            message = self._unread.pop(0)
            if not types or isinstance(message, types):
                return message

    async def send(self, *messages: ToDaemon) -> None:
        await self.send_bytes(frames.join([frames.encode(message) for message in messages]))

    async def send_bytes(self, frame: bytes) -> None:
        await self._socket.send(frame, text=True)

    async def send_in_pieces(self, message: ToDaemon) -> None:
        """As a proxy between the two may do."""
        frame = frames.encode(message).decode()
        await self._socket.send([frame[:20], frame[20:]])

    async def ping(self) -> None:
        """Returns when it was answered."""
        await (await self._socket.ping())

    async def hello(self) -> Hello:
        greeting = await self.receive()
        assert isinstance(greeting, Hello)
        return greeting

    async def welcome(
        self, verdicts: dict[Key, InventoryVerdict] | None = None, *, heartbeat_s: float = HEARTBEAT_S, epoch: int = 1
    ) -> Hello:
        greeting = await self.hello()
        judged = [frames.Judgement(*key, verdict) for key, verdict in (verdicts or {}).items()]
        await self.send(frames.Welcome(1, "d_1", heartbeat_s, LEASE_S, judged, "c1", epoch, 1))
        return greeting

    def stop_reading(self) -> None:
        self._socket.transport.pause_reading()

    def read_on(self) -> None:
        self._socket.transport.resume_reading()

    async def acknowledge(self, key: Key) -> None:
        await self.send(frames.Ack(*key, "c1", 1, 2))

    async def close(self, code: int = 1001, reason: str = "") -> None:
        await self._socket.close(code, reason)

    async def closed(self) -> None:
        await self._socket.wait_closed()


class HubStub:
    def __init__(self) -> None:
        self.sessions: asyncio.Queue[Session] = asyncio.Queue()
        self.refusals: list[HTTPStatus] = []
        """What the next connections are answered instead of an upgrade."""
        self.paths: list[str] = []
        self._server: Server

    async def __aenter__(self) -> "HubStub":
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            process_request=self._admit,
            compression=None,
            close_timeout=1,
            max_size=frames.FRAME_BYTES_MAX,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        port = next(iter(self._server.sockets)).getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def session(self) -> Session:
        """The next connection."""
        return await self.sessions.get()

    def _admit(self, socket: ServerConnection, request: Request) -> Response | None:
        self.paths.append(request.path)
        if self.refusals:
            return socket.respond(self.refusals.pop(0), "not now\n")
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return socket.respond(HTTPStatus.UNAUTHORIZED, "who are you?\n")
        return None

    async def _serve(self, socket: ServerConnection) -> None:
        self.sessions.put_nowait(Session(socket))
        await socket.wait_closed()

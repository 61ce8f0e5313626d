"""The listening socket and what uvicorn leaves open: slow heads, endless heads, and too many connections.

ASGI sees a request only when its head is complete, so nothing above this file can help against a client
that never completes it. The protocol below gives each head a deadline and a size; a request that
arrives in one piece, as almost all do, costs no timer.
"""

import asyncio
import socket
from asyncio import TimerHandle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.listening import GatewayConfig
from taskyard.gateway.websocket import BoundedWebSocket
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import MEDIA_TYPE, PROBLEMS, problem

HEAD_S: Final = 10.0
HEAD_BYTES_MAX: Final = 64 * 1024
HEAD_TOO_LARGE: Final = f"A request's head, with its address, has at most {HEAD_BYTES_MAX:,} bytes; say less in it."
KEEP_ALIVE_S: Final = 75
LINGER_S: Final = 5.0
BACKLOG: Final = 2048


class BoundedHttp(HttpToolsProtocol):
    """HTTP whose heads end in time."""

    _head_timer: TimerHandle | None = None
    _in_head = False
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        assert isinstance(self.config, GatewayConfig), "GatewayServer made it"
        if len(self.connections) > self.config.door.settings.connections_max:
            transport.abort()
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_MAX:
                self._refuse(Refusal.TOO_LARGE, HEAD_TOO_LARGE)
            self._await_head()
        elif self._head_timer is not None:
            self._head_came()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        if len(getattr(self, "url", b"")) >= HEAD_BYTES_MAX:
            # The parser gives up on so long an address, and tells it from no other fault.
            self._refuse(Refusal.TOO_LARGE, HEAD_TOO_LARGE)
        else:
            self._refuse(Refusal.INVALID_INPUT, "This is not HTTP/1.1.")

    def _refuse(self, code: Refusal, detail: str) -> None:
        """What no application has seen yet is answered here, in the form of all other problems."""
        body = msgspec.json.encode(problem(code, detail))
        head = f"HTTP/1.1 {PROBLEMS[code].status} Refused\r\ncontent-type: {MEDIA_TYPE}\r\n"
        rest = f"connection: close\r\ncontent-length: {len(body)}\r\n\r\n"
        self.transport.write((head + rest).encode() + body)
        self.transport.close()

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_S, self._head_is_late)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.abort()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the process's business, not the gateway's."""
        yield


class GatewayServer:
    """Listens from `start` to `stop`, on the loop it is started on."""

    def __init__(self, app: GatewayApp) -> None:
        self._app = app
        self._socket: socket.socket | None = None
        config = GatewayConfig(
            app,
            http=BoundedHttp,
            ws=BoundedWebSocket,
            loop="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws_per_message_deflate=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=round(LINGER_S),
        )
        config.door = app.door
        self._server = _Server(config)
        self._serving: asyncio.Task[None] | None = None

    def adopt(self, settings: GatewaySettings) -> None:
        """Other settings hold from here on."""
        self._app.adopt(settings)

    @property
    def port(self) -> int:
        assert self._socket is not None, "started"
        name: Any = self._socket.getsockname()
        return int(name[1])

    async def start(self) -> None:
        """Returns when connections are taken; `OSError` says why none can be."""
        settings = self._app.door.settings
        self._socket = listen(settings.host, settings.port)
        self._serving = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            if self._serving.done():
                await self._serving
                raise OSError("the gateway ended before it began")
            await asyncio.sleep(0.005)

    async def stop(self) -> None:
        """Takes nothing new, lets what runs finish for a moment, then closes everything."""
        self._server.should_exit = True
        await self._app.door.close()
        if self._serving is not None:
            await self._serving
        if self._socket is not None:
            self._socket.close()


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host.strip("[]"), port))
        listener.setblocking(False)
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener

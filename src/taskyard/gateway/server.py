"""The listening socket, from `start` to `stop`. What a connection may send is in `http.py` and `websocket.py`."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.http import BoundedHttp
from taskyard.gateway.listening import GatewayConfig
from taskyard.gateway.websocket import BoundedWebSocket

KEEP_ALIVE_S: Final = 75
LINGER_S: Final = 5.0
BACKLOG: Final = 2048


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

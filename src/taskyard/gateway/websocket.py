"""The WebSocket of a connection, and what uvicorn leaves open: peers that do not read, and frames without bound."""

import asyncio
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from taskyard.gateway.asgi import SHORT_CUT
from taskyard.gateway.listening import GatewayConfig

LINGER_S: Final = 5.0


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A socket whose peer does not read is closed all the same. Its frames are as large as may be when it is opened.

    It offers its application a `ShortCut`.
    """

    take: Callable[[bytes], None] | None = None

    def __init__(self, config: uvicorn.Config, *rest: Any, **named: Any) -> None:
        assert isinstance(config, GatewayConfig), "GatewayServer made it"
        config.ws_max_size = config.door.size.frame
        super().__init__(config, *rest, **named)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.close_sent:
            scope: dict[str, Any] = self.scope  # type: ignore[assignment]
            scope["extensions"][SHORT_CUT] = self

    def send_receive_event_to_app(self) -> None:
        if self.take is None or self.close_sent:
            super().send_receive_event_to_app()
        else:
            parts, self.frames = self.frames, []
            self.take(b"".join(parts))

    @property
    def is_free(self) -> bool:
        transport = self.transport
        return not (transport.get_write_buffer_size() or transport.is_closing() or self.close_sent)

    def write(self, text: bytes) -> None:
        self.conn.send_text(text)
        self.transport.write(b"".join(self.conn.data_to_send()))

    def rest(self, s: float) -> None:
        self.transport.pause_reading()
        self.loop.call_later(s, self._read_on)

    def _read_on(self) -> None:
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def on_task_complete(self, task: "asyncio.Task[None]") -> None:
        super().on_task_complete(task)
        self.loop.call_later(LINGER_S, self.transport.abort)

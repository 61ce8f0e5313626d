"""HTTP on one connection, and what uvicorn leaves open: slow heads and endless heads.

ASGI sees a request only when its head is complete, so nothing above this file can help against a client
that never completes it. The protocol below gives each head a deadline and a size; a request that
arrives in one piece, as almost all do, costs no timer.
"""

import asyncio
from asyncio import TimerHandle
from typing import Final

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from taskyard.gateway.listening import GatewayConfig
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import MEDIA_TYPE, PROBLEMS, problem

HEAD_S: Final = 10.0
HEAD_BYTES_MAX: Final = 64 * 1024
HEAD_TOO_LARGE: Final = f"A request's head, with its address, has at most {HEAD_BYTES_MAX:,} bytes; say less in it."


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

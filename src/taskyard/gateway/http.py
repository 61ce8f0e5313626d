"""HTTP on one connection: what uvicorn and its parser leave open.

ASGI sees a request only when its head is complete, and never sees how it was framed, so nothing above this file can
help against a client that does not complete a head, hides fields behind the body, or asks faster than it is answered.
A request that arrives in one piece, as almost all do, costs no timer and a microsecond.
"""

import asyncio
from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable
from typing import Any, Final

import httptools
import msgspec
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from taskyard.gateway import head
from taskyard.gateway.asgi import KNOWN, LATE
from taskyard.gateway.bodies import announced
from taskyard.gateway.call import RequestRefused
from taskyard.gateway.listening import GatewayConfig
from taskyard.gateway.sizes import bytes_max
from taskyard.vocabulary import Refusal
from taskyard.wire.problems import MEDIA_TYPE, PROBLEMS, problem

HEAD_BYTES_MAX: Final = 64 * 1024
HEAD_TOO_LARGE: Final = f"A request's head, with its address, has at most {HEAD_BYTES_MAX:,} bytes; say less in it."
URI_TOO_LONG: Final = f"An address has less than {HEAD_BYTES_MAX:,} bytes; say less in it."
NOT_HTTP: Final = "This is not HTTP/1.1 as RFC 9112 has it; see what was sent."
NOT_ALONE: Final = "A WebSocket is opened on a connection that has no unanswered requests; wait for the answers."
# Of chunks, their sizes and extensions, and trailers. A chunk of one byte has five around it.
FRAMING_BYTES_MAX: Final = 64 * 1024
FRAMING_PER_BYTE: Final = 8
FRAMING_TOO_LARGE: Final = "The chunks of this body are mostly extensions or trailers; send larger chunks without them."
# Requests of one connection that wait for the answer to the one before them.
PIPELINED_MAX: Final = 64

# Of a body that is refused although its caller is known: several times what any body may have.
UNREAD_BYTES_MAX: Final = 64 * 1024 * 1024
# How long a peer has to read its answer if nothing more of it is read.
UNHEARD_S: Final = 0.5
HEADER_BYTES: Final = len(": \r\n")

# Where trailers are appended.
_NOWHERE: Final[deque[tuple[bytes, bytes]]] = deque(maxlen=0)


class _Line:
    """The transport as answers see it: the last of them does not close it at once."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close


class _Over(Exception):
    """Nothing more of this packet is to be parsed."""


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 with deadlines and bounds, whose trailers are dropped and whose faults are answered in their turn."""

    config: GatewayConfig
    # What uvicorn types as it is after the first head.
    cycle: RequestResponseCycle | None  # type: ignore[assignment]
    scope: Any
    headers: Any
    _line: _Line
    _head_timer: TimerHandle | None = None
    _in_head = False
    # Of the packets that held nothing but a part of this head.
    _head_bytes = 0
    _packet_bytes = 0
    # Of all bodies so far.
    _body_bytes = 0
    _framing_bytes = 0
    _has_upgrade = False
    # No further request is taken from this connection.
    _is_over = False
    _keeps_alive = False
    # Set once nothing more is said.
    _end_timer: TimerHandle | None = None
    _discards = 0
    # A refusal that is to be said once the requests before it are answered.
    _last_words: bytes | None = None

    # The connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._line = _Line(transport, self._end)
        if len(self.connections) > self.config.door.settings.connections_max:
            transport.abort()
            return
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_came()
        if self._end_timer is not None:
            self._end_timer.cancel()
        # Or the protocol and what its answers write to would keep each other until the collector comes.
        self._line.close = self.transport.abort
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            self._discard(len(data))
            return
        self._unset_keepalive_if_required()
        cycle, body_bytes = self.cycle, self._body_bytes
        was_in_body = cycle is not None and cycle.more_body
        self._packet_bytes = len(data)
        if not self._feed(data):
            return
        if self.cycle is cycle:
            if cycle is not None and was_in_body and cycle.more_body:
                self._count_framing(self._body_bytes - body_bytes)
            elif self._in_head and not was_in_body:
                self._head_bytes += len(data)
                if self._head_bytes > HEAD_BYTES_MAX:
                    self._refuse_head()
        if self._in_head or self.cycle is None or self.cycle.response_complete:
            self._await_head()
        elif self._head_timer is not None:
            self._head_came()

    def _feed(self, data: bytes) -> bool:
        """Whether more may be taken from this connection."""
        while data:
            try:
                self.parser.feed_data(data)
                return True
            except httptools.HttpParserUpgrade as upgrade:
                data = self._upgrade(data[upgrade.args[0] :])
            except httptools.HttpParserError:
                if not self._is_over:
                    self._refuse(Refusal.BAD_REQUEST, NOT_HTTP)
                return False
        return not self._is_over

    def _count_framing(self, body: int) -> None:
        """Bound what a body's sender makes us read that is no body."""
        framing = self._framing_bytes + self._packet_bytes - body
        self._framing_bytes = max(0, framing - FRAMING_PER_BYTE * body)
        if self._framing_bytes > FRAMING_BYTES_MAX:
            self._refuse(Refusal.TOO_LARGE, FRAMING_TOO_LARGE)

    # A request.

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._framing_bytes = 0
        if self.pipeline or self._packet_bytes + self._head_bytes > HEAD_BYTES_MAX:
            self._check_room()
        self._has_upgrade = self.parser.should_upgrade()
        if self._has_upgrade or not self.url.startswith(b"/") or head.is_odd(self.url):
            method = self.parser.get_method()
            self.scope["method"] = method.decode()
            try:
                self.url = head.origin_form(method, self.url, self.headers)
            except RequestRefused as refused:
                self._refuse(refused.code, refused.detail)
                raise _Over from None
        if self.expect_100_continue:
            self.expect_100_continue = self.parser.get_http_version() == "1.1"
        super().on_headers_complete()
        if not self._has_upgrade and self.cycle is not None:
            self.cycle.transport = self._line  # type: ignore[assignment]
            # An answer that does not wait for the body is the last on this connection.
            self._keeps_alive, self.cycle.keep_alive = self.cycle.keep_alive, False
            # What follows the body is no part of the head that is authenticated, bounded and asked.
            self.headers = _NOWHERE

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if not self._has_upgrade and self.cycle is not None and not self.cycle.response_started:
            # A trailer may say `Connection: close`, and the parser then skips all that follows.
            self.cycle.keep_alive = self._keeps_alive and self.parser.should_keep_alive()

    def on_response_complete(self) -> None:
        if self._end_timer is not None:
            self.server_state.total_requests += 1
            return
        was_last = not self.pipeline
        super().on_response_complete()
        if was_last and self._last_words is not None:
            self._part()

    def _check_room(self) -> None:
        """For one more head, as large as this one."""
        if self._packet_bytes + self._head_bytes > HEAD_BYTES_MAX:
            size = len(self.url) + sum(len(name) + len(value) + HEADER_BYTES for name, value in self.headers)
            if size > HEAD_BYTES_MAX:
                self._refuse_head()
                raise _Over
        if len(self.pipeline) >= PIPELINED_MAX:
            # The newest that waits is the last to be answered here; its client asks for the others again.
            self.pipeline[0][0].keep_alive = False
            self._is_over = True
            raise _Over

    # Upgrades.

    def _should_upgrade(self) -> bool:
        """Whether the parser took the request for the end of HTTP on this connection."""
        return self._has_upgrade

    def _upgrade(self, rest: bytes) -> bytes:
        """Hand the connection over to a WebSocket; return what to parse if something else was asked for."""
        asked = [value.lower() for name, value in self.headers if name == b"upgrade"]
        version = self.parser.get_http_version()
        if asked != [b"websocket"] or version != "1.1":
            # Ignored (RFC 9110, 7.8), which the parser cannot: another one reads the head again without the field.
            self.parser = httptools.HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            lines = [b"%b: %b" % field for field in self.headers if field[0] != b"upgrade"]
            return b"\r\n".join(
                [f"{self.scope['method']} ".encode() + self.url + f" HTTP/{version}".encode(), *lines, b"", rest]
            )
        if self.cycle is not None and not self.cycle.response_complete:
            self._refuse(Refusal.BAD_REQUEST, NOT_ALONE)
        else:
            self._is_over = True
            self._head_came()
            self.handle_websocket_upgrade()
        return b""

    # Refusals: what no application has seen is answered here, in the form of all other problems.

    def _refuse_head(self) -> None:
        """More than `HEAD_BYTES_MAX` came, and the address is the larger part or came alone."""
        if not self.headers or len(self.url) > HEAD_BYTES_MAX // 2:
            self._refuse(Refusal.URI_TOO_LONG, URI_TOO_LONG)
        else:
            self._refuse(Refusal.TOO_LARGE, HEAD_TOO_LARGE)

    def _refuse(self, code: Refusal, detail: str) -> None:
        """Answer this request when those before it have been, and take nothing more."""
        self._is_over = True
        self._head_came()
        self.config.door.malformed += 1
        body = msgspec.json.encode(problem(code, detail))
        fields = [
            *self.server_state.default_headers,
            (b"content-type", MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            head.CLOSES,
        ]
        said = b"".join([b"%b: %b\r\n" % field for field in fields])
        is_head = self.scope is not None and self.scope.get("method") == "HEAD"
        self._last_words = b"%b%b\r\n%b" % (STATUS_LINE[PROBLEMS[code].status], said, b"" if is_head else body)
        cycle = self.cycle
        if cycle is not None and cycle.more_body:
            self._withdraw(cycle)
        elif cycle is None or cycle.response_complete:
            self._part()

    def _withdraw(self, cycle: RequestResponseCycle) -> None:
        """The body of a request that an application may be reading turned out to be none: its connection is lost."""
        if self.pipeline and self.pipeline[0][0] is cycle:
            self.pipeline.popleft()
            return
        if cycle.response_started:
            self._last_words = None
        cycle.disconnected = True
        cycle.message_event.set()
        self._part()

    def _part(self) -> None:
        if self._last_words is not None and not self.transport.is_closing():
            self.transport.write(self._last_words)
        self._end()

    # The end, in stages (RFC 9112, 9.6): a reset may erase an answer that its client has not read yet.

    def shutdown(self) -> None:
        self._keeps_alive = False
        super().shutdown()

    def _end(self) -> None:
        """Say that nothing more comes, and close when the peer has, or has sent too much or for too long."""
        if self._end_timer is not None or self.transport.is_closing():
            return
        self._is_over = True
        self._head_came()
        self._unset_keepalive_if_required()
        self._discards = self._discarded()
        if self._discards:
            self.transport.resume_reading()
            ends_s = self.config.door.deadlines.unread_s
        else:
            self.transport.pause_reading()
            ends_s = min(UNHEARD_S, self.config.door.deadlines.unread_s)
        self._end_timer = self.loop.call_later(ends_s, self.transport.close)
        self.transport.write_eof()

    def _discarded(self) -> int:
        """How many bytes are read and thrown away, so that their sender comes to read the answer."""
        most = bytes_max(self.config.door.size, is_batch=True)
        cycle = self.cycle
        if cycle is None or not cycle.more_body:
            return most
        if cycle.scope.get(LATE):
            return 0
        if cycle.scope.get(KNOWN):
            return UNREAD_BYTES_MAX
        return 0 if announced(dict(cycle.scope["headers"])) > most else most

    def _discard(self, received: int) -> None:
        if self._end_timer is None:
            # Requests before it are answered first.
            self.transport.pause_reading()
            return
        self._discards -= received
        if self._discards <= 0:
            self.transport.close()

    # The deadline of a head.

    def _await_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.config.door.deadlines.head_s, self._head_is_late)

    def _head_came(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            # While an answer is awaited nothing is asked in vain, and what is asked may be held back by us.
            self._await_head()
        elif not self.transport.is_closing():
            self.transport.abort()

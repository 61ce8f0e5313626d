"""A connection's WebSocket, and what uvicorn and websockets leave open: floods of frames, peers that do not read.

`Frames` parses, at most a turn's worth of frames at a time, and says when a peer floods. `BoundedWebSocket` carries on
with the rest in the next turn of the event loop, and ends what has to be ended.
"""

import asyncio
from asyncio import TimerHandle
from collections.abc import Callable
from http import HTTPStatus
from logging import Logger
from typing import Any, Final

import msgspec
import uvicorn
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import BINARY, CONT, CTRL_OPCODES, TEXT, Frame
from websockets.http11 import Request, Response
from websockets.server import ServerProtocol

from taskyard.gateway.allowance import Allowance
from taskyard.gateway.asgi import SHORT_CUT
from taskyard.gateway.listening import GatewayConfig
from taskyard.wire import frames
from taskyard.wire.problems import MEDIA_TYPE, Problem

LINGER_S: Final = 5.0
END_S: Final = 0.5
"""How long a peer has to hang up, once both have said all they have to say; then the connection is reset."""
# 2 ms of the dearest frames, pings: then other connections get their turn.
TURN_FRAMES: Final = 256
FRAME_WORTH_BITS: Final = 8
"""Of a turn, a frame uses one for itself and one for each 256 bytes of its payload."""
IDLE_PER_S: Final = 1_000
"""Control frames, and fragments of less than `FRAGMENT_BYTES_MIN`. No library sends a tenth of it."""
# Some libraries write a message in fragments of 4 KiB, none in smaller ones; and each one that is held costs 100 bytes.
FRAGMENT_BYTES_MIN: Final = 1024
ANSWERS_BYTES_MAX: Final = 64 * 1024
"""Pongs that wait for a peer that does not read, beyond one frame of ours, which may wait there too."""

FLOOD: Final = f"more than {IDLE_PER_S:,} control frames and small fragments in a second"
SCATTERED: Final = f"a message in fragments of less than {FRAGMENT_BYTES_MIN:,} bytes on average"
UNREAD: Final = "what was sent to you was not read"
VERSION: Final = "13"
OTHER_VERSION: Final = f"This hub speaks version {VERSION} of WebSocket: send `Sec-WebSocket-Version: {VERSION}`, once."
NO_REQUEST: Final = "A request to open a WebSocket has no body, no `Transfer-Encoding`, and a head of ordinary size."
HANDSHAKE: Final = "BAD_HANDSHAKE"
"""The code of a refusal to open a WebSocket; its status says more."""


class Frames(ServerProtocol):
    """Parses a turn's worth of frames, keeps the other bytes for later, and fails the connection of a peer that floods.

    A parsed message costs what its frame costs; a control frame or an empty fragment costs the peer nothing and us as
    much. So those have a budget of their own, beyond which the connection ends, while messages are only slowed.
    """

    def __init__(self, *, bytes_max: int, logger: Logger, clock: Callable[[], float]) -> None:
        self.held = bytearray()
        """What was received beyond the turn's worth."""
        self.is_cut = False
        self._turn = TURN_FRAMES
        self._clock = clock
        self._idle = Allowance(clock())
        self._fragments = 0
        self._fragments_max = bytes_max // FRAGMENT_BYTES_MIN
        super().__init__(max_size=bytes_max, logger=logger)

    def receive_data(self, data: bytes | bytearray) -> None:
        """Parse a turn's worth of it, or put it behind what is held."""
        if self.held:
            self.held += data
        else:
            self._turn = TURN_FRAMES
            super().receive_data(data)

    def go_on(self) -> None:
        """In a later turn: parse more of what is held."""
        self.reader.buffer, self.held = self.held, bytearray()
        self._turn = TURN_FRAMES
        super().receive_data(b"")

    def cut(self, code: int, reason: str) -> None:
        """Say why, and parse nothing more."""
        if not self.is_cut:
            self.is_cut = True
            self.fail(code, reason)

    def recv_frame(self, frame: Frame) -> None:
        if (not frame.fin or (frame.opcode is not TEXT and frame.opcode is not BINARY) or self.close_sent) and (
            reason := self._wrong_with(frame)
        ):
            self.cut(frames.CLOSE_FLOODING, reason)
            return
        super().recv_frame(frame)
        self._turn -= 1 + (len(frame.data) >> FRAME_WORTH_BITS)
        if self._turn <= 0 and self.reader.buffer:
            # Without bytes the parser waits, wherever it is.
            self.held, self.reader.buffer = self.reader.buffer, bytearray()

    def _wrong_with(self, frame: Frame) -> str | None:
        """Of a frame that is no whole message, or that comes after our close."""
        if frame.opcode not in CTRL_OPCODES and self.close_sent is None:
            if frame.fin:
                self._fragments = 0
                return None
            self._fragments = 1 if frame.opcode is not CONT else self._fragments + 1
            if self._fragments > self._fragments_max:
                return SCATTERED
            if len(frame.data) >= FRAGMENT_BYTES_MIN:
                return None
        return FLOOD if self._idle.take(1, IDLE_PER_S, self._clock()) else None


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A socket whose frames are parsed a turn's worth at a time, and whose peer is cut off if it floods or never reads.

    Its frames are as large as may be when it is opened. It offers its application a `ShortCut`.
    """

    take: Callable[[bytes], None] | None = None
    conn: Frames
    _resting: TimerHandle | None = None
    _is_going_on = False
    _is_ending = False

    def __init__(self, config: uvicorn.Config, *rest: Any, **named: Any) -> None:
        assert isinstance(config, GatewayConfig), "GatewayServer made it"
        config.ws_max_size = config.door.size.frame
        super().__init__(config, *rest, **named)
        self.conn = Frames(bytes_max=config.ws_max_size, logger=self.logger, clock=self.loop.time)

    # The handshake.

    def handle_connect(self, event: Request) -> None:
        response = self.conn.accept(event)
        if event.headers.get_all("Sec-WebSocket-Version") != [VERSION]:
            response = self.conn.reject(HTTPStatus.UPGRADE_REQUIRED, OTHER_VERSION)
            response.headers["Upgrade"] = "websocket"
            response.headers["Sec-WebSocket-Version"] = VERSION
        if response.status_code != HTTPStatus.SWITCHING_PROTOCOLS:
            self._refuse(response)
            return
        super().handle_connect(event)
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope["extensions"][SHORT_CUT] = self
        # Frames that came before our answer would be answered before it. A client waits for it.
        self.transport.pause_reading()

    def start_keepalive(self) -> None:
        """The handshake is complete."""
        super().start_keepalive()
        self.transport.resume_reading()

    def _refuse(self, response: Response) -> None:
        """Answer what no application has seen in the form of all other problems; the text becomes its detail."""
        detail, headers = bytes(response.body).decode().strip(), response.headers
        status, title = response.status_code, "No WebSocket was opened"
        response.body = msgspec.json.encode(Problem(status=status, title=title, detail=detail, code=HANDSHAKE))
        said = {"Content-Type": MEDIA_TYPE, "Content-Length": str(len(response.body))}
        if "Upgrade" in headers:
            said["Connection"] = "upgrade, close"
        for name, value in said.items():
            del headers[name]
            headers[name] = value
        self.handshake_complete = self.close_sent = True
        self.transport.write(response.serialize())
        self.transport.close()

    # Frames.

    def data_received(self, data: bytes) -> None:
        self.conn.receive_data(data)
        self._handle()

    def _handle(self) -> None:
        """What was parsed; then plan the rest, or end what has to end."""
        conn = self.conn
        self.handle_events()
        if conn.is_cut or conn.parser_exc is not None:
            self._end()
        elif conn.held:
            self._pause()
            self._go_on_soon()
        elif conn.handshake_exc is not None and not self.close_sent:
            self._refuse(conn.reject(HTTPStatus.BAD_REQUEST, NO_REQUEST))

    def _go_on_soon(self) -> None:
        if not self._is_going_on:
            self._is_going_on = True
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._is_going_on = False
        if self._may_read and self.conn.held:
            self.conn.go_on()
            self._handle()
        if self._may_read and not self.conn.held:
            self.transport.resume_reading()

    @property
    def _may_read(self) -> bool:
        is_over = self.transport.is_closing() or self.conn.is_cut
        return not (is_over or self.read_paused or self._resting is not None)

    def _pause(self) -> None:
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def send_receive_event_to_app(self) -> None:
        parts, self.frames = self.frames, []
        if self.close_sent:
            return
        if self.take is not None:
            self.take(b"".join(parts))
            return
        # As bytes, text or not: whether it is UTF-8 is found out where it is read.
        self.queue.put_nowait({"type": "websocket.receive", "bytes": b"".join(parts)})
        self.read_paused = True
        self._pause()

    async def send(self, message: Any) -> None:
        if self.close_sent:
            raise ClientDisconnected
        await super().send(message)

    async def receive(self) -> Any:
        message = await super().receive()
        if self.conn.held:
            self._go_on_soon()
        return message

    def handle_ping(self) -> None:
        super().handle_ping()
        if self.transport.get_write_buffer_size() > self.config.ws_max_size + ANSWERS_BYTES_MAX:
            self.conn.cut(frames.CLOSE_NOT_READING, UNREAD)

    # The short cut.

    @property
    def is_free(self) -> bool:
        transport = self.transport
        return not (transport.get_write_buffer_size() or transport.is_closing() or self.close_sent)

    def write(self, text: bytes) -> None:
        self.conn.send_text(text)
        self.transport.write(b"".join(self.conn.data_to_send()))

    def rest(self, s: float, then: Callable[[], None]) -> None:
        if self._resting is not None:
            self._resting.cancel()
        self._pause()
        self._resting = self.loop.call_later(s, self._rested, then)

    def _rested(self, then: Callable[[], None]) -> None:
        self._resting = None
        then()
        self._go_on()

    # The end.

    def handle_close(self, event: Frame) -> None:
        if self.close_sent:
            super().handle_close(event)
        else:
            self._end()

    def handle_parser_exception(self) -> None:
        self._end()

    def _end(self) -> None:
        """Our close frame was the last word. Closing at once could reset the connection before the peer has read it."""
        if self._is_ending:
            return
        self._is_ending = True
        closing = self.conn.close_sent
        if not self.close_sent and closing is not None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": closing.code, "reason": closing.reason})
        self.close_sent = True
        if self.conn.is_cut:
            self._pause()
        if not self.transport.is_closing():
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.write_eof()
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = self.loop.call_later(END_S, self.transport.abort)

    def on_task_complete(self, task: "asyncio.Task[None]") -> None:
        super().on_task_complete(task)
        self.loop.call_later(LINGER_S, self.transport.abort)

"""One connection between two hubs: whole messages, in order, from somebody who knows the yard's secret.

Each end sends a random nonce first; both nonces and the secret give a key for each direction. Every frame carries its
length and a keyed hash of its place in the stream and its content, so nothing can be forged, left out, repeated or
swapped by somebody on the network between. It is not hidden from them: hubs belong on a private network.

Messages that are posted within one turn of the event loop leave as one frame.
"""

import asyncio
import hmac
import socket
from collections.abc import Callable
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.hub.ids import mint_secret
from taskyard.hub.link.messages import encode_into

MAGIC: Final = b"taskyard-link-1\n"
NONCE_BYTES: Final = 32
MAC_BYTES: Final = 16
LENGTH_BYTES: Final = 4
HEADER_BYTES: Final = LENGTH_BYTES + MAC_BYTES
LIST_HEAD: Final = b"\xdd"
COUNT_BYTES: Final = 4
_ROOM: Final = bytes(HEADER_BYTES) + LIST_HEAD + bytes(COUNT_BYTES)
# What stands before the first message: the header, and MessagePack's head of a list, whose length is known at the end.
FRAME_BYTES: Final = 1024 * 1024
# A frame that has grown to this leaves at once, so that the other end can begin to read it.
FRAME_BYTES_MAX: Final = 256 * 1024 * 1024
# One message may be larger than that: a greeting with everyone's keys, or a task's results for a daemon.
UNSENT_BYTES_MAX: Final = 256 * 1024 * 1024
# A peer that does not read this much is cut off; its daemons come back with their lists.
OPENING_S: Final = 5.0
SILENT_S: Final = 15
# A peer on another machine that answers nothing for so long, not even its system, is gone.


class LinkLost(ConnectionError):
    """The other end is gone, or is not one of ours."""


class Wire(asyncio.Protocol):
    """`on_frame` is called with each frame's content, `on_lost` once, with why."""

    def __init__(self, secret: bytes, *, calls: bool) -> None:
        """`calls`: this end opened the connection."""
        self._loop = asyncio.get_running_loop()
        self._secret = secret
        self._calls = calls
        self._nonce = mint_secret().encode()[:NONCE_BYTES]
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._frame = bytearray(_ROOM)
        self._posted = 0
        self._keys: tuple[bytes, bytes] | None = None
        self._sent = self._received = 0
        self._is_lost = False
        self._patience: asyncio.TimerHandle | None = None
        self.on_frame: Callable[[bytes], None] = lambda content: None
        self.on_lost: Callable[[str], None] = lambda reason: None
        self.opened: asyncio.Future[None] = self._loop.create_future()
        """Done when the other end has shown that it knows the secret; fails with `LinkLost`."""

    # What the transport calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if self._is_lost:
            # It was not wanted before it was there.
            transport.abort()
            return
        self._transport = transport
        self._patience = self._loop.call_later(OPENING_S, self.cut, "it did not introduce itself")
        _notice_silence(transport)
        transport.write(MAGIC + self._nonce)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            self._take()
        except (LinkLost, msgspec.MsgspecError) as error:
            self.cut(str(error))

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(str(exc or "the connection was closed"))

    # What this end says.

    @property
    def unsent_bytes(self) -> int:
        """What was posted and the other end has not taken yet, but for what the system holds."""
        return len(self._frame) + (0 if self._transport is None else self._transport.get_write_buffer_size())

    def post(self, message: Struct) -> None:
        """Queue a message; it leaves with all others of this turn."""
        if self._is_lost:
            return
        frame, size = self._frame, len(self._frame)
        try:
            encode_into(message, frame, -1)
        except Exception:
            # Half a message would spoil those that stand before it.
            del frame[size:]
            raise
        self._posted += 1
        if self._posted == 1:
            self._loop.call_soon(self._flush)
        if len(frame) > FRAME_BYTES:
            self._flush()

    def cut(self, reason: str) -> None:
        """Close it now; what was not sent is lost."""
        if self._transport is not None:
            self._transport.abort()
        self._lose(reason)

    def close(self) -> None:
        """After what was posted."""
        if self._transport is not None and not self._is_lost:
            self._flush()
            self._transport.close()
        self._lose("closed")

    def _flush(self) -> None:
        frame, posted, transport = self._frame, self._posted, self._transport
        if not posted or transport is None or self._is_lost:
            return
        self._frame, self._posted = bytearray(_ROOM), 0
        frame[len(_ROOM) - COUNT_BYTES : len(_ROOM)] = posted.to_bytes(COUNT_BYTES)
        transport.write(self._sealed(frame))
        if transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            self.cut("it does not read what it is sent")

    def _sealed(self, frame: bytearray) -> bytearray:
        """Its header filled in."""
        assert self._keys is not None, "nothing is said before the other end is known"
        with memoryview(frame) as view:
            mac = _mac(self._keys[0], self._sent, view[HEADER_BYTES:])
        self._sent += 1
        frame[:HEADER_BYTES] = (len(frame) - HEADER_BYTES).to_bytes(LENGTH_BYTES) + mac
        return frame

    # What the other end says.

    def _take(self) -> None:
        if self._keys is None and not self._take_nonce():
            return
        buffer = self._buffer
        while len(buffer) >= HEADER_BYTES and not self._is_lost:
            length = int.from_bytes(buffer[:LENGTH_BYTES])
            # Nothing is kept for a stranger: the frame that proves who it is has no content.
            if length > (FRAME_BYTES_MAX if self.opened.done() else 0):
                raise LinkLost("a frame is too long")
            if len(buffer) < HEADER_BYTES + length:
                return
            mac, content = bytes(buffer[LENGTH_BYTES:HEADER_BYTES]), bytes(buffer[HEADER_BYTES : HEADER_BYTES + length])
            del buffer[: HEADER_BYTES + length]
            self._hear(mac, content)

    def _take_nonce(self) -> bool:
        size = len(MAGIC) + NONCE_BYTES
        if not MAGIC.startswith(self._buffer[: len(MAGIC)]):
            raise LinkLost("it does not speak this protocol")
        if len(self._buffer) < size:
            return False
        theirs = bytes(self._buffer[len(MAGIC) : size])
        del self._buffer[:size]
        nonces = (self._nonce, theirs) if self._calls else (theirs, self._nonce)
        called, calling = (_key(self._secret, name, *nonces) for name in (b"called", b"calling"))
        self._keys = (calling, called) if self._calls else (called, calling)
        # The first frame is empty: it only proves that its sender has the key.
        assert self._transport is not None
        self._transport.write(self._sealed(bytearray(HEADER_BYTES)))
        return True

    def _hear(self, mac: bytes, content: bytes) -> None:
        assert self._keys is not None
        if not hmac.compare_digest(mac, _mac(self._keys[1], self._received, content)):
            raise LinkLost("it does not know the yard's secret")
        self._received += 1
        if self.opened.done():
            self.on_frame(content)
            return
        self._lose_patience()
        self.opened.set_result(None)

    def _lose_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _lose(self, reason: str) -> None:
        if self._is_lost:
            return
        self._is_lost = True
        self._lose_patience()
        self._frame, self._posted = bytearray(_ROOM), 0
        if not self.opened.done():
            self.opened.set_exception(LinkLost(reason))
            # Nobody may be waiting for it any more.
            self.opened.exception()
        self.on_lost(reason)


def _notice_silence(transport: asyncio.Transport) -> None:
    """Have the system ask a peer on another machine for signs of life: one whose machine died says no good-bye."""
    connection: socket.socket = transport.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", SILENT_S // 3),
        ("TCP_KEEPINTVL", SILENT_S // 3),
        ("TCP_KEEPCNT", 2),
        ("TCP_USER_TIMEOUT", SILENT_S * 1000),
    ):
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _key(secret: bytes, name: bytes, *nonces: bytes) -> bytes:
    return blake2b(name + b"".join(nonces), key=secret[:64], digest_size=32).digest()


def _mac(key: bytes, number: int, content: bytes | memoryview) -> bytes:
    mac = blake2b(number.to_bytes(8), key=key, digest_size=MAC_BYTES)
    mac.update(content)
    return mac.digest()

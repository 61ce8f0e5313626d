"""One connection between two hubs: whole messages, in order, from somebody who knows the yard's secret.

Each end sends a random nonce first; both nonces and the secret give a key for each direction. Every frame carries its
length and a keyed hash of its place in the stream and its content, so nothing can be forged, left out, repeated or
swapped by somebody on the network between. It is not hidden from them: hubs belong on a private network.

Messages that are posted within one turn of the event loop leave as one frame.
"""

import asyncio
import hmac
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Final

import msgspec
from msgspec import Struct

from taskyard.hub.ids import mint_secret
from taskyard.hub.link.messages import encode

MAGIC: Final = b"taskyard-link-1\n"
NONCE_BYTES: Final = 32
MAC_BYTES: Final = 16
LENGTH_BYTES: Final = 4
HEADER_BYTES: Final = LENGTH_BYTES + MAC_BYTES
FRAME_BYTES_MAX: Final = 256 * 1024 * 1024
# The largest is a greeting with everyone's keys, or a commit's worth of work for one gateway's daemons.
UNSENT_BYTES_MAX: Final = 256 * 1024 * 1024
# A peer that does not read this much is cut off; its daemons come back with their lists.
OPENING_S: Final = 5.0


class LinkLost(ConnectionError):
    """The other end is gone, or is not one of ours."""


class Wire(asyncio.Protocol):
    """`on_frame` is called with each frame's content, `on_lost` once, with why."""

    def __init__(self, secret: bytes, *, calls: bool) -> None:
        """`calls`: this end opened the connection."""
        self._secret = secret
        self._calls = calls
        self._nonce = mint_secret().encode()[:NONCE_BYTES]
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._posted: list[Struct] = []
        self._keys: tuple[bytes, bytes] | None = None
        self._sent = self._received = 0
        self._is_lost = False
        self.on_frame: Callable[[bytes], None] = lambda content: None
        self.on_lost: Callable[[str], None] = lambda reason: None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the other end has shown that it knows the secret."""

    # What the transport calls.

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        if self._is_lost:
            # It was not wanted before it was there.
            transport.abort()
            return
        self._transport = transport
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

    def post(self, message: Struct) -> None:
        """Queue a message; it leaves with all others of this turn."""
        if self._is_lost:
            return
        if not self._posted:
            asyncio.get_running_loop().call_soon(self._flush)
        self._posted.append(message)

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

    async def open(self) -> None:
        """Wait until the other end is known to be one of ours. Raises `LinkLost`."""
        try:
            async with asyncio.timeout(OPENING_S):
                await asyncio.shield(self.opened)
        except TimeoutError:
            self.cut("it did not introduce itself")
            raise LinkLost("it did not introduce itself") from None

    def _flush(self) -> None:
        messages, self._posted = self._posted, []
        transport = self._transport
        if self._is_lost or transport is None or not messages:
            return
        transport.write(self._sealed(encode(messages)))
        if transport.get_write_buffer_size() > UNSENT_BYTES_MAX:
            self.cut("it does not read what it is sent")

    def _sealed(self, content: bytes) -> bytes:
        assert self._keys is not None, "nothing is said before the other end is known"
        mac = _mac(self._keys[0], self._sent, content)
        self._sent += 1
        return len(content).to_bytes(LENGTH_BYTES) + mac + content

    # What the other end says.

    def _take(self) -> None:
        if self._keys is None and not self._take_nonce():
            return
        buffer = self._buffer
        while len(buffer) >= HEADER_BYTES:
            length = int.from_bytes(buffer[:LENGTH_BYTES])
            if length > FRAME_BYTES_MAX:
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
        self._transport.write(self._sealed(b""))
        return True

    def _hear(self, mac: bytes, content: bytes) -> None:
        assert self._keys is not None
        if not hmac.compare_digest(mac, _mac(self._keys[1], self._received, content)):
            raise LinkLost("it does not know the yard's secret")
        self._received += 1
        if not self.opened.done():
            self.opened.set_result(None)
        elif not self._is_lost:
            self.on_frame(content)

    def _lose(self, reason: str) -> None:
        if self._is_lost:
            return
        self._is_lost = True
        self._posted = []
        if not self.opened.done():
            self.opened.set_exception(LinkLost(reason))
            # Nobody may be waiting for it any more.
            with suppress(LinkLost):
                self.opened.exception()
        self.on_lost(reason)


def _key(secret: bytes, name: bytes, *nonces: bytes) -> bytes:
    return blake2b(name + b"".join(nonces), key=secret[:64], digest_size=32).digest()


def _mac(key: bytes, number: int, content: bytes) -> bytes:
    mac = blake2b(number.to_bytes(8), key=key, digest_size=MAC_BYTES)
    mac.update(content)
    return mac.digest()

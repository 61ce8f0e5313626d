"""WebSocket frames by hand, for what no library would send: RFC 6455 as bytes, over asyncio."""

import asyncio
import base64
import hashlib
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

PATH: Final = "/api/v1/daemons/connect"
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA
WAIT_S: Final = 20.0
NONCE: Final = base64.b64encode(bytes(range(16))).decode()
ACCEPT: Final = base64.b64encode(
    hashlib.sha1(f"{NONCE}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
).decode()
_MASK: Final = b"\x11\x22\x33\x44"


class Frame(NamedTuple):
    """What the hub sent. Of a close frame, `code` is the status code; None: it has none."""

    opcode: int
    payload: bytes

    @property
    def code(self) -> int | None:
        return struct.unpack("!H", self.payload[:2])[0] if self.opcode == CLOSE and self.payload else None


def masked(payload: bytes) -> bytes:
    pad = (_MASK * (len(payload) // 4 + 1))[: len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(len(payload), "big")


def frame(
    opcode: int, payload: bytes = b"", *, fin: bool = True, rsv: int = 0, mask: bool = True, length: int | None = None
) -> bytes:
    """A frame of a client. `length` is what it says of its payload, if that is not so; `rsv` has three bits."""
    said = len(payload) if length is None else length
    bit = 0x80 if mask else 0
    if said < 126:
        size = struct.pack("!B", bit | said)
    elif said < 1 << 16:
        size = struct.pack("!BH", bit | 126, said)
    else:
        size = struct.pack("!BQ", bit | 127, said)
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode]) + size
    return head + _MASK + masked(payload) if mask else head + payload


def close(code: int | None = None, reason: bytes = b"") -> bytes:
    return frame(CLOSE, b"" if code is None else struct.pack("!H", code) + reason)


def pieces(opcode: int, payloads: Iterable[bytes]) -> bytes:
    """One message in fragments."""
    parts = list(payloads)
    last = len(parts) - 1
    return b"".join(frame(opcode if index == 0 else CONT, part, fin=index == last) for index, part in enumerate(parts))


def upgrade(port: int, key: str, *, method: str = "GET", **changed: str | None) -> bytes:
    """The opening request. `changed` names header fields with `_` for `-`; None leaves one out."""
    fields: dict[str, str | None] = {
        "host": f"127.0.0.1:{port}",
        "authorization": f"Bearer {key}",
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": NONCE,
        **{name.replace("_", "-"): value for name, value in changed.items()},
    }
    lines = [f"{method} {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items() if value is not None)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Peer:
    """The far end of a daemon's socket, as far as it is in the test's hands."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, *raw: bytes) -> None:
        self.writer.write(b"".join(raw))

    async def head(self) -> str:
        """The answer to the opening request, down to the empty line."""
        async with asyncio.timeout(WAIT_S):
            return (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")

    async def next(self) -> Frame:
        """Raises `EOFError` or `ConnectionError` when the hub has hung up."""
        async with asyncio.timeout(WAIT_S):
            first, second = await self.reader.readexactly(2)
            assert not second & 0x80, "a server does not mask"
            assert not first & 0x70, "no extension was agreed on"
            size = second & 0x7F
            if size == 126:
                (size,) = struct.unpack("!H", await self.reader.readexactly(2))
            elif size == 127:
                (size,) = struct.unpack("!Q", await self.reader.readexactly(8))
            return Frame(first & 0x0F, await self.reader.readexactly(size))

    async def until_closed(self) -> list[Frame]:
        """What else it says before it has hung up; a close frame is the last of it."""
        said: list[Frame] = []
        try:
            while True:
                said.append(await self.next())
        except (EOFError, ConnectionError):
            return said


@asynccontextmanager
async def dialled(port: int) -> AsyncIterator[Peer]:
    """Connected, and nothing said."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()


@asynccontextmanager
async def opened(port: int, key: str) -> AsyncIterator[Peer]:
    """A WebSocket on which no hello was said."""
    async with dialled(port) as peer:
        peer.send(upgrade(port, key))
        head = await peer.head()
        assert head.startswith("HTTP/1.1 101 "), head
        yield peer

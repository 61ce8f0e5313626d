"""A gateway on a real socket, and a client that sends bytes and reads what is answered, to the letter."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from taskyard.gateway.app import build_app
from taskyard.gateway.door import Deadlines, GatewaySettings
from taskyard.gateway.server import GatewayServer
from tests.support.gateway_client import WAIT_S
from tests.support.gateway_hub import GatewayHub

NO_BODY = frozenset({204, 304})


class Answer(Struct):
    """One response as it stood on the connection."""

    status: int
    headers: dict[str, str]
    body: bytes


@asynccontextmanager
async def serving(
    hub: GatewayHub, settings: GatewaySettings | None = None, deadlines: Deadlines | None = None
) -> AsyncIterator[GatewayServer]:
    server = GatewayServer(build_app(hub, settings or GatewaySettings(port=0), deadlines=deadlines))
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def exchanged(server: GatewayServer, *pieces: bytes) -> bytes:
    """Everything that comes back until the server closes. Between two pieces the loop has time for the first."""
    loop = asyncio.get_running_loop()
    # A bare socket: a stream forgets what was answered before a reset.
    with socket.socket() as line:
        line.setblocking(False)
        async with asyncio.timeout(WAIT_S):
            await loop.sock_connect(line, ("127.0.0.1", server.port))
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            heard = bytearray()
            with suppress(ConnectionError):
                for piece in pieces:
                    await loop.sock_sendall(line, piece)
                    for _ in range(3):
                        await asyncio.sleep(0)
            with suppress(ConnectionError):
                while some := await loop.sock_recv(line, 65536):
                    heard += some
            return bytes(heard)


def answers_in(heard: bytes, methods: Sequence[str] = ()) -> list[Answer]:
    """The responses that follow one another in it, and nothing else. `methods` of the requests, where one is HEAD."""
    found: list[Answer] = []
    while heard:
        head, separator, heard = heard.partition(b"\r\n\r\n")
        assert separator, f"a head that does not end: {head!r}"
        first, *lines = head.decode("latin-1").split("\r\n")
        version, status = first.split(" ")[:2]
        assert version == "HTTP/1.1", first
        if status == "100":
            continue
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        assert len(headers) == len(lines), f"a field is repeated: {lines}"
        body, heard = _body(int(status), headers, heard, is_head=list(methods)[len(found) : len(found) + 1] == ["HEAD"])
        found.append(Answer(int(status), headers, body))
    return found


def _body(status: int, headers: dict[str, str], rest: bytes, *, is_head: bool) -> tuple[bytes, bytes]:
    if is_head or status in NO_BODY:
        return b"", rest
    length = int(headers["content-length"])
    assert len(rest) >= length, f"cut short: {rest!r}"
    return rest[:length], rest[length:]

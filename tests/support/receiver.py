"""A receiver of notifications: a small HTTP server that answers as it is told and writes down what it heard."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from msgspec import Struct

WAIT_S: Final = 30.0
HANG: Final = -1
"""As a status: say nothing at all."""
FLOOD: Final = -2
"""Say yes, and then never stop."""


class Heard(Struct):
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Receiver:
    def __init__(self, answer: Callable[[int], int], host: str = "127.0.0.1") -> None:
        """`answer` is asked with the number of the request, from 1 on, for the status to answer with."""
        self._answer = answer
        self._host = host
        self._news = asyncio.Condition()
        self.heard: list[Heard] = []
        self.port = 0
        self.hurried = 0
        """The most requests that were ever under way at a time."""
        self._under_way = 0
        self._hangs: list[asyncio.StreamWriter] = []

    def hang_up(self) -> None:
        """On all that it says nothing to."""
        for writer in self._hangs:
            writer.close()

    @property
    def url(self) -> str:
        return f"http://{self._host}:{self.port}/hook"

    @property
    def ids(self) -> list[str]:
        return [one.id for one in self.heard]

    async def until(self, count: int) -> list[Heard]:
        """Returns when so many requests have come."""
        async with asyncio.timeout(WAIT_S), self._news:
            await self._news.wait_for(lambda: len(self.heard) >= count)
        return self.heard

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._under_way += 1
        self.hurried = max(self.hurried, self._under_way)
        try:
            await self._serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            self._under_way -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:-2])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.heard.append(Heard(headers, body))
        status = self._answer(len(self.heard))
        async with self._news:
            self._news.notify_all()
        if status == HANG:
            self._hangs.append(writer)
            await reader.read()
        elif status == FLOOD:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n")
            while True:
                writer.write(b"x" * 65_536)
                await writer.drain()
        else:
            writer.write(f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()


@asynccontextmanager
async def a_receiver(
    answer: Callable[[int], int] = lambda number: 204, *, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[Receiver]:
    receiver = Receiver(answer, host)
    server = await asyncio.start_server(receiver.serve, host, port)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()

"""Speaks to the gateway's application in process: requests, a daemon's socket, an event stream."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import msgspec

from taskyard.gateway.app import GatewayApp

Message = MutableMapping[str, Any]
WAIT_S = 20.0
"""Far more than anything takes, so that only a hang is one; what a test waits for beside it is longer still."""


HELLO = {"type": "hello", "protocol": 1, "boot_id": "b1", "name": "mac-1", "max_concurrent_tasks": 2}
"""What a daemon begins with."""


class Response(msgspec.Struct):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def _head(key: str | None, headers: dict[str, str] | None) -> list[tuple[bytes, bytes]]:
    given = {"host": "127.0.0.1:8420", **(headers or {})}
    if key is not None:
        given["authorization"] = f"Bearer {key}"
    return [(name.lower().encode(), value.encode()) for name, value in given.items()]


def _scope(kind: str, path: str, head: list[tuple[bytes, bytes]]) -> Message:
    path, _, query = path.partition("?")
    return {
        "type": kind,
        "http_version": "1.1",
        "scheme": "http" if kind == "http" else "ws",
        "path": unquote(path),
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": head,
        "client": ("10.0.0.1", 5000),
    }


class Client:
    """One caller: a key, and what it asks."""

    def __init__(self, app: GatewayApp, key: str | None = None) -> None:
        self.app = app
        self.key = key

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        parts: list[bytes] | None = None,
        headers: dict[str, str] | None = None,
        hang_up: asyncio.Event | None = None,
    ) -> Response:
        """`body` is encoded as JSON; `raw` is sent as it is; `parts` as it is, one after another.

        Who asks for something stays for the answer, or until told to hang up.
        """
        content = parts or [raw if raw is not None else b"" if body is None else msgspec.json.encode(body)]
        incoming = [
            {"type": "http.request", "body": part, "more_body": index < len(content) - 1}
            for index, part in enumerate(content)
        ]
        sent: list[Message] = []
        scope = {**_scope("http", path, _head(self.key, headers)), "method": method}

        async def receive() -> Message:
            if not incoming and (method == "GET" or hang_up is not None):
                await (hang_up or asyncio.Event()).wait()
            return incoming.pop(0) if incoming else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return Response(
            status=sent[0]["status"],
            headers={name.decode(): value.decode() for name, value in sent[0]["headers"]},
            body=b"".join(message.get("body", b"") for message in sent[1:]),
        )

    async def get(self, path: str, **given: Any) -> Response:
        return await self.request("GET", path, **given)

    async def post(self, path: str, body: object = None, **given: Any) -> Response:
        return await self.request("POST", path, body, **given)

    def stream(self, path: str, headers: dict[str, str] | None = None) -> "Connection":
        scope = {**_scope("http", path, _head(self.key, headers)), "method": "GET"}
        return Connection(self.app, scope, {"type": "http.request", "body": b"", "more_body": False})

    def socket(self, headers: dict[str, str] | None = None) -> "Connection":
        scope = _scope("websocket", "/api/v1/daemons/connect", _head(self.key, headers))
        return Connection(self.app, scope, {"type": "websocket.connect"})

    @asynccontextmanager
    async def daemon(self, **hello: object) -> "AsyncIterator[Connection]":
        """Connected and welcome."""
        async with self.socket() as connection:
            assert (await connection.next())["type"] == "websocket.accept"
            connection.say({**HELLO, **hello})
            (welcome,) = await connection.hear()
            assert welcome["type"] == "welcome"
            yield connection


class Connection:
    """A connection that stays open, as its far end sees it. Use as `async with`."""

    def __init__(self, app: GatewayApp, scope: Message, first: Message) -> None:
        self._app = app
        self._scope = scope
        self._to_app: asyncio.Queue[Message] = asyncio.Queue()
        self._to_app.put_nowait(first)
        self._from_app: asyncio.Queue[Message] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self.reads = asyncio.Event()
        """Clear it, and what the gateway sends is not taken any more."""
        self.reads.set()

    async def __aenter__(self) -> "Connection":
        self._task = asyncio.create_task(self._app(self._scope, self._to_app.get, self._send))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self.reads.set()
        kind = "http.disconnect" if self._scope["type"] == "http" else "websocket.disconnect"
        self._to_app.put_nowait({"type": kind, "code": 1000})
        async with asyncio.timeout(WAIT_S):
            await self._task

    async def _send(self, message: Message) -> None:
        await self.reads.wait()
        self._from_app.put_nowait(message)

    async def next(self) -> Message:
        async with asyncio.timeout(WAIT_S):
            return await self._from_app.get()

    async def chunk(self) -> str:
        """The next piece of a stream's body."""
        body: bytes = (await self.next()).get("body", b"")
        return body.decode()

    def say(self, *messages: object) -> None:
        encoded = msgspec.json.encode(messages[0] if len(messages) == 1 else list(messages))
        self.say_raw(encoded.decode())

    def say_raw(self, text: str) -> None:
        self._to_app.put_nowait({"type": "websocket.receive", "text": text})

    async def hear(self) -> list[dict[str, Any]]:
        """The messages of the next frame."""
        message = await self.next()
        assert message["type"] == "websocket.send", message
        heard = msgspec.json.decode(message["text"])
        return heard if isinstance(heard, list) else [heard]

    async def ended(self) -> None:
        assert self._task is not None
        async with asyncio.timeout(WAIT_S):
            await asyncio.shield(self._task)

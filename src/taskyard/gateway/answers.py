"""How an answer leaves: whole, as a stream, or in place of a WebSocket."""

import asyncio
import logging
from http import HTTPStatus
from typing import Final

import msgspec

from taskyard.gateway.asgi import Receive, Scope, Send
from taskyard.gateway.call import SECURITY, Reply, Stream

NO_BODY: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

log = logging.getLogger(__name__)
_encoder: Final = msgspec.json.Encoder()


async def send_reply(reply: Reply, send: Send) -> None:
    body = reply.value if isinstance(reply.value, bytes) else _encoder.encode(reply.value)
    headers = [*reply.security, *reply.headers]
    if reply.status not in NO_BODY:
        headers += [(b"content-type", reply.media_type.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_stream(stream: Stream, scope: Scope, receive: Receive, send: Send) -> None:
    headers = [*SECURITY, (b"content-type", stream.media_type.encode()), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["method"] == "HEAD":
        await stream.chunks.aclose()  # type: ignore[attr-defined]
        await send({"type": "http.response.body", "body": b""})
        return
    writer = asyncio.create_task(_write(stream, send))
    leaving = asyncio.create_task(gone(receive))
    try:
        await asyncio.wait((writer, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        writer.cancel()
        for result in await asyncio.gather(writer, leaving, return_exceptions=True):
            if isinstance(result, Exception) and not isinstance(result, OSError):
                log.error("event stream", exc_info=result)


async def _write(stream: Stream, send: Send) -> None:
    try:
        async for chunk in stream.chunks:
            if chunk:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
    finally:
        await stream.chunks.aclose()  # type: ignore[attr-defined]
    await send({"type": "http.response.body", "body": b""})


async def gone(receive: Receive) -> None:
    """Return when the caller has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def deny(reply: Reply, send: Send) -> None:
    """Refuse a WebSocket before it is one, with the same problem an HTTP caller would read."""
    body = _encoder.encode(reply.value)
    headers = [*SECURITY, (b"content-type", reply.media_type.encode()), *reply.headers]
    await send({"type": "websocket.http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body})

"""A request's body as it comes: within its bounds of size and time, and read to its end where it was refused."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from taskyard.gateway.asgi import Receive
from taskyard.gateway.call import RequestRefused
from taskyard.vocabulary import Refusal

BODY_S: Final = 30.0
UNREAD_S, UNREAD_BYTES_MAX = 5.0, 64 * 1024 * 1024
# Several times what any body may have; who sends more, or slower, has no claim to read the answer.
CLOSES: Final = (b"connection", b"close")


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, bytes_max: int) -> bytes:
    """Counted while it streams, so that no more than the limit is ever held."""
    if b"content-encoding" in headers:
        raise RequestRefused(Refusal.INVALID_INPUT, "Compressed bodies are not taken: send it as it is.")
    announced = headers.get(b"content-length", b"0")
    if announced.isdigit() and int(announced[:12]) > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(BODY_S):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                whole: bytes = message.get("body", b"")
                if len(whole) > bytes_max:
                    raise _too_large(bytes_max)
                return whole
            return await _read_parts(message, receive, bytes_max)
    except TimeoutError:
        raise RequestRefused(
            Refusal.INVALID_INPUT,
            f"The body did not come within {BODY_S:g} s.",
            headers=(CLOSES,),
        ) from None


async def _read_parts(message: Any, receive: Receive, bytes_max: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        if message["type"] != "http.request":
            raise RequestRefused(Refusal.INVALID_INPUT, "The connection ended before the body did.")
        part: bytes = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > bytes_max:
            raise _too_large(bytes_max)
        if not message.get("more_body"):
            return b"".join(parts)
        message = await receive()


def _too_large(bytes_max: int) -> RequestRefused:
    return RequestRefused(
        Refusal.TOO_LARGE,
        f"The body is too large: at most {bytes_max:,} bytes are possible here.",
        headers=(CLOSES,),
    )


async def read_away(receive: Receive) -> None:
    """What still comes of a body that was refused. Closed before that, a caller who reads only after it has sent all
    would find a broken connection instead of the answer."""
    left = UNREAD_BYTES_MAX
    with suppress(TimeoutError):
        async with asyncio.timeout(UNREAD_S):
            while left > 0:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body"):
                    return

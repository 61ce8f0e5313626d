"""A request's body as it comes: within its bounds of size and time."""

import asyncio
from collections.abc import Mapping
from typing import Any

from taskyard.gateway.asgi import Receive
from taskyard.gateway.call import RequestRefused
from taskyard.vocabulary import Refusal


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, bytes_max: int, deadline_s: float) -> bytes:
    """Counted while it streams, so that no more than the limit is ever held."""
    if b"content-encoding" in headers:
        raise RequestRefused(Refusal.INVALID_INPUT, "Compressed bodies are not taken: send it as it is.")
    if announced(headers) > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(deadline_s):
            message = await receive()
            if message["type"] == "http.request" and not message.get("more_body"):
                whole: bytes = message.get("body", b"")
                if len(whole) > bytes_max:
                    raise _too_large(bytes_max)
                return whole
            return await _read_parts(message, receive, bytes_max)
    except TimeoutError:
        raise RequestRefused(
            Refusal.REQUEST_TIMEOUT, f"The body did not come within {deadline_s:g} s; send it faster, or less of it."
        ) from None


def announced(headers: Mapping[bytes, bytes]) -> int:
    """How many bytes are to come, by what the sender says of it."""
    # Zeros in front may be more digits than `int` reads.
    return int(headers.get(b"content-length", b"").strip().lstrip(b"0") or b"0")


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
    return RequestRefused(Refusal.TOO_LARGE, f"The body is too large: at most {bytes_max:,} bytes are possible here.")

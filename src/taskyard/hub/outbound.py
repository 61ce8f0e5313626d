"""Requests that the hub makes on a user's behalf, and the guard around them (`gateway/destinations.py` has the rules).

    outbound = Outbound()
    answer = await outbound.fetch(Request(url="https://example.com/hook", body=b"{}"), allowed)

A name is looked up for every request, all that it stands for is judged, and the connection is made to one of the very
addresses that were judged, under the name that was asked for. Nothing is followed elsewhere, no proxy is taken from
the environment, and of an answer no more is read than is worth keeping.
"""

import asyncio
import ipaddress
import logging
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from msgspec import Struct
from yarl import URL

from taskyard.gateway.destinations import (
    Address,
    Allowed,
    BadDestination,
    Destination,
    not_public,
    objection_to,
    objection_to_addresses,
    read_destination,
)
from taskyard.gateway.retry_after import retry_after_ms
from taskyard.hub.clock import read_clock

log: Final = logging.getLogger(__name__)

USER_AGENT: Final = "taskyard"
ANSWER_BYTES_MAX: Final = 64 * 1024
ADDRESSES_MAX: Final = 8
# All are judged, and so many are tried: who names a thousand wants us to knock on a thousand doors.
LOOKUPS_MAX: Final = 256
# A look-up cannot be called off and may take half a minute, so there are some that nobody waits for any more.
_LOOKUPS: Final = threading.BoundedSemaphore(LOOKUPS_MAX)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""A host's addresses, for this port; `OSError`: there are none."""


class Request(Struct, frozen=True, kw_only=True):
    url: str
    method: str = "POST"
    headers: Mapping[str, str] = {}
    body: bytes = b""
    timeout_s: float = 15.0
    """From looking up the name to the last byte that is read."""


class Answer(Struct, frozen=True, kw_only=True):
    """What came back, whatever its status."""

    status: int
    body: bytes
    retry_after_ms: int | None = None
    """For how long it wants to be left alone: a day at most."""

    @property
    def is_ok(self) -> bool:
        return 200 <= self.status < 300


class Unreached(Struct, frozen=True):
    """Nobody answered. The reason names the host and nothing else of the address, which may hold a secret."""

    reason: str
    is_refused: bool = False
    """Nothing was sent: the address is not one that requests are made to."""


class Outbound:
    """`resolve` and `tls` are for those who need another resolver or other authorities than the machine's."""

    def __init__(self, resolve: Resolve | None = None, tls: ssl.SSLContext | None = None) -> None:
        self._resolve = resolve or _resolve
        self._tls = tls

    async def fetch(self, request: Request, allowed: Allowed) -> Answer | Unreached:
        try:
            destination = read_destination(request.url)
        except BadDestination as bad:
            return Unreached(str(bad), is_refused=True)
        objection = objection_to(destination, allowed)
        if objection is not None:
            return Unreached(objection, is_refused=True)
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._reach(request, destination, allowed)
        except TimeoutError:
            return Unreached(f"{destination.host} did not answer within {request.timeout_s:g} s.")
        except Exception as error:
            if not isinstance(error, OSError | aiohttp.ClientError):
                # Whatever a stranger makes a library stumble over must stop nobody; were it our fault, this says where.
                log.exception("a request was not made")
            return Unreached(f"{destination.host} could not be reached: {_said(error)}.")

    async def _reach(self, request: Request, destination: Destination, allowed: Allowed) -> Answer | Unreached:
        literal = destination.address
        addresses = [literal] if literal is not None else await self._look_up(destination)
        if not addresses:
            return Unreached(not_public(destination), is_refused=True)
        objection = objection_to_addresses(destination, addresses, allowed)
        if objection is not None:
            return Unreached(objection, is_refused=True)
        if self._tls is None:
            # Reading the machine's authorities takes a while, and is done once.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        guard = Guard(addresses[:ADDRESSES_MAX])
        connector = aiohttp.TCPConnector(
            resolver=guard, socket_factory=guard.socket, ssl=self._tls, force_close=True, use_dns_cache=False
        )
        async with (
            aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False, trust_env=False
            ) as session,
            session.request(
                request.method,
                URL(destination.url, encoded=True),
                headers={"User-Agent": USER_AGENT, "Accept-Encoding": "identity", **request.headers},
                data=request.body or None,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=request.timeout_s),
            ) as response,
        ):
            return await _read(response)

    async def _look_up(self, destination: Destination) -> list[Address]:
        try:
            found = await self._resolve(destination.host, destination.port)
        except OSError:
            return []
        return [ipaddress.ip_address(address) for address in dict.fromkeys(found)]


class Guard(AbstractResolver):
    """Hands out the addresses that were judged, and opens a socket to no other, whoever asks for one."""

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._addresses = addresses

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=str(address),
                port=port,
                family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in self._addresses
        ]

    def socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        family, kind, proto, _, place = info
        if ipaddress.ip_address(place[0]) not in self._addresses:
            raise OSError("the address is not the one that was judged")
        return socket.socket(family, kind, proto)

    async def close(self) -> None:
        """It holds nothing."""


async def _resolve(host: str, port: int) -> Sequence[str]:
    """On a thread of its own: a pool that others use too would be held up by names that nobody answers for."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()
    if not _LOOKUPS.acquire(blocking=False):
        raise OSError("too many names are being looked up")

    def look_up() -> None:
        try:
            found: list[str] | OSError = [
                str(place[0]) for *_, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            ]
        except OSError as error:
            found = error
        finally:
            _LOOKUPS.release()
        # Whoever asked may have gone, and the loop with it.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle, answer, found)

    threading.Thread(target=look_up, name="lookup", daemon=True).start()
    return await answer


def _settle(answer: "asyncio.Future[list[str]]", found: list[str] | OSError) -> None:
    if answer.done():
        return
    if isinstance(found, OSError):
        answer.set_exception(found)
    else:
        answer.set_result(found)


async def _read(response: aiohttp.ClientResponse) -> Answer:
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        if len(body) > ANSWER_BYTES_MAX:
            break
    response.close()
    return Answer(
        status=response.status,
        body=bytes(body[:ANSWER_BYTES_MAX]),
        retry_after_ms=retry_after_ms(response.headers.get("Retry-After"), "", read_clock().wall),
    )


def _said(error: Exception) -> str:
    """What went wrong, without the address that libraries put around it."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return "its certificate is not valid"
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return "it does not speak TLS as it should"
    if isinstance(error, aiohttp.ClientConnectorError):
        return "it does not take the connection"
    if isinstance(error, aiohttp.ServerDisconnectedError | ConnectionError):
        return "it ended the connection without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer broke off"
    return "its answer is not HTTP"

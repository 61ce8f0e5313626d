"""Real sockets: what only the server can see."""

import asyncio
from collections.abc import AsyncIterator
from typing import NoReturn

import pytest

from taskyard.core.commands import SubmitTasks
from taskyard.gateway import server as server_module
from taskyard.gateway.app import build_app
from taskyard.gateway.door import Deadlines, GatewaySettings
from taskyard.gateway.server import GatewayServer
from taskyard.vocabulary import Scope
from tests.support.gateway_client import WAIT_S
from tests.support.gateway_hub import GatewayHub
from tests.support.gateway_socket import exchanged, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server(hub: GatewayHub) -> AsyncIterator[GatewayServer]:
    async with serving(hub, GatewaySettings(port=0, connections_max=3)) as built:
        yield built


async def test_a_request_through_a_real_socket(hub: GatewayHub, server: GatewayServer) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    body = b'{"input": "a"}'
    head = f"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n"
    answer = await exchanged(server, f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    assert answer.startswith(b"HTTP/1.1 201 Created\r\n")
    assert b"\r\nserver:" not in answer.lower()


async def test_a_head_request_is_answered_without_a_body(server: GatewayServer) -> None:
    answer = await exchanged(server, b"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert (b"content-length: 15" in head, body) == (True, b"")


@pytest.mark.parametrize(
    "part", [b"", b"\r\n", b"G", b"GET /healthz HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\nA: b"]
)
async def test_a_head_that_does_not_end_is_closed(hub: GatewayHub, part: bytes) -> None:
    async with serving(hub, deadlines=Deadlines(head_s=0.05)) as server:
        assert await exchanged(server, part) == b""


async def test_a_head_without_bound_is_refused(server: GatewayServer) -> None:
    head = b"GET /healthz HTTP/1.1\r\n" + b"".join(b"x-%d: %s\r\n" % (n, b"y" * 1000) for n in range(100))
    assert (await exchanged(server, head)).startswith(b"HTTP/1.1 413 ")


async def test_an_address_without_bound_is_called_too_large(server: GatewayServer) -> None:
    head = b"DELETE /api/v1/tasks/T-001?reason=" + b"r" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    answer = await exchanged(server, head)
    assert answer.startswith(b"HTTP/1.1 414 ")
    assert b"URI_TOO_LONG" in answer


async def test_what_is_no_http_is_a_problem(server: GatewayServer) -> None:
    assert b"application/problem+json" in await exchanged(server, b"\x00\x01 nonsense\r\n\r\n")


async def test_connections_have_a_bound(server: GatewayServer) -> None:
    opened = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
    for reader, writer in opened:
        # One that is answered is there, and stays.
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
    assert await exchanged(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") == b""
    for _, writer in opened:
        writer.close()


async def test_a_port_in_use_is_an_error_at_the_start(hub: GatewayHub, server: GatewayServer) -> None:
    second = GatewayServer(build_app(hub, GatewaySettings(port=server.port)))
    with pytest.raises(OSError, match="in use"):
        await second.start()


async def test_stopping_ends_open_streams(hub: GatewayHub, monkeypatch: pytest.MonkeyPatch) -> None:
    # Were a stream only cut off when its time to linger is over, that would take longer than this waits.
    monkeypatch.setattr(server_module, "LINGER_S", 3 * WAIT_S)
    server = GatewayServer(build_app(hub, GatewaySettings(port=0)))
    await server.start()
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode())
    await reader.readuntil(b": taskyard\n\n")
    async with asyncio.timeout(WAIT_S):
        await server.stop()
        await reader.read()
    writer.close()


async def test_who_still_waits_when_the_server_stops_is_told_to_try_again(
    hub: GatewayHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "LINGER_S", 0.0)
    server = GatewayServer(build_app(hub, GatewaySettings(port=0)))
    await server.start()
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    waits = asyncio.Event()

    async def unanswered(command: SubmitTasks) -> NoReturn:
        waits.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets that event")

    monkeypatch.setattr(hub, "submit", unanswered)
    head = f"POST /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    asked = asyncio.create_task(exchanged(server, f"{head}Content-Length: 14\r\n\r\n".encode() + b'{"input": "a"}'))
    await waits.wait()
    await server.stop()
    answer = await asked
    assert answer.startswith(b"HTTP/1.1 503")
    assert b'"code":"OUTCOME_UNKNOWN"' in answer


async def test_who_reads_only_after_all_was_sent_reads_that_it_was_too_much(
    hub: GatewayHub, server: GatewayServer
) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    body = b'{"input": "' + b"x" * (17 * 1024 * 1024) + b'"}'
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    async with asyncio.timeout(WAIT_S):
        writer.write(head.encode() + body)
        await writer.drain()
        answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"\r\nconnection: close\r\n" in answer
    assert b'"code":"TOO_LARGE"' in answer


async def test_what_is_too_much_is_not_read_without_end(hub: GatewayHub) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nContent-Length: 99999999\r\n\r\n"
    async with serving(hub, deadlines=Deadlines(unread_s=0.05)) as server:
        assert (await exchanged(server, head.encode())).startswith(b"HTTP/1.1 413 ")

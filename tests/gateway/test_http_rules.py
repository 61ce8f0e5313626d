"""What of HTTP is refused, and how: each rule once, by name; `test_http_abuse.py` has the shapes that break them."""

import asyncio
import logging
import socket
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from taskyard.gateway.app import build_app
from taskyard.gateway.call import RequestRefused
from taskyard.gateway.door import Deadlines, GatewaySettings
from taskyard.gateway.head import fields_of
from taskyard.gateway.server import GatewayServer
from taskyard.hub.observe import Log, Records
from taskyard.vocabulary import Scope
from tests.support.gateway_client import WAIT_S, Client
from tests.support.gateway_hub import GatewayHub
from tests.support.gateway_socket import answers_in, exchanged, serving

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
TASK = '{"input":"a"}'
TRACE = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


async def a_key(hub: GatewayHub, *scopes: Scope) -> str:
    return await hub.a_key(await hub.a_user("ann"), *(scopes or (Scope.TASKS,)))


def post(*fields: str, body: str = "") -> bytes:
    lines = ["POST /api/v1/tasks HTTP/1.1", "Host: localhost", *fields]
    return ("\r\n".join(lines) + f"\r\n\r\n{body}").encode()


# --- trailers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
@pytest.mark.parametrize("chunks", ["", f"d\r\n{TASK}\r\n", "".join(f"1\r\n{letter}\r\n" for letter in TASK)])
@pytest.mark.parametrize("packets", [1, 2, 3])
async def test_a_trailer_does_not_sign_a_request_in(hub: GatewayHub, before: str, chunks: str, packets: int) -> None:
    key = await a_key(hub)
    head = before.encode() + post("Transfer-Encoding: chunked")
    end = f"{chunks}0\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    half = len(end) // 2
    pieces = {1: [head + end], 2: [head, end], 3: [head, end[:half], end[half:]]}[packets]
    async with serving(hub, deadlines=Deadlines(unread_s=0.1)) as server:
        heard = await exchanged(server, *pieces, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    statuses = [answer.status for answer in answers_in(heard)]
    assert statuses[: 1 + bool(before)] == [*([200] if before else []), 401]
    assert not hub.state.tasks


# --- repeated fields ---------------------------------------------------------------------------------------


def fields(*given: tuple[bytes, bytes], version: str = "1.1") -> dict[bytes, bytes]:
    return fields_of({"headers": [(b"host", b"localhost"), *given], "http_version": version})


@pytest.mark.parametrize("name", ["host", "authorization", "idempotency-key", "origin", "cookie", "content-type"])
def test_a_field_that_decides_something_stands_once(name: str) -> None:
    with pytest.raises(RequestRefused, match=f"`{name.title()}` stands more than once") as refused:
        fields((name.encode(), b"a"), (name.encode(), b"a"))
    assert refused.value.code == "BAD_REQUEST"


def test_two_traceparents_count_as_none_and_several_tracestates_are_one_list() -> None:
    combined = fields(
        (b"traceparent", TRACE), (b"tracestate", b"a=b"), (b"traceparent", TRACE), (b"tracestate", b"c=d")
    )
    assert combined == {b"host": b"localhost", b"tracestate": b"a=b, c=d"}
    assert fields((b"traceparent", TRACE))[b"traceparent"] == TRACE


def test_spaces_around_a_value_are_no_part_of_it() -> None:
    assert fields((b"mcp-name", b"\t a b \t"))[b"mcp-name"] == b"a b"
    assert fields((b"tracestate", b"a=b "), (b"tracestate", b" c=d"))[b"tracestate"] == b"a=b, c=d"


async def test_a_task_sent_with_two_traceparents_has_a_trace_of_its_own(hub: GatewayHub) -> None:
    trace = f"traceparent: {TRACE.decode()}"
    sent = post(
        f"Authorization: Bearer {await a_key(hub)}", trace, trace, "Connection: close", "Content-Length: 13", body=TASK
    )
    async with serving(hub) as server:
        assert [answer.status for answer in answers_in(await exchanged(server, sent))] == [201]
    assert [task.traceparent for task in hub.state.tasks.values()] == [None]


async def test_a_refused_request_says_what_is_wrong_in_the_form_of_all_problems(hub: GatewayHub) -> None:
    async with serving(hub) as server:
        (answer,) = answers_in(
            await exchanged(server, post("Idempotency-Key: a", "Idempotency-Key: b", "Content-Length: 0"))
        )
        (other,) = answers_in(await exchanged(server, b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"))
    for one in (answer, other):
        assert one.headers["content-type"] == "application/problem+json"
        assert one.headers["connection"] == "close"
        assert "date" in one.headers
        assert b'"code":"BAD_REQUEST"' in one.body
    assert b"`Idempotency-Key` stands more than once in this request; send it once." in answer.body


# --- time --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["Content-Length: 13", "Transfer-Encoding: chunked"])
async def test_a_body_that_comes_late_is_a_timeout(hub: GatewayHub, how: str) -> None:
    sent = post(f"Authorization: Bearer {await a_key(hub)}", how)
    async with serving(hub, deadlines=Deadlines(body_s=0.1)) as server:
        (answer,) = answers_in(await exchanged(server, sent, b"5"))
    assert (answer.status, answer.headers["connection"]) == (408, "close")
    assert b'"code":"REQUEST_TIMEOUT"' in answer.body
    assert not hub.state.tasks


async def test_a_head_may_take_its_time_while_an_answer_before_it_is_awaited(hub: GatewayHub) -> None:
    """Requests behind one that waits are not read on, so a head among them is late by our doing."""
    key = await a_key(hub, Scope.TASKS)
    task_id = (await Client(build_app(hub, GatewaySettings()), key).post("/api/v1/tasks", {"input": "a"})).json["id"]
    waits = f"GET /api/v1/tasks/{task_id}?wait_s=0.3 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n"
    asks = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    async with serving(hub, deadlines=Deadlines(head_s=0.1)) as server:
        heard = await exchanged(server, f"{waits}{asks}\r\n{asks}".encode())
    assert [answer.status for answer in answers_in(heard)] == [200, 200]


# --- a body without a key ----------------------------------------------------------------------------------


async def sent_until_closed(server: GatewayServer, head: bytes, body: bytes, bytes_max: int) -> tuple[int, bytes]:
    """How many bytes of a body without end were taken, and what was answered."""
    loop = asyncio.get_running_loop()
    with socket.socket() as line:
        line.setblocking(False)
        async with asyncio.timeout(WAIT_S):
            await loop.sock_connect(line, ("127.0.0.1", server.port))
            await loop.sock_sendall(line, head)
            answer = await loop.sock_recv(line, 65536)
            taken = 0
            try:
                while taken < bytes_max:
                    await loop.sock_sendall(line, body)
                    taken += len(body)
            except ConnectionError:
                pass
            return taken, answer


@pytest.mark.parametrize(
    ("how", "piece", "least", "most"),
    [
        ("Transfer-Encoding: chunked", b"10000\r\n" + b"x" * 65536 + b"\r\n", 15 * MIB, 40 * MIB),
        (f"Content-Length: {200 * MIB}", b"x" * 65536, 0, 20 * MIB),
    ],
)
async def test_a_body_without_a_key_is_answered_at_once_and_not_read_for_ever(
    hub: GatewayHub, how: str, piece: bytes, least: int, most: int
) -> None:
    """What the system holds of a connection is several MiB, and counts as taken."""
    async with serving(hub, deadlines=Deadlines(unread_s=WAIT_S)) as server:
        taken, answer = await sent_until_closed(server, post(how), piece, 200 * MIB)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"\r\nconnection: close\r\n" in answer
    assert least <= taken <= most


async def test_a_body_without_a_key_that_trickles_is_left_after_a_while(hub: GatewayHub) -> None:
    async with serving(hub, deadlines=Deadlines(unread_s=0.1)) as server:
        (answer,) = answers_in(await exchanged(server, post("Content-Length: 1000"), b"x"))
    assert answer.status == 401


async def test_a_body_that_came_whole_costs_no_connection(hub: GatewayHub) -> None:
    sent = post("Content-Length: 13", body=TASK)
    async with serving(hub) as server:
        heard = await exchanged(server, sent, sent, b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert [answer.status for answer in answers_in(heard)] == [401, 401, 403]


async def test_an_answer_that_is_read_slowly_is_not_cut_off_by_the_close(hub: GatewayHub) -> None:
    """The last of 8 MiB is answered with a close while much of it still waits in the hub for its reader."""
    key = await a_key(hub)
    task_id = (
        await Client(build_app(hub, GatewaySettings()), key).post("/api/v1/tasks", {"input": "x" * 256 * 1024})
    ).json["id"]
    asked = f"GET /api/v1/tasks/{task_id} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    loop = asyncio.get_running_loop()
    async with serving(hub, deadlines=Deadlines(unread_s=0.05)) as server, asyncio.timeout(WAIT_S):
        with socket.socket() as line:
            line.setblocking(False)
            await loop.sock_connect(line, ("127.0.0.1", server.port))
            await loop.sock_sendall(line, f"{asked}\r\n".encode() * 31 + f"{asked}Connection: close\r\n\r\n".encode())
            heard = bytearray()
            while some := await loop.sock_recv(line, 65536):
                heard += some
                await asyncio.sleep(0.005)
    assert [answer.status for answer in answers_in(bytes(heard))] == [200] * 32


# --- counting ----------------------------------------------------------------------------------------------


class Kept:
    """A log that is kept here."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []

    def write(self, lines: bytes) -> None:
        self.lines.append(lines)


@pytest.fixture
def kept() -> Iterator[Kept]:
    """What `hub.log` would have."""
    sink = Kept()
    handler = Records(Log(sink))
    logging.getLogger().addHandler(handler)
    yield sink
    logging.getLogger().removeHandler(handler)


async def test_malformed_requests_are_counted_and_have_no_line_in_the_log(hub: GatewayHub, kept: Kept) -> None:
    key = await a_key(hub, Scope.ADMIN)
    asks = (
        f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\nConnection: close\r\n\r\n".encode()
    )
    to_h2 = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, close\r\nUpgrade: h2c\r\n\r\n"
    coded = post("Transfer-Encoding: gzip, chunked", body="0\r\n\r\n")
    async with serving(hub) as server:
        for sent in (
            b"\0",
            b"GET / HTTP/1.1\r\n\r\n",
            coded,
            post("Host: a"),
            to_h2,
            socket_asked(),
            socket_asked("Host: a"),
        ):
            await exchanged(server, sent)
        (answer,) = answers_in(await exchanged(server, asks))
    families = {one.name: one for one in text_string_to_metric_families(answer.body.decode())}
    assert families["taskyard_http_malformed_requests"].samples[0].value == 5
    assert not kept.lines


def socket_asked(*fields: str) -> bytes:
    """Without a key."""
    lines = [
        "GET /api/v1/daemons/connect HTTP/1.1",
        "Host: localhost",
        *fields,
        "Connection: Upgrade",
        "Upgrade: websocket",
    ]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


# --- streams -----------------------------------------------------------------------------------------------


async def test_head_of_a_stream_is_answered_and_ends(hub: GatewayHub) -> None:
    asked = f"/api/v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {await a_key(hub)}\r\n"
    async with serving(hub) as server:
        heard = await exchanged(server, f"HEAD {asked}\r\nHEAD {asked}Connection: close\r\n\r\n".encode())
    assert [answer.status for answer in answers_in(heard, ["HEAD", "HEAD"])] == [200, 200]

"""Requests on a user's behalf, through real sockets: who is connected to, and what of an answer is read."""

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from email.utils import format_datetime
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from taskyard.gateway.destinations import Allowed, read_allowed
from taskyard.hub.outbound import ANSWER_BYTES_MAX, Answer, Guard, Outbound, Request, Unreached
from tests.support.ports import free_port

LOOPBACK = read_allowed(["127.0.0.0/8"], [443])
NOTHING = Allowed()
DAY_MS = 86_400_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

pytestmark = pytest.mark.anyio

Serve = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Names:
    """A resolver that answers as it is told, another time perhaps something else."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer:
            raise OSError("no such name")
        return answer


@asynccontextmanager
async def a_receiver(serve: Serve, tls: ssl.SSLContext | None = None) -> AsyncIterator[tuple[int, list[bytes]]]:
    heard: list[bytes] = []

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            heard.append(head)
            await serve(head, writer)
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1], heard
    finally:
        server.close()


def says(answer: bytes) -> Serve:
    async def serve(_head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return serve


async def hangs(_head: bytes, _writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(60)


async def floods(_head: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


async def dribbles(_head: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.05)


async def test_a_name_is_called_under_its_name_at_the_address_that_was_judged() -> None:
    names = Names(["127.0.0.1"])
    async with a_receiver(says(OK)) as (port, heard):
        request = Request(url=f"http://hooks.test:{port}/a?b=c", headers={"X-One": "1"}, body=b"{}")
        answer = await Outbound(names).fetch(request, LOOPBACK)
    assert answer == Answer(status=200, body=b"ok")
    assert names.asked == [("hooks.test", port)]
    [head] = heard
    assert head.startswith(b"POST /a?b=c HTTP/1.1\r\n")
    assert f"Host: hooks.test:{port}".encode() in head
    assert b"X-One: 1" in head


@pytest.mark.parametrize(
    "addresses",
    [
        ["169.254.169.254"],
        ["fe80::1%lo"],
        ["1.1.1.1", "127.0.0.1"],
    ],
)
async def test_a_name_that_stands_for_a_private_address_is_not_called(addresses: list[str]) -> None:
    answer = await Outbound(Names(addresses)).fetch(Request(url="https://hooks.test/"), NOTHING)
    assert isinstance(answer, Unreached)
    assert answer.is_refused
    assert (
        answer.reason
        == "hooks.test does not resolve, or not to public addresses only, and `notifications.allow` does not list it."
    )


async def test_a_name_that_changes_its_mind_is_judged_at_every_request() -> None:
    # Given a name that is allowed at first and then turns to the machine beside the hub
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with a_receiver(says(OK)) as (port, heard):
        outbound, request = Outbound(names), Request(url=f"http://hooks.test:{port}/")
        first, second = await outbound.fetch(request, LOOPBACK), await outbound.fetch(request, LOOPBACK)
    assert isinstance(first, Answer)
    assert isinstance(second, Unreached)
    assert second.is_refused
    # And within a request it is asked once: there is no second answer to connect to
    assert len(names.asked) == 2
    assert len(heard) == 1


async def test_no_socket_is_opened_to_an_address_that_was_not_judged() -> None:
    guard = Guard([ipaddress.ip_address("127.0.0.1")])
    guard.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80))).close()
    with pytest.raises(OSError, match="not the one that was judged"):
        guard.socket((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.2", 80)))


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_nothing_is_followed_elsewhere(status: int) -> None:
    async with a_receiver(says(OK)) as (inside, unheard):
        redirect = f"HTTP/1.1 {status} Go\r\nLocation: http://127.0.0.1:{inside}/\r\nContent-Length: 0\r\n\r\n"
        async with a_receiver(says(redirect.encode())) as (port, _heard):
            answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/"), LOOPBACK)
    assert isinstance(answer, Answer)
    assert (answer.status, answer.is_ok) == (status, False)
    assert unheard == []


async def test_of_a_giant_answer_no_more_is_read_than_is_kept() -> None:
    async with a_receiver(floods) as (port, _heard):
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/"), LOOPBACK)
    assert isinstance(answer, Answer)
    assert len(answer.body) == ANSWER_BYTES_MAX


@pytest.mark.parametrize("serve", [hangs, dribbles])
async def test_who_answers_too_slowly_has_not_answered(serve: Serve) -> None:
    async with a_receiver(serve) as (port, _heard):
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/", timeout_s=0.2), LOOPBACK)
    assert answer == Unreached("127.0.0.1 did not answer within 0.2 s.")


async def test_a_name_that_is_not_found_in_time_has_not_answered() -> None:
    async def never(_host: str, _port: int) -> Sequence[str]:
        await asyncio.sleep(60)
        raise AssertionError

    answer = await Outbound(never).fetch(Request(url="https://hooks.test/", timeout_s=0.05), NOTHING)
    assert answer == Unreached("hooks.test did not answer within 0.05 s.")


async def test_a_name_that_stands_for_nothing_is_told_from_a_private_one_by_nothing() -> None:
    nothing, private = [
        await Outbound(names).fetch(Request(url="https://hooks.test/"), NOTHING)
        for names in (Names([]), Names(["10.0.0.1"]))
    ]
    assert nothing == private


async def test_names_are_looked_up_by_the_machine_unless_told_otherwise() -> None:
    async with a_receiver(says(OK)) as (port, heard):
        answer = await Outbound().fetch(Request(url=f"http://localhost:{port}/"), read_allowed(["localhost"], [443]))
    assert isinstance(answer, Answer)
    assert len(heard) == 1
    refused = await Outbound().fetch(Request(url="https://localhost/"), NOTHING)
    unknown = await Outbound().fetch(Request(url="https://nobody.invalid/", timeout_s=10), NOTHING)
    assert isinstance(refused, Unreached)
    assert isinstance(unknown, Unreached)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"", "it ended the connection without an answer"),
        (b"SSH-2.0-OpenSSH\r\n", "its answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", "its answer broke off"),
    ],
)
async def test_a_receiver_that_does_not_speak_as_it_should_is_told_of(said: bytes, reason: str) -> None:
    async with a_receiver(says(said)) as (port, _heard):
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/secret-path"), LOOPBACK)
    assert answer == Unreached(f"127.0.0.1 could not be reached: {reason}.")


async def test_a_port_that_nobody_listens_on_is_told_of_without_the_path() -> None:
    answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{free_port()}/secret-path"), LOOPBACK)
    assert answer == Unreached("127.0.0.1 could not be reached: it does not take the connection.")


async def test_what_is_not_an_address_is_not_called() -> None:
    answer = await Outbound().fetch(Request(url="https://user@example.com/"), NOTHING)
    assert isinstance(answer, Unreached)
    assert answer.is_refused


async def test_no_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    async with a_receiver(says(OK)) as (proxy, unheard), a_receiver(says(OK)) as (port, heard):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy}")
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/told"), LOOPBACK)
    assert isinstance(answer, Answer)
    # Other threads of this process have the same environment, and may send to the proxy what they like.
    assert (len(heard), [head for head in unheard if b"/told" in head]) == (1, [])


@pytest.mark.parametrize(
    ("said", "least_ms", "most_ms"),
    [
        (lambda: format_datetime(_in_90_s(), usegmt=True), 60_000, 90_000),
        (lambda: "99999999999", DAY_MS, DAY_MS),
        (lambda: "5000", 5_000_000, 5_000_000),
        (lambda: "Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
    ],
)
async def test_a_receiver_says_when_to_come_back_in_seconds_or_by_a_date(
    said: Callable[[], str], least_ms: int, most_ms: int
) -> None:
    busy = f"HTTP/1.1 503 Busy\r\nRetry-After: {said()}\r\nContent-Length: 0\r\n\r\n".encode()
    async with a_receiver(says(busy)) as (port, _):
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/"), LOOPBACK)
    assert isinstance(answer, Answer)
    assert answer.retry_after_ms is not None
    assert least_ms <= answer.retry_after_ms <= most_ms


def _in_90_s() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=90)


@pytest.mark.parametrize("said", ["soon", "-5", "nan", "", "x" * 1000])
async def test_what_cannot_be_understood_says_nothing(said: str) -> None:
    busy = f"HTTP/1.1 503 Busy\r\nRetry-After: {said}\r\nContent-Length: 0\r\n\r\n".encode()
    async with a_receiver(says(busy)) as (port, _):
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/"), LOOPBACK)
    assert isinstance(answer, Answer)
    assert answer.retry_after_ms is None


async def test_whoever_is_asked_hears_who_asks() -> None:
    async with a_receiver(says(OK)) as (port, heard):
        await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/", method="GET"), LOOPBACK)
    [head] = heard
    assert b"\r\nUser-Agent: taskyard\r\n" in head


async def test_a_compressed_answer_is_not_unpacked() -> None:
    packed = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nbomb"
    async with a_receiver(says(packed)) as (port, heard):
        answer = await Outbound().fetch(Request(url=f"http://127.0.0.1:{port}/"), LOOPBACK)
    assert isinstance(answer, Answer)
    assert answer.body == b"bomb"
    assert b"Accept-Encoding: identity" in heard[0]


def _certificate(tmp_path: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """(of a receiver of this name, of whoever trusts it)."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "receiver.pem"
    pem.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


async def test_the_certificate_is_that_of_the_name_and_not_of_the_address(tmp_path: Path) -> None:
    server, trusting = _certificate(tmp_path, "hooks.test")
    async with a_receiver(says(OK), server) as (port, heard):
        outbound = Outbound(Names(["127.0.0.1"]), trusting)
        right = await outbound.fetch(Request(url=f"https://hooks.test:{port}/"), LOOPBACK)
        wrong = await outbound.fetch(Request(url=f"https://other.test:{port}/"), LOOPBACK)
        unknown = await Outbound(Names(["127.0.0.1"])).fetch(Request(url=f"https://hooks.test:{port}/"), LOOPBACK)
    assert isinstance(right, Answer)
    assert wrong == Unreached("other.test could not be reached: its certificate is not valid.")
    assert unknown == Unreached("hooks.test could not be reached: its certificate is not valid.")
    assert len(heard) == 1


async def test_a_receiver_without_tls_is_not_spoken_to_in_the_clear() -> None:
    heard: list[bytes] = []

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(65_536))
        writer.write(b"HTTP/1.1 400 Speak plainly\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    url = f"https://hooks.test:{server.sockets[0].getsockname()[1]}/secret-path"
    answer = await Outbound(Names(["127.0.0.1"])).fetch(Request(url=url, body=b"secret"), LOOPBACK)
    server.close()
    assert answer == Unreached("hooks.test could not be reached: it does not speak TLS as it should.")
    assert b"secret" not in heard[0]

"""A daemon's messages past the queue and the task of its socket: heard as they arrive, told as they are decided."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from taskyard.core.daemon_commands import Beat, LeaveDaemon
from taskyard.gateway import pace
from taskyard.gateway.app import build_app
from taskyard.gateway.auth import NOBODY
from taskyard.gateway.daemon_socket import DaemonSession
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import GatewayServer
from taskyard.vocabulary import Scope
from taskyard.wire import frames
from tests.support.gateway_client import WAIT_S
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio

HELLO = b'{"type":"hello","protocol":1,"boot_id":"b1","name":"mac-1","max_concurrent_tasks":2}'
BEAT = b'{"type":"heartbeat"}'


@pytest.fixture
async def daemon(hub: GatewayHub) -> AsyncIterator[ClientConnection]:
    """A real socket, welcome."""
    server = GatewayServer(build_app(hub, GatewaySettings(port=0)))
    await server.start()
    key = await hub.a_key(await hub.a_user("ann"), Scope.DAEMON)
    url = f"ws://127.0.0.1:{server.port}/api/v1/daemons/connect"
    async with connect(url, additional_headers={"Authorization": f"Bearer {key}"}, proxy=None) as socket:
        await socket.send(HELLO, text=True)
        assert [message["type"] for message in await heard(socket)] == ["welcome"]
        yield socket
    await server.stop()


async def heard(socket: ClientConnection) -> list[dict[str, Any]]:
    """The messages of the next frame."""
    async with asyncio.timeout(WAIT_S):
        decoded = msgspec.json.decode(await socket.recv(decode=False))
    return decoded if isinstance(decoded, list) else [decoded]


async def closed(socket: ClientConnection) -> tuple[int, str] | None:
    """How the hub closed it, and None if it did so without a word."""
    with pytest.raises(ConnectionClosed) as ended:
        await heard(socket)
    received = ended.value.rcvd
    return None if received is None else (received.code, received.reason)


def beats(hub: GatewayHub) -> int:
    return sum(isinstance(command, Beat) for command in hub.told)


# --- hearing -----------------------------------------------------------------------------------------------


async def test_messages_are_heard_in_their_order_also_those_that_come_in_pieces(daemon: ClientConnection) -> None:
    await daemon.send([f"[{BEAT.decode()},", '{"type":"task.sung"}', "]"])
    await daemon.send(BEAT, text=True)
    told: list[str] = []
    while len(told) < 3:
        told += [message["type"] for message in await heard(daemon)]
    assert told == ["error", "heartbeat.ack", "heartbeat.ack"]


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b"{", frames.CLOSE_PROTOCOL),
        (b'{"type":"heartbeat","running":7}', frames.CLOSE_PROTOCOL),
        (b'"\xff"', frames.CLOSE_NOT_UTF8),
    ],
)
async def test_a_message_that_is_none_is_answered_with_why_and_ends_the_socket(
    daemon: ClientConnection, message: bytes, code: int
) -> None:
    await daemon.send(message, text=True)
    await daemon.send(BEAT, text=True)
    (error,) = await heard(daemon)
    assert error["code"] == "BAD_MESSAGE"
    assert await closed(daemon) == (code, error["message"])


async def test_what_should_never_happen_ends_the_socket_and_is_logged(
    daemon: ClientConnection, hub: GatewayHub, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(_: object) -> None:
        raise KeyError("nobody thought of this")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR):
        patch.setattr(hub, "tell", breaks)
        await daemon.send(BEAT, text=True)
        await closed(daemon)
    assert "nobody thought of this" in caplog.text


async def test_who_says_too_much_is_not_read_for_a_while_and_loses_nothing(
    daemon: ClientConnection, hub: GatewayHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a hub that takes 100 messages a second, and a daemon that has said 130 at once
    monkeypatch.setattr(pace, "MESSAGES_PER_S", 100)
    began_at = time.monotonic()
    await daemon.send(b"[" + b",".join([BEAT] * 130) + b"]", text=True)
    await heard(daemon)

    # When it goes on
    await daemon.send(BEAT, text=True)
    while beats(hub) < 131:
        await heard(daemon)

    # Then that was heard when its time had come
    assert time.monotonic() - began_at >= 0.3


@pytest.mark.slow
async def test_while_the_hub_is_behind_a_daemon_is_heard_the_more_slowly_and_loses_nothing(
    daemon: ClientConnection, hub: GatewayHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a hub that has more to decide than may wait, when a daemon says more than it may say meanwhile
    monkeypatch.setattr(pace, "BEHIND_S", 0.02)
    hub.behind = pace.BACKLOG_MAX
    began_at = time.monotonic()
    await daemon.send(b"[" + b",".join([BEAT] * 10 * pace.BEHIND_MESSAGES) + b"]", text=True)
    await daemon.send(BEAT, text=True)
    while beats(hub) < 10 * pace.BEHIND_MESSAGES + 1:
        await heard(daemon)

    # Then that was heard little by little
    assert time.monotonic() - began_at >= 0.2


async def test_a_daemon_that_hangs_up_was_heard_to_the_end(daemon: ClientConnection, hub: GatewayHub) -> None:
    hub.behind = pace.BACKLOG_MAX
    await daemon.send(b"[" + b",".join([BEAT] * 2_000) + b"]", text=True)
    await daemon.close()
    async with asyncio.timeout(WAIT_S):
        while not isinstance(hub.told[-1], LeaveDaemon):
            await asyncio.sleep(0.001)
    assert beats(hub) == 2_000


BAD_CHECKPOINT = b'{"type":"task.checkpoint","task_id":"a","attempt":1,"data":"' + b"x" * (1024 * 1024) + b'"}'


@pytest.mark.parametrize(
    ("frames_", "told"),
    [
        ((b"[" + b",".join([BEAT] * 600) + b"]", b"{"), 600),
        ((b"[" + b",".join([BEAT, BAD_CHECKPOINT, BEAT]) + b"]",), 1),
    ],
    ids=["no-json-in-a-later-frame", "a-bad-message-among-others"],
)
async def test_what_stands_before_something_not_understood_is_told_and_what_stands_behind_it_is_not(
    daemon: ClientConnection, hub: GatewayHub, frames_: tuple[bytes, ...], told: int
) -> None:
    hub.behind = pace.BACKLOG_MAX
    for frame in frames_:
        await daemon.send(frame, text=True)
    async with asyncio.timeout(WAIT_S):
        while not isinstance(hub.told[-1], LeaveDaemon):
            await asyncio.sleep(0.001)
    assert beats(hub) == told


# --- telling -----------------------------------------------------------------------------------------------


class Wire:
    """A short cut that is free when the test says so."""

    def __init__(self) -> None:
        self.take = None
        self.is_free = True
        self.wrote: list[str] = []

    def write(self, text: bytes) -> None:
        self.wrote.append(text.decode())

    def rest(self, s: float, then: Callable[[], None]) -> None:
        raise AssertionError("a session does not read")

    async def send(self, message: Any) -> None:
        """The long way: it waits until the wire is free."""
        while not self.is_free:
            await asyncio.sleep(0.001)
        self.wrote.append(message["text"])


async def test_what_is_told_leaves_at_once_and_waits_only_for_a_wire_that_is_not_free() -> None:
    wire = Wire()
    session = DaemonSession(1, NOBODY, short_cut=wire)
    session.send([b"1", b"2"])
    assert wire.wrote == ["[1,2]"]

    # Given a wire that is full, when more is told, then it waits, and what is told later does not overtake it
    wire.is_free = False
    session.send([b"3"])
    writing = asyncio.create_task(session.write_to(wire.send))
    await asyncio.sleep(0.01)
    wire.is_free = True
    session.send([b"4"])
    assert wire.wrote == ["[1,2]"]
    async with asyncio.timeout(WAIT_S):
        while len(wire.wrote) < 3:
            await asyncio.sleep(0.001)
    assert wire.wrote == ["[1,2]", "3", "4"]

    # And when all of it has left, the next leaves at once again
    session.send([b"5"])
    assert wire.wrote[-1] == "5"
    writing.cancel()


async def test_more_than_one_frame_holds_leaves_as_several() -> None:
    wire = Wire()
    DaemonSession(1, NOBODY, 10, wire).send([b"1234567", b"89", b"0"])
    assert wire.wrote == ["1234567", "[89,0]"]

"""What one daemon's socket may cost everybody else: floods of frames of every kind are cut off or slowed."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final

import pytest
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import OPEN

from taskyard.core.daemon_commands import Beat
from taskyard.core.settings import Depth, Limits, Settings, Shares
from taskyard.core.yard_commands import ChangeUser
from taskyard.gateway import daemon_socket, pace, websocket
from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import GatewayServer
from taskyard.gateway.websocket import Frames
from taskyard.vocabulary import Scope
from taskyard.wire import frames as wire
from tests.support.gateway_client import WAIT_S, Client
from tests.support.gateway_hub import GatewayHub
from tests.support.raw_websocket import CLOSE, CONT, PING, PONG, TEXT, Peer, dialled, frame, opened, upgrade

pytestmark = pytest.mark.anyio

HELLO: Final = b'{"type":"hello","protocol":1,"boot_id":"b1","name":"mac-1","max_concurrent_tasks":2}'
BEAT: Final = b'{"type":"heartbeat"}'
BEGUN: Final = frame(TEXT, b"", fin=False)
FLOODS: Final = {
    "pings": (b"", frame(PING)),
    "pings with payload": (b"", frame(PING, b"p" * 125)),
    "pongs": (b"", frame(PONG)),
    "empty fragments": (BEGUN, frame(CONT, fin=False)),
    "fragments of a byte": (BEGUN, frame(CONT, b" ", fin=False)),
    "messages in empty fragments": (b"", BEGUN + frame(CONT, BEAT)),
    "fragments and pings": (BEGUN, frame(CONT, fin=False) + frame(PING)),
}
"""Each kind: what begins it, and what is repeated."""
MANY: Final = 30_000


@pytest.fixture
async def server(hub: GatewayHub) -> AsyncIterator[GatewayServer]:
    built = GatewayServer(build_app(hub, GatewaySettings(port=0)))
    await built.start()
    yield built
    await built.stop()


@pytest.fixture
async def key(hub: GatewayHub) -> str:
    return await hub.a_key(await hub.a_user("ann"), Scope.DAEMON, Scope.TASKS)


@asynccontextmanager
async def welcomed(server: GatewayServer, key: str, hello: bytes = HELLO) -> AsyncIterator[Peer]:
    async with opened(server.port, key) as peer:
        peer.send(frame(TEXT, hello))
        assert b'"welcome"' in (await peer.next()).payload
        yield peer


async def answered(server: GatewayServer) -> None:
    """Another client asks something, on a connection of its own."""
    async with dialled(server.port) as other:
        other.send(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert (await other.head()).startswith("HTTP/1.1 200 ")


# --- what is parsed in a turn -------------------------------------------------------------------------------


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def parser(clock: Clock) -> Frames:
    """After its handshake."""
    made = Frames(bytes_max=wire.FRAME_BYTES_MAX, logger=logging.getLogger(__name__), clock=clock)
    made.receive_data(upgrade(80, "key"))
    (request,) = made.events_received()
    assert isinstance(request, Request)
    made.send_response(made.accept(request))
    made.data_to_send()
    assert made.state is OPEN
    return made


def turns_of(made: Frames, raw: bytes) -> Iterator[list[Frame]]:
    """What each turn takes, until nothing is left."""
    made.receive_data(raw)
    while True:
        yield [event for event in made.events_received() if isinstance(event, Frame)]
        if not made.held:
            return
        made.go_on()


def test_a_turn_parses_so_many_frames_and_the_next_goes_on_where_it_stopped() -> None:
    sent = [b"%d" % number for number in range(1_000)]
    turns = list(turns_of(parser(Clock()), b"".join(frame(TEXT, one) for one in sent)))
    assert [len(turn) for turn in turns] == [256, 256, 256, 232]
    assert [bytes(taken.data) for turn in turns for taken in turn] == sent


def test_large_frames_take_more_of_a_turn() -> None:
    turns = list(turns_of(parser(Clock()), frame(TEXT, b" " * 16 * 1024) * 20))
    assert [len(turn) for turn in turns] == [4, 4, 4, 4, 4]


def test_what_comes_while_bytes_are_held_waits_behind_them() -> None:
    made = parser(Clock())
    made.receive_data(frame(TEXT, b"a") * 300)
    made.receive_data(frame(TEXT, b"b"))
    assert len(made.events_received()) == 256
    made.go_on()
    rest = made.events_received()
    assert len(rest) == 45
    assert isinstance(rest[-1], Frame)
    assert bytes(rest[-1].data) == b"b"


@pytest.mark.parametrize("kind", FLOODS)
def test_a_flood_is_cut_at_the_frame_that_is_too_many(kind: str) -> None:
    # Given a second that does not pass
    begin, repeated = FLOODS[kind]
    made = parser(Clock())

    # When all of the flood is there at once
    turns = list(turns_of(made, begin + repeated * MANY))

    # Then so many frames were taken as a second allows, in turns as short as any, and the rest is not even looked at
    taken = sum(len(turn) for turn in turns) - (repeated.startswith(BEGUN) * websocket.IDLE_PER_S)
    assert taken == websocket.IDLE_PER_S
    assert max(len(turn) for turn in turns) <= websocket.TURN_FRAMES
    assert made.close_sent is not None
    assert (made.close_sent.code, made.close_sent.reason) == (wire.CLOSE_FLOODING, websocket.FLOOD)
    assert (made.held, bytes(made.reader.buffer)) == (b"", b"")


def test_as_many_control_frames_as_may_come_may_come_for_ever() -> None:
    clock = Clock()
    made = parser(clock)
    for _ in range(20):
        clock.now += 0.5
        taken = [one for turn in turns_of(made, frame(PING) * (websocket.IDLE_PER_S // 2)) for one in turn]
        assert len(taken) == websocket.IDLE_PER_S // 2
    assert made.state is OPEN


def test_fragments_that_carry_something_cost_their_bytes_alone() -> None:
    """As libraries write them: 4 KiB each, and a last one that is shorter."""
    message = frame(TEXT, b" " * 4096, fin=False) + frame(CONT, b"{}")
    made = parser(Clock())
    assert sum(len(turn) for turn in turns_of(made, message * 3_000)) == 6_000
    assert made.state is OPEN


def test_frames_after_our_close_are_no_messages_any_more() -> None:
    made = parser(Clock())
    made.send_close(4400, "no")
    taken = sum(len(turn) for turn in turns_of(made, frame(TEXT, BEAT) * MANY))
    assert (taken, made.is_cut) == (websocket.IDLE_PER_S, True)


# --- floods through real sockets ----------------------------------------------------------------------------


@pytest.mark.parametrize("says_hello", [True, False], ids=["after-hello", "before-hello"])
@pytest.mark.parametrize("kind", FLOODS)
async def test_who_floods_is_told_so_and_cut_off(server: GatewayServer, key: str, kind: str, says_hello: bool) -> None:
    begin, repeated = FLOODS[kind]
    async with welcomed(server, key) if says_hello else opened(server.port, key) as peer:
        peer.send(begin, repeated * MANY)
        said = await peer.until_closed()
    if kind == "messages in empty fragments" and not says_hello:
        assert said[-1].code == wire.CLOSE_PROTOCOL
    else:
        assert said[-1].code == wire.CLOSE_FLOODING
    assert said[-1].payload[2:].decode() in (websocket.FLOOD, "the first message must be hello")
    assert Counter(one.opcode for one in said)[PONG] < MANY / 3


ENDLESS: Final = {
    "pings": (frame(PING) * 20_000, 0),
    "pongs": (frame(PONG) * 20_000, 0),
    "messages": (frame(TEXT, BEAT) * 6_000, 6_000),
    "messages in fragments": ((frame(TEXT, BEAT[:4], fin=False) + frame(CONT, BEAT[4:])) * 4_000, 4_000),
}
"""Each with the heartbeats that are in it."""


@pytest.mark.parametrize("kind", ENDLESS)
async def test_others_are_answered_between_the_frames_of_a_flood(
    hub: GatewayHub, server: GatewayServer, key: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flood, expected = ENDLESS[kind]

    def beats() -> int:
        return sum(isinstance(command, Beat) for command in hub.told)

    # Given a hub that cuts off nobody for flooding, and frames that are all there at once, with a heartbeat behind them
    monkeypatch.setattr(websocket, "IDLE_PER_S", 10**9)
    async with welcomed(server, key) as peer:
        peer.send(flood, frame(TEXT, BEAT))

        # When another client asks something meanwhile
        await answered(server)

        # Then it is answered before the last of the frames was taken, and that one is taken too
        assert beats() <= expected
        async with asyncio.timeout(WAIT_S):
            while beats() <= expected:
                await asyncio.sleep(0.001)


# --- hello, memory, and what must not be lost ---------------------------------------------------------------


async def test_hello_is_held_to_its_time_under_a_flood(
    server: GatewayServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a hub that cuts off nobody for flooding
    monkeypatch.setattr(websocket, "IDLE_PER_S", 10**9)
    monkeypatch.setattr(daemon_socket, "HELLO_S", 0.2)
    monkeypatch.setattr(websocket, "LINGER_S", 0.1)
    async with opened(server.port, key) as peer:

        async def flood() -> None:
            while True:
                peer.send(frame(PONG) * 1_000)
                await peer.writer.drain()

        flooding = asyncio.create_task(flood())
        # Then the time for a hello ends all the same, and so does the connection
        said = await peer.until_closed()
        flooding.cancel()
        await asyncio.gather(flooding, return_exceptions=True)
    assert b"HELLO_MISSING" in said[0].payload
    assert (said[-1].opcode, said[-1].code) == (CLOSE, wire.CLOSE_PROTOCOL)


async def test_pongs_that_nobody_reads_have_a_bound(
    server: GatewayServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "IDLE_PER_S", 10**9)
    largest = 0
    async with welcomed(server, key) as peer:
        (protocol,) = server._server.server_state.connections
        transport = protocol.transport
        peer.writer.transport.pause_reading()  # type: ignore[attr-defined]
        pings = frame(PING, b"p" * 125) * 1_000
        async with asyncio.timeout(WAIT_S):
            while not peer.writer.is_closing():
                peer.send(pings)
                try:
                    await peer.writer.drain()
                except ConnectionError:
                    break
                largest = max(largest, transport.get_write_buffer_size())
    assert 0 < largest < wire.FRAME_BYTES_MAX + websocket.ANSWERS_BYTES_MAX + 256 * 127


ROOM: Final = 20_000
ROOMY: Final = Settings(
    limits=Limits(
        running_total=ROOM,
        running_per_user=ROOM,
        pending_per_user_max=ROOM,
        running_per_source={},
        rate={},
        queue_depth=Depth(warning=ROOM, critical=ROOM),
        user_queue_depth=Depth(warning=ROOM, critical=ROOM),
    ),
    shares=Shares(critical_reserve=0.0),
)
OUTCOMES: Final = 10_000


async def gathered(peer: Peer, type: str, number: int) -> list[tuple[str, int]]:
    """So many messages of this type, by task and attempt; others between them are of no interest."""
    found: list[tuple[str, int]] = []
    while len(found) < number:
        got = await peer.next()
        assert got.opcode == TEXT, got
        decoded = json.loads(got.payload)
        for one in decoded if isinstance(decoded, list) else [decoded]:
            if one["type"] == type:
                found.append((one["task"]["id"] if type == "task.execute" else one["task_id"], one["attempt"]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("settings", [ROOMY])
async def test_ten_thousand_outcomes_at_once_after_an_outage_arrive(
    hub: GatewayHub, server: GatewayServer, key: str
) -> None:
    hello = {"type": "hello", "protocol": 1, "boot_id": "b1", "name": "m", "max_concurrent_tasks": ROOM}
    await hub.decide(ChangeUser("u_ann", "test", overrides={"max_pending": ROOM, "max_concurrent_agents": ROOM}))
    owner = Client(build_app(hub, GatewaySettings()), key)
    async with welcomed(server, key, json.dumps({**hello, "daemon_id": "d_m"}).encode()) as peer:
        for _ in range(OUTCOMES // 1000):
            answer = await owner.post("/api/v1/tasks/batch", {"tasks": [{"input": "x"}] * 1000})
            assert answer.status == 201, answer.body
        begun = await gathered(peer, "task.execute", OUTCOMES)
        started = [{"type": "task.started", "task_id": id, "attempt": attempt} for id, attempt in begun]
        for at in range(0, OUTCOMES, 4000):
            peer.send(frame(TEXT, json.dumps(started[at : at + 4000]).encode()))
        peer.send(frame(TEXT, BEAT))
        while b"heartbeat.ack" not in (await peer.next()).payload:
            pass

    # Given all of them ended while the daemon was away, when it comes back and says each in a frame of its own
    inventory = [{"task_id": id, "attempt": attempt, "state": "ended"} for id, attempt in begun]
    again = json.dumps({**hello, "daemon_id": "d_m", "inventory": inventory}).encode()
    ends = [{"type": "task.completed", "task_id": id, "attempt": attempt} for id, attempt in begun]
    async with welcomed(server, key, again) as peer:
        peer.send(*(frame(TEXT, json.dumps(one).encode()) for one in ends))
        acknowledged = await gathered(peer, "ack", OUTCOMES)

    # Then each of them is taken
    assert sorted(acknowledged) == sorted(begun)


async def test_messages_beyond_the_budget_are_slowed_and_all_heard(
    hub: GatewayHub, server: GatewayServer, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pace, "MESSAGES_PER_S", 20_000)
    async with welcomed(server, key) as peer:
        peer.send(frame(TEXT, BEAT) * 2_200)
        acks = 0
        while acks < 2_200:
            acks += (await peer.next()).payload.count(b"heartbeat.ack")
    assert sum(isinstance(command, Beat) for command in hub.told) == 2_200

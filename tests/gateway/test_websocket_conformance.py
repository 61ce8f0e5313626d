"""RFC 6455 frame by frame: the cases 1 to 7 of Autobahn's suite, as far as a hub that is no echo server has an answer.

Each row says hello first. A heartbeat takes the place of what would be echoed: it is answered by `heartbeat.ack`. A
text to be echoed is one field of a message of a type that no hub knows, which is answered by an error; whether it is
UTF-8 is found out before that.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import count
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import GatewayServer
from taskyard.vocabulary import Scope
from taskyard.wire.frames import FRAME_BYTES_MAX
from tests.support.gateway_hub import a_hub
from tests.support.raw_websocket import (
    ACCEPT,
    BINARY,
    CLOSE,
    CONT,
    PING,
    PONG,
    TEXT,
    WAIT_S,
    Peer,
    close,
    dialled,
    frame,
    masked,
    opened,
    pieces,
    upgrade,
)

pytestmark = pytest.mark.anyio

OPEN: Final = -1
"""Instead of a close code: it stays open."""
PROTOCOL_ERROR, NOT_UTF8, FLOODING, TOO_LARGE, BAD_MESSAGE = 1002, 1007, 1008, 1009, 4400
ACK, UNKNOWN = "heartbeat.ack", "error UNKNOWN_TYPE"
BEAT: Final = b'{"type":"heartbeat"}'
HELLO_WORLD: Final = b"Hello, world!"
LATER: Final = b"later"
NUMBERS: Final = count(1)


class Row(NamedTuple):
    case: str
    sent: tuple[bytes, ...]
    """Each of these is written by itself."""
    code: int | None = OPEN
    """How the hub closes it; None: by a close frame without a code."""
    pongs: tuple[bytes, ...] = ()
    messages: tuple[str, ...] = ()
    """What else it answers while it stays open."""


def beat(size: int) -> bytes:
    """A heartbeat of so many bytes: blanks count for nothing."""
    return BEAT.ljust(size)


def chopped(raw: bytes, size: int = 1) -> tuple[bytes, ...]:
    return tuple(raw[at : at + size] for at in range(0, len(raw), size))


def said(text: bytes) -> bytes:
    """A message that no hub knows, with this text inside."""
    return b'{"type":"said","text":"' + text + b'"}'


def split(payload: bytes, parts: int) -> list[bytes]:
    size = -(-len(payload) // parts)
    return [payload[at : at + size] for at in range(0, len(payload), size)]


# --- 1: whole messages, of every way to say a length --------------------------------------------------------


def lengths() -> Iterator[Row]:
    for group, opcode in (("1.1", TEXT), ("1.2", BINARY)):
        yield Row(f"{group}.1 empty", (frame(opcode),), BAD_MESSAGE)
        for number, size in enumerate((125, 126, 127, 128, 65_535, 65_536), start=2):
            yield Row(f"{group}.{number} {size}", (frame(opcode, beat(size)),), messages=(ACK,))
        yield Row(f"{group}.8 65536 in pieces of 997", chopped(frame(opcode, beat(65_536)), 997), messages=(ACK,))


# --- 2: pings and pongs -------------------------------------------------------------------------------------

TEN: Final = tuple(b"payload-%d" % number for number in range(10))
BYTES: Final = b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff"
PINGS: Final = (
    Row("2.1 empty ping", (frame(PING),), pongs=(b"",)),
    Row("2.2 ping with text", (frame(PING, HELLO_WORLD),), pongs=(HELLO_WORLD,)),
    Row("2.3 ping with bytes", (frame(PING, BYTES),), pongs=(BYTES,)),
    Row("2.4 ping of 125", (frame(PING, b"\xfe" * 125),), pongs=(b"\xfe" * 125,)),
    Row("2.5 ping of 126", (frame(PING, b"\xfe" * 126),), PROTOCOL_ERROR),
    Row("2.6 ping of 125 byte by byte", chopped(frame(PING, b"\xfe" * 125)), pongs=(b"\xfe" * 125,)),
    Row("2.7 pong nobody asked for", (frame(PONG),)),
    Row("2.8 the same with payload", (frame(PONG, b"unsolicited"),)),
    Row("2.9 the same, then a ping", (frame(PONG, b"unsolicited"), frame(PING, b"now")), pongs=(b"now",)),
    Row("2.10 ten pings", (b"".join(frame(PING, one) for one in TEN),), pongs=TEN),
    Row("2.11 ten pings byte by byte", chopped(b"".join(frame(PING, one) for one in TEN)), pongs=TEN),
    Row("2 pong of 126", (frame(PONG, b"\xfe" * 126),), PROTOCOL_ERROR),
    Row("2 ping of 65536", (frame(PING, b"\xfe" * 65_536),), PROTOCOL_ERROR),
)

# --- 3: reserved bits ---------------------------------------------------------------------------------------

AND_PING: Final = frame(PING)
RESERVED_BITS: Final = (
    Row("3.1 text with RSV 1", (frame(TEXT, BEAT, rsv=1),), PROTOCOL_ERROR),
    Row("3.2 text, text with RSV 2, ping", (frame(TEXT, BEAT) + frame(TEXT, BEAT, rsv=2) + AND_PING,), PROTOCOL_ERROR),
    Row("3.3 the same by frames", (frame(TEXT, BEAT), frame(TEXT, BEAT, rsv=3), AND_PING), PROTOCOL_ERROR),
    Row("3.4 by bytes, RSV 4", chopped(frame(TEXT, BEAT) + frame(TEXT, BEAT, rsv=4) + AND_PING), PROTOCOL_ERROR),
    Row("3.5 binary with RSV 5", (frame(BINARY, BEAT, rsv=5),), PROTOCOL_ERROR),
    Row("3.6 ping with RSV 6", (frame(PING, HELLO_WORLD, rsv=6),), PROTOCOL_ERROR),
    Row("3.7 close with RSV 7", (frame(CLOSE, rsv=7),), PROTOCOL_ERROR),
)

# --- 4: reserved opcodes ------------------------------------------------------------------------------------


def opcodes() -> Iterator[Row]:
    for group, first in (("4.1", 3), ("4.2", 11)):
        for number in range(1, 6):
            opcode = first + number - 1
            bad = frame(opcode, HELLO_WORLD if number in (2, 4, 5) else b"")
            name = f"{group}.{number} opcode {opcode}"
            if number in {1, 2}:
                yield Row(name, (bad,), PROTOCOL_ERROR)
            elif number == 5:
                yield Row(name, chopped(frame(TEXT, BEAT) + bad + AND_PING), PROTOCOL_ERROR)
            else:
                yield Row(name, (frame(TEXT, BEAT), bad, AND_PING), PROTOCOL_ERROR)


# --- 5: fragments -------------------------------------------------------------------------------------------

FIRST, REST = BEAT[:10], BEAT[10:]
OPENING: Final = frame(TEXT, FIRST, fin=False)
ENDING: Final = frame(CONT, REST)
FIVE: Final = split(BEAT, 5)
BETWEEN: Final = (
    frame(TEXT, FIVE[0], fin=False) + frame(CONT, FIVE[1], fin=False) + frame(PING, b"1")
    + frame(CONT, FIVE[2], fin=False) + frame(CONT, FIVE[3], fin=False) + frame(PING, b"2") + frame(CONT, FIVE[4])
)  # fmt: skip
LARGE: Final = frame(CONT, b" " * 1024, fin=False)
NOTHING_BEGUN: Final = frame(CONT, b"nothing to go on with", fin=False)
FRAGMENTS: Final = (
    Row("5.1 ping in two", (frame(PING, b"a", fin=False) + frame(CONT, b"b"),), PROTOCOL_ERROR),
    Row("5.2 pong in two", (frame(PONG, b"a", fin=False) + frame(CONT, b"b"),), PROTOCOL_ERROR),
    Row("5.3 text in two", (OPENING + ENDING,), messages=(ACK,)),
    Row("5.4 text in two, by frames", (OPENING, ENDING), messages=(ACK,)),
    Row("5.5 text in two, by bytes", chopped(OPENING + ENDING), messages=(ACK,)),
    Row("5.6 a ping between", (OPENING + frame(PING, b"p") + ENDING,), pongs=(b"p",), messages=(ACK,)),
    Row("5.7 a ping between, by frames", (OPENING, frame(PING, b"p"), ENDING), pongs=(b"p",), messages=(ACK,)),
    Row("5.8 a ping between, by bytes", chopped(OPENING + frame(PING, b"p") + ENDING), pongs=(b"p",), messages=(ACK,)),
    Row("5.9 an end of nothing, then text", (ENDING + frame(TEXT, BEAT),), PROTOCOL_ERROR),
    Row("5.10 the same by frames", (ENDING, frame(TEXT, BEAT)), PROTOCOL_ERROR),
    Row("5.11 the same by bytes", chopped(ENDING + frame(TEXT, BEAT)), PROTOCOL_ERROR),
    Row("5.12 going on with nothing", (NOTHING_BEGUN + frame(TEXT, BEAT),), PROTOCOL_ERROR),
    Row("5.13 the same by frames", (NOTHING_BEGUN, frame(TEXT, BEAT)), PROTOCOL_ERROR),
    Row("5.14 the same by bytes", chopped(NOTHING_BEGUN + frame(TEXT, BEAT)), PROTOCOL_ERROR),
    Row("5.15 after a whole one", (OPENING + ENDING + NOTHING_BEGUN + frame(TEXT, BEAT),), PROTOCOL_ERROR),
    Row("5.16 and again", ((NOTHING_BEGUN + frame(TEXT, BEAT) + frame(CONT)) * 2,), PROTOCOL_ERROR),
    Row("5.17 ends of nothing", ((ENDING + frame(TEXT, BEAT) + frame(CONT)) * 2,), PROTOCOL_ERROR),
    Row("5.18 a text within a text", (OPENING + frame(TEXT, REST),), PROTOCOL_ERROR),
    Row("5.19 five fragments, two pings", (BETWEEN,), pongs=(b"1", b"2"), messages=(ACK,)),
    Row("5.20 the same by bytes", chopped(BETWEEN), pongs=(b"1", b"2"), messages=(ACK,)),
    Row("5 a binary within a text", (OPENING + frame(BINARY, REST),), PROTOCOL_ERROR),
    Row("5 two messages in fragments", (pieces(TEXT, FIVE) + pieces(BINARY, FIVE),), messages=(ACK, ACK)),
    Row("5 as many fragments as may be", (pieces(TEXT, [beat(1024)] + [b" " * 1024] * 4095),), messages=(ACK,)),
    Row("5 a fragment more", (OPENING + frame(CONT, fin=False) * 500 + LARGE * 3596,), FLOODING),
    Row("5 more fragments than bytes", (OPENING + frame(CONT, fin=False) * 30_000,), FLOODING),
)

# --- 6: UTF-8 -----------------------------------------------------------------------------------------------

KOSME: Final = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5"
VALID: Final = {
    "6.2": "Hello-µ@ßöäüàá-UTF-8!!".encode(),
    "6.6.2": KOSME[:2], "6.6.5": KOSME[:5], "6.6.7": KOSME[:7], "6.6.9": KOSME[:9], "6.6.11": KOSME,
    "6.7.2": b"\xc2\x80", "6.7.3": b"\xe0\xa0\x80", "6.7.4": b"\xf0\x90\x80\x80",
    "6.9.1": b"\x7f", "6.9.2": b"\xdf\xbf", "6.9.3": b"\xef\xbf\xbf", "6.9.4": b"\xf4\x8f\xbf\xbf",
    "6.11.1": b"\xed\x9f\xbf", "6.11.2": b"\xee\x80\x80", "6.11.3": b"\xef\xbf\xbd", "6.11.4": b"\xf4\x8f\xbf\xbf",
    "6.22.1": b"\xef\xbf\xbe", "6.22.2": b"\xef\xbf\xbf",
    **{f"6.22.{3 + plane}": chr((plane + 1) * 0x10000 + 0xFFFE).encode() for plane in range(16)},
    **{f"6.22.{19 + plane}": chr((plane + 1) * 0x10000 + 0xFFFF).encode() for plane in range(16)},
    **{f"6.23.{number}": chr(0xFFF8 + number).encode() for number in range(1, 8)},
}  # fmt: skip
INVALID: Final = {
    "6.3": KOSME + b"\xed\xa0\x80edited",
    "6.4": KOSME + b"\xf4\x90\x80\x80edited",
    "6.6.1": KOSME[:1], "6.6.3": KOSME[:3], "6.6.4": KOSME[:4], "6.6.6": KOSME[:6], "6.6.8": KOSME[:8],
    "6.6.10": KOSME[:10],
    "6.8.1": b"\xf8\x88\x80\x80\x80", "6.8.2": b"\xfc\x84\x80\x80\x80\x80",
    "6.10.1": b"\xf7\xbf\xbf\xbf", "6.10.2": b"\xfb\xbf\xbf\xbf\xbf", "6.10.3": b"\xfd\xbf\xbf\xbf\xbf\xbf",
    "6.11.5": b"\xf4\x90\x80\x80",
    "6.12.1": b"\x80", "6.12.2": b"\xbf", "6.12.3": b"\x80\xbf", "6.12.4": b"\x80\xbf\x80",
    "6.12.5": b"\x80\xbf\x80\xbf", "6.12.6": b"\x80\xbf\x80\xbf\x80", "6.12.7": b"\x80\xbf\x80\xbf\x80\xbf",
    "6.12.8": bytes(range(0x80, 0xC0)),
    "6.13.1": b" ".join(bytes([byte]) for byte in range(0xC0, 0xE0)),
    "6.13.2": b" ".join(bytes([byte]) for byte in range(0xE0, 0xF0)),
    "6.13.3": b" ".join(bytes([byte]) for byte in range(0xF0, 0xF8)),
    "6.13.4": b"\xf8 \xf9 \xfa \xfb", "6.13.5": b"\xfc \xfd",
    "6.14.1": b"\xc0", "6.14.2": b"\xe0\x80", "6.14.3": b"\xf0\x80\x80", "6.14.4": b"\xf8\x80\x80\x80",
    "6.14.5": b"\xfc\x80\x80\x80\x80", "6.14.6": b"\xdf", "6.14.7": b"\xef\xbf", "6.14.8": b"\xf7\xbf\xbf",
    "6.14.9": b"\xfb\xbf\xbf\xbf", "6.14.10": b"\xfd\xbf\xbf\xbf\xbf",
    "6.15": b"\xc0\xe0\x80\xf0\x80\x80\xf8\x80\x80\x80\xfc\x80\x80\x80\x80\xdf\xef\xbf",
    "6.16.1": b"\xfe", "6.16.2": b"\xff", "6.16.3": b"\xfe\xfe\xff\xff",
    "6.17.1": b"\xc0\xaf", "6.17.2": b"\xe0\x80\xaf", "6.17.3": b"\xf0\x80\x80\xaf",
    "6.17.4": b"\xf8\x80\x80\x80\xaf", "6.17.5": b"\xfc\x80\x80\x80\x80\xaf",
    "6.18.1": b"\xc1\xbf", "6.18.2": b"\xe0\x9f\xbf", "6.18.3": b"\xf0\x8f\xbf\xbf",
    "6.18.4": b"\xf8\x87\xbf\xbf\xbf", "6.18.5": b"\xfc\x83\xbf\xbf\xbf\xbf",
    "6.19.1": b"\xc0\x80", "6.19.2": b"\xe0\x80\x80", "6.19.3": b"\xf0\x80\x80\x80",
    "6.19.4": b"\xf8\x80\x80\x80\x80", "6.19.5": b"\xfc\x80\x80\x80\x80\x80",
    "6.20.1": b"\xed\xa0\x80", "6.20.2": b"\xed\xad\xbf", "6.20.3": b"\xed\xae\x80", "6.20.4": b"\xed\xaf\xbf",
    "6.20.5": b"\xed\xb0\x80", "6.20.6": b"\xed\xbe\x80", "6.20.7": b"\xed\xbf\xbf",
    "6.21.1": b"\xed\xa0\x80\xed\xb0\x80", "6.21.2": b"\xed\xa0\x80\xed\xbf\xbf", "6.21.3": b"\xed\xad\xbf\xed\xb0\x80",
    "6.21.4": b"\xed\xad\xbf\xed\xbf\xbf", "6.21.5": b"\xed\xae\x80\xed\xb0\x80", "6.21.6": b"\xed\xae\x80\xed\xbf\xbf",
    "6.21.7": b"\xed\xaf\xbf\xed\xb0\x80", "6.21.8": b"\xed\xaf\xbf\xed\xbf\xbf",
}  # fmt: skip


def texts() -> Iterator[Row]:
    yield Row("6.1.1 empty", (frame(TEXT),), BAD_MESSAGE)
    yield Row("6.1.2 three empty fragments", (pieces(TEXT, [b"", b"", b""]),), BAD_MESSAGE)
    yield Row("6.1.3 empty ones around it", (pieces(TEXT, [b"", BEAT, b""]),), messages=(ACK,))
    for case, text in VALID.items():
        yield Row(f"{case} valid", (frame(TEXT, said(text)),), messages=(UNKNOWN,))
    for case, text in INVALID.items():
        yield Row(f"{case} invalid", (frame(TEXT, said(text)),), NOT_UTF8)
    fine, wrong = said(VALID["6.2"]), said(INVALID["6.3"])
    for parts in (2, len(fine)):
        yield Row(f"6.2 valid in {parts} fragments", (pieces(TEXT, split(fine, parts)),), messages=(UNKNOWN,))
    for parts in (2, 3, len(wrong)):
        yield Row(f"6.3 invalid in {parts} fragments", (pieces(TEXT, split(wrong, parts)),), NOT_UTF8)


# --- 7: closing ---------------------------------------------------------------------------------------------


def closings() -> Iterator[Row]:
    yield Row("7.1.1 text, close", (frame(TEXT, BEAT) + close(1000),), 1000)
    yield Row("7.1.2 close twice", (close(1000) + close(1000),), 1000)
    yield Row("7.1.3 close, ping", (close(1000) + AND_PING,), 1000)
    yield Row("7.1.4 close, text", (close(1000) + frame(TEXT, BEAT),), 1000)
    yield Row("7.1.5 close within a message", (OPENING + close(1000) + ENDING,), PROTOCOL_ERROR)
    yield Row("7.1.6 a long text, close, ping", (frame(TEXT, beat(256 * 1024)) + close(1000) + AND_PING,), 1000)
    yield Row("7.3.1 no code", (close(),), None)
    yield Row("7.3.2 half a code", (frame(CLOSE, b"a"),), PROTOCOL_ERROR)
    yield Row("7.3.3 a code alone", (close(1000),), 1000)
    yield Row("7.3.4 with a reason", (close(1000, b"I go"),), 1000)
    yield Row("7.3.5 the longest reason", (close(1000, b"*" * 123),), 1000)
    yield Row("7.3.6 a longer one", (close(1000, b"*" * 124),), PROTOCOL_ERROR)
    yield Row("7.5.1 a reason that is no UTF-8", (close(1000, INVALID["6.3"]),), NOT_UTF8)
    valid = (1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999)
    for number, code in enumerate(valid, start=1):
        yield Row(f"7.7.{number} code {code}", (close(code),), code)
    for number, code in enumerate((0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999), start=1):
        yield Row(f"7.9.{number} code {code}", (close(code),), PROTOCOL_ERROR)
    for number, code in enumerate((5000, 65_535), start=1):
        yield Row(f"7.13.{number} code {code}", (close(code),), PROTOCOL_ERROR)


# --- beyond the suite ---------------------------------------------------------------------------------------

OTHERS: Final = (
    Row("an unmasked text", (frame(TEXT, BEAT, mask=False),), PROTOCOL_ERROR),
    Row("an unmasked ping", (frame(PING, mask=False),), PROTOCOL_ERROR),
    Row("an unmasked close", (frame(CLOSE, mask=False),), PROTOCOL_ERROR),
    Row("an unmasked fragment", (OPENING + frame(CONT, REST, mask=False),), PROTOCOL_ERROR),
    Row("a frame that says too much", (frame(TEXT, b"", length=FRAME_BYTES_MAX + 1),), TOO_LARGE),
    Row("a frame that says 2^63", (frame(TEXT, b"", length=1 << 63),), TOO_LARGE),
    Row("a ping that says too much", (frame(PING, b"", length=FRAME_BYTES_MAX + 1),), TOO_LARGE),
    Row("fragments that are too much", (pieces(TEXT, [b" " * (FRAME_BYTES_MAX // 4)] * 5),), TOO_LARGE),
    Row("a length that could be said shorter", (b"\x81\xfe\x00\x14\x11\x22\x33\x44" + masked(BEAT),), messages=(ACK,)),
    Row("no JSON", (frame(TEXT, b"{"),), BAD_MESSAGE),
    Row("no object", (frame(TEXT, b"7"),), BAD_MESSAGE),
    Row("no messages at all", (frame(TEXT, b"[]"),)),
    Row("more messages than a frame may have", (frame(TEXT, b"[" + b",".join([BEAT] * 4097) + b"]"),), BAD_MESSAGE),
    Row("as many of no known type", (frame(TEXT, b"[" + b",".join([said(b"")] * 4097) + b"]"),), BAD_MESSAGE),
    Row("another hello", (frame(TEXT, b'{"type":"hello","protocol":1,"boot_id":"b","name":"n"}'),), BAD_MESSAGE),
)
ROWS: Final = (*lengths(), *PINGS, *RESERVED_BITS, *opcodes(), *FRAGMENTS, *texts(), *closings(), *OTHERS)


class Place(NamedTuple):
    port: int
    key: str


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """A hub's own loop, whose transports have ways of their own to pause, to half-close and to end."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="module")
async def place() -> AsyncIterator[Place]:
    """One hub for all rows: none may do it any harm."""
    async with a_hub() as hub:
        server = GatewayServer(build_app(hub, GatewaySettings(port=0)))
        await server.start()
        yield Place(server.port, await hub.a_key(await hub.a_user("ann"), Scope.DAEMON))
        await server.stop()


async def said_hello(peer: Peer) -> None:
    hello = f'{{"type":"hello","protocol":1,"boot_id":"b","name":"daemon-{next(NUMBERS)}"}}'
    peer.send(frame(TEXT, hello.encode()))
    assert b'"welcome"' in (await peer.next()).payload


def told(payload: bytes) -> list[str]:
    """The types of the messages of a frame; of an error, its code too."""
    decoded: Any = msgspec.json.decode(payload)
    messages = decoded if isinstance(decoded, list) else [decoded]
    return [f"error {one['code']}" if one["type"] == "error" else one["type"] for one in messages]


async def what_follows(peer: Peer, row: Row) -> Row:
    """The row as it came about. Answers to messages take their time, so that a later pong may overtake them."""
    pongs: list[bytes] = []
    messages: list[str] = []
    is_open = False
    while not (is_open and len(messages) >= len(row.messages)):
        got = await peer.next()
        if got.opcode == CLOSE:
            # A server that waits for our close frame closes then; one that failed the connection has closed.
            peer.send(close(1000))
            assert await peer.until_closed() == [], "something followed the close frame"
            return row._replace(code=got.code, pongs=tuple(pongs), messages=row.messages)
        if got.opcode != PONG:
            messages += told(got.payload)
        elif got.payload == LATER:
            is_open = True
        else:
            pongs.append(got.payload)
    return row._replace(code=OPEN, pongs=tuple(pongs), messages=tuple(messages))


@pytest.mark.parametrize("row", ROWS, ids=[row.case.replace(" ", "-") for row in ROWS])
async def test_frames_are_answered_as_the_protocol_says(place: Place, row: Row) -> None:
    async with opened(place.port, place.key) as peer:
        await said_hello(peer)
        for part in row.sent:
            peer.send(part)
            await asyncio.sleep(0)
        if row.code == OPEN:
            peer.send(frame(PING, LATER))
        assert await what_follows(peer, row) == row


def test_the_suites_first_seven_groups_are_all_here() -> None:
    assert {row.case[0] for row in ROWS} >= set("1234567")
    assert len(ROWS) > 250


# --- the opening request ------------------------------------------------------------------------------------


class Opening(NamedTuple):
    case: str
    changed: dict[str, str | None]
    status: int
    method: str = "GET"


OPENINGS: Final = (
    Opening("as it should be", {}, 101),
    Opening("in other letters", {"upgrade": "WebSocket", "connection": "keep-alive, UPGRADE"}, 101),
    Opening("an extension nobody has", {"sec_websocket_extensions": "x-nothing; a=1"}, 101),
    Opening("compression", {"sec_websocket_extensions": "permessage-deflate"}, 101),
    Opening("subprotocols", {"sec_websocket_protocol": "chat, superchat"}, 101),
    Opening("version 8", {"sec_websocket_version": "8"}, 426),
    Opening("version 14", {"sec_websocket_version": "14"}, 426),
    Opening("version 0", {"sec_websocket_version": "0"}, 426),
    Opening("no version", {"sec_websocket_version": None}, 426),
    Opening("no number", {"sec_websocket_version": "thirteen"}, 426),
    Opening("two versions in one", {"sec_websocket_version": "13, 8"}, 426),
    Opening("no key", {"sec_websocket_key": None}, 400),
    Opening("an empty key", {"sec_websocket_key": ""}, 400),
    Opening("a short key", {"sec_websocket_key": "AAAA"}, 400),
    Opening("a long key", {"sec_websocket_key": "A" * 44}, 400),
    Opening("no base64", {"sec_websocket_key": "!" * 24}, 400),
    Opening("bad subprotocols", {"sec_websocket_protocol": "a b"}, 400),
    Opening("a POST", {}, 405, "POST"),
    Opening("a wrong key of the hub", {"authorization": "Bearer tyk_none"}, 401),
    Opening("a body", {"content_length": "5"}, 400),
    Opening("a field that is longer than a line may be", {"x_long": "y" * 10_000}, 400),
    *(Opening(f"a {word}", {"origin": origin}, 403) for word, origin in (("foreign page", "http://evil.example"),)),
)


@pytest.mark.parametrize("row", OPENINGS, ids=[row.case.replace(" ", "-") for row in OPENINGS])
async def test_an_opening_request_is_accepted_or_refused_with_why(place: Place, row: Opening) -> None:
    async with dialled(place.port) as peer:
        raw = upgrade(place.port, place.key, method=row.method, **row.changed)
        peer.send(raw + b"hello" if "content_length" in row.changed else raw)
        head = await peer.head()
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head.split("\r\n")[1:])}
        assert head.startswith(f"HTTP/1.1 {row.status} "), head
        if row.status == 101:
            assert fields["sec-websocket-accept"] == ACCEPT
            assert not {"sec-websocket-extensions", "sec-websocket-protocol"} & set(fields)
            return
        assert "sec-websocket-accept" not in fields
        assert fields["content-type"] == "application/problem+json"
        async with asyncio.timeout(WAIT_S):
            problem = msgspec.json.decode(await peer.reader.read())
    assert problem["status"] == row.status
    assert problem["detail"]
    if row.status == 426:
        assert (fields["sec-websocket-version"], fields["upgrade"]) == ("13", "websocket")


# --- before hello -------------------------------------------------------------------------------------------

EARLY: Final = (
    Row("a heartbeat", (frame(TEXT, BEAT),), BAD_MESSAGE),
    Row("no JSON", (frame(TEXT, b"?") * 5_000,), BAD_MESSAGE),
    Row("no UTF-8", (frame(TEXT, b'"\xff"'),), NOT_UTF8),
    Row("no UTF-8 in bytes", (frame(BINARY, b'"\xff"'),), NOT_UTF8),
    Row("nothing", (frame(TEXT),), BAD_MESSAGE),
    Row("an unmasked hello", (frame(TEXT, b"{}", mask=False),), PROTOCOL_ERROR),
    Row("pings", (frame(PING, b"p"),), pongs=(b"p",)),
    Row("too many pongs", (frame(PONG) * 30_000,), FLOODING),
    Row("too many empty fragments", (OPENING + frame(CONT, fin=False) * 30_000,), FLOODING),
    Row("too long a frame", (frame(TEXT, b"", length=FRAME_BYTES_MAX + 1),), TOO_LARGE),
    Row("a close", (close(1001),), 1001),
)


@pytest.mark.parametrize("row", EARLY, ids=[row.case.replace(" ", "-") for row in EARLY])
async def test_before_hello_frames_are_answered_likewise(place: Place, row: Row) -> None:
    async with opened(place.port, place.key) as peer:
        peer.send(*row.sent)
        if row.code == OPEN:
            peer.send(frame(PING, LATER))
        assert await what_follows(peer, row) == row

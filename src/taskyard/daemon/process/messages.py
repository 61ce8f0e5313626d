"""What a daemon and its keeper say to each other: messages with their length before them.

A newer daemon may find an older keeper. `Hello`, `Welcome` and `Leave` stay readable for ever, so that it can end what
it does not understand.
"""

import struct
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from taskyard.daemon.orders import Key
from taskyard.daemon.process.launching import Exit, Limits

PROTOCOL: Final = 1
MESSAGE_BYTES_MAX: Final = 16 * 1024 * 1024
_LENGTH: Final = struct.Struct("<I")


class Hello(Struct, tag="hello"):
    protocol: int
    on_loss: Literal["continue", "kill"]
    """What becomes of the work when the daemon is gone without a word."""
    away_s: float
    """How long it may be away, if the work continues."""


class Spawn(Struct, tag="spawn"):
    key: Key
    name: str
    argv: list[str]
    env: dict[str, str]
    cwd: str
    limits: Limits
    clean: list[str] = []
    """To be run when it has ended."""
    exclusive: bool = False


class Stop(Struct, tag="stop"):
    key: Key
    grace_ms: int


class Lease(Struct, tag="lease"):
    """Exclusive work is killed then, unless the lease was renewed."""

    until_ms: int
    """By the clock that counts a machine's sleep."""


class Leave(Struct, tag="leave"):
    """Kill everything, and go."""


class Held(Struct):
    key: Key
    name: str
    pid: int


class Welcome(Struct, tag="welcome"):
    protocol: int
    keeper_id: str
    running: list[Held]


class Spawned(Struct, tag="spawned"):
    key: Key
    pid: int
    trouble: str = ""
    """Why nothing was started."""
    passes: bool = False
    """Because this machine has run out of something."""


class Wrote(Struct, tag="wrote"):
    key: Key


class Ended(Struct, tag="ended"):
    key: Key
    exit: Exit


ToKeeper: TypeAlias = Hello | Spawn | Stop | Lease | Leave
FromKeeper: TypeAlias = Welcome | Spawned | Wrote | Ended

_encode: Final = msgspec.msgpack.Encoder().encode
to_keeper: Final = msgspec.msgpack.Decoder(ToKeeper).decode
from_keeper: Final = msgspec.msgpack.Decoder(FromKeeper).decode


def packed(message: ToKeeper | FromKeeper) -> bytes:
    body = _encode(message)
    return _LENGTH.pack(len(body)) + body


def unpacked(buffer: bytearray) -> Iterator[bytes]:
    """Takes every whole message out of the buffer. Raises `ValueError` for one that nobody would send."""
    while len(buffer) >= _LENGTH.size:
        (length,) = _LENGTH.unpack_from(buffer)
        if length > MESSAGE_BYTES_MAX:
            raise ValueError(f"a message of {length} bytes")
        if len(buffer) < _LENGTH.size + length:
            return
        body = bytes(buffer[_LENGTH.size : _LENGTH.size + length])
        del buffer[: _LENGTH.size + length]
        yield body

"""What a daemon and its worker say to each other: JSON with its length before it. Never code, never pickles."""

import asyncio
import struct
from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from taskyard.daemon.workers.naming import Place
from taskyard.wire.frames import TaskExecute

MESSAGE_BYTES_MAX: Final = 256 * 1024 * 1024
# A result of any size is kept whole in a file by the daemon; what is longer than this has no business here.
_LENGTH: Final = struct.Struct("<I")


class Begin(Struct, tag="begin"):
    """First: what makes this process find the same modules as its daemon."""

    path: list[str]
    arguments: list[str]


class Run(Struct, tag="run"):
    place: Place
    execute: TaskExecute


class Cancel(Struct, tag="cancel"):
    pass


class Began(Struct, tag="began"):
    """The function was found and is being called."""


class News(Struct, tag="news", omit_defaults=True):
    percent: float | None = None
    message: str | None = None
    log: str = ""


class Saved(Struct, tag="saved"):
    data: Raw


class Ended(Struct, tag="ended"):
    outcome: Raw
    """The message for the hub; `null`: it stopped because it was asked to."""


ToWorker: TypeAlias = Begin | Run | Cancel
FromWorker: TypeAlias = Began | News | Saved | Ended

read_order: Final = msgspec.json.Decoder(ToWorker).decode
read_word: Final = msgspec.json.Decoder(FromWorker).decode
_encode: Final = msgspec.json.Encoder().encode


def packed(message: ToWorker | FromWorker) -> bytes:
    content = _encode(message)
    return _LENGTH.pack(len(content)) + content


async def next_message(reader: asyncio.StreamReader) -> bytes | None:
    """None: the other side is gone, or says what nobody says."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        return await reader.readexactly(length) if length <= MESSAGE_BYTES_MAX else None
    except (asyncio.IncompleteReadError, ConnectionError):
        return None

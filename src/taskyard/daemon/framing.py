"""Messages in frames: many in one, and one that we do not know among many."""

import logging
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw

from taskyard.wire import frames

logger = logging.getLogger("taskyard.daemon")

_parts: Final = msgspec.json.Decoder(list[Raw])


def read_frame(frame: bytes) -> list[frames.ToDaemon]:
    """The messages of a frame. Those of a newer hub that we do not know are left out, not the whole frame."""
    try:
        return frames.decode_to_daemon(frame)
    except msgspec.DecodeError as error:
        if not frame.lstrip().startswith(b"["):
            logger.warning("a message that this version does not know: %s", error)
            return []
        return list(_known(frame))


def _known(frame: bytes) -> Iterator[frames.ToDaemon]:
    try:
        parts = _parts.decode(frame)
    except msgspec.DecodeError as error:
        logger.warning("a frame that is not JSON: %s", error)
        return
    for part in parts:
        try:
            yield from frames.decode_to_daemon(bytes(part))
        except msgspec.DecodeError as error:
            logger.warning("a message that this version does not know: %s", error)


def write_frames(messages: list[bytes]) -> Iterator[bytes]:
    """As few frames as the limits allow."""
    start = size = 0
    for index, message in enumerate(messages):
        too_large = size + len(message) > frames.FRAME_BYTES_MAX - 2
        if index > start and (too_large or index - start >= frames.FRAME_MESSAGES_MAX):
            yield frames.join(messages[start:index])
            start, size = index, 0
        size += len(message) + 1
    if start < len(messages):
        yield frames.join(messages[start:])

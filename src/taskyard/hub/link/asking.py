"""Asking the other hubs what they saw of this yard, before one of them leads.

All are asked at once and have one second in all to answer. Silence says nothing.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from taskyard.hub.link import messages as m
from taskyard.hub.link.wire import LinkLost, Wire
from taskyard.store.rewind import Sighting

ASK_S: Final = 1.0
ASKED_MAX: Final = 256
"""Hubs that are asked, those that were there last; a leader takes no more links than that."""


async def ask_all(places: Sequence[tuple[str, int]], secret: bytes) -> list[Sighting]:
    """What those that answer in time remember."""
    if not places:
        return []
    asked = [asyncio.ensure_future(_ask(host, port, secret)) for host, port in places[:ASKED_MAX]]
    try:
        await asyncio.wait(asked, timeout=ASK_S)
    finally:
        for each in asked:
            each.cancel()
        answers = await asyncio.gather(*asked, return_exceptions=True)
    found = [sighting for answer in answers if isinstance(answer, list) for sighting in answer]
    return list(dict.fromkeys(found))


async def _ask(host: str, port: int, secret: bytes) -> list[Sighting]:
    """Raises `OSError`, of which `LinkLost` is one."""
    answer: asyncio.Future[list[Sighting]] = asyncio.get_running_loop().create_future()

    def hear(content: bytes) -> None:
        """What cannot be decoded cuts the wire (`wire.py`)."""
        for message in m.decode_from_leader(content):
            if isinstance(message, m.Remembers) and not answer.done():
                answer.set_result(message.sightings)

    def lose(reason: str) -> None:
        if not answer.done():
            answer.set_exception(LinkLost(reason))

    _, wire = await asyncio.get_running_loop().create_connection(lambda: Wire(secret, calls=True), host, port)
    try:
        wire.on_frame, wire.on_lost = hear, lose
        await wire.opened
        wire.post(m.AskSeen())
        return await answer
    finally:
        wire.cut("it was asked")
        if answer.done() and not answer.cancelled():
            answer.exception()

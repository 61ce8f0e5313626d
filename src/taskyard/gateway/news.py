"""Users and keys that this gateway may not have heard of yet.

Whoever adds a user through one gateway is answered after the commit, and may name that user to another gateway before
its news has come there. So whoever is not known is asked for once: what was committed before is here then.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from taskyard.core.changes import KeyRecord, UserRecord
from taskyard.gateway.port import RETRY_AFTER_S, Directory, Hub, Unavailable
from taskyard.vocabulary import Refusal

T = TypeVar("T")

TOLD_S: Final = 5.0
"""Who is not known must not wait for a hub that has stopped: nobody else could say who it is."""


async def catch_up(hub: Hub) -> None:
    """Until the directory has everybody whose making was answered before this. Raises `Unavailable`."""
    try:
        async with asyncio.timeout(TOLD_S):
            await hub.caught_up()
    except TimeoutError:
        raise Unavailable(Refusal.NO_LEADER, RETRY_AFTER_S) from None


async def user_called(hub: Hub, name: str) -> UserRecord | None:
    """By id or by name. Raises `Unavailable`."""
    return await _told(hub, lambda directory: directory.user(name) or directory.user_by_name(name))


async def user_named(hub: Hub, name: str) -> UserRecord | None:
    """By name alone. Raises `Unavailable`."""
    return await _told(hub, lambda directory: directory.user_by_name(name))


async def key_of(hub: Hub, key_id: str) -> KeyRecord | None:
    """Raises `Unavailable`."""
    return await _told(hub, lambda directory: directory.key(key_id))


async def _told(hub: Hub, look: Callable[[Directory], T | None]) -> T | None:
    found = look(hub.directory)
    if found is None:
        await catch_up(hub)
        found = look(hub.directory)
    return found

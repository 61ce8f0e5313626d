"""What an admin is told of all users at once, in looks at the live state that stay short however many there are."""

import asyncio
from collections.abc import Sequence
from heapq import nlargest
from itertools import islice
from typing import Final

from taskyard.core.idle import Group
from taskyard.gateway.port import Hub
from taskyard.gateway.views import UsageView

USERS_PER_LOOK: Final = 200
# Some 10 µs each: the hub decides nothing while it looks.
ASKED_MAX: Final = 24
# Those with most to wait for are asked what it is; an answer may look at the whole fleet.
HELD_MAX: Final = 24


async def usages_of(hub: Hub, user_ids: Sequence[str]) -> dict[str, UsageView]:
    found: dict[str, UsageView] = {}
    rest = iter(user_ids)
    while look := list(islice(rest, USERS_PER_LOOK)):
        found |= await hub.usages(look)
        await _others_first()
    return found


async def held_of_everybody(hub: Hub) -> list[tuple[str, Group]]:
    """What holds the most tasks first, with whose they are."""
    usages = await usages_of(hub, [user.id for user in hub.directory.users()])
    waiting = [user_id for user_id, usage in usages.items() if usage.pending]
    held: list[tuple[str, Group]] = []
    for user_id in nlargest(ASKED_MAX, waiting, key=lambda user_id: usages[user_id].pending):
        held += [(user_id, group) for group in (await hub.overview(user_id)).held]
        await _others_first()
    return nlargest(HELD_MAX, held, key=lambda one: one[1].tasks)


async def _others_first() -> None:
    """In the hub's own process a look is no wait: whoever has something to decide goes in between."""
    await asyncio.sleep(0)

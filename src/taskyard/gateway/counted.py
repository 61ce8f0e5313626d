"""How many tasks there are of each status, counted only now and then for each who asks.

Counting walks an index of all that somebody has: some milliseconds for a hundred thousand. Many open pages ask at every
change, and are told the same: what was counted after they had asked. An earlier count would not do, since a page that
hears of a change asks once, and shows what it is told until the next one.
"""

import asyncio
from typing import Final

from taskyard.gateway.port import Hub
from taskyard.store.port import Reader
from taskyard.vocabulary import Status

PAUSE_MS: Final = 250
REMEMBERED_MAX: Final = 1_000
# Who ask within one pause, about: beyond, what is remembered is dropped and all are counted anew.

Counts = dict[Status, int]


class Counted:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._begun: dict[str | None, int] = {}
        """When it was last counted for each."""
        self._next: dict[str | None, asyncio.Task[Counts]] = {}
        """Counts that have not begun: whoever asks now may share one."""

    async def of(self, user_id: str | None) -> Counts:
        """As of now, or a little later; None: everybody's."""
        counting = self._next.get(user_id)
        if counting is None:
            counting = self._next[user_id] = asyncio.create_task(self._count(user_id))
        # Who hangs up does not end it for the others.
        return await asyncio.shield(counting)

    async def _count(self, user_id: str | None) -> Counts:
        try:
            await asyncio.sleep(self._pause_s(user_id))
        finally:
            del self._next[user_id]
        if len(self._begun) >= REMEMBERED_MAX:
            self._begun.clear()
        self._begun[user_id] = self._hub.now_ms()

        def look(reader: Reader) -> Counts:
            return reader.counts(user_id=user_id)

        return await self._hub.read(look)

    def _pause_s(self, user_id: str | None) -> float:
        since_ms = self._hub.now_ms() - self._begun.get(user_id, 0)
        return (PAUSE_MS - since_ms) / 1000 if 0 <= since_ms < PAUSE_MS else 0.0

"""How many tasks there are of each status, counted at most once a second for each who asks.

Counting walks an index of all that somebody has: some milliseconds for a hundred thousand. Many open pages ask at every
change, and are told the same.
"""

import asyncio
from typing import Final

from taskyard.gateway.port import Hub
from taskyard.store.port import Reader
from taskyard.vocabulary import Status

FRESH_MS: Final = 1_000
REMEMBERED_MAX: Final = 1_000
# Who ask within one second, about: beyond, what is remembered is dropped and all are counted anew.

Counts = dict[Status, int]


class Counted:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._counts: dict[str | None, tuple[int, asyncio.Task[Counts]]] = {}

    async def of(self, user_id: str | None) -> Counts:
        """As of a second ago at most; None: everybody's."""
        now_ms = self._hub.now_ms()
        since, counting = self._counts.get(user_id, (0, None))
        if counting is None or not 0 <= now_ms - since < FRESH_MS:
            counting = asyncio.create_task(self._count(user_id))
            if len(self._counts) >= REMEMBERED_MAX:
                self._counts.clear()
            self._counts[user_id] = now_ms, counting
        # Who hangs up does not end it for the others.
        return await asyncio.shield(counting)

    async def _count(self, user_id: str | None) -> Counts:
        def look(reader: Reader) -> Counts:
            return reader.counts(user_id=user_id)

        try:
            return await self._hub.read(look)
        except BaseException:
            # The next one who asks has it counted anew.
            self._counts.pop(user_id, None)
            raise

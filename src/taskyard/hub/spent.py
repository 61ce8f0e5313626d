"""Which one-time things have been used. Only the hub that leads is asked, so the first who shows one is the only one.

It is kept in memory: whoever makes such a thing writes the epoch into it, and no other epoch takes it.
"""

from heapq import heappop, heappush
from typing import Final

SPENT_MAX: Final = 10_000
# Far more than anybody makes. The next ones wait until some are over: a used one is never forgotten in its time.


class Spent:
    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._ends: list[tuple[int, str]] = []
        """The same, as a heap by when each ends."""
        self._forgotten_through = 0

    def spend(self, id: str, *, expires_at: int, now_ms: int) -> bool:
        """True for the first who shows it, in time."""
        while self._ends and self._ends[0][0] <= now_ms:
            self._forgotten_through, ended = heappop(self._ends)
            self._ids.discard(ended)
        # Not `now_ms` alone: after a step back of the clock, what was forgotten would be in time again.
        if expires_at <= max(now_ms, self._forgotten_through):
            return False
        if id in self._ids or len(self._ids) >= SPENT_MAX:
            return False
        self._ids.add(id)
        heappush(self._ends, (expires_at, id))
        return True

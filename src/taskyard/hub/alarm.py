"""When a hub wakes although nobody speaks to it: for what is due, and often enough to notice that it was stopped.

Nothing else tells a hub that was stopped from one that nobody spoke to: it wakes at least this often, and a waking that
is late by more than `LAG_MS` is time in which it could hear nobody.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from taskyard.core.state import Now

SLEEP_S_MAX: Final = 1.0
LAG_MS: Final = 250
JUMP_MS: Final = 300_000
# The calendar is put right by less than this all the time; more than this somebody should hear of.


class Alarm:
    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None
        self._wakes_at = 0
        """When it rings, on the monotonic clock."""
        self._offset: int | None = None
        """What the calendar said when the monotonic clock began."""

    def jump_ms(self, now: Now) -> int:
        """How far the calendar was put forward (below 0: back) since this was last asked, if that is far; else 0."""
        offset, before = now.wall - now.mono, self._offset
        self._offset = offset
        moved_ms = 0 if before is None else offset - before
        return moved_ms if abs(moved_ms) > JUMP_MS else 0

    def lag_ms(self, now: Now) -> int:
        """How late this waking is, if that is more than a busy machine explains; else 0."""
        late_ms = now.mono - self._wakes_at
        return late_ms if late_ms > LAG_MS else 0

    def set(self, now: Now, due_ms: int | None, *, heartbeat_s: float) -> None:
        """Ring when the next thing is due, or within a heartbeat. One that rings early enough is left as it is."""
        sleep_ms = round(min(SLEEP_S_MAX, heartbeat_s) * 1000)
        wakes_at = now.mono + (sleep_ms if due_ms is None else min(due_ms, sleep_ms))
        if self._handle is not None:
            if now.mono < self._wakes_at <= wakes_at:
                return
            self._handle.cancel()
        self._wakes_at = wakes_at
        self._handle = asyncio.get_running_loop().call_later((wakes_at - now.mono) / 1000, self._on_time)

    def reset(self, now: Now) -> None:
        """What was before this instant is nobody's lag."""
        self._wakes_at = now.mono

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _on_time(self) -> None:
        self._handle = None
        self._ring()

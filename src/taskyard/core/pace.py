"""How fast a line gets shorter: how many tasks were given to a daemon lately, by two minutes of counting.

A moving average of the gaps between them would call a hundred starts at one instant a pace of a hundred a
millisecond. Counting by the minute does not, and costs one addition a start. It is soft: after a restart nothing
is known until the first minute has shown something.
"""

from typing import Final

WINDOW_MS: Final = 60_000


class Pace:
    __slots__ = ("_before", "_begun_ms", "_count")

    def __init__(self) -> None:
        self._begun_ms: int | None = None
        """When the present window began, on the monotonic clock; None: nothing has started yet."""
        self._count = 0
        self._before: int | None = None
        """What the window before it counted; None: there was none."""

    def note(self, now_ms: int) -> None:
        """A task was given to a daemon."""
        if self._begun_ms is None:
            self._begun_ms = now_ms
        self._roll(self._begun_ms, now_ms)
        self._count += 1

    def wait_ms(self, depth: int, now_ms: int) -> int | None:
        """How long as many tasks as wait take to be started; None: it is not known."""
        if self._begun_ms is None:
            return None
        begun_ms = self._roll(self._begun_ms, now_ms)
        into_ms = now_ms - begun_ms
        if self._before is None:
            # In the first window, what was counted so far would be taken for what a moment brings.
            seen, over_ms = self._count, max(into_ms, WINDOW_MS // 4)
        else:
            # Of the window before, the part that lies within the last minute.
            seen, over_ms = self._count * WINDOW_MS + self._before * (WINDOW_MS - into_ms), WINDOW_MS * WINDOW_MS
        return depth * over_ms // seen if seen else None

    def _roll(self, begun_ms: int, now_ms: int) -> int:
        passed = (now_ms - begun_ms) // WINDOW_MS
        if passed > 0:
            self._before = self._count if passed == 1 else 0
            self._count = 0
            begun_ms += passed * WINDOW_MS
            self._begun_ms = begun_ms
        return begun_ms

"""Which refused deliveries are told to the log: whoever sends them needs no key, so they must not fill it.

Of one hook, or of all that do not exist, each reason is told a few times a minute. The rest is counted, and the count
is told with the next line like it.
"""

from collections import Counter
from typing import Final

PER_MINUTE_MAX: Final = 10
# A sender that is set up wrongly is seen by any of them.
KINDS_MAX: Final = 100
# Hooks with their reasons. What is beyond them is told as if it were of no hook.
MINUTE_MS: Final = 60_000


class RefusedDeliveries:
    def __init__(self) -> None:
        self._minute = 0
        self._told: Counter[tuple[str | None, str]] = Counter()
        """In this minute."""
        self._untold: Counter[tuple[str | None, str]] = Counter()
        """Since the last line of its kind."""

    def untold(self, hook_id: str | None, reason: str, now_ms: int) -> int | None:
        """How many like this one went untold before it; None: so does this one."""
        if now_ms // MINUTE_MS != self._minute:
            self._minute = now_ms // MINUTE_MS
            self._told.clear()
            if len(self._untold) > KINDS_MAX:
                # Of hooks that nobody sends to any more, their count is never told.
                self._untold.clear()
        kind = hook_id, reason
        if kind not in self._told and len(self._told) >= KINDS_MAX:
            kind = None, reason
        if self._told[kind] >= PER_MINUTE_MAX:
            self._untold[kind] += 1
            return None
        self._told[kind] += 1
        return self._untold.pop(kind, 0)

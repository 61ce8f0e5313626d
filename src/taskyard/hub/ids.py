"""Ids and secrets: the only place that mints them.

Ids are UUIDv7 that grow strictly, also within one millisecond and when the wall clock steps back: rows are written in
key order, and a smaller id is an older task, which is what lanes sort by.
"""

import secrets
import time
from collections.abc import Iterator
from typing import Final

_COUNTER_BITS: Final = 12
_COUNTER_MAX: Final = (1 << _COUNTER_BITS) - 1
DRAWN_AT_ONCE: Final = 512


class Mint:
    """Mints ids in order. One per hub, which lets it pass by the newest id of its store."""

    def __init__(self) -> None:
        self._ms = 0
        self._counter = 0
        self._head = (0, "")
        """A millisecond, and how every id of it begins."""
        self._ends: Iterator[str] = iter(())

    def pass_by(self, newest: str | None) -> None:
        """From now on every id is larger than this one, wherever the wall clock stands after a restart."""
        digits = (newest or "").replace("-", "")
        try:
            ms, counter = int(digits[:12], 16), int(digits[13:16], 16)
        except ValueError:
            return
        self._ms, self._counter = max((ms, counter), (self._ms, self._counter))

    def id(self) -> str:
        ms = time.time_ns() // 1_000_000
        if ms > self._ms:
            self._ms, self._counter = ms, 0
        elif self._counter < _COUNTER_MAX:
            self._counter += 1
        else:
            # 4,096 ids within a millisecond: borrow from the next one.
            self._ms, self._counter = self._ms + 1, 0
        end = next(self._ends, None) or self._draw()
        if self._head[0] != self._ms:
            self._head = (self._ms, f"{self._ms >> 16:08x}-{self._ms & 0xFFFF:04x}-7")
        return f"{self._head[1]}{self._counter:03x}-{end}"

    def _draw(self) -> str:
        """The random ends of the ids to come: one by one, each would give up the interpreter to the system."""
        drawn = memoryview(secrets.token_bytes(8 * DRAWN_AT_ONCE)).cast("Q")
        texts = (f"{1 << 63 | bits >> 2:016x}" for bits in drawn)
        self._ends = iter([f"{text[:4]}-{text[4:]}" for text in texts])
        return next(self._ends)


def mint_secret() -> str:
    """256 random bits as 43 url-safe characters."""
    return secrets.token_urlsafe(32)

"""Ids and secrets: the only place that mints them.

Ids are UUIDv7 that grow strictly, also within one millisecond and when the wall clock steps back: rows are written in
key order, and a smaller id is an older task, which is what lanes sort by.
"""

import secrets
import time
from typing import Final

_COUNTER_BITS: Final = 12
_COUNTER_MAX: Final = (1 << _COUNTER_BITS) - 1


class Mint:
    """Mints ids in order. One per hub, which lets it pass by the newest id of its store."""

    def __init__(self) -> None:
        self._ms = 0
        self._counter = 0

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
        text = f"{self._ms:012x}7{self._counter:03x}{0x8000000000000000 | secrets.randbits(62):016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def mint_secret() -> str:
    """256 random bits as 43 url-safe characters."""
    return secrets.token_urlsafe(32)

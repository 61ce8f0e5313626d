"""Which idempotency keys may be those of ended tasks, and which surely are not: those need no look at the store.

Nearly every submission has a key that nobody used before, and a look costs more than the rest of it. What has been
used is kept as a Bloom filter: a few bits of each, so its size does not grow with the past. It forgets nothing, and
with too many keys in it most seem used; then it is made anew of those that history still has.
"""

from collections.abc import Iterable
from typing import Final

BITS: Final = 1 << 25
# 4 MiB. Of keys that were never used, one in 7,000 seems so with a million in it, one in 40 with as many as fit.
FIT: Final = BITS >> 3
PROBES: Final = 4


class UsedKeys:
    def __init__(self) -> None:
        self._bits = bytearray(BITS >> 3)
        self.count = 0
        """Of those that were added, the same one as often as it was."""

    def add(self, used: Iterable[tuple[str, str]]) -> None:
        bits = self._bits
        for pair in used:
            self.count += 1
            for place in _places(pair):
                bits[place >> 3] |= 1 << (place & 7)

    def may_have(self, user_id: str, key: str) -> bool:
        bits = self._bits
        return all(bits[place >> 3] & 1 << (place & 7) for place in _places((user_id, key)))


def _places(pair: tuple[str, str]) -> list[int]:
    """Python's own hash: other in each process, so nobody can choose keys that collide."""
    mixed = hash(pair)
    first, step = mixed & 0xFFFFFFFF, mixed >> 32 | 1
    return [(first + turn * step) % BITS for turn in range(PROBES)]

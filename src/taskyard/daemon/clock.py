"""A clock that counts a suspended machine's sleep too: the hub's lease does not sleep."""

import time
from typing import Final

_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


def now_ms() -> int:
    return time.clock_gettime_ns(_CLOCK) // 1_000_000

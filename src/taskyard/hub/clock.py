"""The hub's clocks. The only place that reads them; everything else is handed a `Now`."""

import time
from typing import Final

from taskyard.core.state import Now

NOISE_MS: Final = 100
# What the way to the database and back may cost; a clock that followed it would run back and forth.
SLOW_MS: Final = 1_000
# An answer that took longer than this does not tell the time.


def read_clock() -> Now:
    return Now(wall=time.time_ns() // 1_000_000, mono=time.monotonic_ns() // 1_000_000)


def read_age() -> float:
    """Seconds since some moment, also those in which the whole machine slept; for how long a promise of ours holds."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def read_stopwatch() -> float:
    """Seconds since some moment, as finely as the machine can tell; for how long something took, never for when."""
    return time.perf_counter()


class SharedClock:
    """The calendar that hubs of one yard have in common, whatever the clocks of their machines say.

    Deadlines, time limits and retries are kept as instants: a hub that took over by a clock of its own would find them
    an hour late, or an hour away.
    """

    def __init__(self) -> None:
        self.ahead_ms = 0
        """How far it is from the clock of this machine."""

    def read(self) -> Now:
        own = read_clock()
        return Now(wall=own.wall + self.ahead_ms, mono=own.mono)

    def hear(self, wall: int, *, asked: Now) -> None:
        """Whoever keeps it was asked by our clock at `asked`, and has just answered."""
        answered = read_clock()
        if answered.mono - asked.mono > SLOW_MS:
            return
        ahead_ms = wall - (asked.wall + answered.wall) // 2
        if abs(ahead_ms - self.ahead_ms) > NOISE_MS:
            self.ahead_ms = ahead_ms

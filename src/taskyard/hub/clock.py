"""The hub's clocks. The only place that reads them; everything else is handed a `Now`."""

import time

from taskyard.core.state import Now


def read_clock() -> Now:
    return Now(wall=time.time_ns() // 1_000_000, mono=time.monotonic_ns() // 1_000_000)


def read_age() -> float:
    """Seconds since some moment, also those in which the whole machine slept; for how long a promise of ours holds."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def read_stopwatch() -> float:
    """Seconds since some moment, as finely as the machine can tell; for how long something took, never for when."""
    return time.perf_counter()


def read_machine_us() -> int:
    """Microseconds since some moment that is the same for all processes of this machine."""
    return time.monotonic_ns() // 1000

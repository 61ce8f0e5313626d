"""The hub's clocks. The only place that reads them; everything else is handed a `Now`."""

import time

from taskyard.core.state import Now


def read_clock() -> Now:
    return Now(wall=time.time_ns() // 1_000_000, mono=time.monotonic_ns() // 1_000_000)


def read_stopwatch() -> float:
    """Seconds since some moment, as finely as the machine can tell; for how long something took, never for when."""
    return time.perf_counter()

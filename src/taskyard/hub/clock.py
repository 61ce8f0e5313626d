"""The hub's clocks. The only place that reads them; everything else is handed a `Now`."""

import time

from taskyard.core.state import Now


def read_clock() -> Now:
    return Now(wall=time.time_ns() // 1_000_000, mono=time.monotonic_ns() // 1_000_000)

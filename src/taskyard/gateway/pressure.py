"""How it stands with the line, as daemons, callers and those who were refused read it: one object for all."""

from taskyard.core.effects import Signal
from taskyard.wire.frames import Backpressure


def shown(signal: Signal) -> Backpressure:
    return Backpressure(
        level=signal.level,
        scope=signal.scope,
        queue_depth=signal.depth,
        estimated_wait_time=None if signal.wait_ms is None else signal.wait_ms / 1000,
        recommendations=list(signal.advice),
    )

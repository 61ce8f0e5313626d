"""What the hub counts and measures, as it stands at one moment: `GET /metrics` shows it in two forms."""

from collections.abc import Mapping

from msgspec import Struct

from taskyard.vocabulary import BreakerState, DaemonStatus, Level, Pressure, SourceType

Depth = Mapping[tuple[str, Level, SourceType], int]
"""Ready tasks by queue, level and source."""


Requests = Mapping[tuple[str, str, int], int]
"""Answered requests by method, route and the hundreds of their status; no route is empty."""


class Lately(Struct, frozen=True):
    """Of the last minutes; all of them 0 when there was nothing to measure."""

    mean: float
    p50: float
    p99: float


class Distribution(Struct, frozen=True):
    """How many were as large as this, since the start; and what they were lately."""

    buckets: list[tuple[float, int]]
    """Upper bound, and how many were not above it; the last bound is infinite."""
    total: float
    lately: Lately


class Figures(Struct, kw_only=True, frozen=True):
    """Durations are milliseconds, counts are since the start of the process."""

    depth: Depth
    running: int
    events: Mapping[str, int]
    attempts: Mapping[str, int]
    """Attempts that had begun, by how they ended."""
    events_per_minute: Mapping[str, int]
    events_lately: Mapping[str, int]
    attempts_lately: Mapping[str, int]
    wait_ms: Distribution
    execution_ms: Distribution
    commit_rows: Distribution
    commit_ms: Distribution
    loop_lag_ms: Distribution
    daemons: Mapping[DaemonStatus, int]
    slots: int
    slots_used: int
    breakers: Mapping[BreakerState, int]
    pressure: Pressure

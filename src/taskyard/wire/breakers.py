"""Breakers as they are answered."""

from msgspec import Struct

from taskyard.vocabulary import BreakerState
from taskyard.wire.fields import Instant


class BreakerAnswer(Struct, kw_only=True):
    type: str
    user_id: str
    state: BreakerState
    failures: int
    """Failed attempts in a row."""
    last_failure_at: Instant | None
    opened_at: Instant | None
    half_open_at: Instant | None
    """When one task may try."""
    probe: str | None
    """The id of the task that tries."""
    failure_threshold: int
    cooldown: float

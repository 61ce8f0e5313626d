"""The hubs of a yard as they are answered."""

from msgspec import Struct

from taskyard.wire.fields import Instant


class HubAnswer(Struct, kw_only=True):
    id: str
    address: str
    """Under which people and daemons reach it; empty while it starts."""
    leader: bool
    epoch: int | None
    """Of whoever leads; null: nobody does."""
    since: Instant
    """When it began to lead, or to run."""
    lag_s: float
    """How long ago it was last heard of."""

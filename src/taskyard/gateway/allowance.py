"""A token bucket for what a peer sends: a second's worth may come at once."""


class Allowance:
    __slots__ = ("_at", "_used")

    def __init__(self, now: float) -> None:
        self._at = now
        self._used = 0.0
        """Below 0 never; above a second's worth it is a debt."""

    def take(self, amount: float, per_s: float, now: float) -> float:
        """Use this much. Return for how many seconds nothing more may be taken; 0.0 while the peer is within bounds."""
        used = self._used - (now - self._at) * per_s
        self._used = used = amount + (used if used > 0 else 0.0)
        self._at = now
        return used / per_s - 1 if used > per_s else 0.0

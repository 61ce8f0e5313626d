"""One user's deliveries to one host: which is next, and whether the host is left alone for now."""

from heapq import heappush
from typing import Final

from taskyard.core.notices import PENDING, Delivery

FAILURES_MAX: Final = 5
REST_MS: Final = 30_000
REST_MS_MAX: Final = 600_000
# A host that failed so often in a row is left alone for half a minute, then for twice as long, to ten minutes.
ASKED_FOR: Final = 0
# Before any instant.


class Line:
    """One user's deliveries to one host."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, str]] = []
        """(when, delivery), a heap; what a person asked for is before all others."""
        self.sending = 0
        self.is_ready = False
        """It stands among those whose turn is to come."""
        self.failures = 0
        """In a row."""
        self.rests_until = 0
        self.wakes_at: int | None = None
        """When the clock stirs it."""
        self._rest_ms = 0

    def put(self, delivery: Delivery) -> None:
        heappush(self.waiting, (ASKED_FOR if is_asked_for(delivery) else delivery.next_at, delivery.id))

    def may_send(self, now_ms: int, parallel_max: int) -> bool:
        """A host that failed is tried by one request alone, and before its time only because a person says so."""
        most = 1 if self.failures >= FAILURES_MAX else parallel_max
        is_awake = self.rests_until <= now_ms or (bool(self.waiting) and self.waiting[0][0] == ASKED_FOR)
        return self.sending < most and is_awake

    def note(self, now_ms: int, *, has_failed: bool) -> None:
        if not has_failed:
            self.failures = self.rests_until = self._rest_ms = 0
            return
        self.failures += 1
        if self.failures >= FAILURES_MAX:
            self._rest_ms = min(max(2 * self._rest_ms, REST_MS), REST_MS_MAX)
            self.rests_until = now_ms + self._rest_ms


def is_asked_for(delivery: Delivery) -> bool:
    """Whether a person had it sent again and it was not yet: whoever does so may know that the host is back."""
    return delivery.status is PENDING and delivery.attempts > 0 and delivery.failures == 0

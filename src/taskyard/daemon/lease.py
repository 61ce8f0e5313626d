"""Until when the hub surely counts this daemon as alive, and what follows from silence.

The hub renews the lease when it *receives* a heartbeat; the daemon counts from when it *sent* the one that
was answered, which is earlier. So the daemon always believes its lease ends before the hub does, as long as
the two clocks' rates differ by less than the 20 % that the hub adds.

Half a lease of silence: the connection is deaf, so hang up while there is time to come back with the
inventory. Five sixths: work that must never run twice at once is stopped, and the last sixth is its grace.
"""

from collections import deque
from typing import Final

from taskyard.daemon.hearing import Hearing
from taskyard.daemon.orders import Key

BEATS_UNANSWERED_MAX: Final = 64
WELCOME_MS: Final = 10_000
"""How long a hub may take to answer `hello`."""


class Lease:
    def __init__(self) -> None:
        self.heartbeat_ms = 5_000
        self.lease_ms = 30_000
        self.beat_at: int | None = None
        """When the next heartbeat is due; None while there is nobody to send it to."""
        self.fence_at: int | None = None
        """When work that must never run twice at once has to stop; None before the first welcome."""
        self._fence_told: int | None = None
        self._listening_from: int | None = None
        self._unanswered: deque[int] = deque(maxlen=BEATS_UNANSWERED_MAX)
        self.hearing = Hearing()
        self._sent = 0
        self._answered = 0
        """Both of this connection."""

    def said_hello(self, now_ms: int) -> None:
        self._listening_from = now_ms
        self._forget_beats()

    def welcomed(self, *, heartbeat_s: float, lease_s: float, now_ms: int) -> None:
        self.heartbeat_ms = max(1, int(heartbeat_s * 1000))
        self.lease_ms = max(1, int(lease_s * 1000))
        self._hold_from(self._listening_from)
        self._listening_from = now_ms
        self.beat_at = now_ms + self.heartbeat_ms

    def fell_silent(self) -> None:
        """There is nobody to send to. The fence stays where it is: only an answer moves it."""
        self.beat_at = None
        self._listening_from = None
        self._forget_beats()

    def _forget_beats(self) -> None:
        self._unanswered.clear()
        self._sent = self._answered = 0
        self.hearing.fell_silent()

    @property
    def wants_beat(self) -> bool:
        """Whether a heartbeat is to be sent now, however long ago the last one was."""
        return self.hearing.wants_beat and self.beat_at is not None

    def is_beat_due(self, now_ms: int) -> bool:
        return self.beat_at is not None and (now_ms >= self.beat_at or self.hearing.wants_beat)

    def sent_beat(self, now_ms: int) -> None:
        # From now and not from when it was due: a stalled loop must not answer its stall with a burst.
        self.beat_at = now_ms + self.heartbeat_ms
        self._unanswered.append(now_ms)
        self._sent += 1
        self.hearing.asked(self._sent)

    def answered(self, now_ms: int) -> list[Key]:
        """A heartbeat was answered: answers come in the order of their heartbeats. Whose start was heard by that."""
        if not self._unanswered:
            return []
        self._hold_from(self._unanswered.popleft())
        self._listening_from = now_ms
        self._answered += 1
        return self.hearing.heard(self._answered)

    def _hold_from(self, instant: int | None) -> None:
        self.fence_at = None if instant is None else instant + self.lease_ms - self.fence_grace_ms

    @property
    def deaf_at(self) -> int | None:
        if self._listening_from is None:
            return None
        patience_ms = WELCOME_MS if self.beat_at is None else self.lease_ms // 2
        return self._listening_from + patience_ms

    def is_deaf(self, now_ms: int) -> bool:
        return self.deaf_at is not None and now_ms >= self.deaf_at

    def is_fenced(self, now_ms: int) -> bool:
        return self.fence_at is not None and now_ms >= self.fence_at

    @property
    def ends_at(self) -> int | None:
        """When the hub may at the earliest give our work to another; None before the first welcome."""
        return None if self.fence_at is None else self.fence_at + self.fence_grace_ms

    def take_new_end(self) -> int | None:
        """As `ends_at`, if that has moved since this was last asked."""
        if self.fence_at == self._fence_told:
            return None
        self._fence_told = self.fence_at
        return self.ends_at

    def grace_left_ms(self, now_ms: int) -> int:
        """How long fenced work may take to stop: until the lease ends, so not at all for a process that slept on."""
        fence_at = now_ms if self.fence_at is None else self.fence_at
        return max(0, fence_at + self.fence_grace_ms - now_ms)

    @property
    def redial_ms(self) -> int:
        """Several tries within a lease, so that one that fails does not cost the work."""
        return self.lease_ms // 4

    @property
    def fence_grace_ms(self) -> int:
        return self.lease_ms // 6

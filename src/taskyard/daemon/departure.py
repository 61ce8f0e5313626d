"""How a daemon leaves: finish, hand back, wait for the last acknowledgements, go."""

from typing import Final

STOP_GRACE_MS: Final = 10_000
"""How long work may take to stop."""
LINGER_MS: Final = 5_000
"""How long an idle daemon waits for the hub to acknowledge its last outcomes. The others are on disk."""


class Departure:
    def __init__(self, deadline_ms: int) -> None:
        self.hand_back_at: int | None = deadline_ms
        """None: what was left has been told to stop."""
        self.gone_at = deadline_ms + STOP_GRACE_MS + LINGER_MS
        """Whatever still runs then ends with the process, and the hub learns it from the lease."""

    def is_idle(self, now_ms: int) -> None:
        self.gone_at = min(self.gone_at, now_ms + LINGER_MS)

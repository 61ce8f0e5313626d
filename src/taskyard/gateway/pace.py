"""How fast a daemon is heard: by what it may say in a second, in a turn of the event loop, and while the hub is behind.

What is said beyond that is slowed and never dropped: results are worth having. It waits here, and its socket is not
read meanwhile, so that no more waits than one turn of the loop can parse.
"""

from collections.abc import Callable, Sequence
from typing import Final

from taskyard.gateway.allowance import Allowance
from taskyard.wire import frames

# Several times what a daemon of 64 slots sends at the full rate of a hub: only a loop gone mad meets it.
MESSAGES_PER_S: Final = 200_000
FRAME_WORTH: Final = 10
"""Of that, what a frame costs beside its messages,"""
BYTES_WORTH: Final = 64
"""for how many bytes one more is counted,"""
UNKNOWN_WORTH: Final = 20
"""and what a message costs that has to be answered with an error."""
TURN_MESSAGES: Final = 256
"""As many as a daemon of that many slots can have to say at once."""
TURN_S: Final = 0.001
# New work is decided when no message waits. So whatever a daemon says beyond a turn's worth waits until none does, and
# everything once so many do: about 10 ms of decisions. A few go on even then, for there may be many daemons.
BACKLOG_MAX: Final = 1_000
BEHIND_MESSAGES: Final = 16
BEHIND_S: Final = 0.005


class Pace:
    def __init__(
        self,
        tell: Callable[[Sequence[frames.FromDaemon]], None],
        backlog: Callable[[], int],
        clock: Callable[[], float],
    ) -> None:
        self._tell = tell
        self._backlog = backlog
        self._clock = clock
        self._allowance = Allowance(clock())
        self._paid_at = 0.0
        self._waiting: list[frames.FromDaemon] = []
        self._rest_s = 0.0

    def hear(self, messages: list[frames.FromDaemon], *, size: int, unknown: int = 0) -> float:
        """Tell what a frame of so many bytes says. Return for how many seconds to hear nothing more, then `go_on`."""
        cost = FRAME_WORTH + len(messages) + size // BYTES_WORTH + unknown * UNKNOWN_WORTH
        now = self._clock()
        if debt_s := self._allowance.take(cost, MESSAGES_PER_S, now):
            self._paid_at = now + debt_s
        if self._waiting or self._rest_s > 0:
            self._waiting += messages
            return self._rest_s
        if not debt_s and len(messages) <= TURN_MESSAGES and self._backlog() < BACKLOG_MAX:
            # As nearly always.
            self._tell(messages)
            return 0.0
        self._waiting = messages
        return self.go_on()

    def go_on(self) -> float:
        """Tell more of what waits; as `hear`."""
        backlog = self._backlog()
        is_behind = backlog >= (1 if self._rest_s > 0 else BACKLOG_MAX)
        most = BEHIND_MESSAGES if is_behind else TURN_MESSAGES
        told, self._waiting = self._waiting[:most], self._waiting[most:]
        try:
            self._tell(told)
        except Exception:
            # What stands behind a message that is not understood is not told.
            self._waiting = []
            raise
        if self._waiting or backlog >= BACKLOG_MAX:
            self._rest_s = BEHIND_S if is_behind else TURN_S
        else:
            self._rest_s = max(0.0, self._paid_at - self._clock()) if self._paid_at else 0.0
            self._paid_at = 0.0
        return self._rest_s

    def end(self) -> None:
        """Tell what waits: nothing more will come."""
        waiting, self._waiting = self._waiting, []
        self._tell(waiting)

"""What the hub is told over the connection that is open now, and in which order.

Before a welcome there is nothing but `hello`: whatever else is said is dropped, since all of it is told anew then. Of
an attempt's states the newest is told, ahead of everything else that is said of it, and none if it has ended by then.
"""

from collections.abc import Container
from typing import Final

from msgspec import Raw

from taskyard.daemon.attempt import Attempt
from taskyard.daemon.orders import Key
from taskyard.vocabulary import InventoryState
from taskyard.wire import frames

_encode: Final = frames.encode


class Telling:
    def __init__(self) -> None:
        self.welcomed = False
        self._messages: list[bytes] = []
        self._stirred: dict[Key, Attempt] = {}
        """Attempts whose state is to be told, if they have not ended by the next `take`."""

    def take(self, live: Container[Key]) -> list[bytes]:
        """What to send now, in order."""
        messages, self._messages = self._messages, []
        if self._stirred:
            messages[:0] = self._take_states(live)
        return messages

    def _take_states(self, live: Container[Key]) -> list[bytes]:
        stirred, self._stirred = self._stirred, {}
        states = []
        for key, attempt in stirred.items():
            if key in live:
                attempt.told = attempt.state
                states.append(_encode(attempt.state_message()))
        return states

    def fall_silent(self) -> None:
        """What was said last may not have arrived."""
        self.welcomed = False
        self._stirred.clear()
        self._messages.clear()

    def send(self, message: frames.FromDaemon) -> None:
        """Also without a welcome."""
        self._messages.append(_encode(message))

    def tell(self, message: frames.FromDaemon) -> None:
        if self.welcomed:
            self._messages.append(_encode(message))

    def tell_outcome(self, outcome: bytes) -> None:
        """As it is kept."""
        if self.welcomed:
            self._messages.append(outcome)

    def tell_state(self, attempt: Attempt) -> None:
        if self.welcomed:
            self._stirred[attempt.key] = attempt

    def tell_running(self, attempt: Attempt) -> None:
        attempt.state = InventoryState.RUNNING
        self.tell_state(attempt)

    def tell_progress(self, attempt: Attempt, now_ms: int) -> None:
        self.tell(attempt.take_news(now_ms))

    def tell_checkpoint(self, attempt: Attempt) -> None:
        if attempt.checkpoint is not None:
            self.tell(frames.TaskCheckpoint(*attempt.key, Raw(attempt.checkpoint)))

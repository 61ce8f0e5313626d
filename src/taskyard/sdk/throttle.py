"""What a proactive engine's submitter does next: how many it sends, how long it waits. Decides; sends nothing.

The hub's word is absolute: at `warning` the window is twice and the batch half of what was asked for, however often
that is heard; at `critical` nothing is sent; at `normal` all is as before. What is not taken stays in the buffer, in
its order and under its key, so that sending it again makes no second task.
"""

import logging
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, cast

from taskyard.sdk.answers import Rejected
from taskyard.sdk.errors import (
    BY_CODE,
    BadAnswer,
    HubUnreachable,
    Limited,
    Refused,
    TaskyardError,
    Unavailable,
)
from taskyard.sdk.submission import NewTask, TaskOptions, is_keyed
from taskyard.vocabulary import Pressure

log = logging.getLogger(__name__)

SLOWER: Final = 2
WINDOW_S: Final = 5.0
BATCH_MAX: Final = 20
BUFFER_MAX: Final = 1000
PASSING: Final = (Limited, Unavailable)
"""Refusals that time cures."""

OnRejected = Callable[[NewTask, Rejected], None]


class BufferFull(TaskyardError):
    """More was produced than the hub takes at the moment: produce less, or drop something."""


def log_rejected(_task: NewTask, why: Rejected) -> None:
    """What becomes of a refusal that nobody asked to hear of. The task itself is not for the log."""
    log.warning("a proactive task was refused: %s", why.code)


class Throttle:
    def __init__(self, *, window_s: float = WINDOW_S, batch_max: int = BATCH_MAX, buffer_max: int = BUFFER_MAX) -> None:
        if window_s <= 0 or batch_max < 1 or buffer_max < 1:
            raise ValueError("window_s must be above 0, batch_max and buffer_max at least 1")
        self._window_s = window_s
        self._batch_max = batch_max
        self._buffer_max = buffer_max
        self._buffer: deque[NewTask] = deque()
        self._sending = 0
        self._retry_after_s = 0.0
        self.level: str = Pressure.NORMAL
        """What the hub said last."""

    def __len__(self) -> int:
        """Tasks that the hub does not have yet."""
        return len(self._buffer) + self._sending

    @property
    def is_paused(self) -> bool:
        return self.level == Pressure.CRITICAL

    @property
    def window_s(self) -> float:
        return self._window_s if self.level == Pressure.NORMAL else self._window_s * SLOWER

    @property
    def batch_max(self) -> int:
        if self.is_paused:
            return 0
        return self._batch_max if self.level == Pressure.NORMAL else max(1, self._batch_max // SLOWER)

    @property
    def pause_s(self) -> float:
        """Until the next batch."""
        return max(self.window_s, self._retry_after_s)

    def add(self, input: str, options: TaskOptions) -> None:
        if len(self) >= self._buffer_max:
            raise BufferFull(f"{len(self)} tasks wait to be sent, and no more are kept.")
        task = cast("NewTask", {"input": input, **options})
        # Whatever else is said of its source, it is an engine's.
        task["source"] = {**task.get("source", {}), "type": "proactive"}
        if not is_keyed(task):
            task["idempotency_key"] = secrets.token_urlsafe(16)
        self._buffer.append(task)

    def hear(self, level: str) -> None:
        self.level = level

    def take(self) -> list[NewTask]:
        """The next batch. It ends with `settle` or `fail`."""
        batch = [self._buffer.popleft() for _ in range(min(self.batch_max, len(self._buffer)))]
        self._sending = len(batch)
        self._retry_after_s = 0.0
        return batch

    def settle(self, batch: Sequence[NewTask], rejected: Sequence[Rejected]) -> list[tuple[NewTask, Rejected]]:
        """The hub has taken it but for these. Those that time cures are kept; the others are given back."""
        passing = [one for one in rejected if BY_CODE.get(one.code) in PASSING]
        self._keep([batch[one.index] for one in passing])
        return [(batch[one.index], one) for one in rejected if one not in passing]

    def fail(self, batch: Sequence[NewTask], error: TaskyardError) -> list[tuple[NewTask, Rejected]]:
        """The hub took none of it, or we do not know; the same, therefore."""
        if isinstance(error, Limited) and error.backpressure is not None:
            self.hear(error.backpressure.level)
        is_passing = isinstance(error, (*PASSING, HubUnreachable, BadAnswer))
        if isinstance(error, Refused) and not is_passing and batch:
            self._keep([])
            given = Rejected(index=0, status=error.status, code=error.code, detail=error.detail)
            return [(task, given) for task in batch]
        self._keep(batch)
        if not is_passing:
            # A key that is not known, no address: sending again cures nothing, and somebody has to hear of it.
            raise error
        self._retry_after_s = (error.retry_after or 0.0) if isinstance(error, Refused) else 0.0
        return []

    def leave(self) -> list[NewTask]:
        """What was never sent."""
        left = list(self._buffer)
        self._buffer.clear()
        return left

    def _keep(self, tasks: Sequence[NewTask]) -> None:
        self._sending = 0
        self._buffer.extendleft(reversed(tasks))

"""What a proactive engine's submitter does next: how many it sends, how long it waits. Decides; sends nothing.

The hub's word is absolute: at `warning` the window is twice and the batch half of what was asked for, however often
that is heard; at `critical` nothing is sent; at `normal` all is as before. What is not taken stays on the shelf, in
its order and under its key, so that sending it again makes no second task.

Nothing is given up but a task that the hub refuses by itself and for good. A batch that is refused as a whole is sent
in halves until the one is found that is to blame.
"""

import logging
import secrets
from collections.abc import Callable, Sequence
from typing import Final, cast

from taskyard.sdk.answers import Rejected
from taskyard.sdk.errors import (
    BY_CODE,
    Invalid,
    Limited,
    Refused,
    TaskyardError,
    Unavailable,
)
from taskyard.sdk.shelf import MemoryShelf, Shelf
from taskyard.sdk.submission import NewTask, TaskOptions, check_sendable, is_keyed
from taskyard.vocabulary import Pressure

log = logging.getLogger(__name__)

SLOWER: Final = 2
WINDOW_S: Final = 5.0
BATCH_MAX: Final = 20
BUFFER_MAX: Final = 1000
PASSING: Final = (Limited, Unavailable)
"""Refusals that time cures."""

OnRejected = Callable[[NewTask, Rejected], None]


def log_rejected(_task: NewTask, why: Rejected) -> None:
    """What becomes of a refusal that nobody asked to hear of. The task itself is not for the log."""
    log.warning("a proactive task was refused: %s", why.code)


def tell(callback: Callable[..., object], *news: object) -> None:
    try:
        callback(*news)
    except Exception:  # its fault is its own: what it was told of has happened
        log.exception("a callback of the submitter failed")


class Throttle:
    def __init__(
        self,
        *,
        window_s: float = WINDOW_S,
        batch_max: int = BATCH_MAX,
        buffer_max: int = BUFFER_MAX,
        shelf: Shelf | None = None,
    ) -> None:
        """Without a shelf, one in memory for `buffer_max` tasks."""
        if window_s <= 0 or batch_max < 1 or buffer_max < 1:
            raise ValueError("window_s must be above 0, batch_max and buffer_max at least 1")
        self._window_s = window_s
        self._batch_max = batch_max
        self._shelf = MemoryShelf(buffer_max) if shelf is None else shelf
        self._retry_after_s = 0.0
        self._tried = 0
        """How many were in a batch that was refused as a whole, since when none was taken; 0: there was none."""
        self._failures = 0
        """In a row, but for those that only say to be slower."""
        self.is_searching = False
        """A batch was just refused as a whole. Each step halves it, so the search ends soon and needs no windows."""
        self.level: str = Pressure.NORMAL
        """What the hub said last."""

    def __len__(self) -> int:
        """Tasks that the hub does not have yet."""
        return len(self._shelf)

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
        allowed = self._batch_max if self.level == Pressure.NORMAL else max(1, self._batch_max // SLOWER)
        return min(allowed, max(1, self._tried // 2)) if self._tried else allowed

    @property
    def pause_s(self) -> float:
        """Until the next batch."""
        return 0.0 if self.is_searching else max(self.window_s, self._retry_after_s)

    def add(self, input: str, options: TaskOptions) -> None:
        self.add_all([cast("NewTask", {"input": input, **options})])

    def add_all(self, tasks: Sequence[NewTask]) -> None:
        for task in tasks:
            check_sendable(task)
        self._shelf.add([_owned(task) for task in tasks])

    def hear(self, level: str) -> None:
        self.level = level

    def take(self) -> list[NewTask]:
        """The next batch. It ends with `settle` or `fail`."""
        self._retry_after_s = 0.0
        self.is_searching = False
        return self._shelf.take(self.batch_max)

    def settle(self, batch: Sequence[NewTask], rejected: Sequence[Rejected]) -> list[tuple[NewTask, Rejected]]:
        """The hub has taken it but for these. Those that time cures are kept; the others are given back."""
        passing = [one for one in rejected if BY_CODE.get(one.code) in PASSING]
        self._shelf.settle([one.index for one in passing])
        self._tried = 0
        if self._failures:
            log.info("proactive tasks are sent again")
        self._failures = 0
        return [(batch[one.index], one) for one in rejected if one not in passing]

    def fail(self, batch: Sequence[NewTask], error: TaskyardError) -> list[tuple[NewTask, Rejected]]:
        """The hub took none of it, or we do not know; the same, therefore."""
        if isinstance(error, Limited) and error.backpressure is not None:
            self.hear(error.backpressure.level)
        if isinstance(error, Invalid) and len(batch) == 1:
            self._tried = 0
            self._shelf.settle([])
            return [(batch[0], Rejected(index=0, status=error.status, code=error.code, detail=error.detail))]
        self._shelf.settle(range(len(batch)))
        if isinstance(error, Invalid) and batch:
            self._tried, self.is_searching = len(batch), True
            return []
        self._tried = 0
        self._retry_after_s = (error.retry_after or 0.0) if isinstance(error, Refused) else 0.0
        if not isinstance(error, Limited):
            self._complain(error)
        return []

    def _complain(self, error: TaskyardError) -> None:
        """Somebody has to hear of a key that is not known or a hub that is gone; not every few seconds, though."""
        self._failures += 1
        if self._failures.bit_count() == 1:
            log.warning("proactive tasks wait (%d), failure %d: %s", len(self), self._failures, error)

    def leave(self) -> list[NewTask]:
        """It is over: what was never sent and is nowhere else."""
        left = self._shelf.leave()
        if left:
            log.warning("proactive tasks were not sent (%d); `left` has them, and nothing else has", len(left))
        return left


def _owned(given: NewTask) -> NewTask:
    """A task as it is sent, however often. Whatever else is said of its source, it is an engine's."""
    task = given.copy()
    task["source"] = {**(task.get("source") or {}), "type": "proactive"}
    if not is_keyed(task):
        task["idempotency_key"] = secrets.token_urlsafe(16)
    return task

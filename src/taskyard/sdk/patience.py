"""How long a wait goes on, poll by poll, and when it ends although its task has not. Decides; neither asks nor sleeps.

A wait ends early where it would last for ever: its task is blocked by a dependency, or no daemon that the hub knows can
run it and none has come for `stuck_after` seconds. A daemon that is away counts as one that can: it may come
back.
"""

import time
from collections.abc import Callable
from typing import Final

from taskyard.sdk import requests
from taskyard.sdk.answers import TaskRecord, Why, WhyReason
from taskyard.sdk.errors import TaskStuck, WaitTimeout
from taskyard.vocabulary import Status
from taskyard.vocabulary.reasons import FOR_NOBODY, Reason

PROGRESS_S: Final = 1.0
PROGRESS_S_FIRST: Final = 0.1
# How long one poll lasts when the progress is watched. The hub learns it about once a second; the first
# polls are shorter, since most happens at the beginning: queued, scheduled, started.
WAITING_POLL_S: Final = 2.0
# A poll answers early only when the task has ended, and a dependency that fails blocks it without ending it.
POLL_S_MIN: Final = 0.05
STUCK_AFTER_S: Final = 30.0
"""A daemon that starts anew, or whose machine does, is mostly back by then."""


class Patience:
    def __init__(
        self,
        *,
        timeout_s: float | None,
        watched: bool,
        stuck_after_s: float | None = STUCK_AFTER_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`stuck_after_s` None: only `timeout_s` ends the wait early."""
        self._poll_s = PROGRESS_S_FIRST if watched else requests.WAIT_S_MAX
        self._poll_s_max = PROGRESS_S if watched else requests.WAIT_S_MAX
        self._clock = clock
        self._until = None if timeout_s is None else clock() + timeout_s
        self._stuck_after_s = stuck_after_s
        self._unforeseen_since: float | None = None
        """Since when the hub foresees no start; None: it does."""
        self._asked = False

    def next_poll_s(self, task: TaskRecord) -> float | None:
        """The `wait_s` of the next poll; None when none is left. At least one is made."""
        poll_s, self._poll_s = self._poll_s, min(2 * self._poll_s, self._poll_s_max)
        now = self._clock()
        if self._stuck_after_s is not None:
            if task.status is Status.WAITING:
                poll_s = min(poll_s, WAITING_POLL_S)
            if self._unforeseen_since is not None:
                poll_s = min(poll_s, max(self._unforeseen_since + self._stuck_after_s - now, POLL_S_MIN))
        if self._until is None:
            return poll_s
        left_s = self._until - now
        if left_s <= 0 and self._asked:
            return None
        self._asked = True
        return max(0.0, min(poll_s, left_s))

    def doubts(self, task: TaskRecord) -> bool:
        """Whether to ask the hub what holds the task, and let `judge` hear the answer."""
        if self._stuck_after_s is None:
            return False
        if task.status is Status.BLOCKED:
            return True
        if task.status is not Status.QUEUED or task.estimated_start is not None or task.waiting_for_daemon is not None:
            self._unforeseen_since = None
            return False
        now = self._clock()
        if self._unforeseen_since is None:
            self._unforeseen_since = now
        return now >= self._unforeseen_since + self._stuck_after_s

    def judge(self, task: TaskRecord, told: Why | None) -> None:
        """`TaskStuck` if the task cannot go on by itself. `told` None: the hub could not say what holds it."""
        reason = None if told is None else _stuck_by(told)
        if reason is not None or task.status is Status.BLOCKED:
            raise stuck(task, told, reason)
        self._unforeseen_since = None


def _stuck_by(told: Why) -> WhyReason | None:
    codes = (Reason.DEPENDENCY_FAILED, *FOR_NOBODY)
    return next((reason for reason in told.reasons if reason.code in codes), None)


def stuck(task: TaskRecord, told: Why | None, reason: WhyReason | None) -> TaskStuck:
    sentence = None if told is None else told.summary
    helps = f" What helps: {reason.would_help}." if reason is not None and reason.would_help else ""
    message = f"{task.ref} cannot go on by itself. {sentence or f'It is {task.status}.'}{helps}"
    return TaskStuck(message, code=None if reason is None else reason.code, why=sentence)


def timed_out(task: TaskRecord, told: Why | None) -> WaitTimeout:
    sentence = None if told is None else told.summary
    return WaitTimeout(" ".join(filter(None, [f"{task.ref} is still {task.status}.", sentence])), why=sentence)

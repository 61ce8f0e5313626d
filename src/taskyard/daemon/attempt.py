"""One attempt that occupies a slot: how far it is, how it will be told to have ended, and its latest news."""

from enum import StrEnum
from typing import Final, assert_never

import msgspec
from msgspec import Struct

from taskyard.daemon.orders import Key
from taskyard.daemon.outcome import cut_text
from taskyard.daemon.task import Task, read_task
from taskyard.vocabulary import ErrorCode, InventoryState
from taskyard.wire.fields import FIELD_BYTES_MAX
from taskyard.wire.frames import (
    TaskAccepted,
    TaskCancelled,
    TaskExecute,
    TaskFailed,
    TaskProgress,
    TaskRejected,
    TaskStarted,
    WireError,
)

PROGRESS_MS: Final = 500
# The hub shows progress once a second; twice that often is enough to be fresh when it does.
LOG_CHARACTERS_MAX: Final = FIELD_BYTES_MAX // 4
"""Of one message; at PROGRESS_MS that is 32 K characters a second and attempt."""
DRAINED: Final = "drained"
"""The reason by which the hub knows work that was handed back from work that was refused."""
TIMEOUT_SLACK_MS: Final = 1_000
# The hub's own timeout comes first and says why; this one is for work whose hub is out of reach.
LOG_GAP: Final = "\n[… cut: more than one message holds …]"


class Ending(StrEnum):
    """Why work was told to stop, and so how its stop is told."""

    CANCELLED = "cancelled"
    """The hub asked: confirm it."""
    ABORTED = "aborted"
    """The hub has given it up already, and waits for its slot."""
    TIMED_OUT = "timed_out"
    HANDED_BACK = "handed_back"
    FENCED = "fenced"
    """The lease is about to end, and this must not run twice at once. Stopped on our own account, it is lost."""


class Attempt(Struct):
    key: Key
    timeout_ms: int
    exclusive: bool
    parent_id: str | None = None
    """The task it is a sub-task of."""
    beside: bool = False
    """It runs beside that task and takes no slot."""
    state: InventoryState = InventoryState.ACCEPTED
    told: InventoryState | None = None
    """The state the hub knows from this connection."""
    deadline_at: int | None = None
    ending: Ending | None = None
    fenced: bool = False
    """Told to stop before the lease ends, whatever else it was told before."""
    cancel_reason: str = ""
    checkpoint: bytes | None = None
    has_news: bool = False
    progress_at: int = 0
    """Not before this is more progress told."""
    percent: float | None = None
    message: str | None = None
    log: str = ""

    def begin(self, now_ms: int) -> None:
        """Its time runs from now."""
        if self.timeout_ms > 0:
            self.deadline_at = now_ms + self.timeout_ms + TIMEOUT_SLACK_MS

    def state_message(self) -> TaskAccepted | TaskStarted:
        return TaskAccepted(*self.key) if self.state is InventoryState.ACCEPTED else TaskStarted(*self.key)

    def note(self, percent: float | None, message: str | None, log: str) -> None:
        """Keep the newest progress, and all log lines that fit."""
        self.has_news = True
        if percent is not None:
            self.percent = percent
        if message is not None:
            self.message = cut_text(message)
        if log and not self.log.endswith(LOG_GAP):
            log = cut_text(log)
            joined = f"{self.log}\n{log}" if self.log else log
            fits = len(joined) <= LOG_CHARACTERS_MAX
            self.log = joined if fits else joined[:LOG_CHARACTERS_MAX] + LOG_GAP

    def take_news(self, now_ms: int) -> TaskProgress:
        news = TaskProgress(*self.key, self.percent, self.message, self.log or None)
        self.percent = self.message = None
        self.log = ""
        self.has_news = False
        self.progress_at = now_ms + PROGRESS_MS
        return news

    def told_as(self) -> TaskCancelled | TaskRejected | TaskFailed:
        """What to tell of work that stopped without an outcome of its own."""
        match self.ending:
            case Ending.CANCELLED:
                return TaskCancelled(*self.key, self.cancel_reason)
            case Ending.ABORTED:
                return TaskCancelled(*self.key, Ending.ABORTED)
            case Ending.HANDED_BACK:
                return TaskRejected(*self.key, DRAINED)
            case Ending.FENCED:
                return TaskCancelled(*self.key, "lease lost")
            case Ending.TIMED_OUT:
                error = WireError(ErrorCode.EXECUTION_TIMEOUT, f"ran over {self.timeout_ms / 1000:g} s")
                return TaskFailed(*self.key, error)
            case None:
                return TaskFailed(*self.key, WireError("EXECUTION_ERROR", "the work cancelled itself"))
            case _:
                assert_never(self.ending)


class _Head(Struct):
    """What the machine itself needs of a task."""

    id: str
    execution: object = None
    parent_task_id: object = None


_head: Final = msgspec.json.Decoder(_Head)


def offered(message: TaskExecute) -> tuple[Attempt, Task | None] | None:
    """The attempt that `task.execute` asks for; None if it does not say of which task.

    The task is decoded whole and handed on to the work: a short task would feel a second look at its JSON.
    Without a task, the work will find out what is wrong with it, and tell.
    """
    task: Task | None = None
    try:
        head: Task | _Head = (task := read_task(message))
    except (ValueError, RecursionError):
        try:
            head = _head.decode(message.task)
        except msgspec.ValidationError:
            return None
    parent_id = head.parent_task_id if isinstance(head.parent_task_id, str) else None
    return Attempt((head.id, message.attempt), int(message.timeout * 1000), is_exclusive(head), parent_id), task


def is_exclusive(head: Task | _Head) -> bool:
    """No other attempt with its key may run at the same time."""
    return isinstance(head.execution, dict) and head.execution.get("exclusive") is not None

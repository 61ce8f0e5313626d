"""A task in a program's hands: what the hub last said of it, and what can be done with it.

`Task` belongs to a `Client`, `AsyncTask` to an `AsyncClient`; they differ by `await` alone. Both are updated
in place, so that a handle kept from submission shows the newest state after `refresh` or `wait`.
"""

import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, TypeVar

from taskyard.sdk import requests
from taskyard.sdk.answers import Cancellation, Said, TaskRecord, Why
from taskyard.sdk.errors import TaskyardError
from taskyard.sdk.patience import STUCK_AFTER_S, Patience, timed_out
from taskyard.vocabulary import Status

if TYPE_CHECKING:
    from taskyard.sdk.async_client import AsyncClient
    from taskyard.sdk.client import Client

OVER: Final = {
    Status.CANCELLED: "use a new key for a new task",
    Status.SKIPPED: "retry it, or use a new key for a new task",
}
"""How a task has ended that an idempotency key goes on naming for a day, and what to do about it."""

R = TypeVar("R", bound=TaskRecord)


class SubmittedBefore(UserWarning):
    """A submission made nothing new: its idempotency key names a task that was cancelled or skipped."""


def warn_of_repetitions(tasks: Iterable[TaskRecord]) -> None:
    """Warn of tasks of a submission that were recognised by their key and run no more."""
    for task in tasks:
        advice = OVER.get(task.status)
        if task.deduplicated and advice is not None:
            said = f"{task.ref} was submitted before with this idempotency key, and has been {task.status}"
            warnings.warn(f"{said}. Nothing new was made: {advice}.", SubmittedBefore, stacklevel=3)


def renew(task: R, newer: TaskRecord) -> R:
    """Take over every field of what the hub said later."""
    for name in task.__struct_fields__:
        setattr(task, name, getattr(newer, name))
    return task


def shown(task: TaskRecord) -> tuple[object, ...]:
    """What a watcher of progress is told about when it changes."""
    progress = task.progress
    return (task.status, progress and progress.percent, progress and progress.message, len(task.attempts))


class Task(TaskRecord):
    @property
    def client(self) -> "Client":
        client: Client = self.__dict__["client"]
        return client

    def refresh(self) -> "Task":
        return renew(self, self.client.task(self.id))

    def wait(
        self,
        timeout: float | None = None,
        on_progress: "Callable[[Task], object] | None" = None,
        *,
        stuck_after: float | None = STUCK_AFTER_S,
    ) -> "Task":
        """Until the task has ended, well or not: see `succeeded`. `WaitTimeout` after `timeout` seconds.

        `TaskStuck` if it cannot go on by itself: at once if a dependency blocks it, and after `stuck_after` seconds if
        no known daemon can run it; with None it is waited for all the same. `on_progress` is called with this task at
        first and whenever its status or progress changed.
        """
        patience = Patience(timeout_s=timeout, watched=on_progress is not None, stuck_after_s=stuck_after)
        told: tuple[object, ...] = ()
        while True:
            if on_progress is not None and shown(self) != told:
                told = shown(self)
                on_progress(self)
            if self.ended:
                return self
            if patience.doubts(self):
                patience.judge(self, self._why())
            poll_s = patience.next_poll_s(self)
            if poll_s is None:
                raise timed_out(self, self._why())
            renew(self, self.client.task(self.id, wait_s=poll_s))

    def _why(self) -> Why | None:
        """None: the hub cannot say, or not now."""
        try:
            return self.client.why(self.id)
        except TaskyardError:
            return None

    def cancel(self, reason: str | None = None) -> Cancellation:
        return self.client.cancel(self.id, reason=reason)

    def retry(self) -> "Task":
        return renew(self, self.client.retry(self.id))

    def skip(self, reason: str | None = None) -> "Task":
        return renew(self, self.client.skip(self.id, reason=reason))


class AsyncTask(TaskRecord):
    @property
    def client(self) -> "AsyncClient":
        client: AsyncClient = self.__dict__["client"]
        return client

    async def refresh(self) -> "AsyncTask":
        return renew(self, await self.client.task(self.id))

    async def wait(
        self,
        timeout: float | None = None,
        on_progress: "Callable[[AsyncTask], object] | None" = None,
        *,
        stuck_after: float | None = STUCK_AFTER_S,
    ) -> "AsyncTask":
        """As `Task.wait`. `on_progress` is a plain function."""
        patience = Patience(timeout_s=timeout, watched=on_progress is not None, stuck_after_s=stuck_after)
        told: tuple[object, ...] = ()
        while True:
            if on_progress is not None and shown(self) != told:
                told = shown(self)
                on_progress(self)
            if self.ended:
                return self
            if patience.doubts(self):
                patience.judge(self, await self._why())
            poll_s = patience.next_poll_s(self)
            if poll_s is None:
                raise timed_out(self, await self._why())
            renew(self, await self.client.task(self.id, wait_s=poll_s))

    async def _why(self) -> Why | None:
        """As `Task._why`."""
        try:
            return await self.client.why(self.id)
        except TaskyardError:
            return None

    async def cancel(self, reason: str | None = None) -> Cancellation:
        return await self.client.cancel(self.id, reason=reason)

    async def retry(self) -> "AsyncTask":
        return renew(self, await self.client.retry(self.id))

    async def skip(self, reason: str | None = None) -> "AsyncTask":
        return renew(self, await self.client.skip(self.id, reason=reason))


def bind(answer: object, client: object) -> None:
    """Give the tasks of an answer the client they came from."""
    match answer:
        case TaskRecord():
            answer.__dict__["client"] = client
        case requests.Batch() | Said():
            bind(answer.tasks, client)
        case list() if answer and isinstance(answer[0], TaskRecord):
            for task in answer:
                task.__dict__["client"] = client
        case _:
            pass

"""Submitting for an engine that thinks up work by itself: in batches, and no faster than the hub can bear.

    with ProactiveSubmitter() as engine:
        engine.submit("Look into the drop in revenue", type="analysis")

A batch leaves in the background every window. The hub is asked before each how it stands (`throttle.py` says what
follows), so an engine that was paused goes on by itself when the line has shortened.

    with ProactiveSubmitter(spool="/var/lib/engine/outgoing") as engine: ...

With a spool, `submit` returns once the task is on this machine's disk, and from then on it reaches the yard once, in
its order, whatever dies meanwhile: the engine, which opens the same spool again, or the hub. Without one, what waits is
lost with the engine.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack, cast

from taskyard.sdk.client import Client
from taskyard.sdk.errors import TaskyardError
from taskyard.sdk.retry import CANDID
from taskyard.sdk.shelf import SpoolShelf
from taskyard.sdk.spool import SPOOL_BYTES_MAX, Spool
from taskyard.sdk.submission import NewTask, TaskOptions
from taskyard.sdk.task import Task
from taskyard.sdk.throttle import BATCH_MAX, BUFFER_MAX, WINDOW_S, OnRejected, Throttle, log_rejected, tell

log = logging.getLogger(__name__)


class ProactiveSubmitter:
    def __init__(
        self,
        client: Client | None = None,
        *,
        window_s: float = WINDOW_S,
        batch_max: int = BATCH_MAX,
        buffer_max: int = BUFFER_MAX,
        spool: str | Path | None = None,
        spool_bytes_max: int = SPOOL_BYTES_MAX,
        on_submitted: Callable[[Task], None] | None = None,
        on_rejected: OnRejected | None = None,
    ) -> None:
        """Without a client: one of its own, which finds the hub as `Client()` does.

        `spool` is a directory of this engine's own; it holds at most `spool_bytes_max`, and memory `buffer_max` tasks
        where there is none. The callbacks are called from the background. A task that the hub will never take is told
        to `on_rejected`.
        """
        shelf = None if spool is None else SpoolShelf(Spool(spool, bytes_max=spool_bytes_max))
        self._throttle = Throttle(window_s=window_s, batch_max=batch_max, buffer_max=buffer_max, shelf=shelf)
        self._client = client or Client(retry=CANDID)
        self._owns_client = client is None
        self._on_submitted = on_submitted or (lambda _task: None)
        self._on_rejected = on_rejected or log_rejected
        self.left: list[NewTask] = []
        """After the end: what was never sent and is in no spool."""
        self._lock = threading.Lock()
        """Of the buffer."""
        self._sending = threading.Lock()
        """One batch at a time, whoever sends it."""
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="taskyard-proactive", daemon=True)
        self._thread.start()

    def submit(self, input: str, **options: Unpack[TaskOptions]) -> None:
        """Put a task into the next batch; `BufferFull` if the hub is too far behind."""
        self.submit_all([cast("NewTask", {"input": input, **options})])

    def submit_all(self, tasks: Sequence[NewTask]) -> None:
        """The same with several, all or none: to a spool they are written together, in the time of one."""
        with self._lock:
            if self._closing.is_set():
                raise RuntimeError("This submitter is closed.")
            self._throttle.add_all(tasks)

    @property
    def pending(self) -> int:
        """Tasks that the hub does not have yet."""
        with self._lock:
            return len(self._throttle)

    @property
    def level(self) -> str:
        """What the hub said last: `normal`, `warning` or `critical`."""
        return self._throttle.level

    def flush(self) -> int:
        """Send what the hub takes now, without waiting for the window; how many are left."""
        while (before := self.pending) and self._send():
            if self.pending == before and not self._throttle.is_searching:
                break
        return self.pending

    def close(self) -> list[NewTask]:
        """Send what can be sent, and stop. What is left is given back, since it is nowhere else; or is in the spool."""
        if self._closing.is_set():
            return []
        self._closing.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
        try:
            self.flush()
        finally:
            if self._owns_client:
                self._client.close()
            with self._lock:
                self.left = self._throttle.leave()
        return self.left

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while not self._closing.wait(self._throttle.pause_s):
            if self.pending:
                try:
                    self._send()
                except Exception:
                    # Whatever it was, the tasks are still here, and nobody else would try again.
                    log.exception("a batch of proactive tasks was not sent")

    def _send(self) -> bool:
        """One batch, if there is to be one; whether another may follow."""
        with self._sending:
            batch: list[NewTask] = []
            throttle = self._throttle
            try:
                level = self._client.backpressure().level
                with self._lock:
                    throttle.hear(level)
                    batch = throttle.take()
                if not batch:
                    return False
                answer = self._client.submit_batch(batch, partial=True)
            except TaskyardError as error:
                with self._lock:
                    refused = throttle.fail(batch, error)
                goes_on = throttle.is_searching or bool(refused)
            else:
                with self._lock:
                    refused = throttle.settle(batch, answer.rejected)
                goes_on = True
                for taken in answer.tasks:
                    tell(self._on_submitted, taken)
            for task, why in refused:
                tell(self._on_rejected, task, why)
            return goes_on

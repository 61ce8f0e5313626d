"""`ProactiveSubmitter` for asyncio programs.

async with AsyncProactiveSubmitter() as engine:
    engine.submit("Look into the drop in revenue", type="analysis")
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, Unpack, cast

from taskyard.sdk.async_client import AsyncClient
from taskyard.sdk.errors import TaskyardError
from taskyard.sdk.retry import CANDID
from taskyard.sdk.shelf import SpoolShelf
from taskyard.sdk.spool import SPOOL_BYTES_MAX, Spool
from taskyard.sdk.submission import NewTask, TaskOptions
from taskyard.sdk.task import AsyncTask
from taskyard.sdk.throttle import BATCH_MAX, BUFFER_MAX, WINDOW_S, OnRejected, Throttle, log_rejected, tell

log = logging.getLogger(__name__)


class AsyncProactiveSubmitter:
    """As `ProactiveSubmitter`. Batches leave while it is entered (`async with`), in the loop it was entered in."""

    def __init__(
        self,
        client: AsyncClient | None = None,
        *,
        window_s: float = WINDOW_S,
        batch_max: int = BATCH_MAX,
        buffer_max: int = BUFFER_MAX,
        spool: str | Path | None = None,
        spool_bytes_max: int = SPOOL_BYTES_MAX,
        on_submitted: Callable[[AsyncTask], None] | None = None,
        on_rejected: OnRejected | None = None,
    ) -> None:
        shelf = None if spool is None else SpoolShelf(Spool(spool, bytes_max=spool_bytes_max))
        self._throttle = Throttle(window_s=window_s, batch_max=batch_max, buffer_max=buffer_max, shelf=shelf)
        self._client = client or AsyncClient(retry=CANDID)
        self._owns_client = client is None
        self._on_submitted = on_submitted or (lambda _task: None)
        self._on_rejected = on_rejected or log_rejected
        self.left: list[NewTask] = []
        """After the end: what was never sent and is in no spool."""
        self._sending = asyncio.Lock()
        self._closing = asyncio.Event()
        self._worker: asyncio.Task[None] | None = None

    def submit(self, input: str, **options: Unpack[TaskOptions]) -> None:
        """Put a task into the next batch; `BufferFull` if the hub is too far behind. With a spool the loop waits
        for the disk, a few milliseconds: a promise that is given later would be none."""
        self.submit_all([cast("NewTask", {"input": input, **options})])

    def submit_all(self, tasks: Sequence[NewTask]) -> None:
        """The same with several, all or none, in the time of one."""
        if self._closing.is_set():
            raise RuntimeError("This submitter is closed.")
        self._throttle.add_all(tasks)

    @property
    def pending(self) -> int:
        """Tasks that the hub does not have yet."""
        return len(self._throttle)

    @property
    def level(self) -> str:
        return self._throttle.level

    async def flush(self) -> int:
        """Send what the hub takes now, without waiting for the window; how many are left."""
        while (before := self.pending) and await self._send():
            if self.pending == before and not self._throttle.is_searching:
                break
        return self.pending

    async def close(self) -> list[NewTask]:
        """As `ProactiveSubmitter.close`."""
        if self._closing.is_set():
            return []
        self._closing.set()
        if self._worker is not None:
            await asyncio.wait((self._worker,))
        try:
            await self.flush()
        finally:
            if self._owns_client:
                await self._client.close()
            self.left = self._throttle.leave()
        return self.left

    async def __aenter__(self) -> Self:
        self._worker = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self) -> None:
        while not await self._is_closing_within(self._throttle.pause_s):
            if self.pending:
                try:
                    await self._send()
                except Exception:
                    # Whatever it was, the tasks are still here, and nobody else would try again.
                    log.exception("a batch of proactive tasks was not sent")

    async def _is_closing_within(self, seconds: float) -> bool:
        try:
            return await asyncio.wait_for(self._closing.wait(), seconds)
        except TimeoutError:
            return False

    async def _send(self) -> bool:
        """One batch, if there is to be one; whether another may follow."""
        async with self._sending:
            batch: list[NewTask] = []
            throttle = self._throttle
            try:
                throttle.hear((await self._client.backpressure()).level)
                batch = throttle.take()
                if not batch:
                    return False
                answer = await self._client.submit_batch(batch, partial=True)
            except TaskyardError as error:
                refused = throttle.fail(batch, error)
                goes_on = throttle.is_searching or bool(refused)
            else:
                refused = throttle.settle(batch, answer.rejected)
                goes_on = True
                for taken in answer.tasks:
                    tell(self._on_submitted, taken)
            for task, why in refused:
                tell(self._on_rejected, task, why)
            return goes_on

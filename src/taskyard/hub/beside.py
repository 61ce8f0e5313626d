"""Work that runs beside its owner until it ends or the owner does; should it fail, the owner is told."""

import asyncio
from collections.abc import Callable, Coroutine


class Beside:
    def __init__(self, on_fault: Callable[[BaseException], None]) -> None:
        self._on_fault = on_fault
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)

    def _on_done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._on_fault(error)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

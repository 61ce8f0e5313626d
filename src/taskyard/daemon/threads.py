"""Threads for work that blocks.

Not `ThreadPoolExecutor`: the interpreter waits for its threads when it leaves, and a function that ignores
its cancel would then keep a daemon from leaving at all.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def off_loop(work: Callable[[], T]) -> T:
    """What it answers, from a thread that may take its time; from here, if this machine has no more threads.

    Then it may be done once more later, so it must be something that can be.
    """
    try:
        doing = asyncio.get_running_loop().run_in_executor(None, work)
    except RuntimeError:
        return work()
    return await doing


class Threads:
    """At most `count` threads, made when needed and kept."""

    def __init__(self, count: int) -> None:
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._count = count
        self._threads = 0
        self._idle = threading.Semaphore(0)

    def take(self) -> bool:
        """Whether there is a thread for the next work; false: it waits for one of the others to end.

        Raises `RuntimeError` if the machine has none.
        """
        if self._idle.acquire(blocking=False):
            return True
        if self._threads >= self._count:
            return False
        threading.Thread(target=self._serve, name=f"taskyard-work-{self._threads + 1}", daemon=True).start()
        self._threads += 1
        return True

    def run(self, work: Callable[[], None]) -> None:
        """After `take`, whatever that said."""
        self._queue.put(work)

    def close(self) -> None:
        """Idle threads end; the others when their work does."""
        for _ in range(self._threads):
            self._queue.put(None)

    def _serve(self) -> None:
        while (work := self._queue.get()) is not None:
            work()
            self._idle.release()

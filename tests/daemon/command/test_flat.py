"""Many programs one after the other leave nothing behind: in memory, among open files, on the disk."""

import asyncio
import gc
import os
import threading
from pathlib import Path

import pytest

from taskyard.daemon.command.configuration import Agent
from tests.daemon.command.workshop import Workshop, workshop

pytestmark = pytest.mark.slow

WARM_UP, TASKS, AT_A_TIME = 40, 240, 8
OBJECTS_MAX = TASKS
"""Fewer than one for each task: nothing is kept of any."""


THREADS_MAX = (os.cpu_count() or 1) + 4
"""Of the loop's own pool, which makes them as it needs them."""


async def run_many(shop: Workshop, first: int, count: int) -> None:
    turn = asyncio.Semaphore(AT_A_TIME)

    async def one(number: int) -> None:
        async with turn:
            key = shop.start(f"t{number}", input="x" * 1000)
            assert (await shop.outcome(key)).result is not None
        # What the test itself would keep.
        del shop.told.outcomes[key], shop.told.ends[key], shop.told.logs[key]
        shop.told.running.discard(key)

    await asyncio.gather(*(one(number) for number in range(first, first + count)))
    while not shop.told.news.empty():
        shop.told.news.get_nowait()


def held() -> tuple[int, int, int]:
    """Objects, open files, threads."""
    gc.collect()
    return len(gc.get_objects()), len(os.listdir("/dev/fd")), threading.active_count()


def test_nothing_stays_of_many_programs(tmp_path: Path) -> None:
    async def main() -> None:
        async with workshop(tmp_path, Agent(command=("/bin/cat",)), patience_s=180) as shop:
            # Given a daemon that has found its size
            await run_many(shop, 0, WARM_UP)
            objects, files, threads = held()

            # When it has run six times as many programs
            await run_many(shop, WARM_UP, TASKS)

            # Then it soon holds what it held before; timers that were called off stay with the loop for a second
            while (more := held())[0] - objects >= OBJECTS_MAX or more[1] > files:
                await asyncio.sleep(0.2)
            assert more[2] <= threads + THREADS_MAX
        assert list((tmp_path / "workspaces").iterdir()) == []
        assert list((tmp_path / "processes" / "attempts").iterdir()) == []

    asyncio.run(main())

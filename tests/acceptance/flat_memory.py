"""`python -m tests.acceptance.flat_memory --tasks N`: a daemon's memory after a quarter of them, and after all."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import psutil  # type: ignore[import-untyped]

from taskyard.sdk.client import Client
from tests.support.live import LiveYard, live_yard, wait_online, wait_until

BATCH: Final = 500
WAIT_S: Final = 120.0
GROWTH_BYTES_MAX: Final = 8 * 1024 * 1024
# What an allocator keeps varies by some MB. 20,000 tasks that left a kilobyte each would be 15 MB more.


class Memory(NamedTuple):
    early_bytes: int
    late_bytes: int

    @property
    def growth_bytes(self) -> int:
        return self.late_bytes - self.early_bytes


def measured(yard: LiveYard, tasks: int) -> Memory:
    hub = yard.hub()
    daemon = yard.daemon(hub, slots=32)
    process = psutil.Process(daemon.process.pid)
    with hub.client(timeout_s=60) as client:
        wait_online(client, 1)
        _drain(client, tasks // 4)
        early = process.memory_info().rss
        _drain(client, tasks - tasks // 4)
        return Memory(early, process.memory_info().rss)


def _drain(client: Client, tasks: int) -> None:
    """Each with something to carry, so that what is kept of one would show."""
    for done in range(0, tasks, BATCH):
        number = min(BATCH, tasks - done)
        batch = client.submit_batch([{"type": "noop", "input": "x" * 1000} for _ in range(number)])
        last = batch.tasks[-1].id
        wait_until(lambda id=last: client.task(id).status == "completed", within_s=WAIT_S, what="a batch that is done")  # type: ignore[misc]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.flat_memory")
    parser.add_argument("--tasks", type=int, default=20_000)
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="taskyard-memory-") as directory, live_yard(Path(directory)) as yard:
        memory = measured(yard, asked.tasks)
    print(
        f"the daemon's memory: {memory.early_bytes / 1e6:.1f} MB after {asked.tasks // 4} tasks, "
        f"{memory.late_bytes / 1e6:.1f} MB after {asked.tasks}"
    )
    return 0 if memory.growth_bytes <= GROWTH_BYTES_MAX else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

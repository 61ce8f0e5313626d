"""Taskyard in the harness that runs the same no-op work on other queues; `README.md` beside this says how.

The hub is what the others' broker is: a process of its own with a durable database, new and empty for each phase. Its
CPU time is told to the harness in the broker's place; by itself the harness knows only where other brokers keep their
process ids.
"""

import asyncio
import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped]
import uvloop

from bench.yard import BenchYard
from taskyard import AsyncClient

WORKER: Final = Path(__file__).resolve().with_name("taskyard_worker.py")
TYPE: Final = "noop"

asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

Payload = dict[str, Any]


def workers(processes: int, slots: int) -> list[list[str]]:
    return [[sys.executable, str(WORKER), f"w{number}", str(slots)] for number in range(processes)]


class Peer:
    broker = "taskyard"
    batch_size = 500
    conc = 50
    workers: Final = {"1p-64": workers(1, 64), "4p-64": workers(4, 64), "20p-5": workers(20, 5)}

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._yard: BenchYard | None = None
        atexit.register(self._remove)
        vars(sys.modules["__main__"])["broker_procs"] = lambda _broker: self._hub()

    @property
    def env(self) -> dict[str, str]:
        """For the workers: where the hub's address and key are."""
        assert self._yard is not None, "reset comes first"
        return {"TASKYARD_DATA": str(self._yard.data)}

    def reset(self) -> None:
        """A new hub in a new directory. `BENCH_TASKYARD_DATA` says on which disk."""
        self._remove()
        self._directory = Path(tempfile.mkdtemp(prefix="taskyard-peer-", dir=os.environ.get("BENCH_TASKYARD_DATA")))
        self._yard = BenchYard(self._directory)
        self._yard.up()

    async def open(self) -> None:
        self._client = AsyncClient(data=self.env["TASKYARD_DATA"])

    async def close(self) -> None:
        await self._client.close()

    async def submit(self, payload: Payload) -> None:
        await self._client.submit("run it", type=TYPE, payload=payload)

    async def submit_batch(self, payloads: list[Payload]) -> None:
        await self._client.submit_batch([{"input": "run it", "type": TYPE, "payload": one} for one in payloads])

    def _hub(self) -> list[psutil.Process]:
        assert self._yard is not None, "reset comes first"
        return [psutil.Process(int((self._yard.data / "hub.lock").read_text()))]

    def _remove(self) -> None:
        if self._yard is not None:
            self._yard.down()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._yard = self._directory = None

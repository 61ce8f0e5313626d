"""Taskyard in the harness that runs the same no-op work on other queues; `README.md` beside this says how.

The hub is what the others' broker is: a process of its own with a durable database, new and empty for each phase. Its
CPU time is told to the harness in the broker's place, with the server's if it is on PostgreSQL; by itself the harness
knows only where other brokers keep their process ids.
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
from taskyard.store.postgres import migrate

WORKER: Final = Path(__file__).resolve().with_name("taskyard_worker.py")
TYPE: Final = "noop"
ON_POSTGRES: Final = os.environ.get("BENCH_TASKYARD_ENGINE") == "postgres"
"""On the server and database that the harness gives to those who need one."""

asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())

Payload = dict[str, Any]


def workers(processes: int, slots: int) -> list[list[str]]:
    return [[sys.executable, str(WORKER), f"w{number}", str(slots)] for number in range(processes)]


class Peer:
    broker = "taskyard"
    batch_size = 500
    conc = 50
    workers: Final = {
        "1p-64": workers(1, 64),
        "4p-64": workers(4, 64),
        "4p-256": workers(4, 256),
        "20p-5": workers(20, 5),
    }

    def __init__(self) -> None:
        self._directory: Path | None = None
        self._yard: BenchYard | None = None
        atexit.register(self._remove)
        harness = vars(sys.modules["__main__"])
        server = harness["broker_procs"]
        harness["broker_procs"] = lambda _broker: [*self._hub(), *(server("pg") if ON_POSTGRES else ())]

    @property
    def env(self) -> dict[str, str]:
        """For the workers: where the hub's address and key are."""
        assert self._yard is not None, "reset comes first"
        return {"TASKYARD_DATA": str(self._yard.data)}

    def reset(self) -> None:
        """A new hub in a new directory. `BENCH_TASKYARD_DATA` says on which disk."""
        self._remove()
        self._directory = Path(tempfile.mkdtemp(prefix="taskyard-peer-", dir=os.environ.get("BENCH_TASKYARD_DATA")))
        self._yard = BenchYard(self._directory, database=_new_database() if ON_POSTGRES else None)
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
        return [self._yard.process]

    def _remove(self) -> None:
        if self._yard is not None:
            self._yard.down()
        if self._directory is not None:
            shutil.rmtree(self._directory, ignore_errors=True)
        self._yard = self._directory = None


def _new_database() -> str:
    """The harness's own, emptied by its own means."""
    from brokers import pg_reset  # type: ignore[import-not-found]  # noqa: PLC0415 - it needs the server's programs
    from probe import PG_DSN  # type: ignore[import-not-found]  # noqa: PLC0415

    pg_reset()
    migrate(PG_DSN)
    return str(PG_DSN)

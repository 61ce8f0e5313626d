"""A daemon process of the benchmark: runs `noop`, and says how many it ran and when.

python -m bench.worker HUB KEY NAME SLOTS DIRECTORY [shared]
"""

import asyncio
import struct
import sys
import time
from pathlib import Path

import uvloop

from taskyard.daemon.daemon import Daemon
from taskyard.daemon.task import Task

FLUSH_S = 0.05


class Tally:
    """Start times, appended to a file as doubles: (start, submitted) per task."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._starts: list[float] = []

    def hit(self, submitted: float) -> None:
        self._starts += (time.time(), submitted)

    async def flush(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_S)
            if self._starts:
                starts, self._starts = self._starts, []
                self._file.write(struct.pack(f"<{len(starts)}d", *starts))


def main() -> None:
    hub, key, name, slots, directory = sys.argv[1:6]
    tally = Tally(Path(directory) / f"{name}.starts")
    daemon = Daemon(hub, key, name=name, slots=int(slots), data_dir=Path(directory) / name, shared="shared" in sys.argv)

    @daemon.task("noop")
    async def noop(task: Task) -> bool:
        tally.hit((task.payload or {}).get("at", 0.0))
        return True

    async def serve() -> None:
        flusher = asyncio.create_task(tally.flush())
        await daemon.serve()
        flusher.cancel()

    uvloop.run(serve())


main()

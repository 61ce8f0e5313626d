"""`python -m tests.support.abandoned DIRECTORY ON_LOSS AWAY_S COMMAND…`: a daemon's processes, for tests to kill it.

Prints a line when its work has begun, then waits to be killed.
"""

import asyncio
import sys
from pathlib import Path

from taskyard.daemon.process.launching import Launch
from taskyard.daemon.process.processes import Processes


async def main(directory: str, on_loss: str, away_s: str, *command: str) -> None:
    assert on_loss in ("continue", "kill"), "the two there are"
    processes = Processes(Path(directory), on_loss="kill" if on_loss == "kill" else "continue", away_s=float(away_s))
    await processes.open()
    launch = Launch(key=("t1", 1), argv=list(command), env={"PATH": "/usr/bin:/bin"}, cwd=directory, note=b"noted")
    running = await processes.launch(launch)
    print(running.pid, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

"""The daemon that comes up with the hub: a process of its own, so that neither takes the other down.

It outlives a hub that is killed, goes on with its work, and joins the next one; a second one on the same directory
finds the first one's lock and leaves.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

STOP_S: Final = 15.0


class LocalDaemon:
    def __init__(self, data: Path, name: str = "local") -> None:
        self._data = data
        self._name = name
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        own = self._data / "daemons" / self._name
        own.mkdir(mode=0o700, parents=True, exist_ok=True)
        command = [sys.executable, "-m", "taskyard", "daemon", "--name", self._name, "--data", str(self._data)]
        with (own / "daemon.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=dict(os.environ)
            )

    async def stop(self) -> None:
        """Let it hand back what it runs, then end it."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            await asyncio.to_thread(process.wait, STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            await asyncio.to_thread(process.wait)

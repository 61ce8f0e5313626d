"""The daemon that comes up with the hub: a process of its own, so that neither takes the other's work down.

It holds the end of a pipe from the hub. A hub that is killed lets go of the other, and then the daemon finishes what it
runs, as if it were asked to leave, and keeps what comes of it for the next hub: which it tells itself, if that is there
by then, or by the next daemon. That one waits until the place is free, so that there is never more than one.

Not by a signal of the kernel when the parent dies: that knows only the thread that started it, and only Linux has it.
"""

import asyncio
import fcntl
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from taskyard.files.private import make_private_directory, open_private
from taskyard.hub.observe import set_aside
from taskyard.hub.yard import ADMIN_KEY

NAME: Final = "local"
LOCK: Final = "lock"
PAUSE_S: Final = 0.1
STOP_S: Final = 5.0
# Per request: the first asks to finish, the second to hand back what is not finished.


class LocalDaemon:
    def __init__(self, data: Path) -> None:
        self._data = data
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, url: str, key: str) -> None:
        """Connect it to this hub, whichever its environment names."""
        own = self._data / "daemons" / NAME
        make_private_directory(own)
        command = [sys.executable, "-m", "taskyard.cli", "daemon", "--name", NAME, "--data", str(self._data)]
        command.append("--with-input")
        environment = {**os.environ, "TASKYARD_HUB": url, "TASKYARD_KEY": key}
        environment.pop(ADMIN_KEY, None)
        path = own / "daemon.log"
        set_aside(path)
        with open(path, "ab", opener=open_private) as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, env=environment
            )

    async def stop(self) -> None:
        """Let it hand back what it runs, then end it."""
        process = self._process
        if process is None:
            return
        await self._stop_own(process)
        if process.stdin is not None:
            process.stdin.close()
        await self._stop_left_behind()

    async def _stop_own(self, process: "subprocess.Popen[bytes]") -> None:
        for _ in range(2):
            if process.poll() is not None:
                return
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                await asyncio.to_thread(process.wait, STOP_S)
        if process.poll() is None:
            process.kill()
            await asyncio.to_thread(process.wait)

    async def _stop_left_behind(self) -> None:
        """One that a killed hub left behind may still be leaving, while ours waited for its place."""
        for _ in range(2):
            pid = holder_of(self._data / "daemons" / NAME / LOCK)
            if pid is None:
                return
            with suppress(ProcessLookupError):
                # It may have left since we looked.
                os.kill(pid, signal.SIGTERM)
            for _ in range(round(STOP_S / PAUSE_S)):
                await asyncio.sleep(PAUSE_S)
                if holder_of(self._data / "daemons" / NAME / LOCK) != pid:
                    return


def holder_of(lock: Path) -> int | None:
    """The process that holds a daemon's lock; a number in a file that nobody has locked means nothing."""
    try:
        with lock.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = lock.read_text().strip()
        return int(text) if text.isdecimal() else None
    except OSError:
        return None
    return None

"""`taskyard daemon` with a shell script for an agent, which writes down when it starts and ends.

A task's input is the name of a file that the agent waits for before it ends; without one it ends at once.
"""

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]

from taskyard.daemon.process.places import Places
from tests.support.live import Door, Process, environment

AGENT: Final = """\
#!/bin/sh
awaited="$2"
echo "start $TASKYARD_TASK_ID" >> '{notes}'
while [ -n "$awaited" ] && [ ! -e '{directory}'/"$awaited" ]; do sleep 0.02; done
echo "{{\\"answer\\": \\"$TASKYARD_TASK_ID\\"}}" > "$TASKYARD_RESULT"
echo "end $TASKYARD_TASK_ID" >> '{notes}'
"""


class AgentDaemon:
    def __init__(self, hub: Door, directory: Path, name: str = "agents", *, slots: int | None = 4) -> None:
        self._hub = hub
        self._directory = directory
        self.name = name
        self._slots = [] if slots is None else ["--slots", str(slots)]
        self.notes = directory / f"{name}.notes"
        self.notes.touch()
        self.data = directory / f"{name}.data"
        self._agent = directory / f"{name}.sh"
        self._agent.write_text(AGENT.format(notes=self.notes, directory=directory))
        self._agent.chmod(0o700)
        self._asleep: list[int] = []
        self.process: Process

    def start(self, *options: str) -> None:
        arguments = [
            *(sys.executable, "-m", "taskyard.cli", "daemon", "--name", self.name, *self._slots),
            *("--run", str(self._agent), "--argument=--", "--argument={input}", *options),
        ]
        env = environment(TASKYARD_HUB=self._hub.url, TASKYARD_KEY=self._hub.key, TASKYARD_DATA=str(self.data))
        self.process = Process(arguments, output=self._directory / f"{self.name}.out", env=env)

    def noted(self, what: str) -> Counter[str]:
        """How often each task started, or ended."""
        lines = self.notes.read_text().splitlines()
        return Counter(line.split()[1] for line in lines if line.startswith(f"{what} "))

    def fall_asleep(self) -> None:
        """Stop the daemon and all its work, as a laptop does whose lid is closed."""
        places = Places(self.data / "daemons" / self.name / "processes")
        card = places.card()
        work = [] if card is None else [card.pid, *(child.pid for child in psutil.Process(card.pid).children(True))]
        self._asleep = [self.process.pid, *work]
        self._signal_all(signal.SIGSTOP)

    def wake(self) -> None:
        self._signal_all(signal.SIGCONT)
        self._asleep = []

    def _signal_all(self, number: signal.Signals) -> None:
        for pid in self._asleep:
            # What has just done its work may be gone.
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def end(self) -> None:
        """Gone, with all its work, also if a test left it asleep."""
        self.wake()
        if self.process.exit_code is None:
            self.process.resume()
            self.process.end()


@contextmanager
def at_work(daemon: AgentDaemon, *options: str) -> Iterator[AgentDaemon]:
    daemon.start(*options)
    try:
        yield daemon
    finally:
        daemon.end()

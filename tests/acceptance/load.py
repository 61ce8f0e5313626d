"""Work for a yard while faults happen to it: submitters that never give up, and a reader of the event stream."""

import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from taskyard.sdk.client import Client
from taskyard.sdk.errors import TaskyardError
from tests.acceptance.history import Submission
from tests.support.live import STUBBORN, Door

SUBMITTERS: Final = 4
BACKLOG_MAX: Final = 80
MS: Final = (10, 300)
LONG_MS: Final = (1_000, 2_500)
LONG: Final = 0.1
# The share of tasks that outlast a restart of the hub and a daemon's patience with a silent one: short ones have ended
# by the time that the two meet again.
FIRST_EVENT: Final = "0-0-0"
LOOK_S: Final = 0.02


class JournalTail:
    """Counts what daemons wrote so far, reading only what is new."""

    def __init__(self, journals: Sequence[Path]) -> None:
        self._offsets = dict.fromkeys(journals, 0)
        self._lock = threading.Lock()
        self.ended: set[str] = set()
        self.running: dict[tuple[str, int], int] = {}
        """Attempts under way, with the process that has each."""

    def read(self) -> None:
        with self._lock:
            for path in self._offsets:
                if path.exists():
                    self._read(path)

    def _read(self, path: Path) -> None:
        with path.open("rb") as file:
            file.seek(self._offsets[path])
            whole = file.read().rpartition(b"\n")[0]
        for line in whole.splitlines():
            fact = json.loads(line)
            if fact["what"] == "boot":
                continue
            key = fact["task"], fact["attempt"]
            if fact["what"] == "start":
                self.running[key] = fact["pid"]
            else:
                self.running.pop(key, None)
                self.ended.add(fact["task"])
        self._offsets[path] += len(whole) + 1 if whole else 0

    def works(self, pid: int | None) -> bool:
        """Whether this process, or any, has something to do."""
        self.read()
        return any(pid in (None, owner) for owner in tuple(self.running.values()))

    def forget(self, pid: int) -> None:
        """It was killed: what it had ended with it."""
        with self._lock:
            self.running = {key: owner for key, owner in self.running.items() if owner != pid}


class Load:
    """Runs from `start` to `stop` in threads of this process."""

    def __init__(self, hub: Door, tail: JournalTail, *, seed: int, dependencies: bool = True) -> None:
        self._hub = hub
        self._tail = tail
        self._seed = seed
        self._dependencies = dependencies
        self._stopping = threading.Event()
        self._finishing = threading.Event()
        self.acknowledged: list[Submission] = []
        self.streamed: list[tuple[str, str | None]] = []
        self.errors: list[str] = []
        self._submitters = [self._thread(self._submit, number) for number in range(SUBMITTERS)]
        self._reader = self._thread(self._watch, 0)

    def _thread(self, work: Callable[[int, Client], None], number: int) -> threading.Thread:
        def run() -> None:
            try:
                with self._hub.client(retry=STUBBORN, timeout_s=15) as client:
                    work(number, client)
            except TaskyardError as error:
                self.errors.append(f"{work.__name__}: {type(error).__name__}: {error}")

        return threading.Thread(target=run, daemon=True)

    def start(self) -> None:
        for thread in (self._reader, *self._submitters):
            thread.start()

    def stop(self) -> None:
        """No more work; returns when what was asked has been answered."""
        self._stopping.set()
        for thread in self._submitters:
            thread.join(60)
            assert not thread.is_alive(), "a submitter got no answer for a minute"

    def finish(self) -> None:
        """The reader leaves at the next event."""
        self._finishing.set()

    def _submit(self, number: int, client: Client) -> None:
        rng = random.Random(self._seed * 1000 + number)
        mine: list[str] = []
        while not self._stopping.is_set():
            self._tail.read()
            if len(self.acknowledged) - len(self._tail.ended) > BACKLOG_MAX:
                time.sleep(LOOK_S)
                continue
            self._submit_one(client, f"{self._seed}-{number}-{len(mine)}", mine, rng)

    def _submit_one(self, client: Client, key: str, mine: list[str], rng: random.Random) -> None:
        ms = rng.randint(*(LONG_MS if rng.random() < LONG else MS))
        options: dict[str, Any] = {"payload": {"ms": ms}, "idempotency_key": key}
        needs: tuple[str, ...] = ()
        if self._dependencies and mine and rng.random() < 0.2:
            needs = (rng.choice(mine[-5:]),)
            options["depends_on"] = needs
        if rng.random() < 0.1:
            options["exclusive"] = rng.choice(("press", "kiln"))
        task = client.submit("under load", type="record", **options)
        mine.append(task.id)
        self.acknowledged.append(Submission(key, task.id, options.get("exclusive"), needs, task.ref))

    def _watch(self, _: int, client: Client) -> None:
        for event in client.events(last_event_id=FIRST_EVENT):
            if event.id is not None:
                self.streamed.append((event.id, event.task_id))
            if self._finishing.is_set():
                return

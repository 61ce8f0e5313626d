"""Twelve hostile children at once on a real daemon with a real hub: cancelled, out of time, and with either killed.

`python -m tests.acceptance.hostile_yard --rounds N`: all of it, on each engine, so many times. Nothing of them may be
left five seconds after it should have ended, and what the hub has recorded must be what happened.
"""

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from taskyard.sdk.client import Client
from taskyard.sdk.submission import NewTask
from taskyard.sdk.task import Task
from taskyard.vocabulary import ENDED, AttemptStatus
from tests.support import hostile
from tests.support.engines import Engine
from tests.support.live import (
    STUBBORN,
    LiveHub,
    LiveYard,
    Process,
    environment,
    live_yard,
    wait_online,
    wait_until,
)

SETTINGS: Final = """\
[suspects]
deaths_max = 1000
[limits.running_per_source]
user = 100
[lease]
heartbeat_s = 0.4
start_s = 30
cancel_grace_s = 1
"""
BEGIN_S: Final = 60.0
END_S: Final = 60.0
TIMEOUT_S: Final = 3.0
LEASE_S: Final = 2.0
# Which end by their own doing, whatever is done to them.
SELF_ENDING: Final = frozenset({"kills-parent"})


class AgentDaemon:
    """`taskyard daemon` with hostile children for an agent."""

    def __init__(self, hub: LiveHub, directory: Path, *, name: str = "hostile", slots: int = 20) -> None:
        self._hub = hub
        self._directory = directory
        self._name = name
        self._slots = slots
        self.rolls = directory / "rolls"
        self.rolls.mkdir(exist_ok=True)
        self.process: Process

    def start(self, *options: str) -> None:
        command = [sys.executable, "-I", "-S", str(hostile.PROGRAM), "--", "{input}", str(self.rolls), "{task_id}"]
        config = self._directory / "agents.toml"
        config.write_text(f"[agents.hostile]\ncommand = {json.dumps(command)}\n")
        arguments = [
            *(sys.executable, "-m", "taskyard.cli", "daemon", "--name", self._name, "--slots", str(self._slots)),
            *("--config", str(config), "--agent", "hostile", *options),
        ]
        data = str(self._directory / "daemon")
        env = environment(TASKYARD_HUB=self._hub.url, TASKYARD_KEY=self._hub.key, TASKYARD_DATA=data)
        self.process = Process(arguments, output=self._directory / "daemon.out", env=env)

    def roll(self, task: Task) -> Path:
        return self.rolls / task.id


class HostileYard:
    def __init__(self, live: LiveYard, kinds: Sequence[str], *, lease_s: float, gone_s: float) -> None:
        self.kinds = kinds
        self.lease_s = lease_s
        self.gone_s = gone_s
        self.hub = live.hub(settings=f"{SETTINGS}lease_s = {lease_s:g}\naccept_s = {lease_s:g}\n")
        self.daemon = AgentDaemon(self.hub, live.directory)
        self.tasks: dict[str, Task] = {}
        self.took_s: dict[str, float] = {}

    def client(self) -> Client:
        return self.hub.client(retry=STUBBORN)

    def begin(self, client: Client, name: str, *, timeout: float = 300.0, exclusive: bool = False) -> None:
        """All kinds at once, until each has a process."""
        wait_online(client, 1)
        new: list[NewTask] = []
        for kind in self.kinds:
            # A type of its own for each fault: failures of one hold back the others of its type.
            task: NewTask = {"input": kind, "type": name, "max_attempts": 1, "timeout": timeout}
            new.append({**task, "exclusive": f"{name}-{kind}"} if exclusive else task)
        tasks = client.submit_batch(new).tasks
        self.tasks = dict(zip(self.kinds, tasks, strict=True))
        for task in tasks:
            hostile.wait_begun(self.daemon.roll(task), BEGIN_S)

    def all_gone(self, name: str, within_s: float) -> None:
        began = time.monotonic()
        for kind, task in self.tasks.items():
            left_s = max(0.05, within_s - (time.monotonic() - began))
            try:
                hostile.wait_gone(self.daemon.roll(task), left_s)
            except AssertionError as error:
                raise AssertionError(f"{name}: something is left of {kind}") from error
        self.took_s[name] = time.monotonic() - began

    def ended(self, client: Client, name: str, *expected: AttemptStatus) -> None:
        """What the hub has of each one's first attempt, once it has it."""
        for kind, task in self.tasks.items():
            first = wait_until(
                lambda id=task.id: _first_end(client, id),  # type: ignore[misc]
                within_s=END_S,
                what=f"{name}: the end of {kind} at the hub",
            )
            allowed = {*expected, AttemptStatus.FAILED} if kind in SELF_ENDING else set(expected)
            assert first in allowed, f"{name}: {kind} ended as {first}"

    # --- what is done to them ------------------------------------------------------------------------------

    def cancel(self) -> None:
        with self.client() as client:
            self.begin(client, "cancel")
            for kind, task in self.tasks.items():
                if kind not in SELF_ENDING:
                    client.cancel(task.id)
            self.all_gone("cancel", self.gone_s)
            self.ended(client, "cancel", AttemptStatus.CANCELLED)

    def time_out(self) -> None:
        with self.client() as client:
            self.begin(client, "timeout", timeout=TIMEOUT_S)
            self.all_gone("timeout", TIMEOUT_S + self.gone_s)
            self.ended(client, "timeout", AttemptStatus.TIMEOUT)

    def kill_daemon(self) -> None:
        """With the policy that nothing goes on without it."""
        self.daemon.process.kill()
        self.daemon.start("--on-loss", "kill")
        with self.client() as client:
            self.begin(client, "daemon-killed")
            self.daemon.process.kill()
            self.all_gone("daemon killed", self.gone_s)
            self.daemon.start("--on-loss", "kill")
            self.ended(client, "daemon killed", AttemptStatus.LOST)
            self._clear(client)

    def lose_hub(self) -> None:
        """Until the lease is over: exclusive work must be gone by then."""
        with self.client() as client:
            self.begin(client, "hub-lost", exclusive=True)
            self.hub.kill()
            self.all_gone("hub lost", self.lease_s + self.gone_s)
            self.hub.start()
            self.ended(client, "hub lost", AttemptStatus.LOST, AttemptStatus.CANCELLED)
            self._clear(client)
        # With nothing to lose it takes its time to dial again.
        self.daemon.process.end()
        self.daemon.start()

    def _clear(self, client: Client) -> None:
        """What was lost runs again."""
        for task in self.tasks.values():
            if client.task(task.id).status not in ENDED:
                client.cancel(task.id)
        for task in self.tasks.values():
            wait_until(
                lambda id=task.id: client.task(id).status in ENDED,  # type: ignore[misc]
                within_s=END_S,
                what="the end of a cancelled task",
            )
        self.all_gone("cancelled after that", self.gone_s)


def _first_end(client: Client, task_id: str) -> AttemptStatus | None:
    attempts = client.task(task_id).attempts
    return attempts[0].status if attempts and attempts[0].status is not AttemptStatus.RUNNING else None


FAULTS: Final[Mapping[str, Callable[[HostileYard], None]]] = {
    "cancel": HostileYard.cancel,
    "timeout": HostileYard.time_out,
    "hub lost": HostileYard.lose_hub,
    "daemon killed": HostileYard.kill_daemon,
}


def run(
    live: LiveYard,
    kinds: Sequence[str],
    faults: Sequence[str] = tuple(FAULTS),
    *,
    lease_s: float = LEASE_S,
    gone_s: float = hostile.GONE_S,
) -> dict[str, float]:
    """How long it took until nobody was left, for each fault. Raises `AssertionError` at the first that broke."""
    yard = HostileYard(live, kinds, lease_s=lease_s, gone_s=gone_s)
    yard.daemon.start()
    try:
        for fault in faults:
            FAULTS[fault](yard)
    finally:
        yard.daemon.process.end()
    return yard.took_s


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.hostile_yard")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)  # whoever ends this ends what it started
    dice = random.Random(asked.seed)
    for round_ in range(asked.rounds):
        for engine in (Engine.SQLITE, Engine.POSTGRES):
            faults = dice.sample(sorted(FAULTS), len(FAULTS))
            with (
                tempfile.TemporaryDirectory(prefix="taskyard-hostile-") as directory,
                live_yard(Path(directory), engine) as live,
            ):
                took_s = run(live, dice.sample(hostile.KINDS, len(hostile.KINDS)), faults)
            told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took_s.items())
            print(f"round {round_ + 1} on {engine}: nobody left; {told}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

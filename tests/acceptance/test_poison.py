"""A task that kills its daemon is put aside, and what ran beside it loses nothing."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from taskyard.sdk.submission import NewTask
from taskyard.vocabulary import ENDED, AttemptStatus, ErrorCode, Status
from tests.acceptance.hostile_yard import AgentDaemon
from tests.support import hostile
from tests.support.live import STUBBORN, LiveHub, LiveYard, Process, environment, wait_online, wait_until

BYSTANDERS = 20
SETTINGS = """\
[lease]
heartbeat_s = 0.4
lease_s = 2
accept_s = 2
start_s = 10
cancel_grace_s = 1
[suspects]
deaths_max = 1
hold_after_s = 0.5
avoid_lost_s = 0.1
[limits]
running_per_user = 100
[limits.running_per_source]
user = 100
"""


FUNCTION = """
import asyncio, os, signal, sys
from taskyard.daemon.daemon import Daemon
daemon = Daemon(name="function", data_dir=sys.argv[1])
@daemon.task("poison")
async def kills(task):
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(daemon.serve())
"""


class Restarted(Protocol):
    process: Process

    def start(self) -> None: ...


class FunctionDaemon:
    """A program whose loop is its daemon's too, with a function that kills it in its first step."""

    def __init__(self, hub: LiveHub, directory: Path) -> None:
        self._env = environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=hub.key)
        self._directory = directory
        self.process: Process

    def start(self) -> None:
        command = [sys.executable, "-c", FUNCTION, str(self._directory / "function")]
        self.process = Process(command, output=self._directory / "function.out", env=self._env)


@contextmanager
def supervised(daemon: Restarted) -> Iterator[list[int]]:
    """Starts it again whenever it is gone; yields the numbers of those that were."""
    dead: list[int] = []
    leaving = threading.Event()

    def watch() -> None:
        while not leaving.wait(0.05):
            if daemon.process.exit_code is not None:
                dead.append(daemon.process.pid)
                daemon.start()

    daemon.start()
    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield dead
    finally:
        leaving.set()
        watching.join()
        daemon.process.end()


@pytest.mark.slow
def test_a_task_that_kills_its_daemon_is_parked_and_twenty_bystanders_lose_no_attempt(yard: LiveYard) -> None:
    hub = yard.hub(settings=SETTINGS)
    daemon = AgentDaemon(hub, yard.directory, slots=40)
    with supervised(daemon) as dead, hub.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        # Given twenty that are at work, and one that kills whatever daemon takes it up
        bystanders: list[NewTask] = [{"input": "rests", "type": "rest", "max_attempts": 1} for _ in range(BYSTANDERS)]
        others = client.submit_batch(bystanders).tasks
        for other in others:
            hostile.wait_begun(daemon.roll(other))
        poison = client.submit("kills-daemon", type="poison", max_attempts=10)
        wait_until(lambda: dead, within_s=30, what="a daemon's death")
        assert any(hostile.survivors(daemon.roll(other)) for other in others), "or it hit nobody"
        # When daemons have died of it
        wait_until(
            lambda: client.task(poison.id).status in ENDED, within_s=90, what="the end of the poison", every_s=0.2
        )
        # Then it is put aside, with nothing left of it,
        parked = client.task(poison.id)
        assert parked.status is Status.PERMANENTLY_FAILED
        assert parked.error is not None
        assert parked.error.code == ErrorCode.POISON_TASK
        assert [attempt.status for attempt in parked.attempts] == [AttemptStatus.LOST] * len(parked.attempts)
        assert len(dead) >= 3
        hostile.wait_gone(daemon.roll(poison))
        # and the others are done, each at its first try.
        for other in others:
            wait_until(lambda id=other.id: client.task(id).status in ENDED, within_s=30, what="a bystander's end")
            assert len(hostile.enrolled(daemon.roll(other))) == 1, "it went on without its daemon"
            ended = client.task(other.id)
            assert (ended.status, [attempt.status for attempt in ended.attempts]) == (
                Status.COMPLETED,
                [AttemptStatus.SUCCESS],
            )


@pytest.mark.slow
def test_a_function_that_kills_its_daemon_before_that_can_say_so_is_parked_too(yard: LiveYard) -> None:
    hub = yard.hub(settings=SETTINGS)
    with supervised(FunctionDaemon(hub, yard.directory)) as dead, hub.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        # Given a function of which nobody has heard when its daemon dies
        poison = client.submit("go", type="poison", max_attempts=10)
        wait_until(
            lambda: client.task(poison.id).status in ENDED, within_s=180, what="the end of the poison", every_s=0.2
        )
        # Then each further try is counted, and it is put aside
        parked = client.task(poison.id)
        assert parked.error is not None
        assert parked.error.code == ErrorCode.POISON_TASK
        assert len(dead) >= 3

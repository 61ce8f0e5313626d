"""A task that kills its daemon is put aside, and what ran beside it loses nothing."""

import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from taskyard import Client
from taskyard.sdk.submission import NewTask
from taskyard.vocabulary import ENDED, AttemptStatus, ErrorCode, Status
from tests.acceptance.hostile_yard import AgentDaemon
from tests.support import hostile
from tests.support.live import STUBBORN, LiveHub, LiveYard, Process, environment, wait_online, wait_until

pytestmark = pytest.mark.takes(20)

BYSTANDERS = 20
WITHIN_S = 60.0
SETTINGS = """\
[lease]
heartbeat_s = 0.4
lease_s = 10
accept_s = 10
start_s = 20
cancel_grace_s = 1
[limits]
running_per_user = 100
[limits.running_per_source]
user = 100
[suspects]
hold_after_s = 0.5
avoid_lost_s = 0.1
"""
# A program outlives its daemon, and each loss of it takes three of them: here the first one makes it run alone.
OF_KEPT_WORK = SETTINGS + "deaths_max = 1\n"


FUNCTION = """
import asyncio, os, signal, sys
from taskyard.daemon.daemon import Daemon
daemon = Daemon(name="function", data_dir=sys.argv[1], slots=40)
@daemon.task("poison")
async def kills(task):
    os.kill(os.getpid(), signal.SIGKILL)
@daemon.task("rest")
async def rests(task):
    while not os.path.exists(task.input):
        await asyncio.sleep(0.05)
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
    hub = yard.hub(settings=OF_KEPT_WORK)
    daemon = AgentDaemon(hub, yard.directory, slots=40)
    with supervised(daemon) as dead, hub.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        # Given twenty that are at work, and one that kills whatever daemon takes it up
        bystanders: list[NewTask] = [{"input": "rests", "type": "rest", "max_attempts": 1} for _ in range(BYSTANDERS)]
        others = client.submit_batch(bystanders).tasks
        for other in others:
            hostile.wait_begun(daemon.roll(other), WITHIN_S)
        poison = client.submit("kills-daemon", type="poison", max_attempts=10)
        wait_until(lambda: dead, within_s=WITHIN_S, what="a daemon's death")
        assert all(hostile.survivors(daemon.roll(other)) for other in others), "or it hit nobody"
        hostile.let_end(daemon.rolls)
        # When daemons have died of it
        wait_until(
            lambda: client.task(poison.id).status in ENDED, within_s=120, what="the end of the poison", every_s=0.2
        )
        # Then it is put aside, with nothing left of it,
        parked = client.task(poison.id)
        assert parked.status is Status.PERMANENTLY_FAILED
        assert parked.error is not None
        assert parked.error.code == ErrorCode.POISON_TASK
        assert [attempt.status for attempt in parked.attempts] == [AttemptStatus.LOST] * len(parked.attempts)
        # Whoever starts them again may notice a death later than the hub does.
        wait_until(lambda: len(dead) >= 3, within_s=WITHIN_S, what="three deaths")
        hostile.wait_gone(daemon.roll(poison), WITHIN_S)
        # and the others are done, each at its first try.
        for other in others:
            wait_until(lambda id=other.id: client.task(id).status in ENDED, within_s=WITHIN_S, what="its end")
            assert len(hostile.enrolled(daemon.roll(other))) == 1, "it went on without its daemon"
            ended = client.task(other.id)
            assert (ended.status, [attempt.status for attempt in ended.attempts]) == (
                Status.COMPLETED,
                [AttemptStatus.SUCCESS],
            )


@pytest.mark.slow
@pytest.mark.parametrize("bystanders", ["at work", pytest.param("merely offered", marks=pytest.mark.soak)])
def test_a_function_that_kills_in_its_first_step_is_parked_and_costs_nobody_else_anything(
    yard: LiveYard, bystanders: str
) -> None:
    hub = yard.hub(settings=SETTINGS)
    may_end = yard.directory / "may_end"
    poison: NewTask = {"input": "go", "type": "poison", "max_attempts": 10, "priority": "high"}
    rests: list[NewTask] = [{"input": str(may_end), "type": "rest", "max_attempts": 1} for _ in range(BYSTANDERS)]
    with hub.client(retry=STUBBORN) as client:
        # Given twenty that are at work when it comes, or are offered in one frame with it, behind it
        if bystanders == "merely offered":
            may_end.touch()
            killer, *others = client.submit_batch([poison, *rests]).tasks
        with supervised(FunctionDaemon(hub, yard.directory)) as dead:
            if bystanders == "at work":
                others = client.submit_batch(rests).tasks
                for other in others:
                    wait_for(client, other.id, (Status.RUNNING,))
                killer = client.submit_batch([poison]).tasks[0]
                wait_until(lambda: len(dead) > 1, within_s=60, what="two deaths", every_s=0.05)
                may_end.touch()
            # When all of them have ended
            for task in (killer, *others):
                wait_for(client, task.id, ENDED)
            # The hub may have heard of the last death before whoever starts them again.
            wait_until(lambda: len(dead) >= 4, within_s=WITHIN_S, what="four deaths")
        # Then the one is put aside, for the processes that died of it: four, however soon they did,
        parked = client.task(killer.id)
        assert parked.error is not None
        assert parked.error.code == ErrorCode.POISON_TASK
        assert [attempt.status for attempt in parked.attempts] == [AttemptStatus.LOST] * 4
        assert all(attempt.started_at is not None for attempt in parked.attempts[1:])
        assert len(dead) == 4
        # and the others are done, whose only try was not used up by any of them.
        assert {client.task(other.id).status for other in others} == {Status.COMPLETED}


def wait_for(client: Client, task_id: str, statuses: Collection[Status]) -> None:
    what = f"{task_id} to be {', '.join(statuses)}"
    wait_until(lambda: client.task(task_id).status in statuses, within_s=120, what=what, every_s=0.05)

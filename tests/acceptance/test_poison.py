"""A task that kills its daemon is put aside, and what ran beside it loses nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from taskyard.sdk.submission import NewTask
from taskyard.vocabulary import ENDED, AttemptStatus, ErrorCode, Status
from tests.acceptance.hostile_yard import AgentDaemon
from tests.support import hostile
from tests.support.live import STUBBORN, LiveYard, wait_online, wait_until

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


@contextmanager
def supervised(daemon: AgentDaemon) -> Iterator[list[int]]:
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

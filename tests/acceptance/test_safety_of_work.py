"""Work outlives what it runs under: killed daemons, killed hubs, a laptop that sleeps."""

from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from taskyard.vocabulary import ENDED, AttemptStatus
from tests.acceptance.faults import settings
from tests.acceptance.kept_work import KeptWork
from tests.support.agent_daemon import AgentDaemon, at_work
from tests.support.live import STUBBORN, LiveHub, LiveYard, wait_online, wait_until

pytestmark = pytest.mark.takes(30)

KILLS = 4
"""Two of the daemon, two of the hub."""
WAIT_S = 60.0
LEASE_S = 30.0
"""Where it must not end."""
SHORT_S = 5.0
"""Where its end is waited for."""


def begun(client: Client, daemon: AgentDaemon, awaited: str) -> str:
    """A task whose agent waits for this file."""
    wait_online(client, 1)
    id = client.submit(awaited).id
    wait_until(lambda: daemon.noted("start")[id], within_s=WAIT_S, what="an agent at work")
    # Else the hub takes back what it does not know to have begun.
    wait_until(lambda: client.task(id).status == "running", within_s=WAIT_S, what="a hub that knows")
    return id


def ended(client: Client, id: str) -> None:
    wait_until(lambda: client.task(id).status in ENDED, within_s=WAIT_S, what="the end at the hub")


@pytest.mark.slow
def test_kills_between_an_agents_exit_and_its_acknowledgement_lose_nothing_and_repeat_nothing(yard: LiveYard) -> None:
    kills = KeptWork(yard, seed=6, lease_s=LEASE_S).run(KILLS)
    assert kills.number == {"daemon": KILLS // 2, "hub": KILLS // 2}
    assert kills.broken == []


@pytest.mark.slow
def test_an_agent_works_on_while_its_daemon_is_dead_and_is_taken_up_by_the_next(yard: LiveYard) -> None:
    # Given an agent at work
    hub = yard.hub(settings=settings(LEASE_S))
    with hub.client(retry=STUBBORN) as client, at_work(AgentDaemon(hub, yard.directory)) as daemon:
        id = begun(client, daemon, "go")

        # When its daemon is killed, and the next one is there before the agent has ended
        daemon.process.kill()
        daemon.start()
        wait_online(client, 1)
        # The hub may not have noticed yet that the first one is gone, or may have given it up for a moment.
        wait_until(lambda: client.task(id).status == "running", within_s=WAIT_S, what="work that was taken up")
        Path(yard.directory, "go").touch()
        ended(client, id)

        # Then it was one run, and one attempt
        task = client.task(id)
        assert (task.result, len(task.attempts), daemon.noted("start")[id]) == ({"answer": id}, 1, 1)


@pytest.mark.slow
def test_what_a_laptop_finished_after_its_sleep_is_taken_if_nothing_newer_was_sent(yard: LiveYard) -> None:
    hub = yard.hub(settings=settings(SHORT_S))
    with hub.client(retry=STUBBORN) as client, at_work(AgentDaemon(hub, yard.directory)) as daemon:
        # Given an agent at work, and a laptop that then sleeps longer than the lease
        id = begun(client, daemon, "go")
        daemon.fall_asleep()
        wait_until(lambda: client.task(id).status == "queued", within_s=WAIT_S, what="a task that was given up")

        # When it wakes and the agent ends
        daemon.wake()
        Path(yard.directory, "go").touch()
        ended(client, id)

        # Then its result is the task's, from its first and only attempt
        task = client.task(id)
        assert (task.status, task.result) == ("completed", {"answer": id})
        assert [attempt.status for attempt in task.attempts] == [AttemptStatus.SUCCESS]
        assert daemon.noted("start")[id] == 1


@pytest.mark.slow
def test_what_a_laptop_finished_after_its_sleep_is_kept_as_late_if_another_took_over(yard: LiveYard) -> None:
    hub = yard.hub(settings=settings(SHORT_S))
    with hub.client(retry=STUBBORN) as client, at_work(AgentDaemon(hub, yard.directory, "laptop")) as laptop:
        # Given an agent that is done, on a laptop that sleeps before anybody hears of it
        id = begun(client, laptop, "go")
        laptop.process.pause()
        Path(yard.directory, "go").touch()
        wait_until(lambda: laptop.noted("end")[id], within_s=WAIT_S, what="an agent that ended")
        laptop.fall_asleep()

        # When another daemon takes the task over and ends it, and the laptop wakes
        with at_work(AgentDaemon(hub, yard.directory, "desktop")) as desktop:
            ended(client, id)
            assert desktop.noted("start")[id] == 1
            laptop.wake()
            wait_until(lambda: _late(hub, id), within_s=WAIT_S, what="the late result")

            # Then the task has the newer result, and the older one stands with its attempt
            task = client.task(id)
            assert [attempt.status for attempt in task.attempts] == [AttemptStatus.LOST, AttemptStatus.SUCCESS]
            assert task.attempts[0].late_result is not None


def _late(hub: LiveHub, id: str) -> bool:
    with hub.client(retry=STUBBORN) as client:
        return client.task(id).attempts[0].late_result is not None

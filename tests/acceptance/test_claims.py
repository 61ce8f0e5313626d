"""Agents that pull, with a real hub that dies under them: each task is worked on once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from taskyard.sdk.answers import Claimed
from taskyard.sdk.client import Client
from taskyard.sdk.errors import HubUnreachable, Unavailable
from tests.support.live import LONG_LEASES, STUBBORN, LiveYard

pytestmark = pytest.mark.takes(5)

TASKS, AGENTS = 16, 4


def claim(client: Client) -> Claimed | None:
    """One of its own, whatever becomes of the hub meanwhile."""
    try:
        return client.claim("agent", wait_s=1)
    except (HubUnreachable, Unavailable):
        return None


@pytest.mark.slow
def test_what_agents_pull_is_done_once_although_the_hub_is_killed(yard: LiveYard) -> None:
    # Given agents that each hold a task
    hub = yard.hub(settings=LONG_LEASES)
    client = hub.client(retry=STUBBORN, timeout_s=15)
    client.submit_batch([{"input": f"{number}"} for number in range(TASKS)])
    all_hold, hub_is_back = threading.Barrier(AGENTS + 1), threading.Event()
    done: list[str] = []

    def work(first: bool = True) -> None:
        while len(done) < TASKS:
            claimed = claim(client)
            if claimed is None:
                continue
            if first:
                all_hold.wait(30)
                hub_is_back.wait(60)
                first = False
            with hub.client(retry=STUBBORN, key=claimed.token) as own:
                own.heartbeat(claimed.task["id"])
                own.complete(claimed.task["id"], result=claimed.task["input"])
            done.append(claimed.task["input"])

    # When the hub is killed and comes back, and they go on until nothing is left
    with ThreadPoolExecutor(AGENTS) as pool:
        working = [pool.submit(work) for _ in range(AGENTS)]
        all_hold.wait(30)
        hub.restart()
        hub_is_back.set()
        for one in working:
            one.result(120)

    # Then each task was done once, by the attempt that it was claimed with, and no agent has more slots than it used
    tasks = [client.task(task.id) for task in client.tasks()]
    assert sorted(done, key=int) == [f"{number}" for number in range(TASKS)]
    assert {(task.status, task.result == task.input) for task in tasks} == {("completed", True)}
    assert sum(attempt.status == "success" for task in tasks for attempt in task.attempts) == TASKS
    assert {len(task.attempts) for task in tasks if task.attempts[0].status == "success"} == {1}
    assert len(client.daemons()) <= 2 * AGENTS
    client.close()

"""Room made between tasks of one user, with real processes: preemption, and sub-tasks in their parent's place."""

from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.guests import Guest, fleet_at_work
from tests.support.live import LONG_LEASES, LiveHub, LiveYard, wait_online, wait_until

pytestmark = pytest.mark.takes(12)

IMPATIENT = LONG_LEASES + "\n[preemption]\nmin_run_s = 0.3\n"
NESTED = 3
WITHIN_S = 60.0
SLOW_MS = 600_000
"""Nobody waits for that long: who is told to make room does."""


def test_a_plan_of_one_waits_for_its_sub_tasks_and_theirs_on_a_daemon_with_one_slot(
    guest: Guest, client: Client, shared_hub: LiveHub, tmp_path: Path
) -> None:
    with shared_hub.client() as admin:
        admin.change_user(guest.user, overrides={"max_concurrent_agents": 1})
    with fleet_at_work(guest, tmp_path, slots=1):
        wait_online(client, 1)
        parent = client.submit("go", type="nest", payload={"depth": NESTED}).wait(timeout=WITHIN_S)
        assert (parent.status, parent.result) == ("completed", NESTED)
        assert len(list(client.tasks(type="nest"))) == 1 + NESTED


def test_a_low_task_makes_room_although_the_hub_is_killed_and_goes_on_from_its_checkpoint(yard: LiveYard) -> None:
    # Given a low task that has the only slot and has saved where it is
    hub = yard.hub(settings=IMPATIENT)
    daemon = yard.daemon(hub, slots=1)
    with hub.client() as client:
        wait_online(client, 1)
        low = client.submit("slow", type="count", priority="low", payload={"ms": SLOW_MS})
        wait_until(lambda: client.task(low.id).checkpoint, within_s=WITHIN_S, what="a checkpoint")

        # When a critical one comes, and the hub is killed before the daemon has heard of it
        daemon.process.pause()
        urgent = client.submit("now", type="noop", priority="critical")
    hub.restart()
    daemon.process.resume()

    # Then the critical one runs, and the low one after it from where it was
    with hub.client() as client:
        assert client.task(urgent.id).wait(timeout=WITHIN_S).status == "completed"
        done = client.task(low.id).wait(timeout=WITHIN_S)
        assert (done.status, done.result) == ("completed", {"found": {"saved_by": 1}})
        assert [attempt.status for attempt in done.attempts] == ["preempted", "success"]
        assert done.metadata["preempted_by"] == urgent.ref

"""The daemon that comes up with a hub: it does not outlive one that is killed by more than its work."""

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.hub.local_daemon import holder_of
from taskyard.sdk.client import Client
from taskyard.sdk.task import Task
from taskyard.vocabulary import AttemptStatus, Status
from tests.support.live import STUBBORN, LiveHub, LiveYard, wait_online, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(10)]


def local_daemons(hub: LiveHub) -> list[int]:
    """The processes of this yard's local daemon, whoever started them."""
    found = []
    # All at once: asked one thing after another, a process may be gone in between.
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if "daemon" in words and str(hub.data) in words and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def serving(hub: LiveHub) -> int | None:
    """The process of the one that has the place."""
    return holder_of(hub.data / "daemons" / "local" / "lock")


def submit_and_see_run(client: Client) -> Task | None:
    """Some of this type are over at once, and may be before anybody has looked."""
    task = client.submit("look busy", type="demo", max_attempts=1)
    wait_until(lambda: task.refresh().status not in (Status.QUEUED, Status.SCHEDULED), within_s=30, what="its start")
    return task if task.status is Status.RUNNING else None


def test_a_hub_that_is_killed_takes_its_local_daemon_along(yard: LiveYard) -> None:
    hub = yard.hub(options=())
    with hub.client() as client:
        wait_online(client, 1)
    hub.kill()
    wait_until(lambda: not local_daemons(hub), within_s=60, what="no daemon without a hub")


def test_after_a_kill_of_the_hub_the_next_one_has_one_local_daemon_and_what_ran_is_done_once(yard: LiveYard) -> None:
    hub = yard.hub(options=())
    with hub.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        first = serving(hub)
        # Given work of the local daemon that its hub is killed under
        task = wait_until(lambda: submit_and_see_run(client), within_s=60, what="work under way")
        hub.restart()
        # Then it is done by the process that began it, whichever tells of it,
        wait_until(lambda: client.task(task.id).completed_at is not None, within_s=60, what="its end", every_s=0.1)
        ended = client.task(task.id)
        assert [attempt.status for attempt in ended.attempts] in ([AttemptStatus.SUCCESS], [AttemptStatus.FAILED])
        # and there is one local daemon, which is the new hub's and works.
        wait_until(lambda: serving(hub) not in (None, first), within_s=60, what="another one in its place")
        assert client.submit("hello", type="echo").wait(timeout=30).status == "completed"
        # The other has given up its place, and may take a moment more to be gone.
        wait_until(lambda: local_daemons(hub) == [serving(hub)], within_s=60, what="one daemon alone")
    # And when that hub is stopped, nothing is left.
    assert hub.process.terminate() == 0
    assert local_daemons(hub) == []

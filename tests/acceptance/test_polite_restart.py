"""A hub that is asked to stop, and started again, costs nobody's work."""

import pytest

from tests.support.live import STUBBORN, LiveYard, wait_online, wait_until

pytestmark = pytest.mark.takes(15)

WORK_MS = 5_000


@pytest.mark.slow
def test_a_daemon_works_on_while_its_hub_is_stopped_and_started_again(yard: LiveYard) -> None:
    hub = yard.hub()
    daemon = yard.daemon(hub)
    with hub.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        task = client.submit("work", type="record", payload={"ms": WORK_MS})
        wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="a running task")

        assert hub.process.terminate() == 0
        hub.start()

        task.wait(timeout=60)
        assert daemon.process.exit_code is None, daemon.process.said
        assert (task.status, len(task.attempts)) == ("completed", 1)
        assert task.result == f"{task.id}/1/{daemon.process.pid}"

"""Two hubs and a daemon on one machine: what the guide tells whoever needs more cores."""

from pathlib import Path

import pytest

from tests.support.live import LONG_LEASES, STUBBORN, live_yard, taskyard, wait_online, wait_until
from tests.support.postgres import new_yard

pytestmark = pytest.mark.takes(15)


@pytest.mark.slow
def test_a_daemon_of_two_hubs_stays_connected_and_works_on_when_the_leader_is_killed(tmp_path: Path) -> None:
    # Given two hubs, a daemon at the one that does not lead, and work under way
    with live_yard(tmp_path) as yard:
        url = new_yard()
        first, second = (yard.hub(name, database=url, settings=LONG_LEASES) for name in ("one", "two"))
        assert not (second.data / "credentials.json").exists()
        assert "this hub was not given it" in second.process.said
        added = taskyard("key", "add", "fleet", "--scope", "tasks", "--scope", "daemon", "--data", str(first.data))
        with second.client(key=added.out.strip()) as fleet:
            assert fleet.me().scopes == ["daemon", "tasks"]
        daemon = yard.daemon(second)
        with second.client(retry=STUBBORN) as client:
            wait_online(client, 1)
            hubs = {first.url: True, second.url: False}
            wait_until(
                lambda: {hub.address: hub.leader for hub in client.hubs()} == hubs, within_s=60, what="both hubs known"
            )
            task = client.submit("work", type="record", payload={"ms": 2_000})
            wait_until(lambda: client.task(task.id).status == "running", within_s=60, what="a running task")
            sockets = daemon.sockets_to(second)

            # When the leader is killed
            first.kill()

            # Then the other hub leads and takes work, with the daemon on the socket that it had, and nothing ran twice
            later = client.submit("more work", type="record", payload={"ms": 0})
            assert later.ref == "T-002"
            for each in (task, later):
                each.wait(timeout=60)
                assert each.result == f"{each.id}/1/{daemon.process.pid}"
                assert len(each.attempts) == 1
            assert len(sockets) == 1
            assert daemon.sockets_to(second) == sockets
            assert [hub.leader for hub in client.hubs() if hub.address == second.url] == [True]

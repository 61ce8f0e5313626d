"""Gateways of hubs on PostgreSQL: they follow whoever leads, also where that is another hub."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_online, wait_until
from tests.support.postgres import new_yard

pytestmark = pytest.mark.slow

SETTINGS = "[lease]\nheartbeat_s = 1\nlease_s = 60\n[cluster]\nlease_s = 10\n"
"""Nobody loses work or the lead for being slow. Whoever leads after a death need not wait for either."""
OPTIONS = ("--no-daemon", "--gateways", "2")


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[LiveYard]:
    with live_yard(tmp_path) as made:
        yield made


def has_led(hub: LiveHub) -> bool:
    return '"hub.leads"' in (hub.data / "hub.log").read_text()


def test_gateways_go_on_when_another_hub_leads(yard: LiveYard) -> None:
    # Given two hubs with two gateways each, a daemon at the one that does not lead, and work under way
    url = new_yard()
    first = yard.hub("first", database=url, settings=SETTINGS, options=OPTIONS)
    second = yard.hub("second", database=url, settings=SETTINGS, options=OPTIONS)
    assert (len(first.gateways), len(second.gateways)) == (2, 2)
    daemon = yard.daemon(second)
    with second.client(retry=STUBBORN) as client:
        wait_online(client, 1)
        known = {first.url: True, second.url: False}
        wait_until(
            lambda: {hub.address: hub.leader for hub in client.hubs()} == known, within_s=20, what="hubs that are known"
        )
        task = client.submit("work", type="record", payload={"ms": 4_000})
        wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="a running task")
        gateways = second.gateways

        # When the leader is killed
        dead = first.gateways
        first.kill()

        # Then its gateways end with it, and those of the other go on under the new leader
        wait_until(lambda: not any(map(psutil.pid_exists, dead)), within_s=20, what="no gateway of the dead hub")
        wait_until(lambda: has_led(second), within_s=30, what="the other hub leads")
        task.wait(timeout=60)
        assert (task.status, len(task.attempts)) == ("completed", 1)
        assert task.result == f"{task.id}/1/{daemon.process.pid}"
        assert second.gateways == gateways

        # And when the lead goes back to the first, they follow it there
        first.start()
        assert second.process.terminate() == 0
        assert not any(map(psutil.pid_exists, gateways))
    with first.client(retry=STUBBORN) as client:
        assert client.submit("next").ref == "T-002"


def test_a_gateway_that_dies_is_started_again_and_what_it_says_is_in_its_own_hubs_log(yard: LiveYard) -> None:
    url = new_yard()
    leader = yard.hub("leader", database=url, settings=SETTINGS)
    hub = yard.hub("hub", database=url, settings=SETTINGS, options=OPTIONS)
    before = hub.gateways
    for gateway in before:
        os.kill(gateway, signal.SIGKILL)
    with hub.client(retry=STUBBORN) as client:
        client.submit("hello")
        assert len(list(client.tasks())) == 1
    wait_until(lambda: len(set(hub.gateways) - set(before)) == 2, within_s=30, what="two other gateways")
    assert not set(hub.gateways) & set(before)
    said = (hub.data / "hub.log").read_text()
    assert said.count('"link.made"') > 2
    assert '"gateway.ended"' in said
    assert '"link.made"' not in (leader.data / "hub.log").read_text()


def test_nothing_is_left_behind_by_a_hub_that_stops(yard: LiveYard) -> None:
    with tempfile.TemporaryDirectory(prefix="ty-") as sockets:
        hub = yard.hub(database=new_yard(), settings=SETTINGS, options=OPTIONS, prefix=("env", f"TMPDIR={sockets}"))
        gateways = hub.gateways
        assert hub.process.terminate() == 0
        assert not any(map(psutil.pid_exists, gateways))
        assert os.listdir(sockets) == []

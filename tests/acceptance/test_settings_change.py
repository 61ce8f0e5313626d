"""A running hub whose settings change: a person edits the file, and nothing is restarted."""

import json
import os
import signal
from typing import Any

import pytest

from taskyard.sdk.client import Client
from tests.support.live import LONG_LEASES, LiveHub, LiveYard, taskyard, wait_online, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(8)]

APPLIED_S = 30.0
"""A file is looked at twice a second; the rest is for a busy machine."""


def said(hub: LiveHub, event: str) -> list[dict[str, Any]]:
    lines = (hub.data / "hub.log").read_text().splitlines()
    return [line for line in map(json.loads, lines) if line["event"] == event]


def await_said(hub: LiveHub, event: str, count: int) -> dict[str, Any]:
    return wait_until(lambda: said(hub, event)[count - 1 :], within_s=APPLIED_S, what=f"{count} x {event}")[0]


def running(client: Client) -> int:
    return len(list(client.tasks(status="in-progress")))


def limit(count: int) -> str:
    return f"{LONG_LEASES}[limits]\nrunning_per_user = {count}\n[limits.running_per_source]\nuser = 100\n"


def test_a_limit_is_lowered_raised_and_written_wrong_while_tasks_run(yard: LiveYard) -> None:
    # Given a service whose user may run two tasks, and does, with others waiting
    hub = yard.hub(settings=limit(2), options=("--no-daemon", "--profile", "service"))
    file = yard.directory / "yard.toml"
    assert "profile    service" in hub.process.said
    with hub.client() as client:
        assert client.me().profile == "service"
        daemon = yard.daemon(hub, slots=16)
        wait_online(client, 1)
        tasks = [client.submit("rest", type="sleep", payload={"ms": 600_000}) for _ in range(6)]
        wait_until(lambda: running(client) == 2, within_s=APPLIED_S, what="two run")

        # When the limit is raised, then those who waited start
        file.write_text(limit(4))
        wait_until(lambda: running(client) == 4, within_s=APPLIED_S, what="four run")
        assert await_said(hub, "settings.changed", 1)["data"] == {"names": ["limits.running_per_user"]}

        # When it is lowered, then what runs goes on, and nothing follows what ends
        file.write_text(limit(3))
        os.kill(hub.process.pid, signal.SIGHUP)
        await_said(hub, "settings.changed", 2)
        busy = list(client.tasks(status="in-progress"))
        assert len(busy) == 4
        for task in busy[:2]:
            client.cancel(task.id)
        wait_until(lambda: running(client) == 3, within_s=APPLIED_S, what="two were ended, one followed")

        # When garbage is written, then it is reported, and everything stays as it was
        file.write_text("[limits]\nrunning_per_user = 'many'\n")
        refused = await_said(hub, "settings.refused", 1)
        assert "running_per_user" in refused["data"]["reason"]
        assert refused["level"] == "error"
        assert "running_per_user" in hub.process.said
        assert (running(client), len(list(client.tasks(status="queued")))) == (3, len(tasks) - 5)
        checked = taskyard("doctor", "--data", str(hub.data), "--config", str(file))
        assert (checked.code, "running_per_user" in checked.out) == (1, True)

        # When it is mended, then it holds, in the profile that was given
        file.write_text('profile = "local"\n' + limit(4))
        wait_until(lambda: running(client) == 4, within_s=APPLIED_S, what="four run again")
        assert client.me().profile == "service"
        # It would wait for its sleepers.
        daemon.process.kill()

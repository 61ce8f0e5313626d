"""Daemons that do not come back: forgotten by a person, or because they said that they would not."""

import sys

import pytest

from taskyard.sdk.client import Client
from tests.support.live import LiveHub, LiveYard, Process, environment, taskyard, wait_online, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.takes(10)]


def a_daemon(yard: LiveYard, hub: LiveHub, name: str, *options: str) -> Process:
    command = [sys.executable, "-m", "taskyard.cli", "daemon", "--name", name, "--data", str(hub.data), *options]
    return Process(command, output=yard.directory / f"{name}.out", env=environment())


def status_of(client: Client, name: str) -> str | None:
    return next((daemon.status for daemon in client.daemons() if daemon.name == name), None)


def test_what_is_forgotten_stays_so_over_a_restart_and_what_comes_back_is_new(yard: LiveYard) -> None:
    hub = yard.hub()
    mill, pod = a_daemon(yard, hub, "mill"), a_daemon(yard, hub, "pod", "--ephemeral")
    try:
        with hub.client() as client:
            wait_online(client, 2)
            refused = taskyard("daemons", "forget", "mill", "--data", str(hub.data))
            assert (refused.code, refused.out) == (1, "")
            assert "mill is connected. Stop it first" in refused.err

            # When both leave, one of them for good by its own word
            assert [process.terminate() for process in (mill, pod)] == [0, 0]
            wait_until(lambda: status_of(client, "mill") == "offline", within_s=30, what="one that left")
            wait_until(lambda: status_of(client, "pod") is None, within_s=30, what="one that is forgotten")
            forgotten = taskyard("daemons", "forget", "mill", "--data", str(hub.data))
            assert (forgotten.code, forgotten.err) == (0, "")

            # Then nothing is left of either, and the one that comes back works
            hub.restart()
            assert client.daemons() == []
            mill = a_daemon(yard, hub, "mill")
            wait_online(client, 1)
            assert client.submit("hello", type="echo").wait(timeout=30).status == "completed"
            assert [entry.action for entry in client.audit() if entry.subject.startswith("d_")] == ["daemon.forget"]
    finally:
        mill.end()
        pod.end()

"""A daemon's life as a service: it changes while it works, and leaves without costing anybody an attempt."""

import os
import signal
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from taskyard.vocabulary import ENDED, AttemptStatus
from tests.acceptance.guests import Guest
from tests.support.agent_daemon import AgentDaemon, at_work
from tests.support.live import wait_online, wait_until

WAIT_S = 30.0


def capabilities(client: Client) -> list[str]:
    return [name for daemon in client.daemons() if daemon.status != "offline" for name in daemon.capabilities]


@pytest.mark.slow
def test_a_daemon_reads_its_file_anew_while_its_agents_work(guest: Guest, client: Client, tmp_path: Path) -> None:
    # Given a daemon with a file, and an agent at work
    file = tmp_path / "daemon.toml"
    file.write_text('[daemon]\nslots = 2\ncapabilities = ["browser"]\n')
    daemon = AgentDaemon(guest, tmp_path, slots=None)
    with at_work(daemon, "--config", str(file)):
        wait_online(client, 1)
        id = client.submit("go").id
        wait_until(lambda: daemon.noted("start")[id], within_s=WAIT_S, what="an agent at work")
        assert capabilities(client) == ["browser"]

        # When the file is changed, badly and then well, and the daemon told each time
        file.write_text("[daemon]\nslots = 0\n")
        os.kill(daemon.process.pid, signal.SIGHUP)
        wait_until(lambda: "not changed: " in daemon.process.said, within_s=WAIT_S, what="a complaint")
        assert capabilities(client) == ["browser"]
        file.write_text('[daemon]\nslots = 3\ncapabilities = ["browser", "gpu"]\n')
        os.kill(daemon.process.pid, signal.SIGHUP)
        wait_until(lambda: capabilities(client) == ["browser", "gpu"], within_s=WAIT_S, what="the new capability")

        # Then it has become what the good one says, and the agent never noticed
        Path(tmp_path, "go").touch()
        wait_until(lambda: client.task(id).status in ENDED, within_s=WAIT_S, what="the end at the hub")
        assert [attempt.status for attempt in client.task(id).attempts] == [AttemptStatus.SUCCESS]
        assert daemon.noted("start")[id] == 1
        assert [found.max_concurrent_tasks for found in client.daemons()] == [3]


@pytest.mark.slow
def test_what_a_leaving_daemon_cannot_finish_is_handed_back_and_costs_no_attempt(
    guest: Guest, client: Client, tmp_path: Path
) -> None:
    # Given an agent that will not be done in time, of a task that may be tried once
    first = AgentDaemon(guest, tmp_path, "first")
    second = AgentDaemon(guest, tmp_path, "second")
    with at_work(first, "--drain-s", "0.3"):
        wait_online(client, 1)
        id = client.submit("go", max_attempts=1).id
        wait_until(lambda: first.noted("start")[id], within_s=WAIT_S, what="an agent at work")

        # When its daemon is asked to leave, and another comes
        assert first.process.terminate() == 0
        with at_work(second):
            wait_until(lambda: second.noted("start")[id], within_s=WAIT_S, what="another agent at work")
            Path(tmp_path, "go").touch()
            wait_until(lambda: client.task(id).status in ENDED, within_s=WAIT_S, what="the end at the hub")

        # Then the first try did not count, and nothing of it is left
        task = client.task(id)
        assert task.status == "completed"
        assert [attempt.status for attempt in task.attempts] == [AttemptStatus.DRAINED, AttemptStatus.SUCCESS]
        assert first.noted("end")[id] == 0

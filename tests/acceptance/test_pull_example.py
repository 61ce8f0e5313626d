"""The example of an agent without a socket, as it is: a shell, curl and jq against a real hub."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from taskyard.vocabulary import ENDED
from tests.acceptance.guests import Guest
from tests.support.live import ROOT, LiveHub, Process, environment, wait_until

pytestmark = pytest.mark.takes(5)

EXAMPLE = ROOT / "examples" / "pull-agent.sh"
LINES_MAX = 31
WAIT_S = 60.0
AGENT = 'read -r word; case "$word" in bad) echo no >&2; exit 3;; slow) exec sleep 60;; *) echo "did $word";; esac'


@pytest.fixture(autouse=True)
def _has_tools() -> None:
    for tool in ("curl", "jq"):
        if shutil.which(tool) is None:
            assert "CI" not in os.environ, f"without {tool} this test shows nothing"
            pytest.skip(f"no {tool} here")


@contextmanager
def pulling(guest: Guest, directory: Path) -> Iterator[Process]:
    env = environment(TASKYARD_HUB=guest.url, TASKYARD_KEY=guest.key)
    process = Process(["sh", str(EXAMPLE), "sh", "-c", AGENT], output=directory / "agent.out", env=env)
    try:
        yield process
    finally:
        os.killpg(process.pid, 15)
        process.wait()


@pytest.mark.slow
def test_the_shell_agent_does_tasks_tells_failures_and_stops_what_was_cancelled(
    guest: Guest, client: Client, tmp_path: Path
) -> None:
    with pulling(guest, tmp_path) as agent:
        # Given a task that is done and one that fails
        good, bad = client.submit("it"), client.submit("bad", max_attempts=1)
        for one in (good, bad):
            wait_until(lambda id=one.id: client.task(id).status in ENDED, within_s=WAIT_S, what="both ends")

        # When one that takes long is cancelled
        slow = client.submit("slow")
        wait_until(lambda: client.task(slow.id).status == "running", within_s=WAIT_S, what="slow work")
        client.cancel(slow.id)
        wait_until(lambda: client.task(slow.id).status == "cancelled", within_s=WAIT_S, what="a cancelled task")

        # Then each is told as what it was, and the agent goes on
        after = client.submit("more")
        wait_until(lambda: client.task(after.id).status in ENDED, within_s=WAIT_S, what="the next task")
        assert client.task(good.id).result == "did it\n"
        assert client.task(after.id).result == "did more\n"
        assert client.task(bad.id).error is not None
        assert "no" in str(client.task(bad.id).error)
        assert agent.exit_code is None


@pytest.mark.slow
def test_the_shell_agent_says_why_it_is_refused_and_leaves(guest: Guest, shared_hub: LiveHub, tmp_path: Path) -> None:
    with shared_hub.client() as admin:
        key = admin.add_key(guest.user, name="reader", scopes=["tasks"]).key
    process = Process(
        ["sh", str(EXAMPLE), "cat"],
        output=tmp_path / "refused.out",
        env=environment(TASKYARD_HUB=guest.url, TASKYARD_KEY=key),
    )
    assert process.wait() == 1
    assert "the hub refuses:" in process.said


def test_the_example_stays_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= LINES_MAX

"""The example of an agent without a socket, as it is: a shell, curl and jq against a real hub."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from taskyard.vocabulary import ENDED
from tests.support.live import ROOT, STUBBORN, LiveHub, LiveYard, Process, environment, wait_until

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
def pulling(hub: LiveHub, key: str) -> Iterator[Process]:
    env = environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=key)
    process = Process(["sh", str(EXAMPLE), "sh", "-c", AGENT], output=hub.data.with_suffix(".agent"), env=env)
    try:
        yield process
    finally:
        os.killpg(process.pid, 15)
        process.wait()


@pytest.mark.slow
def test_the_shell_agent_does_tasks_tells_failures_and_stops_what_was_cancelled(yard: LiveYard) -> None:
    hub = yard.hub()
    with hub.client(retry=STUBBORN) as client, pulling(hub, hub.key) as agent:
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
def test_the_shell_agent_says_why_it_is_refused_and_leaves(yard: LiveYard) -> None:
    hub = yard.hub()
    with hub.client() as client:
        user = client.add_user("reader")
        key = client.add_key(user.id, name="reader", scopes=["tasks"]).key
    process = Process(
        ["sh", str(EXAMPLE), "cat"],
        output=yard.directory / "refused.out",
        env=environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=key),
    )
    assert process.wait() == 1
    assert "the hub refuses:" in process.said


def test_the_example_stays_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= LINES_MAX

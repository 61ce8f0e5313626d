"""An engine that submits by itself, and real processes that die: its tasks are in the yard once, and in their order."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from taskyard.sdk.answers import Backpressure
from taskyard.sdk.client import Client
from taskyard.sdk.proactive import ProactiveSubmitter
from taskyard.sdk.requests import Batch
from taskyard.sdk.retry import CANDID, NEVER, RetryPolicy
from taskyard.sdk.submission import NewTask
from taskyard.sdk.task import Task
from tests.support.live import SHORT_LEASES, LiveHub, LiveYard, Process, environment, wait_until

LIVES = 3
TASKS_A_LIFE = 60
SETTINGS = """\
[limits.user_queue_depth]
warning = 12
critical = 20
[limits.rate.proactive]
per_minute = 100000
per_hour = 100000
"""


def an_engine(hub: LiveHub, directory: Path, life: int) -> Process:
    command = [
        *(sys.executable, "-m", "tests.support.engine", "--spool", str(directory / "spool")),
        *("--journal", str(directory / "journal"), "--life", str(life), "--tasks", str(TASKS_A_LIFE)),
    ]
    env = environment(TASKYARD_HUB=hub.url, TASKYARD_KEY=hub.key)
    return Process(command, output=directory / "engine.out", env=env)


def given(directory: Path) -> list[str]:
    """What an engine was promised to be sent, in the order in which it was given."""
    journal = directory / "journal"
    return journal.read_text().split() if journal.exists() else []


def has_given(directory: Path, enough: int) -> Callable[[], bool]:
    return lambda: len(given(directory)) >= enough


@pytest.mark.slow
def test_what_an_engine_was_given_is_in_the_yard_once_whatever_is_killed(yard: LiveYard) -> None:
    # Given engines that are killed while they produce, one after another on one spool
    hub, directory = yard.hub(), yard.directory
    for life in range(1, LIVES + 1):
        engine = an_engine(hub, directory, life)
        try:
            enough = len(given(directory)) + life * 15
            wait_until(has_given(directory, enough), within_s=60, what="tasks given", every_s=0.001)
            if life < LIVES:
                engine.kill()
            else:
                # When the hub of the last one is killed too, and that one has sent all there is
                hub.restart()
                assert engine.wait(120) == 0, engine.said[-2000:]
        finally:
            engine.end()

    # Then each task that was taken from an engine is there once, none twice, and they came in their order
    promised = given(directory)
    with hub.client() as client:
        stored = sorted((int(task.ref.removeprefix("T-")), task.input) for task in client.tasks(type="noop"))
    names = [name for _, name in stored]
    assert len(names) == len(set(names))
    assert [name for name in names if name in set(promised)] == promised
    assert {name.split("-")[0] for name in promised} == {str(life) for life in range(1, LIVES + 1)}
    assert sorted(path.name for path in (directory / "spool").iterdir() if path.stat().st_size) == []


class Noting(Client):
    """Keeps how many tasks were sent at a time, with what the hub had said before."""

    def __init__(self, hub: str, key: str, *, retry: RetryPolicy) -> None:
        super().__init__(hub, key, retry=retry)
        self.sent: list[tuple[str, int]] = []
        self._level = ""

    def backpressure(self) -> Backpressure:
        answer = super().backpressure()
        self._level = answer.level
        return answer

    def submit_batch(self, tasks: Sequence[NewTask], *, partial: bool = False) -> Batch[Task]:
        self.sent.append((self._level, len(tasks)))
        return super().submit_batch(tasks, partial=partial)


class As:
    """The hub as another user enters it."""

    def __init__(self, hub: LiveHub, key: str) -> None:
        self._hub, self.url, self.key = hub, hub.url, key

    def client(self, *, retry: RetryPolicy = NEVER, key: str | None = None, timeout_s: float = 10.0) -> Client:
        return self._hub.client(retry=retry, key=key or self.key, timeout_s=timeout_s)


@pytest.mark.slow
def test_under_pressure_an_engine_slows_down_and_afterwards_recovers(yard: LiveYard) -> None:
    # Given a user whose line is long with twelve tasks and too long with twenty
    hub = yard.hub(settings=SHORT_LEASES + SETTINGS)
    with hub.client() as admin:
        key = admin.add_key(admin.add_user("engine").id, name="engine", scopes=["tasks", "daemon"]).key
    assert key is not None
    with Noting(hub.url, key, retry=CANDID) as client:
        engine = ProactiveSubmitter(client, window_s=0.05, batch_max=4, spool=yard.directory / "spool")

        # When it produces forty and nobody runs them
        engine.submit_all([{"input": f"{number}", "type": "noop"} for number in range(40)])
        wait_until(lambda: engine.level == "critical", within_s=60, what="a pause", every_s=0.002)

        # Then it stops with no more in line than is too many, however often it looks
        left = engine.pending
        assert 16 < left <= 20
        assert [engine.flush() for _ in range(3)] == [left] * 3
        assert {size for level, size in client.sent if level == "normal"} == {4}
        assert {size for level, size in client.sent if level == "warning"} == {2}

        # And goes on by itself when somebody does
        yard.daemon(As(hub, key))
        wait_until(lambda: engine.pending == 0, within_s=60, what="the rest sent")
        wait_until(lambda: client.backpressure().level == "normal", within_s=60, what="a short line")
        engine.close()
        inputs = sorted((int(task.ref.removeprefix("T-")), task.input) for task in client.tasks())
        assert [text for _, text in inputs] == [f"{number}" for number in range(40)]

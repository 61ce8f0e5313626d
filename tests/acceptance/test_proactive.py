"""An engine that submits by itself, and real processes that die: its tasks are in the yard once, and in their order."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.live import LiveHub, LiveYard, Process, environment, wait_until

LIVES = 3
TASKS_A_LIFE = 60


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

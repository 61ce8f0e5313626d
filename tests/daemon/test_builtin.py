"""The types that every daemon can run."""

import pytest
from msgspec import Raw

from taskyard.daemon.builtin import BUILTIN
from taskyard.daemon.orders import Key, Start
from taskyard.daemon.python_runner import Outcome, PythonRunner
from taskyard.wire.frames import TaskCompleted, TaskFailed
from tests.daemon.functions import play
from tests.daemon.scene import ONE, execute
from tests.daemon.told import Told


def built_in(name: str, key: Key) -> list[Outcome]:
    outcomes: list[Outcome] = []

    async def scenario(runner: PythonRunner, told: Told) -> None:
        runner.start(Start(key, execute(key, type=name)))
        outcomes.append(await told.outcome())

    play({name: BUILTIN[name].function}, scenario)
    return outcomes


def test_echo_answers_its_input() -> None:
    [outcome] = built_in("echo", ONE)
    assert isinstance(outcome, TaskCompleted)
    assert outcome.result == Raw(b'"go"')
    assert outcome.summary == "echo of t1"


def test_demo_goes_the_same_way_each_time_and_sometimes_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.daemon.builtin.STEP_S_MAX", 0.0)
    outcomes = [built_in("demo", (f"t{number}", 1)) for number in range(40)]
    assert outcomes == [built_in("demo", (f"t{number}", 1)) for number in range(40)]
    kinds = [type(outcome) for [outcome] in outcomes]
    assert kinds.count(TaskCompleted) > kinds.count(TaskFailed) > 0

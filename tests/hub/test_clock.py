"""The calendar that hubs have in common."""

import pytest

from taskyard.core.state import Now
from taskyard.hub import clock as module
from taskyard.hub.clock import NOISE_MS, SLOW_MS, SharedClock

HOUR_MS = 3_600_000


class Machine:
    """A clock that goes on when it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = Now(wall=1_000_000, mono=5_000)
        monkeypatch.setattr(module, "read_clock", lambda: self.now)

    def pass_ms(self, ms: int) -> None:
        self.now = Now(self.now.wall + ms, self.now.mono + ms)

    def step(self, ms: int) -> None:
        """Somebody sets its calendar."""
        self.now = Now(self.now.wall + ms, self.now.mono)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


def told(clock: SharedClock, machine: Machine, *, true_wall: int, took_ms: int) -> None:
    asked = machine.now
    machine.pass_ms(took_ms)
    clock.hear(true_wall, asked=asked)


def test_before_anybody_told_it_is_the_machines_own(machine: Machine) -> None:
    assert SharedClock().read() == machine.now


def test_once_told_it_is_right_however_wrong_the_machines_own_is_and_goes_on_with_it(machine: Machine) -> None:
    clock = SharedClock()
    told(clock, machine, true_wall=machine.now.wall + 10 - HOUR_MS, took_ms=20)
    machine.pass_ms(500)
    assert clock.read() == Now(machine.now.wall - HOUR_MS, machine.now.mono)


def test_a_machine_whose_clock_is_set_is_noticed_when_it_is_told_next(machine: Machine) -> None:
    clock = SharedClock()
    machine.step(HOUR_MS)
    told(clock, machine, true_wall=machine.now.wall - HOUR_MS, took_ms=0)
    assert clock.read().wall == machine.now.wall - HOUR_MS


def test_the_way_there_and_back_does_not_make_it_run_back_and_forth(machine: Machine) -> None:
    clock = SharedClock()
    told(clock, machine, true_wall=machine.now.wall + NOISE_MS, took_ms=0)
    assert clock.read() == machine.now


def test_an_answer_that_took_long_does_not_tell_the_time(machine: Machine) -> None:
    clock = SharedClock()
    told(clock, machine, true_wall=machine.now.wall - HOUR_MS, took_ms=SLOW_MS + 1)
    assert clock.read() == machine.now

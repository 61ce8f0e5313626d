"""Timers: one heap per clock, names that replace each other, no polling."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from taskyard.core.timers import COMPACT_ABOVE, Clock, Due, Timers

NAMES = st.tuples(st.sampled_from([Due.BEGIN, Due.DEADLINE, Due.LEASE]), st.sampled_from("abcd"))
CLOCKS = st.sampled_from(list(Clock))


def test_leftovers_do_not_pile_up() -> None:
    timers = Timers()
    for at in range(50 * COMPACT_ABOVE):
        timers.set(Clock.MONO, Due.ATTEMPT, "one", at)
    assert len(timers) == 1
    assert len(timers._heaps[Clock.MONO]) <= COMPACT_ABOVE + 1


class TimersAgainstADict(RuleBasedStateMachine):
    """The model is a dict of (clock, name) to (instant, when it was set)."""

    def __init__(self) -> None:
        super().__init__()
        self.timers = Timers()
        self.model: dict[tuple[Clock, tuple[Due, str]], tuple[int, int]] = {}
        self.count = 0

    @rule(clock=CLOCKS, name=NAMES, at=st.integers(0, 50))
    def set(self, clock: Clock, name: tuple[Due, str], at: int) -> None:
        self.count += 1
        self.timers.set(clock, *name, at)
        self.model[clock, name] = (at, self.count)

    @rule(clock=CLOCKS, name=NAMES)
    def cancel(self, clock: Clock, name: tuple[Due, str]) -> None:
        self.timers.cancel(clock, *name)
        self.model.pop((clock, name), None)

    @rule(clock=CLOCKS, now=st.integers(0, 50))
    def take(self, clock: Clock, now: int) -> None:
        due = [(when, name) for (c, name), when in self.model.items() if c is clock and when[0] <= now]
        expected = min(due)[1] if due else None
        assert self.timers.take_due(clock, now) == expected
        if expected is not None:
            del self.model[clock, expected]

    @invariant()
    def agrees(self) -> None:
        assert len(self.timers) == len(self.model)
        for clock in Clock:
            mine = {name: at for (c, name), (at, _) in self.model.items() if c is clock}
            assert self.timers.plan(clock) == mine
            assert self.timers.next_due(clock) == min(mine.values(), default=None)
            assert all(self.timers.is_set(clock, *name) for name in mine)


TimersAgainstADict.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, derandomize=True, deadline=None
)
test_timers_agree_with_a_plain_dict = TimersAgainstADict.TestCase

"""Who has waited too long."""

import pytest
from msgspec.structs import replace

from taskyard.core import ageing
from taskyard.core.lanes import LEFTOVERS_MAX
from taskyard.core.settings import Ageing, Limits, Settings, Shares
from taskyard.core.state import Now
from taskyard.core.task import Task
from taskyard.core.timers import Clock, Due
from taskyard.core.yard_commands import ChangeSettings
from tests.support.harness import HubHarness, Level, Status, a_draft

HOUR_S = 3600


def a_hub() -> HubHarness:
    limits = Limits(running_per_user=1000, running_per_source={})
    return HubHarness(Settings(limits=limits, shares=Shares(critical_reserve=0.0)))


def test_past_its_levels_target_a_task_goes_ahead_of_younger_ones_of_a_higher_number() -> None:
    hub = a_hub()
    hub.submit(a_draft(id="old", value=5))
    hub.advance(s=HOUR_S + 1)
    hub.submit(a_draft(id="young", value=7))
    assert hub.order(2) == ["old", "young"]


def test_up_to_the_target_the_number_counts() -> None:
    hub = a_hub()
    hub.submit(a_draft(id="old", value=5))
    hub.advance(s=HOUR_S - 1)
    hub.submit(a_draft(id="young", value=7))
    assert hub.order(2) == ["young", "old"]


def test_age_goes_across_lanes_and_lines_of_one_user() -> None:
    hub = a_hub()
    hub.submit(a_draft(id="old", value=5, type="x"))
    hub.advance(s=HOUR_S + 1)
    hub.submit(a_draft(id="young", value=7, type="y"))
    hub.submit(a_draft(id="younger", value=7, type="x", capabilities=()))
    assert hub.order(3) == ["old", "young", "younger"]


def test_between_users_fairness_decides_first() -> None:
    # Given ann, who runs one task and has waited with another for longer than she should
    hub = HubHarness(Settings(shares=Shares(critical_reserve=0.0)), users=("ann", "bob"))
    hub.submit(a_draft(id="old"), user="ann")
    hub.advance(s=HOUR_S + 1)
    hub.daemon("only-x", user="ann", types=("x",))
    hub.submit(user="ann", type="x")
    new = hub.submit(a_draft(id="new"), user="bob")

    # When a slot comes up that both could use, then bob, who runs nothing, gets it
    hub.daemon("shared", user="bob", shared=True, slots=1)
    assert new.status is Status.SCHEDULED


def test_a_low_task_that_waited_four_hours_is_ordered_as_normal_and_still_counts_as_low() -> None:
    # Given a low task, and normal ones that keep coming
    hub = a_hub()
    low = hub.submit(level=Level.LOW)
    hub.advance(s=4 * HOUR_S - 1)
    assert low.trouble is None

    # When it has waited four hours
    hub.advance(s=2)
    assert low.trouble.aged
    hub.submit(value=7)

    # Then it is the oldest of the normal ones
    hub.daemon(slots=1)
    assert low.status is Status.SCHEDULED
    assert hub.state.users["ann"].running.low == 1


def test_a_shorter_wait_holds_also_for_those_who_wait_already() -> None:
    hub = a_hub()
    low = hub.submit(level=Level.LOW)
    hub.advance(s=HOUR_S)
    hub.step(ChangeSettings(replace(hub.state.settings, ageing=Ageing(low_s=HOUR_S + 10))))
    hub.advance(s=9)
    assert low.trouble is None
    hub.advance(s=2)
    assert low.trouble.aged


def test_a_high_task_still_goes_first() -> None:
    hub = a_hub()
    hub.submit(a_draft(id="low", level=Level.LOW))
    hub.advance(s=5 * HOUR_S)
    hub.submit(a_draft(id="high", level=Level.HIGH))
    assert hub.order(2) == ["high", "low"]


def test_a_task_that_was_taken_up_and_came_back_waits_anew() -> None:
    hub = a_hub()
    low = hub.submit(level=Level.LOW)
    hub.advance(s=5 * HOUR_S)
    hub.daemon(slots=1)
    hub.reject(low)
    assert not low.trouble.aged


def test_one_timer_per_user_watches_the_oldest() -> None:
    hub = a_hub()
    first = hub.submit(level=Level.LOW)
    hub.advance(s=60)
    hub.submit(level=Level.LOW)
    due = hub.state.timers.due_at(Clock.WALL, Due.AGEING, "ann")
    assert first.queued_at is not None
    assert due == first.queued_at + 4 * HOUR_S * 1000
    hub.advance(s=4 * HOUR_S - 30)
    aged = [t.trouble is not None and t.trouble.aged for t in hub.state.tasks.values()]
    assert aged == [True, False]
    hub.advance(s=60)
    assert hub.state.timers.due_at(Clock.WALL, Due.AGEING, "ann") is None


def test_very_many_grow_old_over_several_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = a_hub()
    tasks = hub.submit_all(*(a_draft(level=Level.LOW, value=1 + n % 2) for n in range(30)))
    monkeypatch.setattr(ageing, "TASKS_PER_TURN_MAX", 8)
    hub.advance(s=4 * HOUR_S + 1)
    assert all(t.trouble is not None and t.trouble.aged for t in tasks)


def test_how_long_is_too_long_can_be_set() -> None:
    hub = HubHarness(Settings(ageing=Ageing(low_s=10)))
    low = hub.submit(level=Level.LOW)
    hub.advance(s=11)
    assert low.trouble.aged


def test_what_was_old_is_old_after_a_restart() -> None:
    hub = a_hub()
    old = hub.submit(level=Level.LOW)
    hub.advance(s=5 * HOUR_S)
    young = hub.submit(level=Level.LOW)
    other = hub.restarted()
    other.advance(s=4 * HOUR_S + 1)
    found = [other.state.tasks[task.id].trouble for task in (old, young)]
    assert [trouble is not None and trouble.aged for trouble in found] == [True, True]


def test_who_waited_long_enough_grows_old_also_behind_one_that_came_back() -> None:
    # Given a low task that came back to its place before another that waits since the beginning
    hub = a_hub()
    first, second = (hub.submit(level=Level.LOW, type="other") for _ in range(2))
    hub.advance(s=3 * HOUR_S)
    mac = hub.daemon("mac", types=("other",), slots=1)
    assert (first.status, second.status) == (Status.SCHEDULED, Status.QUEUED)
    hub.drain(mac)
    hub.reject(first, drained=True)

    # When the other has waited four hours
    hub.advance(s=HOUR_S + 1)

    # Then it is ordered as normal, and the one that came back is not
    assert second.trouble.aged
    assert first.trouble is None or not first.trouble.aged


def set_clock(hub: HubHarness, *, by_s: float) -> None:
    hub.now = Now(hub.now.wall + round(by_s * 1000), hub.now.mono)


def is_old(task: Task) -> bool:
    return task.trouble is not None and task.trouble.aged


def test_who_has_waited_four_hours_by_the_clock_grows_old_also_behind_one_who_came_before_it_was_set_back() -> None:
    # Given a low task, and another that came after the clock was set back
    hub = a_hub()
    first = hub.submit(level=Level.LOW)
    set_clock(hub, by_s=-5 * HOUR_S)
    second = hub.submit(level=Level.LOW)

    # When the clock is right again
    set_clock(hub, by_s=5 * HOUR_S)
    hub.advance(s=1)

    # Then the second has waited long enough by it, and the first has not
    assert (is_old(first), is_old(second)) == (False, True)


def test_who_waited_long_enough_grows_old_behind_one_that_came_back_also_once_the_lane_was_tidied() -> None:
    # Given a low task that came back to its place before another that waits since the beginning
    hub = a_hub()
    first, second = (hub.submit(level=Level.LOW, type="other") for _ in range(2))
    hub.advance(s=3 * HOUR_S)
    mac = hub.daemon("mac", types=("other",), slots=1)
    hub.drain(mac)
    hub.reject(first, drained=True)

    # When very many came after them and went
    for _ in range(LEFTOVERS_MAX + 8):
        hub.cancel(hub.submit(level=Level.LOW, type="other"))
    hub.advance(s=HOUR_S + 1)

    # Then the one that waits since the beginning is old, and the other is not
    assert (is_old(first), is_old(second)) == (False, True)


def test_one_that_left_and_came_back_unseen_hides_nobody_who_waited_longer() -> None:
    # Given two low tasks, of which the first was put off and came back before anybody looked
    hub = a_hub()
    first, second = (hub.submit(level=Level.LOW) for _ in range(2))
    (lane,) = hub.state.users["ann"].lanes.values()
    hub.state.yard.leave(hub.state.users["ann"], first)
    first.queued_at = hub.now.wall + 1000
    hub.state.yard.enter(hub.state.users["ann"], first)

    # When it is asked who waits longest, and who waits since the beginning
    # Then it is the second
    assert lane.longest() is second
    assert lane.since(hub.now.wall, 10) == [second]

"""Who runs next."""

import pytest

from taskyard.core.lanes import key_of
from taskyard.core.limits import Hold, exclusive_is_free
from taskyard.core.task import Terms
from taskyard.vocabulary.reasons import Reason
from tests.support.harness import HubHarness, Level, Status, a_draft


def test_levels_go_critical_high_normal_low() -> None:
    hub = HubHarness()
    hub.submit_all(*(a_draft(id=level, level=level) for level in (Level.LOW, Level.CRITICAL, Level.NORMAL, Level.HIGH)))
    assert hub.order(4) == ["critical", "high", "normal", "low"]


def test_within_a_level_the_higher_value_goes_first_then_the_older() -> None:
    hub = HubHarness()
    hub.submit_all(*(a_draft(id=f"{n}v{value}", value=value) for n, value in enumerate([5, 7, 6, 7, 5])))
    assert hub.order(5) == ["1v7", "3v7", "2v6", "0v5", "4v5"]


def test_value_and_age_go_across_lanes_and_lines() -> None:
    hub = HubHarness()
    hub.submit_all(
        a_draft(id="1", type="x", value=5),
        a_draft(id="2", type="y", value=6),
        a_draft(id="3", type="z", value=5),
        a_draft(id="4", capabilities=(), type="x", value=7),
    )
    assert hub.order(4) == ["4", "2", "1", "3"]


def test_a_task_that_cannot_run_holds_up_none_behind_it() -> None:
    hub = HubHarness()
    hub.submit(level=Level.CRITICAL, capabilities=("gpu",))
    behind = hub.submit(level=Level.LOW)
    hub.daemon()
    assert behind.status is Status.SCHEDULED


def test_everything_that_may_start_starts_in_one_cycle() -> None:
    hub = HubHarness()
    tasks = hub.submit_all(*(a_draft(type=type) for type in "xxyyzz"))
    hub.daemon("a", slots=2)
    hub.daemon("b", slots=2)
    assert [t.status for t in tasks].count(Status.SCHEDULED) == 4


def test_a_freed_slot_is_used_at_once() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    first, second = hub.submit(), hub.submit()
    hub.complete(first)
    assert second.status is Status.SCHEDULED


def test_of_tasks_with_one_exclusive_key_one_runs_at_a_time() -> None:
    hub = HubHarness()
    hub.daemon()
    first, second = (hub.submit(terms=Terms(exclusive="repo")) for _ in range(2))
    other = hub.submit(terms=Terms(exclusive="another"))
    assert (first.status, second.status, other.status) == (Status.SCHEDULED, Status.QUEUED, Status.SCHEDULED)
    lane = hub.state.users["ann"].lanes[key_of(second)]
    hold = Hold(Reason.EXCLUSIVE_HELD, ("exclusive", "ann", "repo"), name="repo")
    assert exclusive_is_free(hub.core.turn(hub.now), lane) == hold
    hub.complete(first)
    assert second.status is Status.SCHEDULED


def test_an_exclusive_key_is_its_users_own() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(shared=True)
    terms = Terms(exclusive="repo")
    assert [hub.submit(terms=terms, user=user).status for user in ("ann", "bob")] == [Status.SCHEDULED] * 2


@pytest.mark.parametrize("how", ["cancelled", "raised"])
def test_a_lane_that_sleeps_can_be_left_and_entered(how: str) -> None:
    hub = HubHarness()
    hub.daemon()
    first = hub.submit(terms=Terms(exclusive="repo"))
    second, third = (hub.submit(terms=Terms(exclusive="repo")) for _ in range(2))
    if how == "cancelled":
        hub.cancel(second)
        hub.cancel(third)
        assert hub.state.users["ann"].lanes == {}
    else:
        hub.change(third, level=Level.HIGH)
    hub.complete(first)
    assert third.status is (Status.CANCELLED if how == "cancelled" else Status.SCHEDULED)

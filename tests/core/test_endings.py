"""How a task ends: nothing of it is left behind."""

import pytest

from taskyard.core.commands import Known
from taskyard.core.endings import end, holder_of
from taskyard.core.timers import Clock, Due
from tests.support.harness import HubHarness, Level, Status


def test_no_timer_outlives_its_task() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit(level=Level.CRITICAL, deadline=hub.now.wall + 10**7, sla=hub.now.wall + 10**6)
    hub.reject(task)
    hub.cancel(task)
    assert hub.state.timers.plan(Clock.WALL) == {}
    assert list(hub.state.timers.plan(Clock.MONO)) == [(Due.LEASE, daemon.id)]


def test_a_task_that_holds_a_slot_cannot_end() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    with pytest.raises(AssertionError, match="I3"):
        end(hub.core.turn(hub.now), task, Status.CANCELLED)


@pytest.mark.parametrize(
    ("status", "keeps"), [("completed", True), ("dead", True), ("skipped", False), ("stale", False)]
)
def test_a_key_is_free_when_nobody_relies_on_the_task_any_more(status: str, keeps: bool) -> None:
    hub = HubHarness()
    target = "nobody" if status == "dead" else None
    if status == "completed":
        hub.daemon()
    task = hub.submit(key="k", target=target, deadline=hub.now.wall + 10 if status == "stale" else None)
    if status == "completed":
        hub.complete(task)
    elif status == "skipped":
        hub.skip(task)
    elif status == "stale":
        hub.advance(ms=10)
    assert (holder_of(hub.state, hub.known(task), "ann", "k") is task) is keeps


def test_a_key_that_another_task_took_over_is_not_freed_by_the_first() -> None:
    hub = HubHarness()
    first = hub.submit(key="k", target="nobody")
    hub.advance(ms=1)
    second = hub.submit(key="k")
    # An archived dead letter no longer counts; discarding it leaves the key to its new holder.
    hub.cancel(first)
    assert hub.state.keys == {("ann", "k"): second.id}


def test_a_key_names_a_task() -> None:
    hub = HubHarness()
    assert holder_of(hub.state, Known(), "ann", "k") is None
    with pytest.raises(AssertionError, match="I6"):
        holder_of(hub.state, Known(keys={"k": "gone"}), "ann", "k")


def test_those_who_listened_and_those_who_were_listened_to_are_taken_off_the_lists() -> None:
    hub = HubHarness()
    hub.daemon()
    base, parent = hub.run(hub.submit()), hub.run(hub.submit())
    child = hub.submit(parent_id=parent.id, depends_on=(base.id,))
    assert hub.state.children == {parent.id: {child.id: None}}
    assert hub.state.dependants == {base.id: {child.id: None}}
    second = hub.submit(parent_id=parent.id)
    hub.complete(second)
    assert hub.state.children == {parent.id: {child.id: None}}
    hub.cancel(child)
    assert (hub.state.children, hub.state.dependants) == ({}, {})

"""How a task ends: nothing of it is left behind."""

import pytest

from taskyard.core.commands import Known
from taskyard.core.endings import DAY_MS, end, holder_of, keeps_key
from taskyard.core.task import Task, Terms
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import CONTENT_KEY_PREFIX, HOOK_KEY_PREFIX, DependsPolicy
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


def ended_with_key(status: str, key: str) -> tuple[HubHarness, Task]:
    """A task of this key that ended so."""
    hub = HubHarness()
    if status == "completed":
        hub.daemon()
    terms = Terms(on_depends_fail=DependsPolicy.SKIP)
    bad = hub.submit(target="nobody") if status == "skipped at birth" else None
    task = hub.submit(
        key=key,
        digest="d",
        target="nobody" if status in ("dead", "discarded") else None,
        deadline=hub.now.wall + 10 if status == "stale" else None,
        depends_on=() if bad is None else (bad.id,),
        terms=terms,
    )
    if status == "completed":
        hub.complete(task)
    elif status == "skipped":
        hub.skip(task)
    elif status in ("cancelled", "discarded"):
        hub.cancel(task)
    elif status == "stale":
        hub.advance(ms=10)
    return hub, task


@pytest.mark.parametrize(
    ("status", "keeps"),
    [
        ("completed", (True, True, True)),
        ("dead", (True, True, True)),
        ("cancelled", (True, True, False)),
        ("discarded", (True, True, False)),
        ("skipped", (True, True, False)),
        ("skipped at birth", (True, True, False)),
        ("stale", (False, False, False)),
    ],
)
def test_a_key_names_its_task_as_long_as_a_repetition_may_mean_it(status: str, keeps: tuple[bool, ...]) -> None:
    hub, task = ended_with_key(status, "k")
    ended_at = hub.now.wall
    found = [
        holder_of(hub.state, Known(tasks={task.id: task}, keys={"k": task.id}), "ann", "k", at)
        for at in (ended_at, ended_at + DAY_MS - 1, ended_at + DAY_MS)
    ]
    assert tuple(each is task for each in found) == keeps


@pytest.mark.parametrize("status", ["cancelled", "skipped"])
def test_a_key_made_of_the_content_is_free_at_once(status: str) -> None:
    hub, task = ended_with_key(status, f"{CONTENT_KEY_PREFIX}d")
    assert ("ann", task.key) not in hub.state.keys
    assert not keeps_key(task, hub.now.wall)
    # One that only looks like it was given, and is kept like any other
    hub, task = ended_with_key(status, f"{CONTENT_KEY_PREFIX}of mine")
    assert keeps_key(task, hub.now.wall)


def test_the_key_of_a_delivery_names_its_task_for_good() -> None:
    hub, task = ended_with_key("cancelled", f"{HOOK_KEY_PREFIX}wh_1:d")
    assert keeps_key(task, hub.now.wall + 100 * DAY_MS)


@pytest.mark.parametrize("key", ["k", f"{CONTENT_KEY_PREFIX}d"])
def test_a_key_that_another_task_took_over_is_not_freed_by_the_first(key: str) -> None:
    hub = HubHarness()
    first = hub.submit(key=key, digest="d", target="nobody")
    hub.advance(ms=1)
    second = hub.submit(key=key, digest="d")
    # An archived dead letter no longer counts; discarding it leaves the key to its new holder.
    hub.cancel(first)
    assert hub.state.keys == {("ann", key): second.id}


def test_a_key_names_a_task() -> None:
    hub = HubHarness()
    assert holder_of(hub.state, Known(), "ann", "k", hub.now.wall) is None
    with pytest.raises(AssertionError, match="I6"):
        holder_of(hub.state, Known(keys={"k": "gone"}), "ann", "k", hub.now.wall)


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

"""Pools and lines: where a lane waits, and who wakes it."""

import pytest

from taskyard.core import yard
from taskyard.core.daemon_commands import Held
from taskyard.core.lanes import key_of
from taskyard.core.settings import Queue, Settings, Shares
from taskyard.core.task import Task, Terms
from tests.support.harness import HubHarness, Level, Status, a_draft


def pools_of(hub: HubHarness, task: Task) -> list[str]:
    lane = hub.state.users[task.user_id].lanes[key_of(task)]
    return sorted(party.line.pool.id for party in lane.parties)


def test_a_lane_waits_where_its_user_has_daemons() -> None:
    hub = HubHarness(users=("ann", "bob"))
    anns, bobs = hub.submit(capabilities=("gpu",)), hub.submit(capabilities=("gpu",), user="bob")
    # Nobody has any: all wait for shared ones
    assert (pools_of(hub, anns), pools_of(hub, bobs)) == ([""], [""])
    hub.daemon("mac")
    assert (pools_of(hub, anns), pools_of(hub, bobs)) == (["ann"], [""])
    hub.daemon("box", user="bob", shared=True)
    assert (pools_of(hub, anns), pools_of(hub, bobs)) == (["", "ann"], [""])


def test_a_lane_that_waits_in_two_lines_leaves_both() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("mac", slots=1)
    hub.daemon("box", user="bob", shared=True, slots=1)
    tasks = [hub.submit() for _ in range(3)]
    assert [t.status for t in tasks] == [Status.SCHEDULED, Status.SCHEDULED, Status.QUEUED]
    hub.cancel(tasks[2])
    assert all(not line.is_waiting() for line in hub.state.yard.lines.values())
    assert hub.state.users["ann"].parties == {}


def test_a_sleeping_lane_finds_its_new_pool_when_it_wakes() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("box", user="bob", shared=True, slots=2)
    first, second = (hub.submit(terms=Terms(exclusive="key")) for _ in range(2))
    hub.daemon("mac", slots=1)
    hub.complete(first)
    assert second.attempts[-1].daemon_name == "mac"


def test_a_daemon_that_is_not_what_it_was_serves_other_lines() -> None:
    hub = HubHarness()
    mac = hub.daemon("mac", types=("a",), slots=1)
    task = hub.submit(type="b")
    assert task.status is Status.QUEUED
    hub.disconnect(mac)
    hub.daemon("mac", types=("b",), slots=1)
    assert task.status is Status.SCHEDULED


def test_settings_that_change_wake_everybody() -> None:
    hub = HubHarness(Settings(shares=Shares(low_max=0)))
    hub.daemon()
    lane_key = key_of(hub.submit(level=Level.LOW))
    assert hub.state.users["ann"].lanes[lane_key].blocker == ("low", "ann")
    assert [lane.key for lane in hub.state.yard.sleepers(("low", "ann"))] == [lane_key]
    hub.state.yard.wake_all()
    assert hub.state.users["ann"].lanes[lane_key].blocker is None
    assert not hub.state.yard.has_sleepers


def test_what_one_user_sleeps_on_is_woken_alone() -> None:
    hub = HubHarness(Settings(shares=Shares(low_max=0)), users=("ann", "bob"))
    hub.daemon(shared=True)
    hub.submit_all(a_draft(level=Level.LOW))
    hub.submit_all(a_draft(level=Level.LOW), user="bob")
    hub.state.yard.wake_user("ann")
    assert not list(hub.state.yard.sleepers(("low", "ann")))
    assert list(hub.state.yard.sleepers(("low", "bob")))
    hub.advance(ms=1)


def test_a_line_made_for_those_who_move_in_has_each_daemon_once() -> None:
    # Given a task that waited before its user had any daemon
    hub = HubHarness()
    hub.submit(capabilities=("gpu",))
    daemon = hub.daemon(capabilities=("gpu",), slots=1)
    (line,) = daemon.lines
    assert line.servers == [daemon]
    # When the daemon comes back without what the line needs, nothing of it stays behind.
    hub.daemon(slots=1, boot="boot-2")
    assert line.servers == []


def test_a_lane_leaves_a_pool_that_has_no_daemon_any_more() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("mac", types=("other",))
    hub.daemon("box", user="bob", shared=True, types=("other",))
    task = hub.submit()
    assert pools_of(hub, task) == ["", "ann"]
    hub.daemon("mac", types=("other",), shared=True)
    assert pools_of(hub, task) == [""]


def test_what_a_daemon_takes_along_to_another_pool_makes_room_in_its_queue() -> None:
    # Given a queue that runs one task at a time, and a task that waits for it among the shared daemons
    hub = HubHarness(Settings(queues={"slow": Queue(models=("m",))}), users=("ann", "bob"))
    hub.daemon("box", user="bob", shared=True)
    first = hub.run(hub.submit(model="m", user="bob"))
    hub.daemon("mac", shared=True)
    second = hub.submit(model="m")
    assert second.status is Status.QUEUED

    # When the daemon that runs the first one is shared no longer
    hub.daemon("box", user="bob", inventory=(Held(first.id, 1),))

    # Then the second one has the queue's place in the pool that is left
    assert second.status is Status.SCHEDULED


def test_what_a_daemon_takes_along_to_another_pool_makes_room_for_its_level() -> None:
    # Given two shared daemons, of whose slots everything but the reserve is taken
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("box", user="bob", shared=True, slots=5)
    first = [hub.run(hub.submit(user="bob")) for _ in range(4)]
    hub.daemon("mac", shared=True, slots=6)
    others = [hub.submit() for _ in range(6)]
    assert [t.status for t in others].count(Status.QUEUED) == 1

    # When the fuller one leaves the pool with what it runs
    on_box = [t for t in (*first, *others) if t.attempts and t.attempts[-1].daemon_name == "box"]
    hub.daemon("box", user="bob", slots=5, inventory=tuple(Held(t.id, 1) for t in on_box))

    # Then its part of the reserve is gone with it
    assert all(t.status is not Status.QUEUED for t in others)


def test_lines_are_forgotten_without_those_that_are_just_made(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given as many lines as are kept but one
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("mac", slots=1)
    hub.daemon("box", user="bob", shared=True, slots=1)
    running = [hub.submit() for _ in range(2)]
    monkeypatch.setattr(yard, "LINES_MAX", len(hub.state.yard.lines) + 1)

    # When a task comes that waits in two new ones
    task = hub.submit(type="other")

    # Then either daemon finds it
    hub.complete(running[0])
    assert task.status is Status.SCHEDULED

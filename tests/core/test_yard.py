"""Pools and lines: where a lane waits, and who wakes it."""

from taskyard.core.lanes import key_of
from taskyard.core.settings import Settings, Shares
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
    assert second.attempts is not None
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

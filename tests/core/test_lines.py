"""Whose turn it is in a line, and what a pool counts."""

from taskyard.core.settings import Limits, Settings, Shares
from taskyard.vocabulary import SourceType
from tests.support.harness import HubHarness, Level, a_draft

SETTINGS = Settings(limits=Limits(running_per_user=99, running_per_source={}), shares=Shares(critical_reserve=0.0))


def test_a_line_shows_all_its_lanes() -> None:
    hub = HubHarness(SETTINGS)
    hub.submit_all(a_draft(), a_draft(level=Level.LOW), a_draft(source="agent"))
    line = next(iter(hub.state.yard.lines.values()))
    assert len(line.lanes()) == 3
    assert not line.has_room()
    assert not line.is_served()


def test_a_user_has_the_best_of_their_lanes_first_however_many_are_left() -> None:
    # Given one user's lanes in one line
    hub = HubHarness(SETTINGS)
    drafts = (a_draft(value=5), a_draft(source=SourceType.AGENT, value=6), a_draft(source=SourceType.WEBHOOK, value=7))
    tasks = sorted(hub.submit_all(*drafts), key=lambda task: -task.value)
    (party,) = hub.state.users["ann"].parties.values()
    now = hub.now.wall

    # When the best goes, then the next one is first
    while tasks:
        assert party.first(now).head(now) is tasks[0]
        assert len(party.lanes()) == party.size == len(tasks)
        hub.cancel(tasks.pop(0))
    assert hub.state.users["ann"].parties == {}


def test_a_pool_counts_only_who_is_there() -> None:
    hub = HubHarness(SETTINGS)
    hub.daemon("a", slots=2)
    b = hub.daemon("b", slots=3)
    pool = hub.state.yard.pools["ann"]
    assert (pool.slots, pool.others_running) == (5, 0)
    for _ in range(5):
        hub.submit()
    assert pool.others_running == 5
    hub.disconnect(b)
    assert (pool.slots, pool.others_running) == (2, 2)
    hub.drain(hub.daemon("a", slots=2))
    assert pool.slots == 0

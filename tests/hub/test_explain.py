"""What the live state says when it is asked for reasons."""

import random

import pytest

from taskyard.core.hub import Core
from taskyard.hub import explain
from taskyard.hub.explain import forecast_of, heirs, idle_because, overview_of, ties, why_of
from tests.support.harness import HubHarness


def test_what_is_there_is_explained_and_what_is_not_is_none() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    hub.submit()
    task = hub.submit()
    core = Core(hub.state, random.Random(1))
    found, foreseen = why_of(core, hub.now, task.id, {}), forecast_of(core, hub.now, task.id)
    assert (found.task, found.position, foreseen.position) == ("T-002", 1, 1)
    assert (why_of(core, hub.now, "nowhere", {}), forecast_of(core, hub.now, "nowhere")) == (None, None)
    assert overview_of(core, hub.now, "ann").waiting == 1
    hub.daemon("spare")
    told = idle_because(core, hub.now, ["d-mac", "d-spare", "nowhere"], "ann")
    assert told == {"d-spare": "Nothing waits."}, "the first is full"


def test_ties_are_told_each_once_and_of_very_many_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    hub = HubHarness()
    first, second = hub.submit(), hub.submit()
    both = hub.submit(depends_on=(first.id, second.id))
    others = [hub.submit(depends_on=(second.id,)) for _ in range(3)]
    core = Core(hub.state, random.Random(1))
    assert ties(core, [first.id, second.id, "nowhere"]) == [both.id, *(one.id for one in others)]
    assert heirs(core, [first.id, second.id]) == [both.id, *(one.id for one in others)]
    monkeypatch.setattr(explain, "TIES_MAX", 2)
    assert ties(core, [first.id, second.id]) == [both.id, others[0].id]

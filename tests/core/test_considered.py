"""Which daemons were considered for a task, and what each lacks."""

import pytest

from taskyard.core.considered import Considered, considered, misfits, qualifying, servers
from taskyard.core.holds import lines_of
from taskyard.core.lanes import Lane, key_of
from taskyard.core.settings import Settings, Suspects
from taskyard.core.task import Task
from taskyard.vocabulary.reasons import Lack
from tests.support.harness import HubHarness
from tests.support.suspects import two_busy_daemons


def lane_of(hub: HubHarness, task: Task) -> Lane:
    return hub.state.users[task.user_id].lanes[key_of(task)]


def judged(hub: HubHarness, task: Task) -> list[Considered]:
    turn, lane = hub.core.turn(hub.now), lane_of(hub, task)
    return considered(turn, lane, lines_of(turn, lane))


def lacks(hub: HubHarness, task: Task) -> dict[str, list[tuple[Lack, str]]]:
    return {one.name: [(said.code, said.message) for said in one.lacks] for one in judged(hub, task)}


def busy_hub(**daemon: object) -> HubHarness:
    """A daemon with one slot that is taken."""
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(slots=1, **daemon)  # type: ignore[arg-type]
    hub.submit()
    return hub


@pytest.mark.parametrize(
    ("needs", "daemon", "lack"),
    [
        ({"capabilities": ("browser", "gpu")}, {"capabilities": ("gpu",)}, (Lack.CAPABILITY_MISSING, "has no browser")),
        ({"model": "llama"}, {"models": ("qwen",)}, (Lack.MODEL_NOT_SERVED, "does not serve llama")),
        ({"type": "b"}, {"types": ("general",)}, (Lack.TYPE_NOT_SERVED, "does not run tasks of type b")),
        ({"excluded": ("mac",)}, {}, (Lack.DAEMON_EXCLUDED, "excluded by the task")),
        ({"memory_mb": 4096}, {"memory_mb": 512}, (Lack.MEMORY_SHORT, "has 512 MB free of the 4096 MB needed")),
        ({}, {}, (Lack.DAEMON_FULL, "full: 1 of 1")),
    ],
)
def test_what_a_daemon_lacks_is_said(
    needs: dict[str, object], daemon: dict[str, object], lack: tuple[Lack, str]
) -> None:
    hub = busy_hub(**daemon)
    task = hub.submit(**needs)
    assert lack in lacks(hub, task)["mac"]


def test_one_that_is_away_drains_or_is_not_the_one_named() -> None:
    hub = HubHarness()
    away, draining = hub.daemon("away"), hub.daemon("draining")
    hub.advance(s=3600)
    hub.disconnect(away)
    hub.drain(hub.daemon("draining"))
    task = hub.submit(target="away")
    assert lacks(hub, task) == {
        "away": [(Lack.DAEMON_OFFLINE, "offline since 09:00:00 UTC")],
        "draining": [
            (Lack.NOT_TARGET, "not away, which the task names"),
            (Lack.DAEMON_DRAINING, "draining: it takes nothing new"),
        ],
    }
    assert draining.record.draining


def test_one_that_did_not_take_it_up_is_avoided_for_a_while() -> None:
    hub = HubHarness(Settings(suspects=Suspects(avoid_first_s=60)))
    hub.daemon()
    task = hub.submit()
    hub.reject(task)
    hub.live(s=2)
    if task.status == "pending":
        hub.live(s=40)
    assert (Lack.DAEMON_AVOIDED, "avoided until 08:01:00 UTC: it did not take the task up") in lacks(hub, task)["mac"]


def test_a_suspect_and_what_is_kept_for_one() -> None:
    hub = HubHarness()
    one, two, task = two_busy_daemons(hub)
    assert (Lack.DAEMON_HELD, "busy, and the task must run alone") in lacks(hub, task)["b"]
    hub.complete(next(iter(two.holding.values())))
    hub.live(s=61)
    other = hub.submit(target="c")
    assert (Lack.DAEMON_HELD, "kept for another task") in lacks(hub, other)["c"]
    assert one.alone is None


def test_ones_own_and_the_shared_ones_are_considered_and_nobody_elses() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("own")
    hub.daemon("shared", shared=True, user="bob")
    hub.daemon("bobs", user="bob")
    task = hub.submit(capabilities=("browser",))
    assert list(lacks(hub, task)) == ["own", "shared"]


def test_those_that_lack_least_come_first_and_what_one_thing_would_change_is_told() -> None:
    hub = HubHarness()
    hub.daemon("a", types=("other",))
    hub.daemon("b")
    hub.daemon("c", capabilities=("gpu",), types=("other",))
    task = hub.submit(capabilities=("gpu",))
    found = judged(hub, task)
    assert [one.name for one in found] == ["b", "c", "a"]
    assert qualifying(found) == ("b would qualify if it had gpu; c would qualify if it ran tasks of type general")
    lane = lane_of(hub, task)
    assert misfits(lane, found, hub.state.daemons.values()) == (
        "none of the daemons you may use fits: b (has no gpu), c (does not run tasks of type general) "
        "and a (has no gpu, does not run tasks of type general)"
    )


def test_never_seen_and_not_there_are_told_apart() -> None:
    hub = HubHarness()
    hub.daemon("here")
    task = hub.submit(capabilities=("browser",))
    lane, fleet = lane_of(hub, task), hub.state.daemons.values()
    never = "none of the daemons you may use has ever offered browser"
    assert misfits(lane, judged(hub, task), fleet) == never
    hub.disconnect(hub.daemon("away", capabilities=("browser",)))
    task = hub.submit(capabilities=("browser",)) if task.status != "queued" else task
    turn = hub.core.turn(hub.now)
    text = servers(judged(hub, task), lines_of(turn, lane_of(hub, task)))
    assert "away (" in text


def test_many_that_could_but_not_now_are_counted() -> None:
    hub = HubHarness()
    for name in ("a", "b"):
        hub.daemon(name, slots=1)
        hub.submit()
    hub.disconnect(hub.daemon("c"))
    hub.drain(hub.daemon("d"))
    task = hub.submit()
    turn = hub.core.turn(hub.now)
    assert servers(judged(hub, task), lines_of(turn, lane_of(hub, task))) == (
        "4 daemons could run it, but none now: 2 full, 1 offline and 1 draining"
    )

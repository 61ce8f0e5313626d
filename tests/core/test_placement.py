"""Which daemon, and what speaks against each of the others."""

import pytest

from taskyard.core.lanes import key_of
from taskyard.core.placement import FITS, STANDINGS, choose, lacks_of
from taskyard.core.settings import Limits, Settings
from taskyard.core.task import Task
from taskyard.vocabulary.reasons import Lack
from tests.support.harness import HubHarness, Status, attempt_of


def lacks(hub: HubHarness, task: Task, name: str = "mac") -> list[Lack]:
    user = hub.state.users[task.user_id]
    lines = hub.state.yard.lines_for(user, key_of(task))
    return list(lacks_of(user.lanes[key_of(task)], lines, hub.state.daemons[f"d-{name}"]))


def where(hub: HubHarness, **fields: object) -> str:
    return attempt_of(hub.submit(**fields)).daemon_name


@pytest.mark.parametrize(
    ("daemon", "needs", "lack"),
    [
        ({"user": "bob"}, {}, Lack.DAEMON_NOT_YOURS),
        ({"capabilities": ("gpu",)}, {"capabilities": ("gpu", "browser")}, Lack.CAPABILITY_MISSING),
        ({}, {"excluded": ("mac",)}, Lack.DAEMON_EXCLUDED),
        ({}, {"excluded": ("d-mac",)}, Lack.DAEMON_EXCLUDED),
        ({"models": ("a", "b")}, {"model": "c"}, Lack.MODEL_NOT_SERVED),
        ({"types": ("a", "b")}, {"type": "c"}, Lack.TYPE_NOT_SERVED),
        ({"memory_mb": 100}, {"memory_mb": 101}, Lack.MEMORY_SHORT),
    ],
)
def test_a_daemon_that_cannot_run_a_task_says_what_it_lacks(
    daemon: dict[str, object], needs: dict[str, object], lack: Lack
) -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(**daemon)  # type: ignore[arg-type]
    task = hub.submit(**needs)
    assert task.status is Status.QUEUED
    assert lacks(hub, task) == [lack]


@pytest.mark.parametrize(
    ("daemon", "needs"),
    [
        ({}, {}),
        ({"user": "bob", "shared": True}, {}),
        ({"capabilities": ("gpu", "browser")}, {"capabilities": ("gpu",)}),
        ({"models": ()}, {"model": "c"}),
        ({"models": ("c",)}, {"model": "c"}),
        ({"models": ("c",)}, {}),
        ({"types": ()}, {"type": "c"}),
        ({"types": ("c",)}, {"type": "c"}),
        ({"memory_mb": 100}, {"memory_mb": 100}),
        ({}, {"memory_mb": 100}),
        ({}, {"excluded": ("other",)}),
    ],
)
def test_a_daemon_that_can_run_a_task_gets_it(daemon: dict[str, object], needs: dict[str, object]) -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(**daemon)  # type: ignore[arg-type]
    assert hub.submit(**needs).status is Status.SCHEDULED


def test_only_the_target_runs_a_task_that_names_one() -> None:
    hub = HubHarness()
    hub.daemon("mac")
    hub.daemon("box", slots=1)
    hub.run(hub.submit(target="box"))
    task = hub.submit(target="box")
    assert (lacks(hub, task), lacks(hub, task, "box")) == ([Lack.NOT_TARGET], [Lack.DAEMON_FULL])


def test_what_a_daemon_lacks_at_the_moment_is_said_too() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    hub.run(hub.submit())
    task = hub.submit()
    assert lacks(hub, task) == [Lack.DAEMON_FULL]
    hub.drain(daemon)
    assert lacks(hub, task) == [Lack.DAEMON_DRAINING, Lack.DAEMON_FULL]
    hub.disconnect(daemon)
    assert lacks(hub, task) == [Lack.DAEMON_OFFLINE, Lack.DAEMON_FULL]


def test_an_avoided_daemon_and_a_daemon_held_for_a_suspect_say_so() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.reject(task)
    assert lacks(hub, task) == [Lack.DAEMON_AVOIDED]
    daemon.alone = "another"
    other = hub.submit()
    assert lacks(hub, other) == [Lack.DAEMON_HELD]
    daemon.alone = None


def test_every_rule_about_daemons_is_in_one_of_two_tuples() -> None:
    assert {f.__name__ for f in FITS} | {s.__name__ for s in STANDINGS} == {
        "is_yours",
        "is_target",
        "is_not_excluded",
        "is_not_avoided",
        "has_capabilities",
        "serves_model",
        "serves_type",
        "is_online",
        "is_not_draining",
        "has_free_slot",
        "is_not_held",
        "has_memory",
    }


# Choice


def test_the_less_loaded_daemon_comes_first() -> None:
    hub = HubHarness()
    busy, idle = hub.daemon("busy"), hub.daemon("idle")
    hub.beat(busy, load=0.9)
    hub.beat(idle, load=0.1)
    assert where(hub) == "idle"


def test_loads_within_one_step_of_a_fifth_count_as_equal_and_fewer_tasks_decide() -> None:
    hub = HubHarness()
    a, b = hub.daemon("a"), hub.daemon("b")
    hub.run(hub.submit(target="a"))
    hub.beat(a, *a.holding.values(), load=0.0)
    hub.beat(b, load=0.19)
    assert where(hub) == "b"
    hub.beat(b, *b.holding.values(), load=0.2)
    assert where(hub) == "a"


def test_between_equals_the_least_recently_used_comes_first() -> None:
    hub = HubHarness()
    for name in "abc":
        hub.daemon(name)
    assert [where(hub) for _ in range(6)] == ["a", "b", "c", "a", "b", "c"]


def test_cpu_intensive_tasks_avoid_daemons_that_run_one() -> None:
    hub = HubHarness()
    a, b = hub.daemon("a"), hub.daemon("b")
    hub.run(hub.submit(target="a", cpu_intensive=True))
    hub.beat(a, *a.holding.values(), load=0.0)
    hub.beat(b, load=0.95)
    assert where(hub, cpu_intensive=True) == "b"
    assert where(hub, cpu_intensive=True) in ("a", "b")


def test_a_task_that_could_use_both_takes_its_owners_daemon_first() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("shared", user="bob", shared=True)
    own = hub.daemon("own", slots=1)
    hub.beat(own, load=0.9)
    assert [where(hub), where(hub)] == ["own", "shared"]


def test_no_daemon_with_room_is_no_choice() -> None:
    hub = HubHarness()
    task = hub.submit()
    lane = hub.state.users["ann"].lanes[key_of(task)]
    assert choose(lane, lane.parties[0].line) is None


def test_a_finer_step_tells_closer_loads_apart() -> None:
    hub = HubHarness(Settings(limits=Limits(load_step=0.1)))
    busier, freer = hub.daemon("a"), hub.daemon("b")
    hub.beat(busier, load=0.19)
    hub.beat(freer, load=0.05)
    assert where(hub) == "b"

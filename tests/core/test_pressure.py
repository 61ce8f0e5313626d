"""Levels of pressure: when they begin, when they end, and who hears of it."""

from itertools import product

import pytest

from taskyard.core.changes import Event
from taskyard.core.effects import Signal, SignalPressure
from taskyard.core.pressure import RETRY_MS_MAX, level_after, retry_after_ms, signal_for
from taskyard.core.settings import Backpressure, Depth, Limits, Settings
from taskyard.core.task import Task
from taskyard.core.yard_commands import ChangeSettings, ChangeUser
from taskyard.vocabulary import EventName, Keeps, Level, Pressure, PressureScope, Profile
from tests.support.harness import HubHarness, a_draft

NORMAL, WARNING, CRITICAL = Pressure
DEPTH, NUMBERS = Depth(warning=5, critical=10), Backpressure()
SETTINGS = Settings(limits=Limits(user_queue_depth=DEPTH, queue_depth=Depth(warning=15, critical=20)))
EVENTS = {NORMAL: "backpressure.normal", WARNING: "backpressure.warning", CRITICAL: "backpressure.critical"}


def a_hub(*users: str, settings: Settings = SETTINGS) -> HubHarness:
    return HubHarness(settings, users=users or ("ann",))


def wait(hub: HubHarness, count: int, user: str = "ann") -> list[Task]:
    return hub.submit_all(*(a_draft() for _ in range(count)), user=user)


def leave(hub: HubHarness, tasks: list[Task]) -> None:
    for task in tasks:
        hub.cancel(task)


def told(hub: HubHarness) -> list[Event]:
    return [event for batch in hub.batches for event in batch.events if event.name.startswith("backpressure.")]


def signals(hub: HubHarness, session: int) -> list[tuple[str, str]]:
    found = [effect for effect in hub.effects if isinstance(effect, SignalPressure) and effect.session == session]
    return [(effect.signal.level, effect.signal.scope) for effect in found]


def said_to(hub: HubHarness, user: str = "ann") -> Signal:
    return signal_for(hub.state, hub.state.users[user], hub.now)


@pytest.mark.parametrize(
    ("was", "depth", "level"),
    [
        (NORMAL, 0, NORMAL),
        (NORMAL, 4, NORMAL),
        (NORMAL, 5, WARNING),
        (NORMAL, 9, WARNING),
        (NORMAL, 10, CRITICAL),
        (WARNING, 10, CRITICAL),
        (CRITICAL, 8, CRITICAL),
        (CRITICAL, 7, WARNING),
        (CRITICAL, 4, WARNING),
        (CRITICAL, 3, NORMAL),
        (WARNING, 4, WARNING),
        (WARNING, 3, NORMAL),
    ],
)
def test_a_level_begins_at_its_threshold_and_ends_below_four_fifths_of_it(
    was: Pressure, depth: int, level: Pressure
) -> None:
    assert level_after(was, depth, DEPTH, NUMBERS) is level


def test_looking_twice_at_the_same_depth_finds_the_same_level() -> None:
    for was, depth in product(Pressure, range(31)):
        once = level_after(was, depth, DEPTH, NUMBERS)
        assert level_after(once, depth, DEPTH, NUMBERS) is once


def test_each_change_is_told_once_and_recovery_too() -> None:
    hub = a_hub()
    tasks = wait(hub, 12)
    assert [event.name for event in told(hub)] == ["backpressure.critical"]
    leave(hub, tasks[:4])
    assert len(told(hub)) == 1
    leave(hub, tasks[4:])
    assert [event.name for event in told(hub)] == list(map(EVENTS.get, (CRITICAL, WARNING, NORMAL)))


def test_an_event_says_what_a_daemon_and_a_caller_are_told() -> None:
    hub = a_hub()
    wait(hub, 5)
    (event,) = told(hub)
    assert event.user_id == "ann"
    assert event.data.pop("recommendations") == list(said_to(hub).advice) != []
    assert event.data == {
        "type": "backpressure",
        "level": "warning",
        "scope": "user",
        "queue_depth": 5,
        "estimated_wait_time": None,
    }


def test_one_users_line_is_no_other_users_business() -> None:
    hub = a_hub("ann", "bob")
    mac, pc = hub.daemon(slots=1), hub.daemon("pc", user="bob", slots=1)
    wait(hub, 12)
    assert said_to(hub).level is CRITICAL
    assert said_to(hub, "bob").level is NORMAL
    assert signals(hub, mac.session) == [("critical", "user")]
    assert signals(hub, pc.session) == []


def test_the_hubs_line_is_everybodys() -> None:
    hub = a_hub("ann", "bob", "cat", "dan", "eve")
    mac, shared = hub.daemon(types=("none",)), hub.daemon("big", user="bob", shared=True, types=("none",))
    away = hub.daemon("away")
    hub.disconnect(away)
    for user in ("ann", "bob", "cat", "dan"):
        wait(hub, 4, user)
    for session in (mac.session, shared.session):
        assert signals(hub, session) == [("warning", "hub")]
    assert [(event.name, event.user_id) for event in told(hub)] == [("backpressure.warning", None)]
    signal = said_to(hub, "eve")
    assert (signal.level, signal.scope, signal.depth) == (WARNING, PressureScope.HUB, 16)


def test_the_worse_of_both_is_said_and_of_equals_ones_own() -> None:
    hub = a_hub("ann", "bob")
    wait(hub, 12)
    wait(hub, 4, "bob")
    assert (said_to(hub).level, said_to(hub).scope) == (CRITICAL, PressureScope.USER)
    assert (said_to(hub, "bob").level, said_to(hub, "bob").scope) == (WARNING, PressureScope.HUB)
    assert said_to(a_hub()).scope is PressureScope.USER


def test_what_starts_at_once_never_waited() -> None:
    hub = a_hub()
    hub.daemon(slots=20)
    wait(hub, 12)
    assert told(hub) == []


def test_ones_own_machine_is_under_no_pressure() -> None:
    hub = a_hub("local")
    wait(hub, 25, "local")
    assert [(event.name, event.user_id) for event in told(hub)] == [("backpressure.critical", None)]
    signal = said_to(hub, "local")
    assert (signal.level, signal.scope, signal.depth) == (NORMAL, PressureScope.USER, 25)


def test_a_user_with_a_plan_has_a_line_on_ones_own_machine_too() -> None:
    hub = a_hub("local")
    wait(hub, 12, "local")
    hub.ask(ChangeUser("local", "root", plan="enterprise"))
    assert said_to(hub, "local").level is CRITICAL


def test_other_thresholds_hold_at_once() -> None:
    hub = a_hub()
    wait(hub, 4)
    lower = Limits(user_queue_depth=Depth(warning=3, critical=100), queue_depth=Depth(warning=1, critical=4))
    hub.step(ChangeSettings(Settings(limits=lower)))
    assert [(event.name, event.user_id) for event in told(hub)] == [
        ("backpressure.warning", "ann"),
        ("backpressure.critical", None),
    ]


def test_a_restart_keeps_the_level_and_says_nothing_again() -> None:
    hub = a_hub("ann", "bob")
    tasks = wait(hub, 20)
    leave(hub, tasks[:11])
    assert (said_to(hub).level, hub.state.pressure) == (CRITICAL, NORMAL)
    other = hub.restarted()
    assert said_to(other).level is CRITICAL
    wait(other, 1, "bob")
    assert told(other) == []


def test_a_restart_of_a_hub_under_pressure_remembers_that_too() -> None:
    hub = a_hub("ann", "bob")
    tasks = [*wait(hub, 10), *wait(hub, 10, "bob")]
    leave(hub, tasks[:4])
    other = hub.restarted()
    assert other.state.pressure is CRITICAL
    leave(other, [other.state.tasks[task.id] for task in tasks[4:]])
    assert other.state.pressure is NORMAL


def test_what_is_normal_is_not_kept() -> None:
    hub = a_hub()
    tasks = wait(hub, 10)
    assert [each.name for each in hub.kept() if each.kind is Keeps.PRESSURE] == ["ann"]
    leave(hub, tasks)
    assert not [each for each in hub.kept() if each.kind is Keeps.PRESSURE]


def test_thresholds_that_changed_while_the_hub_was_down_are_told_with_the_first_turn() -> None:
    hub = a_hub()
    wait(hub, 6)
    hub.state.settings = Settings()
    other = hub.restarted()
    other.advance(s=1)
    assert [event.name for event in told(other)] == ["backpressure.normal"]


def test_a_daemon_that_comes_while_the_line_is_long_hears_of_it() -> None:
    hub = a_hub("ann", "bob")
    wait(hub, 25)
    own = hub.daemon(types=("none",))
    shared = hub.daemon("big", shared=True, types=("none",))
    other = hub.daemon("pc", user="bob", types=("none",))
    assert signals(hub, own.session) == [("critical", "hub"), ("critical", "user")]
    assert signals(hub, shared.session) == [("critical", "hub")]
    assert signals(hub, other.session) == [("critical", "hub")]


def test_the_wait_follows_from_how_fast_tasks_are_started() -> None:
    hub = a_hub()
    hub.daemon(slots=1)
    tasks = wait(hub, 13)
    assert said_to(hub).wait_ms is not None
    for task in tasks[:6]:
        hub.run(task)
        hub.live(s=20)
        hub.complete(task)
    signal = said_to(hub)
    assert signal.depth == 6
    assert signal.wait_ms == pytest.approx(6 * 20_000, rel=0.35)


def test_who_is_refused_hears_when_the_line_will_be_short_enough() -> None:
    hub = a_hub("ann", "bob")
    ann, bob = hub.state.users["ann"], hub.state.users["bob"]
    wait(hub, 25)
    assert retry_after_ms(hub.state, ann, hub.now) == 30_000
    for _ in range(5):
        ann.pace.note(hub.now.mono)
    # Of the hub's line nobody knows how fast it moves.
    assert retry_after_ms(hub.state, ann, hub.now) == 30_000
    for _ in range(6):
        hub.state.pace.note(hub.now.mono)
    # 18 must leave ann's line, at 20 a minute; 10 the hub's, at 24.
    assert retry_after_ms(hub.state, ann, hub.now) == 54_000
    assert retry_after_ms(hub.state, bob, hub.now) == 25_000
    hub.live(s=59)
    assert retry_after_ms(hub.state, ann, hub.now) <= RETRY_MS_MAX


def test_what_changes_lanes_still_waits_once() -> None:
    hub = a_hub()
    tasks = wait(hub, 4)
    hub.change(tasks[0], level=Level.HIGH)
    assert hub.state.users["ann"].waiting == 4
    assert told(hub) == []


def test_the_local_profile_is_what_frees_the_local_user() -> None:
    hub = a_hub("local", settings=Settings(profile=Profile.SERVICE, limits=SETTINGS.limits))
    wait(hub, 10, "local")
    assert said_to(hub, "local").level is CRITICAL
    assert hub.said(EventName.BACKPRESSURE_CRITICAL)[0].user_id == "local"

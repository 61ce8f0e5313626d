"""The one door: every command has its place, and the same commands decide the same."""

from typing import get_args

from msgspec import json

from taskyard.core.commands import Archive, Command, SubmitTasks, Tick
from taskyard.core.effects import Done
from taskyard.core.hub import ON_COMMAND, ON_TASK_TIMER, ON_TIMER, TIMERS_PER_TICK_MAX
from taskyard.core.settings import Settings
from taskyard.core.task import Terms
from taskyard.core.timers import Due
from taskyard.core.yard_commands import ChangeSettings, RefuseSettings
from taskyard.vocabulary import DependsPolicy, EventName, Verdict
from tests.support.harness import HubHarness, Level, Status, a_draft


def test_every_command_and_every_timer_has_its_place() -> None:
    assert set(ON_COMMAND) == set(get_args(Command))
    assert not set(ON_TIMER) & set(ON_TASK_TIMER)
    assert set(ON_TIMER) | set(ON_TASK_TIMER) == set(Due) - {Due.WAKE}


def a_scripted_day() -> HubHarness:
    hub = HubHarness(users=("ann", "bob"))
    mac = hub.daemon("mac", slots=2)
    hub.daemon("box", user="bob", shared=True, slots=2)
    tasks = [hub.submit(user=("ann", "bob")[n % 2], value=1 + n % 10, type="xy"[n % 2]) for n in range(12)]
    heirs = hub.submit_all(*(a_draft(depends_on=(tasks[0].id,)) for _ in range(3)))
    hub.submit(depends_on=(heirs[0].id,), terms=Terms(on_depends_fail=DependsPolicy.CONTINUE), level=Level.HIGH)
    for task in tasks:
        if task.status is Status.SCHEDULED:
            hub.run(task)
    for n, task in enumerate(tasks):
        if task.status is Status.RUNNING:
            (hub.fail if n % 2 else hub.complete)(task)
    hub.disconnect(mac)
    hub.advance(s=100)
    hub.daemon("mac", slots=2, boot="boot-2")
    dead = hub.submit(target="nobody")
    hub.review(dead, Verdict.DISCARD)
    hub.live(s=30, starting=True)
    hub.cancel(heirs[1])
    return hub


def test_the_same_commands_at_the_same_instants_give_the_same_batches_and_effects() -> None:
    one, two = a_scripted_day(), a_scripted_day()
    assert one.effects == two.effects
    assert json.encode(one.batches) == json.encode(two.batches)


def test_nothing_is_due_in_an_idle_yard() -> None:
    hub = HubHarness()
    assert hub.core.next_due_ms(hub.now) is None


def test_the_next_instant_is_the_nearer_of_both_clocks() -> None:
    hub = HubHarness()
    hub.submit(scheduled_for=hub.now.wall + 50_000)
    assert hub.core.next_due_ms(hub.now) == 50_000
    hub.daemon()
    assert hub.core.next_due_ms(hub.now) == 36_000
    hub.now = type(hub.now)(hub.now.wall + 60_000, hub.now.mono + 60_000)
    assert hub.core.next_due_ms(hub.now) == 0


def test_one_tick_lets_only_so_many_timers_act_and_the_next_follows_at_once() -> None:
    hub = HubHarness()
    count = TIMERS_PER_TICK_MAX + 5
    hub.submit_all(*(a_draft(scheduled_for=hub.now.wall + 10) for _ in range(count)))
    hub.now = type(hub.now)(hub.now.wall + 10, hub.now.mono + 10)
    hub.step(Tick())
    assert hub.state.yard.waiting == TIMERS_PER_TICK_MAX
    assert hub.core.next_due_ms(hub.now) == 0
    hub.step(Tick())
    assert hub.state.yard.waiting == count


def test_archiving_is_written_with_the_next_commit() -> None:
    hub = HubHarness()
    assert hub.ask(Archive(ended_before=5, events_before=7)) == Done()
    assert hub.batches[-1].archive == (5, 7)
    assert not hub.batches[-1].is_empty()


def test_settings_hold_from_the_next_decision_on() -> None:
    hub = HubHarness()
    assert hub.ask(ChangeSettings(Settings(default_queue="other"), ("default_queue",))) == Done()
    assert hub.submit().kind.queue == "other"
    (event,) = hub.said(EventName.SETTINGS_CHANGED)
    assert (event.user_id, event.data) == (None, {"names": ["default_queue"]})


def test_settings_that_cannot_be_used_are_told_to_admins_and_change_nothing() -> None:
    hub = HubHarness()
    before = hub.state.settings
    assert hub.ask(RefuseSettings("taskyard.toml is not valid")) == Done()
    assert hub.state.settings is before
    (event,) = hub.said(EventName.SETTINGS_REFUSED)
    assert (event.user_id, event.data) == (None, {"reason": "taskyard.toml is not valid"})


def test_a_command_alone_starts_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    effects = hub.core.handle(SubmitTasks("ann", [a_draft(id="t")]), hub.now)
    assert hub.sent(effects) == []
    assert hub.state.tasks["t"].status is Status.QUEUED

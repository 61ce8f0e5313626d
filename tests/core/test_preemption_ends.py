"""Preemption: how it ends when nobody confirms it, over restarts, and when what holds the critical task changes."""

from taskyard.core import preemption
from taskyard.core.commands import BeginWait, ChangeSettings, PauseQueue, ResumeQueue
from taskyard.core.daemon_commands import ConfirmCancel, Held
from taskyard.core.effects import CancelWork
from taskyard.core.settings import Lease, Limits, Preemption, Queue, Settings, Shares
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import LostPolicy
from tests.support.harness import (
    AttemptStatus,
    HubHarness,
    InventoryState,
    Status,
    a_draft,
    attempt_of,
)
from tests.support.preemption import CRITICAL, HIGH, LOW, NO_RESERVE, a_full_machine, running, told

# How it ends.


def test_at_the_end_of_its_lease() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    mac = hub.daemon(slots=1)
    other = hub.daemon("other", slots=1)
    low = running(hub)
    hub.live(s=10)
    urgent = hub.submit(level=CRITICAL)
    hub.disconnect(mac)
    hub.live(s=40)
    assert (low.status, attempt_of(low).status) == (Status.QUEUED, AttemptStatus.PREEMPTED)
    assert urgent.id in other.holding


def test_when_its_daemon_comes_back_without_it() -> None:
    hub, [low] = a_full_machine()
    mac = hub.state.daemons["d-mac"]
    urgent = hub.submit(level=CRITICAL)
    hub.disconnect(mac)
    hub.daemon(slots=1)
    assert attempt_of(low).status is AttemptStatus.PREEMPTED
    assert urgent.id in mac.holding


def test_one_that_is_not_to_be_lost_is_given_up_when_it_is() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon(slots=1)
    low = running(hub, terms=Terms(on_lost=LostPolicy.FAIL))
    hub.live(s=10)
    urgent = hub.submit(level=CRITICAL)
    hub.daemon(slots=1)
    assert (low.status, urgent.status) == (Status.PERMANENTLY_FAILED, Status.SCHEDULED)


def test_one_whose_daemon_died_is_lost_and_may_be_adopted_without_having_to_go() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    hub.daemon(slots=1, boot="b2")
    assert (attempt_of(low).status, urgent.status) == (AttemptStatus.LOST, Status.SCHEDULED)
    hub.daemon(slots=2, boot="b2", inventory=[Held(low.id, 1), Held(urgent.id, 1)])
    assert (low.status, attempt_of(low).yields_to) == (Status.RUNNING, None)
    hub.complete(low)


def test_at_its_own_timeout() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    mac = hub.daemon(slots=1)
    low = running(hub, terms=Terms(timeout_ms=20_000))
    hub.live(s=10)
    urgent = hub.submit(level=CRITICAL)
    hub.live(s=9)
    hub.advance(s=2)
    assert attempt_of(low).status is AttemptStatus.TIMEOUT
    assert urgent.status is Status.QUEUED, "its slot is not free before its daemon says so"
    hub.step(ConfirmCancel(mac.id, low.id, 1, mac.session))
    assert urgent.status is Status.SCHEDULED


def test_a_cancel_meanwhile_cancels_it() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    hub.cancel(low)
    hub.confirm_cancel(low)
    assert (low.status, urgent.status) == (Status.CANCELLED, Status.SCHEDULED)


def test_who_it_went_for_may_be_forgotten_by_then() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    hub.cancel(urgent)
    hub.live(s=5)
    assert urgent.id not in hub.state.tasks
    hub.confirm_cancel(low)
    assert low.trouble.preempted_by == urgent.id


# Over a restart, and when settings change.


def test_after_a_restart_it_is_told_once_more_and_still_ends_as_preempted() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    hub = hub.restarted()
    low, urgent = hub.state.tasks[low.id], hub.state.tasks[urgent.id]
    assert preemption.victim_of(hub.state, urgent) is low
    hub.daemon(slots=1, inventory=[Held(low.id, 1, InventoryState.RUNNING)])
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert (attempt_of(low).status, urgent.status) == (AttemptStatus.PREEMPTED, Status.SCHEDULED)
    assert (low.trouble.preemptions, low.trouble.preempted_by) == (1, urgent.ref)


def test_after_a_restart_with_nobody_told_the_returning_daemon_is_looked_at() -> None:
    hub, [low] = a_full_machine(ran_s=5)
    urgent = hub.submit(level=CRITICAL)
    hub = hub.restarted()
    low, urgent = hub.state.tasks[low.id], hub.state.tasks[urgent.id]
    hub.daemon(slots=1, inventory=[Held(low.id, 1)])
    assert told(hub) == []
    hub.live(s=6)
    assert told(hub) == [low.id]


def test_settings_that_change_hold_at_once() -> None:
    hub, [low] = a_full_machine(ran_s=2)
    hub.submit(level=CRITICAL)
    assert told(hub) == []
    hub.step(ChangeSettings(Settings(shares=NO_RESERVE, preemption=Preemption(min_run_s=1))))
    assert told(hub) == [low.id]


def test_the_time_to_save_a_checkpoint_is_a_setting() -> None:
    hub, _ = a_full_machine(lease=Lease(cancel_grace_s=42))
    effects = hub.offer(a_draft(level=CRITICAL)) and hub.effects
    assert [e.grace_ms for e in hub.of(effects, CancelWork)] == [42_000]


def test_a_low_task_that_began_while_the_critical_one_was_held_back_goes_when_it_no_longer_is() -> None:
    # Given a critical task of a paused queue, before any low task ran
    hub = HubHarness(Settings(shares=NO_RESERVE, queues={"slow": Queue(models=("m",))}))
    hub.daemon(slots=1)
    hub.step(PauseQueue("slow", "admin"))
    urgent = hub.submit(level=CRITICAL, model="m")
    low = running(hub)
    hub.live(s=10)
    assert told(hub) == []

    # When the queue goes on
    hub.step(ResumeQueue("slow", "admin"))

    # Then the low task makes room
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert urgent.status is Status.SCHEDULED


def test_a_waiting_parent_can_be_told_to_go_once_nobody_runs_in_its_place() -> None:
    # Given a low task in whose place its sub-task runs, and a critical one that finds the daemon full
    hub, [low] = a_full_machine()
    child = hub.submit(level=LOW, parent_id=low.id)
    hub.step(BeginWait(low.id, 1, "w1"))
    hub.run(child)
    hub.submit(level=CRITICAL)
    assert told(hub) == []

    # When the sub-task has ended
    effects = hub.complete(child)

    # Then its parent makes room
    assert told(hub, effects) == [low.id]


def test_a_low_task_elsewhere_goes_once_a_daemon_that_could_run_the_critical_one_has_room() -> None:
    # Given a plan of one whose low task runs where the critical one cannot, and is too young to go
    hub = HubHarness(Settings(shares=NO_RESERVE), users=("ann", "bob"))
    hub.state.users["ann"].record.plan = "free"
    hub.daemon("own", slots=2, types=("mail",))
    hub.daemon("shared", user="bob", shared=True, slots=1)
    low = running(hub, type="mail")
    urgent = hub.submit(level=CRITICAL, type="report")

    # When it is old enough, the daemon that could run the critical one is full: its going would not help
    other = hub.run(hub.submit(user="bob"))
    hub.live(s=11)
    assert told(hub) == []

    # Then it goes the moment that daemon has room
    hub.complete(other)
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert urgent.status is Status.SCHEDULED


def held_by_the_reserve_too() -> tuple[HubHarness, Task, Task, Task]:
    """Ann has called enough critical on the shared machines: her next is ordered as high and leaves the reserve alone.

    Her low task, hers that waits, and the one of another user that runs elsewhere.
    """
    hub = HubHarness(Settings(shares=Shares(critical_reserve=0.5)), users=("ann", "bob"))
    hub.daemon("mail", user="bob", shared=True, slots=3, types=("mail",))
    hub.daemon("report", user="bob", shared=True, slots=1, types=("report",))
    low = running(hub, type="mail")
    for _ in range(2):
        running(hub, level=CRITICAL, type="mail")
    other = hub.run(hub.submit(user="bob", type="report"))
    hub.live(s=10)
    urgent = hub.submit(level=CRITICAL, type="mail")
    assert (urgent.status, told(hub)) == (Status.QUEUED, [])
    return hub, low, urgent, other


def test_a_low_task_goes_once_an_end_elsewhere_leaves_the_critical_one_only_a_full_daemon_to_wait_for() -> None:
    hub, low, urgent, other = held_by_the_reserve_too()
    hub.complete(other)
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert (urgent.status, attempt_of(urgent).level) == (Status.SCHEDULED, HIGH)


def test_a_low_task_goes_once_a_daemon_that_left_makes_the_reserve_smaller() -> None:
    hub, low, _, other = held_by_the_reserve_too()
    hub.disconnect(hub.state.daemons[attempt_of(other).daemon_id])
    assert told(hub) == [low.id]


def test_a_low_task_goes_once_a_daemon_that_came_leaves_more_than_the_reserve() -> None:
    hub, low, _, _ = held_by_the_reserve_too()
    hub.daemon("code", user="bob", shared=True, slots=1, types=("code",))
    assert told(hub) == [low.id]

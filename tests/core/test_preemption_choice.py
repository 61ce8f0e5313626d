"""Preemption: for which kinds of room, and which low task goes."""

import pytest

from taskyard.core.commands import ResetBreaker
from taskyard.core.daemon_commands import Held
from taskyard.core.settings import Limits, Preemption, Queue, Settings
from taskyard.core.task import Terms
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import SourceType
from tests.support.harness import (
    HubHarness,
    Level,
    Status,
    a_draft,
    attempt_of,
)
from tests.support.preemption import (
    CRITICAL,
    GOING_ON,
    HIGH,
    LOW,
    NO_RESERVE,
    NORMAL,
    a_full_machine,
    running,
    told,
    who_makes_room,
)

# For what.


def test_for_its_users_concurrency() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    hub.daemon(slots=5)
    low = running(hub)
    hub.live(s=10)
    urgent = hub.submit(level=CRITICAL)
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert urgent.status is Status.SCHEDULED


def test_for_its_users_concurrency_also_where_the_sources_limit_is_the_same() -> None:
    limits = Limits(running_per_user=1, running_per_source={SourceType.USER: 1})
    hub = HubHarness(Settings(limits=limits))
    hub.daemon(slots=5)
    low = running(hub)
    hub.live(s=10)
    hub.submit(level=CRITICAL)
    assert told(hub) == [low.id]


def test_not_where_the_sources_limit_is_below_its_users_concurrency_though_both_are_reached() -> None:
    # Given a user at both limits, of which that of the source came first
    limits = Limits(running_per_user=2, running_per_source={SourceType.USER: 1})
    hub = HubHarness(Settings(limits=limits))
    hub.daemon(slots=5)
    running(hub)
    hub.live(s=10)
    hub.submit(level=CRITICAL)
    hub.run(hub.submit(source=SourceType.WEBHOOK))

    # When something is looked at that makes no difference
    hub.submit(level=CRITICAL, type="other")

    # Then nobody goes: it is not held by its user's concurrency alone
    assert told(hub) == []


def test_for_a_full_queue_of_its_users_own_machines() -> None:
    hub = HubHarness(Settings(queues={"ollama": Queue(models=("m",))}))
    hub.daemon(slots=5)
    low = running(hub, model="m")
    other = running(hub)
    hub.live(s=10)
    urgent = hub.submit(level=CRITICAL, model="m")
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert (urgent.status, other.status) == (Status.SCHEDULED, Status.RUNNING)


def test_not_for_a_full_queue_of_the_shared_machines() -> None:
    hub = HubHarness(Settings(queues={"ollama": Queue(models=("m",))}), users=("ann", "bob"))
    hub.daemon(user="bob", slots=5, shared=True)
    running(hub, model="m")
    assert who_makes_room(hub, model="m") == []


@pytest.mark.parametrize(
    "limits",
    [Limits(running_per_source={SourceType.USER: 1}), Limits(running_total=1)],
    ids=["its source's limit", "the hub's limit"],
)
def test_not_for_another_limit(limits: Limits) -> None:
    hub = HubHarness(Settings(limits=limits))
    hub.daemon(slots=5)
    running(hub)
    assert who_makes_room(hub) == []


def test_not_while_another_rule_holds_it_too_but_as_soon_as_that_is_over() -> None:
    hub, [low] = a_full_machine()
    for _ in range(5):
        odd = hub.daemon("odd", slots=1, types=("odd",))
        failing = hub.submit(type="odd", terms=Terms(max_attempts=1))
        hub.run(failing)
        hub.fail(failing)
    hub.disconnect(odd)
    urgent = hub.submit(level=CRITICAL, type="odd")
    assert told(hub) == []
    hub.step(ResetBreaker("ann", "odd", "ann"))
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert urgent.status is Status.SCHEDULED


def test_only_for_critical_tasks() -> None:
    hub, _ = a_full_machine()
    hub.submit(level=HIGH)
    hub.live(s=30)
    assert told(hub) == []


def test_not_while_there_is_room() -> None:
    hub, _ = a_full_machine()
    hub.daemon("other", slots=1)
    assert hub.submit(level=CRITICAL).status is Status.SCHEDULED
    assert told(hub) == []


def test_a_critical_task_beyond_the_reserve_of_the_shared_pool_may_too_and_counts_as_high() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE), users=("ann", "bob"))
    hub.daemon(user="bob", slots=2, shared=True)
    low = running(hub)
    running(hub, level=CRITICAL)
    hub.live(s=10)
    second = hub.submit(level=CRITICAL)
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert (second.status, attempt_of(second).level) == (Status.SCHEDULED, HIGH)


# Of whom.


def test_the_youngest_that_has_run_long_enough() -> None:
    hub, low = a_full_machine(slots=3)
    hub.submit(level=CRITICAL)
    assert told(hub) == [low[-1].id]


def test_one_too_young_is_passed_over_for_an_older_one() -> None:
    hub, low = a_full_machine(slots=2, ran_s=9.5)
    hub.submit(level=CRITICAL)
    assert told(hub) == [low[0].id]


def test_when_all_are_too_young_the_first_that_is_not_goes_at_that_instant() -> None:
    hub, low = a_full_machine(slots=2, ran_s=4)
    hub.submit(level=CRITICAL)
    due = hub.state.timers.due_at(Clock.MONO, Due.PREEMPTION, "ann")
    assert due == hub.state.begun[low[0].id] + 10_000
    hub.live(s=4.9)
    assert told(hub) == []
    hub.live(s=0.2)
    assert told(hub) == [low[0].id]


def test_several_that_wait_are_looked_at_when_the_first_of_them_can_be_helped() -> None:
    hub, low = a_full_machine(slots=2, ran_s=4)
    hub.submit_all(a_draft(level=CRITICAL, type="a"), a_draft(level=CRITICAL, type="b"))
    hub.live(s=5.1)
    assert told(hub) == [low[0].id]
    hub.live(s=1)
    assert told(hub) == [low[0].id, low[1].id]


def test_one_that_has_not_started_is_looked_at_again_when_it_may_have_run() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon(slots=1)
    low = hub.submit(level=LOW)
    hub.accept(low)
    hub.submit(level=CRITICAL)
    hub.live(s=9)
    hub.start(low)
    hub.live(s=9)
    assert told(hub) == []
    hub.live(s=2)
    assert told(hub) == [low.id]


def test_one_that_may_go_as_soon_as_it_runs_is_looked_at_when_it_starts_and_not_before() -> None:
    # Given a low task that has not started, and no time that it must have run for
    hub = HubHarness(Settings(shares=NO_RESERVE, preemption=Preemption(min_run_s=0)))
    hub.daemon(slots=1)
    low = hub.submit(level=LOW)
    hub.accept(low)

    # When a critical one waits, nothing is due at once
    hub.submit(level=CRITICAL)
    assert told(hub) == []
    assert hub.core.next_due_ms(hub.now) != 0

    # Then it goes the moment it runs
    hub.start(low)
    assert told(hub) == [low.id]


def test_no_victim_whose_going_would_not_help() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon("gpu", slots=1, capabilities=("gpu",), types=("train",))
    hub.daemon("mac", slots=1, types=("general",))
    running(hub)
    running(hub, level=NORMAL, type="train")
    assert who_makes_room(hub, type="train", capabilities=("gpu",)) == []


@pytest.mark.parametrize(
    "limits", [Limits(), Limits(running_per_user=2)], ids=["a full daemon", "its user's limit too"]
)
def test_of_several_only_one_whose_going_would_help(limits: Limits) -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE, limits=limits))
    hub.daemon("gpu", slots=1, types=("train",))
    hub.daemon("mac", slots=1, types=("general",))
    train = running(hub, type="train")
    hub.live(s=1)
    running(hub)
    hub.live(s=10)
    hub.submit(level=CRITICAL, type="train")
    assert told(hub) == [train.id]


@pytest.mark.parametrize("level", [NORMAL, HIGH, CRITICAL])
def test_none_but_low_tasks(level: Level) -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon(slots=1)
    running(hub, level=level)
    assert who_makes_room(hub) == []


def test_one_that_was_raised_since_it_began_is_low_no_longer() -> None:
    hub, [low] = a_full_machine()
    hub.submit(level=HIGH, depends_on=(low.id,))
    hub.submit(level=CRITICAL)
    hub.live(s=20)
    assert told(hub) == []


def test_none_of_another_user() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE), users=("ann", "bob"))
    hub.daemon(user="bob", slots=1, shared=True)
    running(hub, user="bob")
    assert who_makes_room(hub, user="ann") == []


def test_none_that_is_being_cancelled() -> None:
    hub, [low] = a_full_machine()
    hub.cancel(low)
    hub.submit(level=CRITICAL)
    assert told(hub) == []
    hub.confirm_cancel(low)
    assert low.status is Status.CANCELLED


def test_never_its_parent() -> None:
    hub, [low] = a_full_machine()
    child = hub.submit(level=CRITICAL, parent_id=low.id)
    hub.submit(level=CRITICAL, parent_id=child.id)
    hub.live(s=20)
    assert told(hub) == []


def test_never_what_it_depends_on_directly_or_through_others() -> None:
    """It may be ready although what it depends on runs: it goes on without what failed, and that was tried again."""
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon(slots=2)
    one = Terms(max_attempts=1)
    (base,) = hub.submit_all(a_draft(level=LOW, terms=one), ceiling=LOW)
    (middle,) = hub.submit_all(a_draft(level=LOW, depends_on=(base.id,), terms=GOING_ON), ceiling=LOW)
    hub.run(base)
    hub.fail(base)
    hub.run(middle)
    hub.fail(middle, retryable=False)
    due = hub.now.wall + 30_000
    (urgent,) = hub.submit_all(
        a_draft(level=CRITICAL, depends_on=(middle.id, base.id), terms=GOING_ON, scheduled_for=due),
        known=hub.known(base, middle),
    )
    hub.retry(base)
    hub.retry(middle)
    hub.run(base)
    hub.run(middle)
    hub.live(s=60)
    assert (base.status, middle.status, urgent.status) == (Status.RUNNING, Status.RUNNING, Status.QUEUED)
    assert (base.level, middle.level) == (LOW, LOW)
    assert told(hub) == [], "what it depends on is let be, and so is what that depends on"


def test_one_whose_daemon_is_away_cannot_be_told_until_it_is_back() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    mac = hub.daemon(slots=1)
    hub.daemon("other", slots=1, types=("odd",))
    low = running(hub)
    hub.live(s=10)
    hub.disconnect(mac)
    urgent = hub.submit(level=CRITICAL, type="odd")
    assert told(hub) == []
    hub.daemon(slots=1, inventory=[Held(low.id, 1)])
    assert told(hub) == [low.id]
    hub.confirm_cancel(low)
    assert urgent.status is Status.SCHEDULED

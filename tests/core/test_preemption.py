"""Preemption: a critical task that waits for nothing but room takes that of one of its user's low tasks."""

import pytest

from taskyard.core import preemption
from taskyard.core.commands import (
    BeginWait,
    ChangeSettings,
    ConfirmCancel,
    Held,
    PauseQueue,
    ResetBreaker,
    ResumeQueue,
    SaveCheckpoint,
)
from taskyard.core.effects import CancelWork, Effect
from taskyard.core.settings import Lease, Limits, Preemption, Queue, Settings, Shares
from taskyard.core.task import Task, Terms
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import CancelReason, DependsPolicy, LostPolicy, SourceType
from tests.support.harness import (
    AttemptStatus,
    EventName,
    HubHarness,
    InventoryState,
    Level,
    ResultStatus,
    Status,
    a_draft,
    attempt_of,
)

CRITICAL, HIGH, NORMAL, LOW = Level.CRITICAL, Level.HIGH, Level.NORMAL, Level.LOW
NO_RESERVE = Shares(critical_reserve=0)
GOING_ON = Terms(on_depends_fail=DependsPolicy.CONTINUE)


def running(hub: HubHarness, *, level: Level = LOW, **fields: object) -> Task:
    return hub.run(hub.submit(level=level, **fields))


def a_full_machine(*, ran_s: float = 10, slots: int = 1, **settings: object) -> tuple[HubHarness, list[Task]]:
    """One daemon whose slots are all taken by low tasks that have run for so long, the youngest last."""
    hub = HubHarness(Settings(shares=NO_RESERVE, **settings))  # type: ignore[arg-type]
    hub.daemon(slots=slots)
    low = []
    for _ in range(slots):
        low.append(running(hub))
        hub.live(s=1)
    hub.live(s=ran_s - 1)
    return hub, low


def told(hub: HubHarness, effects: list[Effect] | None = None) -> list[str]:
    """Who was told to make room."""
    found = hub.of(hub.effects if effects is None else effects, CancelWork)
    return [each.task_id for each in found if each.reason is CancelReason.PREEMPTED]


# What happens.


def test_the_low_task_is_told_to_go_and_keeps_its_slot_until_its_daemon_confirms() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    assert told(hub) == [low.id]
    assert (low.status, urgent.status) == (Status.RUNNING, Status.QUEUED)
    assert preemption.victim_of(hub.state, urgent) is low
    hub.live(s=5)
    assert (low.status, urgent.status) == (Status.RUNNING, Status.QUEUED)
    effects = hub.confirm_cancel(low)
    assert hub.sent(effects) == [(urgent.id, 1)]
    assert (low.status, urgent.status) == (Status.QUEUED, Status.SCHEDULED)
    assert preemption.victim_of(hub.state, urgent) is None


def test_it_goes_from_running_to_queued_at_once_and_the_attempt_does_not_count() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    hub.confirm_cancel(low)
    assert attempt_of(low).status is AttemptStatus.PREEMPTED
    (event,) = hub.said(EventName.TASK_PREEMPTED, low)
    assert (event.was, event.now, event.data) == (
        Status.RUNNING,
        Status.QUEUED,
        {"by": urgent.ref, "daemon_id": "d-mac"},
    )
    assert (low.trouble and low.trouble.preemptions, low.trouble and low.trouble.preempted_by) == (1, urgent.ref)
    hub.run(urgent)
    hub.complete(urgent)
    for _ in range(low.terms.max_attempts):
        hub.await_offer(low)
        hub.run(low)
        hub.fail(low)
    assert low.status is Status.PERMANENTLY_FAILED
    assert len(low.attempts or ()) == 1 + low.terms.max_attempts


def test_it_comes_back_to_the_front_with_its_checkpoint() -> None:
    hub, [low] = a_full_machine()
    hub.step(SaveCheckpoint("d-mac", low.id, 1, b'{"page":7}', session=1))
    younger = hub.submit(level=LOW)
    urgent = hub.submit(level=CRITICAL)
    hub.confirm_cancel(low)
    hub.run(urgent)
    hub.complete(urgent)
    assert (low.status, younger.status) == (Status.SCHEDULED, Status.QUEUED)
    assert (low.checkpoint, attempt_of(low).number) == (True, 2)


def test_a_late_result_of_the_old_run_is_not_taken_for_that_of_the_new_one() -> None:
    hub, [low] = a_full_machine()
    urgent = hub.submit(level=CRITICAL)
    hub.confirm_cancel(low)
    hub.complete(urgent)
    hub.run(low)
    hub.complete(low, attempt=1)
    assert (low.status, attempt_of(low).status) == (Status.RUNNING, AttemptStatus.RUNNING)
    hub.complete(low)
    assert low.status is Status.COMPLETED


def test_a_late_result_is_taken_while_nothing_newer_was_sent_out() -> None:
    hub, [low] = a_full_machine()
    hub.submit(level=CRITICAL)
    hub.confirm_cancel(low)
    hub.complete(low, attempt=1)
    assert (low.status, attempt_of(low).status) == (Status.COMPLETED, AttemptStatus.SUCCESS)


def test_a_result_that_comes_instead_is_taken_and_the_room_is_kept_all_the_same() -> None:
    hub, [low] = a_full_machine()
    waiting = hub.submit(level=HIGH)
    urgent = hub.submit(level=CRITICAL)
    hub.complete(low)
    assert (low.status, urgent.status, waiting.status) == (Status.COMPLETED, Status.SCHEDULED, Status.QUEUED)
    assert low.trouble is None or low.trouble.preempted_by is None


@pytest.mark.parametrize("says", ["task.failed", "failed result", "no report"])
def test_a_failure_in_parting_is_kept_as_late_and_counts_as_nothing(says: str) -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon(slots=1)
    low = running(hub, terms=Terms(decision_report=says == "no report"))
    hub.live(s=10)
    hub.submit(level=CRITICAL)
    if says == "task.failed":
        hub.fail(low, message="terminated")
    else:
        failed = says == "failed result"
        hub.complete(low, result_status=ResultStatus.FAILED if failed else ResultStatus.SUCCESS)
    assert (low.status, attempt_of(low).status) == (Status.QUEUED, AttemptStatus.PREEMPTED)
    assert [late.task_id for late in hub.batches[-1].late] == [low.id]


def test_the_slot_is_kept_for_the_task_it_was_freed_for() -> None:
    """Also when others, who would go first in the ordinary way, wait for it."""
    hub = HubHarness(Settings(shares=NO_RESERVE), users=("ann", "bob"))
    hub.daemon(user="bob", slots=1, shared=True)
    low = running(hub, user="ann")
    hub.live(s=10)
    others = hub.submit_all(a_draft(level=CRITICAL), a_draft(level=CRITICAL), user="bob")
    urgent = hub.submit(level=CRITICAL, user="ann")
    assert [task.status for task in others] == [Status.QUEUED] * 2
    hub.confirm_cancel(low)
    assert urgent.status is Status.SCHEDULED
    assert [task.status for task in others] == [Status.QUEUED] * 2


def test_the_keeping_ends_if_the_task_needs_it_no_longer() -> None:
    hub, [low] = a_full_machine()
    urgent, waiting = hub.submit(level=CRITICAL), hub.submit(level=NORMAL)
    hub.cancel(urgent)
    hub.confirm_cancel(low)
    assert attempt_of(low).status is AttemptStatus.PREEMPTED
    assert waiting.status is Status.SCHEDULED


def test_who_was_told_to_go_for_a_task_that_needs_it_no_longer_goes_for_the_next_that_does() -> None:
    # Given two critical tasks of one lane, and a low one that was told to go for the first of them
    hub, low = a_full_machine(slots=2)
    first, second = hub.submit(level=CRITICAL), hub.submit(level=CRITICAL)
    assert preemption.victim_of(hub.state, first) is low[1]

    # When the first is cancelled
    hub.cancel(first)

    # Then nobody else is told, and its room is kept for the second
    assert told(hub) == [low[1].id]
    assert preemption.victim_of(hub.state, second) is low[1]
    hub.confirm_cancel(low[1])
    assert (second.status, low[0].status) == (Status.SCHEDULED, Status.RUNNING)
    assert (low[1].trouble and low[1].trouble.preempted_by) == second.ref


def test_who_was_told_to_go_for_a_task_that_found_room_elsewhere_goes_for_the_next_that_needs_it() -> None:
    hub, low = a_full_machine(slots=2)
    first, second = hub.submit(level=CRITICAL), hub.submit(level=CRITICAL)
    hub.daemon("other", slots=1)
    assert (first.status, preemption.victim_of(hub.state, second)) == (Status.SCHEDULED, low[1])
    assert told(hub) == [low[1].id]


def test_the_keeping_ends_if_the_task_is_critical_no_longer() -> None:
    hub, [low] = a_full_machine()
    urgent, waiting = hub.submit(level=CRITICAL), hub.submit(level=HIGH)
    hub.change(urgent, level=NORMAL, value=5)
    hub.confirm_cancel(low)
    assert (urgent.status, waiting.status) == (Status.QUEUED, Status.SCHEDULED)


def test_the_keeping_ends_if_another_rule_holds_the_task_meanwhile() -> None:
    hub, [low] = a_full_machine(slots=1)
    mac = hub.state.daemons["d-mac"]
    urgent = hub.submit(level=CRITICAL)
    hub.drain(mac)
    hub.confirm_cancel(low)
    assert (urgent.status, low.status) == (Status.QUEUED, Status.QUEUED)
    other = hub.daemon("other", slots=1)
    assert urgent.id in other.holding


def test_one_preemption_per_critical_task_at_a_time() -> None:
    hub, low = a_full_machine(slots=2)
    hub.submit(level=CRITICAL)
    hub.submit(level=HIGH)
    hub.live(s=5)
    assert told(hub) == [low[1].id]


def test_each_critical_task_has_its_own_one_after_the_other() -> None:
    hub, low = a_full_machine(slots=2)
    first, second = hub.submit(level=CRITICAL), hub.submit(level=CRITICAL)
    assert told(hub) == [low[1].id]
    hub.confirm_cancel(low[1])
    assert told(hub) == [low[1].id, low[0].id]
    hub.confirm_cancel(low[0])
    assert (first.status, second.status) == (Status.SCHEDULED, Status.SCHEDULED)


def test_heads_of_different_lanes_each_have_their_own_at_once() -> None:
    hub, low = a_full_machine(slots=2)
    hub.submit_all(a_draft(level=CRITICAL, type="a"), a_draft(level=CRITICAL, type="b"))
    assert told(hub) == [low[1].id, low[0].id]


def test_one_that_was_preempted_three_times_is_let_be() -> None:
    hub, [low] = a_full_machine()
    for _ in range(3):
        urgent = hub.submit(level=CRITICAL)
        hub.confirm_cancel(low)
        hub.run(urgent)
        hub.complete(urgent)
        hub.run(low)
        hub.live(s=10)
    before = len(told(hub))
    assert before == 3
    hub.submit(level=CRITICAL)
    hub.live(s=30)
    assert len(told(hub)) == before


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
    hub.live(s=10)
    hub.submit(level=CRITICAL, model="m")
    hub.live(s=30)
    assert told(hub) == []


@pytest.mark.parametrize(
    "limits",
    [Limits(running_per_source={SourceType.USER: 1}), Limits(running_total=1)],
    ids=["its source's limit", "the hub's limit"],
)
def test_not_for_another_limit(limits: Limits) -> None:
    hub = HubHarness(Settings(limits=limits))
    hub.daemon(slots=5)
    running(hub)
    hub.live(s=10)
    hub.submit(level=CRITICAL)
    hub.live(s=30)
    assert told(hub) == []


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
    hub.live(s=10)
    hub.submit(level=CRITICAL, type="train", capabilities=("gpu",))
    hub.live(s=30)
    assert told(hub) == []


def test_of_several_only_one_whose_going_would_help() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE))
    hub.daemon("gpu", slots=1, types=("train",))
    hub.daemon("mac", slots=1, types=("general",))
    train = running(hub, type="train")
    hub.live(s=1)
    running(hub)
    hub.live(s=10)
    hub.submit(level=CRITICAL, type="train")
    assert told(hub) == [train.id]


def test_both_the_users_concurrency_and_a_full_daemon_must_be_helped() -> None:
    hub = HubHarness(Settings(shares=NO_RESERVE, limits=Limits(running_per_user=2)))
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
    hub.live(s=10)
    hub.submit(level=CRITICAL)
    hub.live(s=20)
    assert told(hub) == []


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
    hub.live(s=10)
    hub.submit(level=CRITICAL, user="ann")
    hub.live(s=20)
    assert told(hub) == []


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
    assert low.trouble is not None
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
    assert low.trouble is not None
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

"""Preemption: a critical task that waits for nothing but room takes that of one of its user's low tasks."""

import pytest

from taskyard.core import preemption
from taskyard.core.commands import (
    SaveCheckpoint,
)
from taskyard.core.settings import Settings
from taskyard.core.task import Terms
from tests.support.harness import (
    AttemptStatus,
    EventName,
    HubHarness,
    ResultStatus,
    Status,
    a_draft,
    attempt_of,
)
from tests.support.preemption import CRITICAL, HIGH, LOW, NO_RESERVE, NORMAL, a_full_machine, running, told


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

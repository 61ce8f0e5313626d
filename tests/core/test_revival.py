"""Bringing a task back, and changing one that has not started."""

import pytest

from taskyard.core.commands import ChangeTask, Known, RetryTask, ReviewTask
from taskyard.core.effects import Done, Refused, Submitted
from taskyard.core.endings import DAY_MS
from taskyard.core.task import Reviewed, Task, Terms
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import AttemptStatus, DependsPolicy, EventName, Refusal, Verdict
from tests.support.harness import HubHarness, Level, Status, a_draft, attempt_of

SKIP = Terms(on_depends_fail=DependsPolicy.SKIP)


def a_dead_letter(**fields: object) -> tuple[HubHarness, Task]:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1), **fields)
    hub.fail(task)
    hub.advance(ms=1)
    assert task.id not in hub.state.tasks
    return hub, task


def refused(answer: object) -> Refusal:
    assert isinstance(answer, Refused), answer
    return answer.code


# Retry


def test_a_retry_starts_a_new_series_and_keeps_the_old_attempts() -> None:
    hub, task = a_dead_letter()
    assert hub.retry(task) == Done(task.id)
    assert (task.status, task.series, task.error, task.completed_at) == (Status.SCHEDULED, 2, None, None)
    assert [(a.number, a.series, a.status) for a in task.attempts or ()] == [
        (1, 1, AttemptStatus.FAILED),
        (2, 2, AttemptStatus.RUNNING),
    ]
    assert [row.task.id for row in hub.batches[-1].revived] == [task.id]


def test_a_retried_task_has_all_its_attempts_again() -> None:
    hub, task = a_dead_letter()
    hub.retry(task)
    hub.fail(task)
    assert task.status is Status.PERMANENTLY_FAILED
    hub.retry(task)
    assert attempt_of(task).series == 3


def test_a_deadline_that_has_passed_does_not_stop_a_retry() -> None:
    hub, task = a_dead_letter(deadline=1_800_000_100_000)
    hub.live(s=200)
    hub.retry(task)
    assert (task.deadline, task.status) == (None, Status.SCHEDULED)


def test_a_deadline_that_is_ahead_is_kept() -> None:
    hub, task = a_dead_letter(deadline=1_800_000_100_000)
    hub.retry(task)
    assert task.deadline == 1_800_000_100_000
    assert hub.state.timers.is_set(Clock.WALL, Due.DEADLINE, task.id)


def test_a_task_that_waits_for_its_next_try_can_be_tried_now() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.fail(task)
    assert task.status is Status.PENDING
    assert hub.retry(task) == Done(task.id)
    assert (task.status, task.not_before, task.series) == (Status.SCHEDULED, None, 2)


@pytest.mark.parametrize("status", [Status.QUEUED, Status.PENDING, Status.RUNNING, Status.CANCELLED, Status.STALE])
def test_what_neither_failed_nor_was_skipped_cannot_be_retried(status: Status) -> None:
    hub = HubHarness()
    if status is Status.RUNNING:
        hub.daemon()
    task = hub.submit(
        scheduled_for=hub.now.wall + 50_000 if status is Status.PENDING else None,
        deadline=hub.now.wall + 10 if status is Status.STALE else None,
    )
    if status is Status.RUNNING:
        hub.run(task)
    if status is Status.CANCELLED:
        hub.cancel(task)
    if status is Status.STALE:
        hub.advance(ms=10)
    assert task.status is status
    assert refused(hub.retry(task)) is Refusal.INVALID_TRANSITION


def test_a_completed_task_cannot_be_retried() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.complete(task)
    assert refused(hub.retry(task)) is Refusal.TASK_ALREADY_COMPLETED


def test_another_users_task_cannot_be_retried_reviewed_or_changed() -> None:
    hub = HubHarness(users=("ann", "bob"))
    task = hub.submit(target="nobody", user="bob")
    known = hub.known(task)
    assert refused(hub.ask(RetryTask("ann", task.id, known=known))) is Refusal.TASK_NOT_FOUND
    review = ReviewTask("ann", task.id, Verdict.RETRY, "r", "ann", known=known)
    assert refused(hub.ask(review)) is Refusal.TASK_NOT_FOUND
    assert refused(hub.ask(ChangeTask("ann", task.id, known=known))) is Refusal.TASK_NOT_FOUND


# Skipped tasks


def test_a_skipped_task_comes_back_to_where_it_belongs() -> None:
    hub = HubHarness()
    first = hub.submit()
    waiting = hub.submit(depends_on=(first.id,))
    later = hub.submit(scheduled_for=hub.now.wall + 60_000)
    for task in (waiting, later, first):
        hub.skip(task)
        assert task.status is Status.SKIPPED
    assert hub.retry(first) == Done(first.id)
    hub.retry(waiting, known=hub.known(waiting, first))
    hub.retry(later)
    # A retry is wanted now.
    assert (first.status, waiting.status, later.status) == (Status.QUEUED, Status.WAITING, Status.QUEUED)


def test_a_skipped_task_looks_again_what_became_of_its_dependencies() -> None:
    hub = HubHarness()
    hub.daemon()
    first = hub.run(hub.submit())
    task = hub.submit(depends_on=(first.id,))
    hub.skip(task)
    hub.complete(first)
    hub.advance(ms=1)
    hub.retry(task, known=hub.known(task, first))
    assert task.status is Status.SCHEDULED


def test_a_dependency_that_cannot_be_found_is_as_it_was() -> None:
    hub = HubHarness()
    dead = hub.submit(target="nobody")
    task = hub.submit(depends_on=(dead.id,), terms=SKIP)
    hub.advance(ms=1)
    hub.retry(task)
    assert task.status is Status.BLOCKED


def test_one_that_comes_back_blocked_blocks_those_who_wait_for_it() -> None:
    # Given a skipped task with a dependant, and a dead letter it depends on
    hub = HubHarness()
    dead = hub.submit(target="nobody")
    task = hub.submit(depends_on=(dead.id,), terms=SKIP)
    heir = hub.submit(depends_on=(task.id,))
    assert (task.status, heir.status) == (Status.SKIPPED, Status.BLOCKED)
    # When it is brought back, and is blocked
    hub.retry(task, known=hub.known(task, dead))
    # Then so is its dependant
    assert (task.status, heir.status) == (Status.BLOCKED, Status.BLOCKED)
    assert heir.depends[0].outcome is Status.BLOCKED


def test_a_skipped_task_whose_key_another_has_taken_is_refused() -> None:
    # Given a task that was skipped a day ago, and another that was made with its key since
    hub = HubHarness()
    task = hub.submit(key="k")
    hub.skip(task)
    hub.advance(ms=DAY_MS)
    other = hub.submit(key="k")
    assert refused(hub.retry(task)) is Refusal.IDEMPOTENCY_KEY_TAKEN
    assert task.status is Status.SKIPPED
    # When that one is cancelled, then it has the key for another day
    hub.cancel(other)
    known = Known(tasks={task.id: task, other.id: other}, keys={"k": other.id})
    assert refused(hub.retry(task, known=known)) is Refusal.IDEMPOTENCY_KEY_TAKEN
    hub.advance(ms=DAY_MS)
    assert hub.retry(task, known=known) == Done(task.id)
    assert hub.state.keys == {("ann", "k"): task.id}


def test_a_skipped_task_that_is_retried_keeps_its_key() -> None:
    hub = HubHarness()
    task = hub.submit(key="k", digest="d")
    hub.skip(task)
    hub.core.forget(through_seq=hub.state.ledger.seq)
    known = Known(tasks={task.id: task}, keys={"k": task.id})
    assert hub.offer(a_draft(key="k", digest="d"), known=known) == Submitted((task.id,), (True,))
    assert hub.retry(task, known=known) == Done(task.id)
    assert hub.offer(a_draft(key="k", digest="d")) == Submitted((task.id,), (True,))
    assert [each.id for each in hub.state.tasks.values()] == [task.id]


def test_a_key_taken_by_a_task_that_only_the_store_remembers_is_taken() -> None:
    hub = HubHarness()
    task = hub.submit(key="k", scheduled_for=hub.now.wall + 10)
    hub.skip(task)
    hub.advance(ms=DAY_MS)
    hub.daemon()
    other = hub.submit(key="k")
    hub.complete(other)
    hub.advance(ms=1)
    known = Known(tasks={task.id: task, other.id: other}, keys={"k": other.id})
    assert refused(hub.retry(task, known=known)) is Refusal.IDEMPOTENCY_KEY_TAKEN


def test_a_dead_letter_whose_archived_key_was_taken_is_refused_by_verdict_too() -> None:
    hub, task = a_dead_letter(key="k")
    other = hub.submit(key="k")
    known = Known(tasks={task.id: task})
    assert refused(hub.review(task, Verdict.RETRY, known=known)) is Refusal.IDEMPOTENCY_KEY_TAKEN
    assert (task.status, other.status) == (Status.PERMANENTLY_FAILED, Status.SCHEDULED)


# Verdicts


def test_the_verdict_retry_brings_a_dead_letter_back() -> None:
    hub, task = a_dead_letter(key="k")
    assert hub.review(task, Verdict.RETRY) == Done(task.id)
    assert (task.status, task.series, hub.state.keys) == (Status.SCHEDULED, 2, {("ann", "k"): task.id})


def test_the_verdict_wait_holds_it_until_then() -> None:
    hub, task = a_dead_letter()
    until = hub.now.wall + 20_000
    assert hub.review(task, Verdict.WAIT, until=until) == Done(task.id)
    assert (task.status, task.not_before) == (Status.PENDING, until)
    hub.live(s=20)
    assert task.status is Status.SCHEDULED


def test_the_verdict_discard_cancels_it_for_good() -> None:
    hub, task = a_dead_letter(key="k")
    assert hub.review(task, Verdict.DISCARD) == Done(task.id)
    assert (task.status, hub.state.keys) == (Status.CANCELLED, {})
    assert [row.task.id for row in hub.batches[-1].amended] == [task.id]


def test_the_verdict_escalate_leaves_it_and_says_to_whom() -> None:
    hub, task = a_dead_letter()
    assert hub.review(task, Verdict.ESCALATE, to="bob") == Done(task.id)
    assert task.status is Status.PERMANENTLY_FAILED
    assert hub.said(EventName.TASK_REVIEWED)[0].data == {
        "verdict": "escalate",
        "reason": "so it is",
        "by": "ann",
        "to": "bob",
    }
    assert [row.task.id for row in hub.batches[-1].amended] == [task.id]
    hub.advance(ms=1)
    assert task.id not in hub.state.tasks


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_is_kept_with_reason_who_and_when(verdict: Verdict) -> None:
    hub, task = a_dead_letter()
    at, until = hub.now.wall, hub.now.wall + 1000
    to = "bob" if verdict is Verdict.ESCALATE else None
    hub.review(task, verdict, until=until, to=to)
    kept = hub.batches[-1].audit[0]
    waits_until = until if verdict is Verdict.WAIT else None
    assert (kept.until, kept.to) == (waits_until, to)
    assert task.trouble is not None
    assert task.trouble.review == Reviewed(verdict, "so it is", "ann", at, waits_until, to)
    assert (kept.at, kept.actor, kept.action, kept.subject) == (
        hub.now.wall,
        "ann",
        f"dead_letter.{verdict}",
        task.id,
    )
    assert kept.new == ("to bob: so it is" if to else "so it is")
    assert (hub.said(EventName.TASK_REVIEWED)[0].data or {})["reason"] == "so it is"


def test_only_a_dead_letter_is_reviewed() -> None:
    hub = HubHarness()
    assert refused(hub.review(hub.submit(), Verdict.RETRY)) is Refusal.INVALID_TRANSITION


# Changes


def test_the_priority_of_a_waiting_task_can_be_changed() -> None:
    hub = HubHarness()
    task = hub.submit(level=Level.LOW)
    assert hub.change(task, level=Level.HIGH, value=9) == Done(task.id)
    assert (task.level, task.value, task.asked) == (Level.HIGH, 9, None)
    assert hub.change(task, level=Level.NORMAL) == Done(task.id)
    assert (task.level, task.value) == (Level.NORMAL, 5)
    assert hub.events(task)[-1] == "task.changed"


def test_a_change_stays_under_the_ceilings_of_task_and_key() -> None:
    hub = HubHarness()
    task = hub.submit_all(a_draft(level=Level.LOW), ceiling=Level.HIGH)[0]
    hub.change(task, level=Level.CRITICAL, value=10)
    assert (task.level, task.value) == (Level.HIGH, 8)
    hub.change(task, level=Level.HIGH, value=9, ceiling=Level.NORMAL)
    assert (task.level, task.value) == (Level.NORMAL, 5)


def test_a_task_whose_deadline_is_near_cannot_be_made_less_urgent() -> None:
    hub = HubHarness()
    task = hub.submit(deadline=hub.now.wall + 60_000)
    hub.change(task, level=Level.LOW)
    assert task.level is Level.CRITICAL


def test_a_deadline_can_be_given_moved_and_taken_away() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.change(task, deadline=hub.now.wall + 2_000_000)
    hub.change(task, deadline=hub.now.wall + 3_000_000)
    hub.advance(s=2_000)
    assert task.status is Status.QUEUED
    hub.change(task, deadline=None)
    hub.advance(s=2_000)
    assert (task.status, task.deadline, task.level) == (Status.QUEUED, None, Level.NORMAL)
    hub.daemon()
    hub.complete(task)
    hub.advance(s=10_000)
    assert task.status is Status.COMPLETED


def test_the_deadline_of_a_pending_task_can_be_changed() -> None:
    hub = HubHarness()
    task = hub.submit(scheduled_for=hub.now.wall + 60_000)
    hub.change(task, deadline=hub.now.wall + 1000)
    hub.advance(s=1)
    assert task.status is Status.STALE


def test_a_deadline_in_the_past_is_refused() -> None:
    hub = HubHarness()
    task = hub.submit()
    assert refused(hub.change(task, deadline=hub.now.wall)) is Refusal.INVALID_INPUT
    assert task.deadline is None


def test_a_ready_task_can_be_put_off_and_called_back() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.change(task, scheduled_for=hub.now.wall + 60_000)
    assert (task.status, task.not_before) == (Status.PENDING, hub.now.wall + 60_000)
    hub.change(task, scheduled_for=hub.now.wall + 30_000)
    hub.advance(s=29)
    assert task.status is Status.PENDING
    hub.change(task, scheduled_for=None)
    assert (task.status, task.not_before) == (Status.QUEUED, None)
    hub.change(task, scheduled_for=hub.now.wall - 1)
    assert task.status is Status.QUEUED


def test_a_waiting_task_remembers_its_new_time() -> None:
    hub = HubHarness()
    hub.daemon()
    first = hub.run(hub.submit())
    task = hub.submit(depends_on=(first.id,))
    hub.change(task, scheduled_for=hub.now.wall + 60_000)
    assert task.status is Status.WAITING
    hub.complete(first)
    assert task.status is Status.PENDING


@pytest.mark.parametrize("status", [Status.RUNNING, Status.CANCELLED])
def test_what_has_started_or_ended_cannot_be_changed(status: Status) -> None:
    hub = HubHarness()
    if status is Status.RUNNING:
        hub.daemon()
        task = hub.run(hub.submit())
    else:
        task = hub.submit()
        hub.cancel(task)
    assert refused(hub.change(task, level=Level.LOW)) is Refusal.INVALID_TRANSITION

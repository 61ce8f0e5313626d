"""What those who wait hear, and what they do then."""

import pytest

from taskyard.core.commands import FailTask, HearEnded, Known
from taskyard.core.dependencies import heirs_of, unheard
from taskyard.core.effects import Done
from taskyard.core.settings import Settings
from taskyard.core.task import Failure, Task, Terms
from taskyard.vocabulary import DependsPolicy, EventName, Verdict
from tests.support.harness import HubHarness, ResultStatus, Status, a_draft

BLOCK = Terms()
SKIP = Terms(on_depends_fail=DependsPolicy.SKIP)
CONTINUE = Terms(on_depends_fail=DependsPolicy.CONTINUE)


def a_busy_hub(**settings: object) -> tuple[HubHarness, Task]:
    """A hub with one running task that others can wait for."""
    hub = HubHarness(Settings(**settings))  # type: ignore[arg-type]
    hub.daemon(slots=1)
    return hub, hub.run(hub.submit())


def bad_end(hub: HubHarness, task: Task, status: Status) -> None:
    if status is Status.PERMANENTLY_FAILED:
        hub.fail(task, code="INVALID_INPUT")
    elif status is Status.STALE:
        hub.change(task, deadline=hub.now.wall + 10)
        hub.live(s=1)
    elif status is Status.SKIPPED:
        hub.skip(task)
    else:
        hub.cancel(task)
    assert task.status is status


def test_a_task_waits_until_every_dependency_has_completed() -> None:
    hub, first = a_busy_hub()
    second = hub.submit()
    task = hub.submit(depends_on=(first.id, second.id))
    hub.complete(first)
    assert task.status is Status.WAITING
    hub.complete(second)
    assert task.status is Status.SCHEDULED
    assert [(d.id, d.outcome) for d in task.depends or ()] == [
        (first.id, Status.COMPLETED),
        (second.id, Status.COMPLETED),
    ]


def test_dependencies_cross_queues_and_types() -> None:
    hub, first = a_busy_hub()
    task = hub.submit(type="report", model="m", depends_on=(first.id,))
    hub.complete(first)
    assert task.status is Status.SCHEDULED


def test_a_partial_result_completes_and_lets_dependants_go_on() -> None:
    hub, first = a_busy_hub()
    task = hub.submit(depends_on=(first.id,))
    hub.complete(first, result_status=ResultStatus.PARTIAL, summary="half")
    assert (first.status, first.result_status, first.summary) == (Status.COMPLETED, ResultStatus.PARTIAL, "half")
    assert task.status is Status.SCHEDULED


@pytest.mark.parametrize("end", [Status.PERMANENTLY_FAILED, Status.STALE, Status.SKIPPED])
@pytest.mark.parametrize(
    ("terms", "then"), [(BLOCK, Status.BLOCKED), (SKIP, Status.SKIPPED), (CONTINUE, Status.QUEUED)]
)
def test_a_bad_end_blocks_skips_or_warns_by_the_dependants_own_policy(end: Status, terms: Terms, then: Status) -> None:
    hub, running = a_busy_hub()
    first = running if end is Status.PERMANENTLY_FAILED else hub.submit()
    keeper = hub.submit(value=10) if first is running else None
    task = hub.submit(depends_on=(first.id,), terms=terms)
    bad_end(hub, first, end)
    assert task.status is then
    reason = f"{first.ref} ended as {end}"
    assert task.trouble is not None
    if then is Status.BLOCKED:
        assert task.trouble.blocked_reason == reason
    elif then is Status.SKIPPED:
        assert task.trouble.skipped_reason == reason
    else:
        assert [n.message for n in task.trouble.notes] == [f"{reason}; going on without its result"]
    assert keeper is None or keeper.status is Status.SCHEDULED


def test_a_blocked_dependency_is_a_bad_end_too_all_the_way_down() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    third = hub.submit(depends_on=(second.id,))
    fourth = hub.submit(depends_on=(third.id,), terms=SKIP)
    fifth = hub.submit(depends_on=(third.id,), terms=CONTINUE)
    hub.fail(first, code="INVALID_INPUT")
    found = [t.status for t in (second, third, fourth, fifth)]
    assert found == [Status.BLOCKED, Status.BLOCKED, Status.SKIPPED, Status.SCHEDULED]


def test_when_a_blocked_tasks_dependency_is_retried_and_completes_the_task_runs() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    third = hub.submit(depends_on=(second.id,))
    hub.fail(first, code="INVALID_INPUT")
    hub.retry(first)
    assert (second.status, third.status) == (Status.WAITING, Status.WAITING)
    assert second.trouble.blocked_reason is None
    for task in (first, second, third):
        hub.complete(task)
    assert third.status is Status.COMPLETED


def test_with_two_failed_dependencies_one_that_completes_does_not_unblock() -> None:
    hub, first = a_busy_hub()
    dead = hub.submit(target="nobody")
    task = hub.submit(depends_on=(first.id, dead.id))
    assert task.status is Status.BLOCKED
    hub.complete(first)
    assert task.status is Status.BLOCKED


def test_a_skipping_task_its_owner_brought_back_is_not_left_out_again_for_the_same_reason() -> None:
    # Given a task that skipped because of a dead letter, and that its owner brought back
    hub, first = a_busy_hub()
    dead = hub.submit(target="nobody")
    task = hub.submit(depends_on=(dead.id, first.id), terms=SKIP)
    assert task.status is Status.SKIPPED
    hub.retry(task, known=hub.known(task, dead, first))
    assert task.status is Status.BLOCKED
    # When another of its dependencies completes
    hub.complete(first)
    # Then it still waits for a person
    assert task.status is Status.BLOCKED


def test_cancelling_cancels_what_depends_with_block_or_skip_and_says_which() -> None:
    hub, running = a_busy_hub()
    first = hub.submit()
    second = hub.submit(depends_on=(first.id,))
    third = hub.submit(depends_on=(second.id,), terms=SKIP)
    fourth = hub.submit(depends_on=(third.id, first.id), terms=CONTINUE)
    fifth = hub.submit(depends_on=(fourth.id,))
    assert hub.cancel(first) == Done(first.id, (second.id, third.id))
    assert [t.status for t in (first, second, third)] == [Status.CANCELLED] * 3
    assert (fourth.status, fifth.status) == (Status.QUEUED, Status.WAITING)
    assert {n.source_task for n in fourth.trouble.notes} == {first.id, third.id}
    assert running.status is Status.RUNNING


def test_a_blocked_task_is_cancelled_with_its_dependency() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    hub.fail(first, code="INVALID_INPUT")
    assert hub.cancel(first) == Done(first.id, (second.id,))
    assert second.status is Status.CANCELLED


def test_the_verdict_discard_cancels_likewise() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    hub.fail(first, code="INVALID_INPUT")
    assert hub.review(first, Verdict.DISCARD) == Done(first.id, (second.id,))
    assert (first.status, second.status) == (Status.CANCELLED, Status.CANCELLED)


def test_cancelling_a_running_task_cancels_its_dependants_when_it_has_stopped() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    assert hub.cancel(first) == Done(first.id, (second.id,))
    assert second.status is Status.WAITING
    hub.confirm_cancel(first)
    assert second.status is Status.CANCELLED


def test_a_task_that_waits_for_a_dependency_and_its_time_waits_for_both() -> None:
    hub, first = a_busy_hub()
    task = hub.submit(depends_on=(first.id,), scheduled_for=hub.now.wall + 60_000)
    hub.complete(first)
    assert task.status is Status.PENDING
    hub.live(s=60)
    assert task.status is Status.SCHEDULED


def test_every_move_of_a_dependant_is_an_event() -> None:
    hub, first = a_busy_hub()
    task = hub.submit(depends_on=(first.id,))
    hub.fail(first, code="INVALID_INPUT")
    hub.retry(first)
    hub.complete(first)
    assert hub.events(task) == ["task.created", "task.blocked", "task.waiting", "task.queued", "task.scheduled"]


# Chunks


def test_an_end_is_heard_by_500_dependants_per_turn() -> None:
    hub, first = a_busy_hub()
    heirs = hub.submit_all(*(a_draft(depends_on=(first.id,)) for _ in range(1200)))
    hub.core.handle(_fail(hub, first), hub.now)
    heard = []
    while hub.state.echoes:
        assert hub.core.next_due_ms(hub.now) == 0
        hub.core.dispatch(hub.core.turn(hub.now))
        heard.append(sum(t.status is Status.BLOCKED for t in heirs))
    assert heard == [500, 1000, 1200, 1200][: len(heard)]
    assert heard[-1] == 1200


def _fail(hub: HubHarness, task: Task) -> FailTask:
    daemon = hub.state.daemons["d-mac"]
    return FailTask(daemon.id, task.id, 1, Failure("INVALID_INPUT", "no"), daemon.session)


def test_between_chunks_a_dependant_that_ended_by_itself_is_passed_over() -> None:
    hub, first = a_busy_hub(cascade_rows_max=1)
    heirs = hub.submit_all(*(a_draft(depends_on=(first.id,)) for _ in range(3)))
    hub.core.handle(_fail(hub, first), hub.now)
    hub.core.dispatch(hub.core.turn(hub.now))
    hub.cancel(heirs[1])
    assert [t.status for t in heirs] == [Status.BLOCKED, Status.CANCELLED, Status.BLOCKED]


# After a crash


def test_an_end_that_a_crash_left_unheard_is_heard_after_the_start() -> None:
    # Given a hub that dies after the commit of an end and before its dependants heard of it
    hub, first = a_busy_hub()
    tasks = hub.submit_all(*(a_draft(depends_on=(first.id,)) for _ in range(2)))
    hub.core.handle(_fail(hub, first), hub.now)
    hub.batches.append(hub.core.cut(batch_id="last", now=hub.now))
    other = hub.restarted()
    assert unheard(other.state) == [first.id]
    # When the next one hears what became of it
    other.step(HearEnded(Known(tasks={first.id: first}, asked={first.id: None})))
    # Then the policy is applied
    assert [other.state.tasks[t.id].status for t in tasks] == [Status.BLOCKED] * 2


def test_a_cancel_that_blocked_ones_did_not_hear_is_heard_after_the_start() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    hub.fail(first, code="INVALID_INPUT")
    other = hub.restarted()
    first.status = Status.CANCELLED
    other.step(HearEnded(Known(tasks={first.id: first}, asked={first.id: None})))
    assert second.id not in other.hot()
    assert other.state.tasks[second.id].status is Status.CANCELLED


def test_a_block_that_a_crash_left_unheard_is_heard_after_the_start() -> None:
    hub, first = a_busy_hub(cascade_rows_max=1)
    second = hub.submit(depends_on=(first.id,))
    third = hub.submit(depends_on=(second.id,), terms=CONTINUE)
    hub.core.handle(_fail(hub, first), hub.now)
    hub.core.dispatch(hub.core.turn(hub.now))
    hub.batches.append(hub.core.cut(batch_id="last", now=hub.now))
    other = hub.restarted()
    assert other.state.tasks[third.id].status is Status.WAITING
    other.step(HearEnded(Known(tasks={first.id: first}, asked={first.id: None})))
    assert other.state.tasks[third.id].status is Status.QUEUED


def test_a_block_that_one_dependant_has_heard_is_heard_by_the_others_after_the_start() -> None:
    # Given a blocked task, and a crash after the first of its two dependants heard so
    hub, first = a_busy_hub(cascade_rows_max=1)
    second = hub.submit(depends_on=(first.id,))
    third, fourth = hub.submit_all(*(a_draft(depends_on=(second.id,)) for _ in range(2)))
    hub.core.handle(_fail(hub, first), hub.now)
    for _ in range(2):
        hub.core.dispatch(hub.core.turn(hub.now))
    hub.batches.append(hub.core.cut(batch_id="last", now=hub.now))
    assert (third.status, fourth.status) == (Status.BLOCKED, Status.WAITING)
    other = hub.restarted()

    # When the next hub looks for news that was not heard
    other.step(HearEnded(Known(tasks={first.id: first}, asked={first.id: None})))

    # Then the second dependant hears it too
    assert [other.state.tasks[task.id].status for task in (third, fourth)] == [Status.BLOCKED] * 2


def test_what_is_past_changing_is_not_asked_again() -> None:
    hub, first = a_busy_hub()
    second = hub.submit()
    hub.submit(depends_on=(first.id, second.id))
    hub.complete(first)
    assert unheard(hub.restarted().state) == []


def test_what_was_heard_is_not_written_again_at_every_start() -> None:
    hub, first = a_busy_hub()
    hub.submit(depends_on=(first.id,))
    hub.fail(first, code="INVALID_INPUT")
    other = hub.restarted()
    other.step(HearEnded(Known(tasks={first.id: first}, asked={first.id: None})))
    assert other.batches[-1].is_empty()


def test_a_dependency_that_is_nowhere_counts_as_cancelled_once_it_was_looked_for() -> None:
    hub, first = a_busy_hub()
    second = hub.submit(depends_on=(first.id,))
    hub.complete(first)
    hub.hot()
    other, lost = HubHarness(), "gone"
    other.submit(id=lost)
    waiting = other.submit(depends_on=(lost,))
    fresh = other.restarted()
    del fresh.state.tasks[lost]
    fresh.state.users["ann"].lanes.clear()
    fresh.state.yard.waiting = fresh.state.users["ann"].waiting = 0
    fresh.state.users["ann"].pending -= 1
    fresh.state.timers = type(fresh.state.timers)()
    fresh.step(HearEnded(Known()))
    assert fresh.state.tasks[waiting.id].status is Status.WAITING
    fresh.step(HearEnded(Known(asked={lost: None})))
    assert fresh.state.tasks[waiting.id].status is Status.CANCELLED
    assert second.status is Status.SCHEDULED


def test_heirs_are_named_nearest_first_and_each_once() -> None:
    hub, first = a_busy_hub()
    a = hub.submit(depends_on=(first.id,))
    b = hub.submit(depends_on=(first.id,))
    c = hub.submit(depends_on=(a.id, b.id))
    assert heirs_of(hub.state, first.id) == [a.id, b.id, c.id]
    # Of several, what they would cancel besides themselves, once
    assert heirs_of(hub.state, first.id, a.id, first.id) == [b.id, c.id]
    assert heirs_of(hub.state) == []


def test_what_is_retried_while_it_runs_on_without_it_disturbs_nobody() -> None:
    # Given a task that goes on without its failed dependency, and runs
    hub, first = a_busy_hub()
    task = hub.submit(depends_on=(first.id,), terms=CONTINUE)
    hub.fail(first, code="INVALID_INPUT")
    hub.run(task)
    # When the dependency comes back and completes
    hub.retry(first)
    hub.complete(task)
    hub.complete(first)
    # Then that is all
    assert (task.status, first.status) == (Status.COMPLETED, Status.COMPLETED)
    assert hub.state.dependants == {}
    assert len(hub.said(EventName.TASK_COMPLETED)) == 2

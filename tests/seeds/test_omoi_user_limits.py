"""OmoiOS's queue for overnight work: claims across users, fairness, results, callbacks.

Covered here: fairness, isolation, the life of a task and its completion by callback. Plans and hours come with plans.
"""

import pytest

from taskyard.core.commands import CancelTask, CompleteTask, FailTask
from taskyard.core.effects import Done, Refused
from taskyard.core.task import Failure, Terms
from taskyard.vocabulary import STATUS_ALIASES, AttemptStatus, Refusal
from tests.support.harness import HubHarness, ResultStatus, Status, a_draft, attempt_of


def test_users_with_fewer_running_agents_are_served_first() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(shared=True, slots=3)
    for _ in range(3):
        hub.run(hub.submit())
    anns, bobs = hub.submit(), hub.submit(user="bob")
    hub.complete(next(iter(hub.state.users["ann"].live.values())))
    assert (anns.status, bobs.status) == (Status.QUEUED, Status.SCHEDULED)


def test_a_night_of_one_users_tasks_does_not_starve_another() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(shared=True, slots=2)
    hub.submit_all(*(a_draft() for _ in range(500)))
    bobs = hub.submit(user="bob")
    hub.complete(next(iter(hub.state.users["ann"].live.values())))
    assert bobs.status is Status.SCHEDULED


def test_ten_users_who_cannot_run_now_do_not_block_the_others() -> None:
    users = [f"u{n}" for n in range(12)]
    hub = HubHarness(users=users)
    hub.daemon(user="u0", shared=True, slots=1)
    for user in users[:11]:
        hub.submit(user=user, capabilities=("nobody has this",))
    assert hub.submit(user="u11").status is Status.SCHEDULED


def test_within_a_user_the_more_urgent_then_the_older_goes_first() -> None:
    hub = HubHarness()
    ids = [hub.submit(value=value).id for value in (5, 6, 5)]
    hub.daemon()
    assert [task_id for task_id, _ in hub.sent()] == [ids[1], ids[0], ids[2]]


def test_a_task_is_pending_claimed_running_and_completed() -> None:
    hub = HubHarness()
    task = hub.submit()
    seen = [task.status]
    hub.daemon()
    seen.append(task.status)
    hub.start(task)
    seen.append(task.status)
    hub.complete(task, summary="merged")
    seen.append(task.status)
    assert seen == [Status.QUEUED, *STATUS_ALIASES["claimed"], Status.RUNNING, *STATUS_ALIASES["done"]]
    assert task.summary == "merged"


def test_a_user_can_queue_while_all_their_slots_are_taken() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    hub.run(hub.submit())
    assert hub.submit().status is Status.QUEUED


def test_the_sandbox_reports_completion_by_callback() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    answer = hub.ask(CompleteTask(None, task.id, 1, summary="done", result_status=ResultStatus.SUCCESS))
    assert answer == Done(task.id)
    assert task.status is Status.COMPLETED


def test_the_sandbox_reports_failure_by_callback() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(max_attempts=1)))
    assert hub.ask(FailTask(None, task.id, 1, Failure("X", "tests fail"))) == Done(task.id)
    assert task.error == Failure("X", "tests fail")


def test_a_zombie_sandbox_cannot_complete_the_retried_task() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(retry_delay_ms=0)))
    hub.fail(task)
    hub.run(task)
    answer = hub.ask(CompleteTask(None, task.id, 1))
    assert answer == Done(task.id)
    assert (task.status, attempt_of(task).number) == (Status.RUNNING, 2)


def test_a_lost_sandbox_that_reports_after_another_began_is_told_that_it_is_late() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.daemon(boot="boot-2")
    answer = hub.ask(CompleteTask(None, task.id, 1))
    assert isinstance(answer, Refused)
    assert (answer.code, answer.kept) == (Refusal.STALE_ATTEMPT, True)
    assert attempt_of(task).status is AttemptStatus.RUNNING


def test_a_task_that_runs_too_long_is_killed_and_told_so() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=60_000, max_attempts=1)))
    hub.live(s=60)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error is not None
    assert task.error.message == "It ran longer than its 60 s."


def test_a_claim_is_stale_by_when_it_was_claimed_not_by_when_the_task_was_created() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.advance(s=3600)
    hub.daemon()
    hub.accept(task)
    hub.live(s=20)
    assert (task.status, attempt_of(task).number) == (Status.SCHEDULED, 1)


def test_a_cancelled_task_is_not_started_again_by_a_retry() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task)
    hub.fail(task)
    hub.live(s=600)
    assert (task.status, len(task.attempts or ())) == (Status.CANCELLED, 1)


def test_a_completed_task_cannot_be_cancelled() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.complete(task)
    answer = hub.cancel(task)
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.TASK_ALREADY_COMPLETED


@pytest.mark.parametrize("task_id", ["bobs", "nowhere"])
def test_a_task_of_another_user_does_not_exist(task_id: str) -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.submit(id="bobs", user="bob")
    answer = hub.ask(CancelTask("ann", task_id))
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.TASK_NOT_FOUND

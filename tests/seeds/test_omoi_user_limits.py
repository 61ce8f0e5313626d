"""OmoiOS's queue for overnight work: claims across users, fairness, results, callbacks.

Covered here: fairness, isolation, the life of a task, its completion by callback, plans and monthly hours.
"""

import pytest

from taskyard.core.commands import CancelTask, CompleteTask, FailTask
from taskyard.core.effects import Done, Refused
from taskyard.core.plans import allowance_of
from taskyard.core.retry import classify
from taskyard.core.state import Now
from taskyard.core.task import Failure, Terms
from taskyard.core.usage import HOUR_MS, cycle_of, used_ms
from taskyard.core.yard_commands import ChangeUser
from taskyard.vocabulary import STATUS_ALIASES, AttemptStatus, Category, Refusal, SourceType
from tests.support.harness import HubHarness, Level, ResultStatus, Status, a_draft, attempt_of


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


def test_a_more_urgent_task_goes_first_also_if_its_user_has_more_running() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon(shared=True, slots=2)
    running = [hub.run(hub.submit()) for _ in range(2)]
    bobs = hub.submit(user="bob", level=Level.NORMAL)
    anns = hub.submit(level=Level.HIGH)
    hub.complete(running[0])
    assert (anns.status, bobs.status) == (Status.SCHEDULED, Status.QUEUED)


def test_between_users_who_run_as_many_the_one_served_longest_ago_is_next() -> None:
    hub = HubHarness(users=("ann", "zoe", "bob", "cid"))
    hub.daemon(shared=True, slots=1)
    numbers = (("zoe", 5), ("zoe", 5), ("bob", 7), ("cid", 7), ("bob", 7))
    tasks = {task.id: task for user, value in numbers for task in [hub.submit(user=user, value=value)]}
    for _ in range(4):
        hub.complete(tasks[hub.sent()[-1][0]])
    assert [tasks[task_id].user_id for task_id, _ in hub.sent()] == ["zoe", "bob", "cid", "zoe", "bob"]


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


def test_a_user_who_runs_all_that_the_plan_allows_can_queue_for_the_night() -> None:
    hub = on_plan("free")
    hub.daemon(slots=10)
    first = hub.run(hub.submit())
    second = hub.submit()
    assert second.status is Status.QUEUED
    hub.complete(first)
    assert second.status is Status.SCHEDULED


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
    assert isinstance(answer, Refused)
    # It had failed by its own word: that it completed is news, and kept, and changes nothing.
    assert (answer.code, answer.kept) == (Refusal.STALE_ATTEMPT, True)
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


def test_all_that_may_start_starts_at_once_and_not_one_task_a_look() -> None:
    hub = HubHarness()
    tasks = hub.submit_all(*(a_draft() for _ in range(12)))
    hub.daemon(slots=16)
    assert {task.status for task in tasks} == {Status.SCHEDULED}


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("rate limit exceeded", Category.RATE_LIMITED),
        ("quota exceeded", Category.RATE_LIMITED),
        ("page not found", Category.TRANSIENT),
        ("invalid input in line 3", Category.TRANSIENT),
    ],
)
def test_no_words_in_a_message_make_a_failure_final(message: str, category: Category) -> None:
    assert classify(Failure("X", message)) is category


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


# Plans and monthly hours.


def on_plan(plan: str, *, users: tuple[str, ...] = ("ann",), **overrides: float) -> HubHarness:
    hub = HubHarness(users=(*users, "zoe"))
    for user in users:
        hub.ask(ChangeUser(user, "root", plan=plan, overrides=dict(overrides)))
    return hub


def hours_later(hub: HubHarness, hours: float) -> None:
    """Much later; what daemons would have said meanwhile is left out."""
    hub.now = Now(hub.now.wall + round(hours * HOUR_MS), hub.now.mono + round(hours * HOUR_MS))


@pytest.mark.parametrize(("plan", "at_a_time"), [("free", 1), ("pro", 3), ("team", 10), ("enterprise", 50)])
def test_a_plan_says_how_many_run_at_a_time_and_the_rest_waits(plan: str, at_a_time: int) -> None:
    hub = on_plan(plan)
    hub.daemon(slots=100)
    tasks = hub.submit_all(*(a_draft() for _ in range(at_a_time + 1)))
    assert [t.status for t in tasks].count(Status.SCHEDULED) == at_a_time


@pytest.mark.parametrize("source", SourceType)
def test_no_task_is_outside_the_plan_wherever_it_comes_from(source: SourceType) -> None:
    hub = on_plan("free")
    hub.daemon(slots=10)
    parent = hub.run(hub.submit(source=source))
    others = hub.submit(source=source), hub.submit(source=source, parent_id=parent.id)
    assert [task.status for task in others] == [Status.QUEUED, Status.QUEUED]


def test_whoever_asks_and_however_often_no_more_run_than_the_plan_allows() -> None:
    hub = on_plan("pro")
    for name in ("one", "two", "three"):
        hub.daemon(name, slots=3)
    tasks = hub.submit_all(*(a_draft() for _ in range(9)))
    while running := [t for t in tasks if t.status is Status.SCHEDULED]:
        assert len(running) <= 3
        hub.complete(running[0])
    assert all(t.status is Status.COMPLETED for t in tasks)


def test_ten_users_without_hours_at_the_head_do_not_block_everybody() -> None:
    # Given ten users who have used up their month and have work waiting, longest first
    users = tuple(f"u{n}" for n in range(10))
    hub = on_plan("free", users=users, monthly_agent_hours=1 / 3600)
    hub.daemon(user="zoe", shared=True, slots=15)
    tasks = [hub.run(hub.submit(user=user, terms=Terms(retry_delay_ms=0))) for user in users]
    hub.live(s=2)
    for task in tasks:
        hub.fail(task)
    assert all(t.status is Status.QUEUED for t in tasks)
    # When another one comes
    late = hub.submit(user="zoe")
    # Then it starts at once
    assert late.status is Status.SCHEDULED


def test_a_user_whose_hours_are_used_up_is_refused_until_the_month_is_over() -> None:
    hub = on_plan("free")
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=100 * HOUR_MS)))
    hours_later(hub, 10)
    hub.complete(task)
    answer = hub.offer(a_draft())
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.MONTHLY_LIMIT_REACHED
    hub.now = Now(cycle_of(hub.state.users["ann"].record.created_at, hub.now.wall)[1], hub.now.mono)
    assert hub.submit().ref == "T-002"


def test_killed_lost_and_cancelled_runs_are_not_free_and_nothing_is_added_twice() -> None:
    hub = on_plan("team")
    hub.daemon(slots=10)
    terms = Terms(timeout_ms=30_000, max_attempts=1)
    killed, cancelled, failed = (hub.run(hub.submit(terms=terms)) for _ in range(3))
    hub.live(s=20)
    hub.cancel(cancelled)
    hub.confirm_cancel(cancelled)
    hub.confirm_cancel(cancelled)
    hub.fail(failed)
    hub.fail(failed)
    hub.live(s=20)
    hub.complete(killed)
    assert used_ms(hub.state, hub.state.users["ann"], hub.now) == 30_000 + 20_000 + 20_000


def test_tasks_of_a_few_seconds_add_up() -> None:
    hub = on_plan("pro")
    hub.daemon()
    for _ in range(10):
        task = hub.run(hub.submit())
        hub.live(s=7)
        hub.complete(task)
    assert used_ms(hub.state, hub.state.users["ann"], hub.now) == 70_000


def test_a_retry_does_not_overwrite_when_the_first_try_started() -> None:
    hub = on_plan("pro")
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(retry_delay_ms=0)))
    hub.live(s=10)
    hub.fail(task)
    hub.run(task)
    hub.live(s=5)
    hub.complete(task)
    assert used_ms(hub.state, hub.state.users["ann"], hub.now) == 15_000


def test_the_plan_says_how_long_a_task_may_run() -> None:
    hub = on_plan("free")
    hub.daemon()
    task = hub.submit(terms=Terms(timeout_ms=2 * HOUR_MS))
    assert attempt_of(task).timeout_ms == HOUR_MS // 2


def test_no_limit_is_kept_beside_the_plan() -> None:
    hub = on_plan("free")
    ann = hub.state.users["ann"]
    before = allowance_of(hub.state, ann)
    hub.ask(ChangeUser("ann", "root", plan="pro"))
    after = allowance_of(hub.state, ann)
    assert (before.concurrent, after.concurrent) == (1, 3)
    assert "max_concurrent_agents" not in ann.record.overrides

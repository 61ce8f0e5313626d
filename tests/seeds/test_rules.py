"""What the source documents get wrong about rules, where no test of the rule itself would notice."""

from itertools import permutations
from typing import Any

import pytest

from taskyard.core.effects import CancelWork, Refused
from taskyard.core.retry import classify
from taskyard.core.settings import Limits, Settings, Shares
from taskyard.core.task import Failure, Terms
from taskyard.core.yard_commands import ChangeUser
from taskyard.vocabulary import STATUS_ALIASES, AttemptStatus, Category, Refusal, SourceType
from tests.support.harness import HubHarness, Level, Status, a_draft, attempt_of


def on_plan(plan: str, *, users: tuple[str, ...] = ("ann",), **overrides: float) -> HubHarness:
    hub = HubHarness(users=(*users, "zoe"))
    for user in users:
        hub.ask(ChangeUser(user, "root", plan=plan, overrides=dict(overrides)))
    return hub


def test_the_words_claimed_in_progress_done_and_dead_letter_are_understood() -> None:
    assert STATUS_ALIASES["claimed"] == (Status.SCHEDULED,)
    assert STATUS_ALIASES["in-progress"] == (Status.SCHEDULED, Status.RUNNING)
    assert STATUS_ALIASES["done"] == (Status.COMPLETED,)
    assert STATUS_ALIASES["dead-letter"] == STATUS_ALIASES["failed"] == (Status.PERMANENTLY_FAILED,)


def test_a_task_that_could_preempt_is_still_counted_against_what_may_be_pending() -> None:
    # Given a user whose one place is taken by a low task, and who has as much pending as is allowed
    hub = HubHarness(Settings(limits=Limits(running_per_user=1, rate={})), is_metered=True)
    hub.daemon()
    low = hub.run(hub.submit(level=Level.LOW))
    hub.submit_all(*(a_draft(level=Level.LOW) for _ in range(50)))
    hub.live(s=10)

    # When a critical one comes, that would have the low one make room
    answer = hub.offer(a_draft(level=Level.CRITICAL))

    # Then it is refused like any other, and nothing was stopped for it
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.TOO_MANY_PENDING
    assert (low.status, hub.of(hub.effects, CancelWork)) == (Status.RUNNING, [])


@pytest.mark.parametrize("source", SourceType)
def test_every_source_has_a_number_of_its_own_and_every_user_a_count_of_their_own(source: SourceType) -> None:
    settings = Settings(shares=Shares(critical_reserve=0.0))
    limit = settings.limits.running_per_source[source]
    hub = HubHarness(settings, users=("ann", "bob"))
    hub.daemon(shared=True, slots=100)
    for user in ("ann", "bob"):
        tasks = hub.submit_all(*(a_draft(source=source) for _ in range(limit + 1)), user=user)
        assert [task.status for task in tasks].count(Status.SCHEDULED) == limit


@pytest.mark.parametrize("order", list(permutations("abc")))
def test_loads_close_to_each_other_have_one_order_whoever_came_first(order: tuple[str, ...]) -> None:
    # Given three daemons of which each neighbour is as good as equal, and the outer two are not
    hub = HubHarness()
    for name in order:
        hub.daemon(name)
    for name, load, busy in (("a", 0.0, 3), ("b", 0.15, 2), ("c", 0.3, 1)):
        for _ in range(busy):
            hub.run(hub.submit(target=name))
        daemon = hub.state.daemons[f"d-{name}"]
        hub.beat(daemon, *daemon.holding.values(), load=load)

    # Then the choice does not go round in a circle
    assert attempt_of(hub.submit()).daemon_name == "b"


@pytest.mark.parametrize("unfit", [{"capabilities": ("gpu",)}, {"type": "other"}])
def test_a_target_that_is_excluded_or_unfit_does_not_run_the_task_for_being_the_target(unfit: dict[str, Any]) -> None:
    hub = HubHarness()
    hub.daemon("mac", types=("general",))
    hub.daemon("box", capabilities=("gpu",))
    task = hub.submit(target="mac", **unfit)
    assert (task.status, task.attempts) == (Status.QUEUED, None)
    # What no daemon of that name could ever change is not even taken in.
    assert isinstance(hub.offer(a_draft(target="mac", excluded=("mac",))), Refused)


def test_a_completion_that_comes_after_a_job_failed_for_good_is_kept_and_changes_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=10_000, max_attempts=1)))
    hub.live(s=10)
    assert task.status is Status.PERMANENTLY_FAILED
    hub.complete(task, outcome=b'{"result":"after all"}', known=hub.known(task))
    assert (task.status, attempt_of(task).status) == (Status.PERMANENTLY_FAILED, AttemptStatus.TIMEOUT)
    assert [late.body for batch in hub.batches for late in batch.late] == [b'{"result":"after all"}']


def test_cancelling_the_first_of_a_very_long_row_cancels_all_of_it() -> None:
    hub = HubHarness()
    names = [f"n{n}" for n in range(2000)]
    drafts = [a_draft(name=name, depends_on=names[max(0, n - 1) : n]) for n, name in enumerate(names)]
    tasks = hub.submit_all(*drafts)
    hub.cancel(tasks[0])
    assert {task.status for task in tasks} == {Status.CANCELLED}


def test_a_claim_is_stale_by_when_it_was_claimed_not_by_when_the_task_was_created() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.advance(s=3600)
    hub.daemon()
    hub.accept(task)
    hub.live(s=20)
    assert (task.status, attempt_of(task).number) == (Status.SCHEDULED, 1)


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


@pytest.mark.parametrize("source", SourceType)
def test_no_task_is_outside_the_plan_wherever_it_comes_from(source: SourceType) -> None:
    hub = on_plan("free")
    hub.daemon(slots=10)
    parent = hub.run(hub.submit(source=source))
    others = hub.submit(source=source), hub.submit(source=source, parent_id=parent.id)
    assert [task.status for task in others] == [Status.QUEUED, Status.QUEUED]


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

"""bot0's queue manager, continued: which daemon a task goes to, what is asked before, and what a loss takes along."""

from itertools import permutations
from typing import Any

import pytest

from taskyard.core.effects import CancelWork, Refused
from taskyard.core.settings import Limits, Settings, Shares
from taskyard.core.task import Terms
from taskyard.vocabulary import AttemptStatus, Refusal, SourceType
from tests.support.harness import HubHarness, Level, Status, a_draft, attempt_of

# What is asked before


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


def test_a_submission_alone_ends_no_work_whatever_it_could_preempt() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    hub.daemon(types=("general",))
    low = hub.run(hub.submit(level=Level.LOW))
    hub.live(s=10)
    hub.submit(level=Level.CRITICAL, scheduled_for=hub.now.wall + 60_000)
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


def test_the_words_of_a_webhook_do_not_lift_a_task_over_the_ceiling_of_its_key() -> None:
    draft = a_draft(source=SourceType.WEBHOOK, event_type="repo.security.alert")
    assert HubHarness().submit_all(draft, ceiling=Level.NORMAL)[0].level is Level.NORMAL


# The choice


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


def test_tasks_that_come_at_once_are_spread_though_no_load_was_told_in_between() -> None:
    hub = HubHarness()
    daemons = [hub.daemon(name) for name in "abc"]
    hub.submit_all(*(a_draft() for _ in range(6)))
    assert [daemon.active for daemon in daemons] == [2, 2, 2]


def test_a_daemon_that_fell_silent_is_given_nothing_more_however_idle_it_said_it_was() -> None:
    hub = HubHarness()
    silent, busy = hub.daemon("silent"), hub.daemon("busy")
    hub.beat(silent, load=0.0)
    for _ in range(8):
        hub.advance(s=5)
        hub.beat(busy, *busy.holding.values(), load=0.9)
    assert attempt_of(hub.submit()).daemon_name == "busy"


@pytest.mark.parametrize("unfit", [{"capabilities": ("gpu",)}, {"type": "other"}])
def test_a_target_that_is_excluded_or_unfit_does_not_run_the_task_for_being_the_target(
    unfit: dict[str, Any],
) -> None:
    hub = HubHarness()
    hub.daemon("mac", types=("general",))
    hub.daemon("box", capabilities=("gpu",))
    task = hub.submit(target="mac", **unfit)
    assert (task.status, task.attempts) == (Status.QUEUED, None)
    # What no daemon of that name could ever change is not even taken in.
    assert isinstance(hub.offer(a_draft(target="mac", excluded=("mac",))), Refused)


def test_a_task_without_a_daemon_of_its_owners_runs_on_a_shared_one() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("fleet", user="bob", shared=True)
    assert attempt_of(hub.submit()).daemon_name == "fleet"


def test_a_target_that_is_away_is_told_of_once_and_not_at_every_look_and_forgotten_when_it_is_back() -> None:
    hub = HubHarness()
    daemon = hub.daemon("primary")
    hub.disconnect(daemon)
    task = hub.submit(target="primary")
    for _ in range(5):
        hub.submit()
        hub.advance(s=60)
    assert hub.events(task).count("task.blocked") == 1
    hub.daemon("primary")
    assert task.status is Status.SCHEDULED
    assert task.trouble is None or task.trouble.waiting_for_daemon is None


# Losses


def test_what_was_assigned_is_requeued_with_what_ran_and_a_loss_uses_up_no_try() -> None:
    hub = HubHarness()
    hub.daemon("gone")
    terms = Terms(max_attempts=2, retry_delay_ms=0)
    running, accepted = hub.run(hub.submit(terms=terms)), hub.submit(terms=terms)
    hub.accept(accepted)
    hub.daemon("other")
    hub.daemon("gone", boot="boot-2")
    for task in (running, accepted):
        assert [(a.number, a.status) for a in task.attempts or ()] == [
            (1, AttemptStatus.LOST),
            (2, AttemptStatus.RUNNING),
        ]
        assert attempt_of(task).daemon_name == "other"
        hub.fail(task)
        assert task.status is Status.SCHEDULED, "of its two tries one is left"


def test_a_lost_task_is_not_given_to_the_daemon_that_has_just_been_lost() -> None:
    hub = HubHarness()
    daemon = hub.daemon("gone")
    task = hub.run(hub.submit())
    hub.advance(s=36)
    assert (task.status, attempt_of(task).number, daemon.session) == (Status.QUEUED, 1, 0)

"""Circuit breakers: a type that keeps failing is held back, and tried again by one task at a time."""

from collections.abc import Callable

import pytest

from taskyard.core.breakers import speaks_for_its_type
from taskyard.core.limits import LANE_RULES, Hold, breaker_lets_through
from taskyard.core.task import Attempt, Failure, Task, Terms
from taskyard.vocabulary import SourceType
from taskyard.vocabulary.reasons import Reason
from tests.support.breakers import (
    BLOCKER,
    CLOSED,
    HALF_OPEN,
    NEUTRAL,
    ONCE,
    OPEN,
    a_hub,
    fail_times,
    hold,
    incomplete,
    kept_breakers,
    now_is,
    opened,
    probe,
    said_failed,
    the,
    timed_out,
)
from tests.support.harness import AttemptStatus, ErrorCode, EventName, HubHarness, Level, Status

# --- closed ------------------------------------------------------------------------------------------------


def test_five_failed_attempts_in_a_row_open_it_and_four_do_not() -> None:
    hub = a_hub()
    fail_times(hub, 4)
    assert (now_is(hub), the(hub).failures) == (CLOSED, 4)
    assert hub.submit(terms=ONCE).status is Status.SCHEDULED
    fail_times(hub, 1)
    assert (now_is(hub), the(hub).failures, the(hub).last_failure_at) == (OPEN, 5, hub.now.wall)
    assert hub.submit().status is Status.QUEUED


def test_attempts_count_not_tasks() -> None:
    hub = a_hub()
    task = hub.submit(terms=Terms(max_attempts=10, retry_delay_ms=0))
    for _ in range(5):
        hub.fail(task)
    assert (now_is(hub), task.status) == (OPEN, Status.QUEUED)


def test_a_success_begins_the_count_anew() -> None:
    hub = a_hub()
    fail_times(hub, 4)
    hub.complete(hub.submit())
    assert (hub.state.users["ann"].breakers, kept_breakers(hub)) == ({}, [])
    fail_times(hub, 4)
    assert (now_is(hub), the(hub).failures) == (CLOSED, 4)


def test_a_success_of_another_type_does_not() -> None:
    hub = a_hub()
    fail_times(hub, 4)
    hub.complete(hub.submit(type="other"))
    fail_times(hub, 1)
    assert now_is(hub) is OPEN


@pytest.mark.parametrize("end", [timed_out, incomplete, said_failed])
def test_timeouts_incomplete_results_and_transient_errors_count(end: Callable[[HubHarness, Task], None]) -> None:
    hub = a_hub()
    for _ in range(5):
        end(hub, hub.submit(terms=Terms(max_attempts=1, timeout_ms=5000, decision_report=end is incomplete)))
    assert (now_is(hub), the(hub).failures) == (OPEN, 5)


@pytest.mark.parametrize("end", NEUTRAL)
def test_what_says_nothing_about_the_type_neither_counts_nor_clears(end: Callable[[HubHarness, Task], None]) -> None:
    hub = a_hub()
    fail_times(hub, 4)
    end(hub, hub.submit(source=SourceType.AGENT))
    assert (now_is(hub), the(hub).failures) == (CLOSED, 4)


def test_an_end_without_a_word_of_error_counts_by_its_name() -> None:
    def attempt(status: AttemptStatus, error: Failure | None = None) -> Attempt:
        return Attempt(1, "d", "mac", "boot", 0, status=status, error=error)

    assert speaks_for_its_type(attempt(AttemptStatus.TIMEOUT)) is False
    assert speaks_for_its_type(attempt(AttemptStatus.SUCCESS)) is True
    assert speaks_for_its_type(attempt(AttemptStatus.LOST)) is None
    assert speaks_for_its_type(attempt(AttemptStatus.FAILED, Failure(ErrorCode.INVALID_INPUT, "no"))) is None


# --- whose it is -------------------------------------------------------------------------------------------


def test_no_user_can_stop_another() -> None:
    hub = opened(users=("ann", "bob"))
    assert hub.submit(user="bob").status is Status.SCHEDULED
    assert (now_is(hub, user="bob"), hub.submit().status) == (CLOSED, Status.QUEUED)


def test_failures_of_several_users_do_not_add_up() -> None:
    hub = a_hub(users=("ann", "bob"))
    for user in ("ann", "bob"):
        fail_times(hub, 4, user=user)
    assert (now_is(hub), now_is(hub, user="bob")) == (CLOSED, CLOSED)


def test_other_types_of_the_same_user_go_on() -> None:
    assert opened().submit(type="other").status is Status.SCHEDULED


# --- open --------------------------------------------------------------------------------------------------


def test_it_is_the_first_of_the_rules_about_a_users_work() -> None:
    assert LANE_RULES[0] is breaker_lets_through


def test_while_open_its_rule_says_what_is_counted_and_until_when() -> None:
    hub = opened()
    task = hub.submit()
    until = hub.now.wall + 60_000
    assert hold(hub, task) == Hold(Reason.BREAKER_OPEN, BLOCKER, 5, 5, until, "general")


def test_while_open_nothing_of_its_type_starts_whatever_its_level() -> None:
    hub = opened()
    tasks = [hub.submit(level=level) for level in Level]
    hub.live(s=59)
    assert {task.status for task in tasks} == {Status.QUEUED}


def test_old_failures_do_not_move_the_opening_on() -> None:
    # Given tasks that were under way before it opened
    hub = a_hub()
    before = [hub.submit(terms=ONCE) for _ in range(4)]
    fail_times(hub, 5)
    until = the(hub).half_open_at

    # When they fail while it is open
    hub.live(s=30, starting=True, step_ms=1000)
    for task in before:
        hub.fail(task)

    # Then it opens no later, and not again
    assert (the(hub).half_open_at, the(hub).failures, now_is(hub)) == (until, 5, OPEN)
    assert len(hub.said(EventName.BREAKER_OPENED)) == 1


@pytest.mark.parametrize("wait_s", [1, 60])
def test_an_old_success_does_not_close_it(wait_s: int) -> None:
    hub = a_hub()
    before = hub.submit()
    fail_times(hub, 5)
    waiting = [hub.submit(), hub.submit()]
    hub.live(s=wait_s, starting=True, step_ms=1000)
    hub.complete(before)
    assert now_is(hub) is (HALF_OPEN if wait_s == 60 else OPEN)
    assert [task.status for task in waiting].count(Status.QUEUED) == (1 if wait_s == 60 else 2)


def test_an_old_failure_does_not_end_the_probe() -> None:
    hub = a_hub()
    before = hub.submit(terms=ONCE)
    fail_times(hub, 5)
    waiting = hub.submit()
    hub.live(s=60, starting=True, step_ms=1000)
    hub.fail(before)
    assert (now_is(hub), probe(hub)) == (HALF_OPEN, waiting.id)

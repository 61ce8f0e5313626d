"""Circuit breakers: a type that keeps failing is held back, and tried again by one task at a time."""

from collections.abc import Callable

import pytest

from taskyard.core import breakers
from taskyard.core.attempts import close, release
from taskyard.core.breakers import breaker_of, numbers_of, probe_of, speaks_for_its_type, state_of
from taskyard.core.changes import BreakerRecord
from taskyard.core.effects import Done, Refused
from taskyard.core.lanes import key_of
from taskyard.core.limits import LANE_RULES, Hold, breaker_lets_through
from taskyard.core.readiness import enqueue
from taskyard.core.settings import Breaker, Breakers, Settings
from taskyard.core.task import Attempt, Failure, Task, Terms
from taskyard.core.yard_commands import ChangeSettings, OpenBreaker, ResetBreaker
from taskyard.vocabulary import BreakerState, Keeps, Reason, Refusal, SourceType
from tests.support.harness import AttemptStatus, ErrorCode, EventName, HubHarness, Level, Status, attempt_of

ONCE = Terms(max_attempts=1)
CLOSED, OPEN, HALF_OPEN = BreakerState
BLOCKER = ("breaker", "ann", "general")


def a_hub(*, slots: int = 10, users: tuple[str, ...] = ("ann",), settings: Settings | None = None) -> HubHarness:
    hub = HubHarness(settings, users=users)
    hub.daemon(slots=slots, shared=True)
    return hub


def fail_times(hub: HubHarness, times: int, **fields: object) -> None:
    """So many tasks run and fail, one after another."""
    for _ in range(times):
        hub.fail(hub.submit(terms=ONCE, **fields))


def opened(**fields: object) -> HubHarness:
    """A hub whose breaker of ann's type `general` has just opened."""
    hub = a_hub(**fields)  # type: ignore[arg-type]
    fail_times(hub, 5)
    assert now_is(hub) is OPEN
    return hub


def half_opened(**fields: object) -> HubHarness:
    hub = opened(**fields)
    hub.live(s=60)
    return hub


def the(hub: HubHarness, type: str = "general", user: str = "ann") -> BreakerRecord:
    return breaker_of(hub.state.users[user], type)


def now_is(hub: HubHarness, type: str = "general", user: str = "ann") -> BreakerState:
    return state_of(the(hub, type, user), hub.now.wall)


def probe(hub: HubHarness) -> str | None:
    return probe_of(hub.state.users["ann"], the(hub))


def hold(hub: HubHarness, task: Task) -> Hold | None:
    lane = hub.state.users[task.user_id].lanes[key_of(task)]
    return breaker_lets_through(hub.core.turn(hub.now), lane)


def kept_breakers(hub: HubHarness) -> list[str]:
    return [each.name for each in hub.kept() if each.kind is Keeps.BREAKER]


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


def test_a_yard_where_all_goes_well_keeps_no_breaker() -> None:
    hub = a_hub()
    for _ in range(3):
        hub.complete(hub.submit())
    assert (hub.state.users["ann"].breakers, kept_breakers(hub)) == ({}, [])


def timed_out(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.live(s=attempt_of(task).timeout_ms / 1000)


def incomplete(hub: HubHarness, task: Task) -> None:
    hub.complete(task)


def said_failed(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code="NETWORK_DOWN")


@pytest.mark.parametrize("end", [timed_out, incomplete, said_failed])
def test_timeouts_incomplete_results_and_transient_errors_count(end: Callable[[HubHarness, Task], None]) -> None:
    hub = a_hub()
    for _ in range(5):
        end(hub, hub.submit(terms=Terms(max_attempts=1, timeout_ms=5000, decision_report=end is incomplete)))
    assert (now_is(hub), the(hub).failures) == (OPEN, 5)


def wrong_input(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code=ErrorCode.INVALID_INPUT)


def not_allowed(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code=ErrorCode.PERMISSION_DENIED)


def not_retryable(hub: HubHarness, task: Task) -> None:
    hub.fail(task, retryable=False)


def rate_limited(hub: HubHarness, task: Task) -> None:
    """The provider says for how long; what has no model waits in a queue that others use too."""
    hub.fail(task, code=ErrorCode.RATE_LIMITED, retry_after_ms=0)


def lost(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.beat(hub.state.daemons["d-mac"])


def rejected(hub: HubHarness, task: Task) -> None:
    hub.reject(task)


def drained(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.reject(task, drained=True)


def cancelled(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.cancel(task)
    hub.confirm_cancel(task)


def failed_after_the_cancel(hub: HubHarness, task: Task) -> None:
    hub.run(task)
    hub.cancel(task)
    hub.fail(task)


def preempted(hub: HubHarness, task: Task) -> None:
    """As when a critical task took its slot."""
    hub.run(task)
    turn = hub.core.turn(hub.now)
    close(turn, attempt_of(task), AttemptStatus.PREEMPTED)
    release(turn, task)
    enqueue(turn, task, event=EventName.TASK_PREEMPTED)
    hub.advance()


NEUTRAL = [
    wrong_input,
    not_allowed,
    not_retryable,
    rate_limited,
    lost,
    rejected,
    drained,
    cancelled,
    failed_after_the_cancel,
    preempted,
]


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


# --- half-open ---------------------------------------------------------------------------------------------


def test_after_its_time_exactly_one_task_goes_through() -> None:
    hub = opened()
    tasks = [hub.submit(level=level) for level in (Level.NORMAL, Level.NORMAL, Level.HIGH, Level.LOW)]
    hub.live(s=59.9)
    assert {task.status for task in tasks} == {Status.QUEUED}
    hub.live(s=0.1)
    assert [task.status for task in tasks].count(Status.SCHEDULED) == 1
    assert (now_is(hub), probe(hub)) == (HALF_OPEN, tasks[2].id)
    assert hold(hub, tasks[0]) == Hold(Reason.BREAKER_PROBING, BLOCKER, name="general")
    assert hub.submit().status is Status.QUEUED


def test_without_a_task_it_stays_half_open_and_the_first_one_is_the_probe() -> None:
    hub = half_opened()
    hub.live(s=3600)
    assert (now_is(hub), probe(hub)) == (HALF_OPEN, None)
    first, second = hub.submit(), hub.submit()
    assert (probe(hub), first.status, second.status) == (first.id, Status.SCHEDULED, Status.QUEUED)


def test_with_nowhere_to_run_nobody_is_the_probe_until_there_is() -> None:
    hub = half_opened()
    hub.disconnect(hub.state.daemons["d-mac"])
    task = hub.submit()
    assert (probe(hub), task.status) == (None, Status.QUEUED)
    hub.daemon(shared=True)
    assert (probe(hub), task.status) == (task.id, Status.SCHEDULED)


def test_the_probes_success_closes_it_and_all_go_on() -> None:
    hub = half_opened()
    first, *others = (hub.submit() for _ in range(4))
    hub.complete(first)
    assert (now_is(hub), {task.status for task in others}) == (CLOSED, {Status.SCHEDULED})
    assert (hub.state.users["ann"].breakers, kept_breakers(hub)) == ({}, [])
    # And it counts from nothing again.
    fail_times(hub, 4)
    assert now_is(hub) is CLOSED


def test_the_probes_failure_opens_it_for_twice_as_long_up_to_its_cool_down() -> None:
    hub = opened()
    task = hub.submit(terms=Terms(max_attempts=100, retry_delay_ms=0))
    waits = []
    for _ in range(5):
        waits.append((the(hub).half_open_at - hub.now.wall) // 1000)
        hub.live(s=waits[-1])
        assert probe(hub) == task.id
        hub.fail(task)
        assert (now_is(hub), probe(hub), task.status) == (OPEN, None, Status.QUEUED)
    assert waits == [60, 120, 240, 300, 300]
    assert the(hub).failures == 10


def test_a_probe_that_failed_with_tries_left_is_tried_again_when_its_time_comes() -> None:
    # Given a probe that fails and goes back to wait, which once left the breaker half-open for ever
    hub = half_opened()
    task = hub.submit(terms=Terms(max_attempts=3, retry_delay_ms=1000))
    hub.fail(task)
    assert task.status is Status.PENDING
    hub.live(s=119)
    assert task.status is Status.QUEUED

    # When the second opening is over, then it is the probe again, and can close the breaker
    hub.live(s=1)
    hub.complete(task)
    assert (task.status, now_is(hub)) == (Status.COMPLETED, CLOSED)


def test_who_waited_for_a_probe_that_fails_is_tried_after_the_next_opening() -> None:
    hub = half_opened()
    first, second = hub.submit(terms=ONCE), hub.submit(source=SourceType.AGENT)
    hub.fail(first)
    hub.live(s=119)
    assert second.status is Status.QUEUED
    hub.live(s=1)
    assert probe(hub) == second.id


def test_after_it_has_closed_the_next_opening_is_short_again() -> None:
    hub = half_opened()
    hub.fail(hub.submit(terms=ONCE))
    task = hub.submit()
    hub.live(s=120)
    hub.complete(task)
    fail_times(hub, 5)
    assert the(hub).half_open_at - hub.now.wall == 60_000


@pytest.mark.parametrize("end", NEUTRAL)
def test_a_probe_that_says_nothing_about_the_type_frees_its_place(end: Callable[[HubHarness, Task], None]) -> None:
    # Given a probe, and another task that waits for its outcome
    hub = half_opened()
    first, second = hub.submit(source=SourceType.AGENT), hub.submit(source=SourceType.WEBHOOK)
    assert probe(hub) == first.id
    before = (the(hub).opened_at, the(hub).failures)

    # When it ends as if nothing had been tried
    end(hub, first)

    # Then the breaker is as it was, and one ready task is the probe at once, or when its queue lets it
    hub.live(s=70, starting=True, step_ms=1000)
    assert (the(hub).opened_at, the(hub).failures) == before
    assert now_is(hub) is HALF_OPEN
    held = [task for task in (first, second) if task.id in hub.state.users["ann"].live]
    assert [task.id for task in held] == [probe(hub)]

    # And its success closes it
    hub.complete(held[0])
    assert now_is(hub) is CLOSED


def test_a_probe_whose_daemon_goes_silent_frees_its_place() -> None:
    hub = half_opened()
    first = hub.submit()
    hub.run(first)
    second = hub.submit()
    hub.disconnect(hub.state.daemons["d-mac"])
    hub.advance(s=60)
    assert attempt_of(first).status is AttemptStatus.LOST
    assert (now_is(hub), probe(hub), second.status) == (HALF_OPEN, None, Status.QUEUED)
    assert the(hub.restarted()).probe is None
    hub.daemon(boot="boot-2", shared=True)
    assert probe(hub) in (first.id, second.id)
    assert len(hub.state.users["ann"].live) == 1


def test_the_calendar_going_back_makes_no_second_probe() -> None:
    hub = half_opened()
    first, second = hub.submit(), hub.submit()
    hub.now = type(hub.now)(hub.now.wall - 3_600_000, hub.now.mono)
    hub.advance(ms=1)
    assert (now_is(hub), probe(hub), second.status) == (HALF_OPEN, first.id, Status.QUEUED)


# --- settings ----------------------------------------------------------------------------------------------


def test_a_type_can_have_numbers_of_its_own() -> None:
    own = Breaker(failure_threshold=3, half_open_after=10, cooldown=15)
    settings = Settings(breakers=Breakers(overrides={"ops-security": own, "biz-marketing": Breaker()}))
    assert numbers_of(settings, "biz-marketing") == numbers_of(settings, "any") == breakers.Numbers(5, 60.0, 300.0)
    hub = a_hub(settings=settings)
    fail_times(hub, 3, type="ops-security")
    task = hub.submit(type="ops-security", terms=ONCE)
    breaker = the(hub, "ops-security")
    assert hold(hub, task) == Hold(
        Reason.BREAKER_OPEN, ("breaker", "ann", "ops-security"), 3, 3, hub.now.wall + 10_000, "ops-security"
    )
    hub.live(s=10)
    hub.fail(task)
    assert breaker.half_open_at - hub.now.wall == 15_000


def test_an_opening_is_never_longer_than_its_cool_down() -> None:
    hub = opened(settings=Settings(breakers=Breakers(half_open_after=900, cooldown=30)))
    assert the(hub).half_open_at - hub.now.wall == 30_000


def test_a_threshold_that_is_lowered_holds_from_the_next_failure_on() -> None:
    hub = a_hub()
    fail_times(hub, 3)
    hub.step(ChangeSettings(Settings(breakers=Breakers(failure_threshold=2))))
    assert now_is(hub) is CLOSED
    fail_times(hub, 1)
    assert now_is(hub) is OPEN


# --- a person's word ---------------------------------------------------------------------------------------


def test_a_person_can_reset_one_and_all_go_on() -> None:
    hub = opened()
    tasks = [hub.submit(), hub.submit()]
    assert hub.ask(ResetBreaker("ann", "general", "ann")) == Done()
    assert (now_is(hub), {task.status for task in tasks}) == (CLOSED, {Status.SCHEDULED})
    (record,) = hub.batches[-1].audit
    assert (record.actor, record.action, record.subject) == ("ann", "breaker.reset", "ann/general")
    assert (record.old, record.new) == ("open", "closed")


def test_the_probe_of_a_breaker_that_was_reset_is_a_task_like_any_other() -> None:
    hub = half_opened()
    task = hub.submit(terms=ONCE)
    hub.ask(ResetBreaker("ann", "general", "ann"))
    hub.fail(task)
    assert (now_is(hub), the(hub).failures) == (CLOSED, 1)


def test_resetting_what_is_closed_changes_nothing_but_its_count() -> None:
    hub = a_hub()
    assert hub.ask(ResetBreaker("ann", "general", "ann")) == Done()
    assert hub.batches[-1].is_empty()
    fail_times(hub, 4)
    hub.ask(ResetBreaker("ann", "general", "ann"))
    assert (the(hub).failures, hub.said(EventName.BREAKER_CLOSED)) == (0, [])
    assert hub.batches[-1].audit[0].old == "closed"


def test_a_person_can_force_one_open_for_its_cool_down() -> None:
    hub = a_hub()
    running = hub.submit()
    assert hub.ask(OpenBreaker("ann", "general", "root")) == Done()
    task = hub.submit(terms=ONCE)
    assert hold(hub, task) == Hold(Reason.BREAKER_OPEN, BLOCKER, until=hub.now.wall + 300_000, name="general")
    (record,) = hub.batches[-2].audit
    assert (record.actor, record.action, record.old, record.new) == ("root", "breaker.open", "closed", "open")
    hub.run(running)
    hub.live(s=150)
    hub.complete(running)
    hub.live(s=149)
    assert (now_is(hub), task.status) == (OPEN, Status.QUEUED)
    hub.live(s=1)
    assert probe(hub) == task.id
    hub.fail(task)
    assert the(hub).half_open_at - hub.now.wall == 300_000


def test_forcing_it_open_again_begins_its_cool_down_anew() -> None:
    hub = opened()
    task = hub.submit()
    hub.live(s=50)
    hub.ask(OpenBreaker("ann", "general", "ann"))
    hub.live(s=299)
    assert task.status is Status.QUEUED
    hub.live(s=1)
    assert task.status is Status.SCHEDULED


def test_the_outcome_of_a_probe_counts_no_more_once_a_person_forced_the_breaker_open() -> None:
    hub = half_opened()
    task = hub.submit()
    hub.ask(OpenBreaker("ann", "general", "ann"))
    hub.complete(task)
    assert (task.status, now_is(hub)) == (Status.COMPLETED, OPEN)


@pytest.mark.parametrize("command", [ResetBreaker, OpenBreaker])
def test_nobodys_breaker_is_not_found(command: type[ResetBreaker] | type[OpenBreaker]) -> None:
    answer = a_hub().ask(command("nobody", "general", "root"))
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.USER_NOT_FOUND


# --- events ------------------------------------------------------------------------------------------------


def test_its_opening_and_closing_are_told_with_what_did_it() -> None:
    hub = opened()
    (event,) = hub.said(EventName.BREAKER_OPENED)
    assert (event.user_id, event.task_id) == ("ann", None)
    assert event.data == {
        "type": "general",
        "failures": 5,
        "failure_threshold": 5,
        "until": hub.now.wall + 60_000,
        "because": "failures",
        "task": "T-005",
        "code": "BOOM",
    }
    first = hub.submit(terms=Terms(max_attempts=2, retry_delay_ms=0))
    hub.live(s=60)
    hub.fail(first, code="AGAIN")
    said = hub.said(EventName.BREAKER_OPENED)[1].data or {}
    assert (said["because"], said["failures"], said["code"], said["task"]) == ("probe_failed", 6, "AGAIN", "T-006")
    hub.live(s=120)
    hub.complete(first)
    (event,) = hub.said(EventName.BREAKER_CLOSED)
    assert event.data == {"type": "general", "failures": 6, "because": "probe_succeeded", "task": "T-006"}


def test_a_persons_word_is_told_as_such() -> None:
    hub = a_hub()
    hub.ask(OpenBreaker("ann", "general", "root"))
    hub.ask(ResetBreaker("ann", "general", "root"))
    (was_opened,), (was_closed,) = hub.said(EventName.BREAKER_OPENED), hub.said(EventName.BREAKER_CLOSED)
    assert (was_opened.data or {})["because"] == "forced"
    assert was_closed.data == {"type": "general", "failures": 0, "because": "reset", "by": "root"}


# --- over a restart ----------------------------------------------------------------------------------------


def test_counts_and_openings_survive_a_restart() -> None:
    hub = a_hub()
    fail_times(hub, 4, type="counting")
    fail_times(hub, 5)
    task = hub.submit()
    again = hub.restarted()
    assert (the(again), the(again, "counting")) == (the(hub), the(hub, "counting"))
    again.daemon(shared=True)
    again.live(s=59)
    task = again.state.tasks[task.id]
    assert task.status is Status.QUEUED
    again.live(s=1)
    assert (task.status, probe(again)) == (Status.SCHEDULED, task.id)
    fail_times(again, 1, type="counting")
    assert now_is(again, "counting") is OPEN


def test_a_probe_that_still_runs_after_a_restart_is_the_probe() -> None:
    hub = half_opened()
    first, second = hub.submit(), hub.submit()
    hub.run(first)
    again = hub.restarted()
    first, second = again.state.tasks[first.id], again.state.tasks[second.id]
    again.advance()
    assert (probe(again), second.status) == (first.id, Status.QUEUED)
    again.complete(first)
    assert now_is(again) is CLOSED


def test_a_probe_that_did_not_come_back_after_a_restart_frees_its_place() -> None:
    hub = half_opened()
    first, second = hub.submit(), hub.submit()
    hub.run(first)
    again = hub.restarted()
    again.daemon(boot="boot-2", shared=True)
    assert attempt_of(again.state.tasks[first.id]).status in (AttemptStatus.LOST, AttemptStatus.RUNNING)
    assert len(again.state.users["ann"].live) == 1
    assert probe(again) in (first.id, second.id)


def test_a_probe_that_nobody_holds_is_none() -> None:
    # Given what no commit of ours writes: the probe of a task that has ended
    hub = half_opened()
    the(hub).probe = "gone"
    task = hub.submit()
    assert (task.status, probe(hub)) == (Status.SCHEDULED, task.id)


# --- bounds ------------------------------------------------------------------------------------------------


def test_of_many_types_the_closed_breaker_that_failed_longest_ago_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakers, "BREAKERS_MAX", 3)
    hub = a_hub()
    hub.ask(OpenBreaker("ann", "open", "ann"))
    for type in ("old", "new", "newest"):
        fail_times(hub, 1, type=type)
        hub.advance(s=1)
    assert list(hub.state.users["ann"].breakers) == ["open", "new", "newest"]
    assert sorted(kept_breakers(hub)) == ["ann/new", "ann/newest", "ann/open"]


def test_when_all_are_open_the_one_next_to_be_tried_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breakers, "BREAKERS_MAX", 2)
    hub = a_hub()
    waiting: list[Task] = []
    for type in ("first", "second", "third"):
        hub.ask(OpenBreaker("ann", type, "ann"))
        waiting.append(hub.submit(type=type))
        hub.advance(s=1)
    assert [task.status for task in waiting] == [Status.SCHEDULED, Status.QUEUED, Status.QUEUED]
    (event,) = hub.said(EventName.BREAKER_CLOSED)
    assert event.data == {"type": "first", "failures": 0, "because": "forgotten"}

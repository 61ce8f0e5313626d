"""Attempts: granted, confirmed, ended once."""

import pytest

from taskyard.core.attempts import close, current, newest_of
from taskyard.core.effects import CancelWork, Execute
from taskyard.core.state import Now
from taskyard.core.task import Terms, Usage
from taskyard.vocabulary import AttemptStatus, CancelReason, Category, EventName
from tests.support.harness import ErrorCode, HubHarness, Status, attempt_of


def test_a_grant_is_an_attempt_a_slot_and_an_order_to_execute() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit(terms=Terms(timeout_ms=7000))
    attempt = attempt_of(task)
    assert (task.status, attempt.number, attempt.daemon_id, attempt.boot_id) == (
        Status.SCHEDULED,
        1,
        daemon.id,
        "boot-1",
    )
    assert hub.of(hub.effects, Execute) == [Execute(daemon.session, daemon.id, task.id, 1, 7000)]
    assert list(daemon.holding) == list(hub.state.users["ann"].live) == [task.id]


def test_a_task_that_finds_a_free_daemon_is_stored_and_assigned_in_one_commit() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    created = hub.batches[-1].created
    assert [row.task.id for row in created] == [task.id]
    assert b'"scheduled"' in created[0].record


def test_attempts_are_numbered_from_1_and_a_number_is_never_used_again() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0, max_attempts=9))
    for _ in range(3):
        hub.fail(task)
    assert [a.number for a in task.attempts or ()] == [1, 2, 3, 4]


def test_only_the_newest_attempts_word_counts() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0))
    hub.fail(task)
    turn = hub.core.turn(hub.now)
    assert newest_of(task, 1, daemon.id) is None
    assert newest_of(task, 2, daemon.id) is attempt_of(task)
    assert newest_of(task, 2, "d-other") is None
    assert newest_of(task, 2, None) is attempt_of(task)
    assert newest_of(None, 1, None) is None
    assert current(turn, task.id, 2, daemon.id) == (task, attempt_of(task))
    assert current(turn, "nowhere", 1, daemon.id) is None
    hub.complete(task)
    assert current(turn, task.id, 2, daemon.id) is None


def test_an_attempt_ends_once() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.complete(task)
    with pytest.raises(AssertionError, match="I4"):
        close(hub.core.turn(hub.now), attempt_of(task), AttemptStatus.LOST)


def test_starting_is_said_once_however_often_the_daemon_says_it() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    started = task.started_at
    hub.advance(ms=50)
    hub.start(task)
    assert (task.started_at, attempt_of(task).started_at) == (started, started)
    assert len(hub.said(EventName.TASK_STARTED)) == 1


# Failing


def test_a_failed_attempt_is_passed_through_and_tried_again_after_its_delay() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(retry_delay_ms=10_000)))
    hub.fail(task)
    assert task.status is Status.PENDING
    assert task.not_before is not None
    assert 10_000 <= task.not_before - hub.now.wall <= 12_000
    assert task.error.code == "BOOM"
    assert hub.events(task)[-2:] == ["task.failed", "task.retrying"]
    assert hub.said(EventName.TASK_FAILED)[0].data == {"code": "BOOM", "will_retry": True}
    hub.live(s=12)
    assert (task.status, task.not_before) == (Status.SCHEDULED, None)


def test_out_of_attempts_a_task_is_a_dead_letter() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0, max_attempts=2))
    hub.fail(task)
    assert task.status is Status.SCHEDULED
    hub.fail(task)
    assert (task.status, len(task.attempts or ())) == (Status.PERMANENTLY_FAILED, 2)
    assert hub.said(EventName.TASK_PERMANENTLY_FAILED)[0].data == {"code": "BOOM"}


def test_a_task_whose_next_try_would_begin_past_its_deadline_is_a_dead_letter_at_once() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=60_000), deadline=hub.now.wall + 50_000)
    hub.fail(task)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.DEADLINE_PASSED
    assert "it broke" in task.error.message


def test_a_rate_limited_task_goes_from_running_to_pending_without_having_failed() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(max_attempts=1)))
    # Refused a second time it steps aside, so that another may be asked first
    for said_ms, aside_ms in ((5_000, 0), (0, 1_000)):
        hub.fail(task, code="RATE_LIMITED", retry_after_ms=said_ms)
        assert (task.status, task.not_before) == (Status.PENDING, hub.now.wall + said_ms + aside_ms)
        assert hub.await_offer(task) == max(said_ms // 1000, 1)
    hub.fail(task, message="HTTP 429")
    assert task.not_before is not None
    # The third time in a row, with a tenth of jitter.
    assert 240_000 <= task.not_before - hub.now.wall <= 264_000
    assert {a.status for a in task.attempts or ()} == {AttemptStatus.RATE_LIMITED}
    assert "task.failed" not in hub.events(task)


def test_a_task_without_its_decision_report_is_tried_again_with_the_complaint() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(decision_report=True, retry_delay_ms=0, max_attempts=2))
    hub.complete(task)
    assert [n.kind for n in task.trouble.notes] == ["incomplete"]
    assert (task.attempts or [])[0].status is AttemptStatus.INCOMPLETE
    hub.complete(task)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.DECISION_REPORT_MISSING


# Timeouts


@pytest.mark.parametrize("timeout_ms", [1_000, 29_999, 30_000, 300_000])
def test_the_hub_ends_an_attempt_exactly_at_its_timeout(timeout_ms: int) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(timeout_ms=timeout_ms))
    hub.accept(task)
    hub.advance(s=3)
    hub.start(task)
    hub.live(s=(timeout_ms - 1) // 5000 * 5)
    hub.advance(ms=(timeout_ms - 1) % 5000)
    assert task.status is Status.RUNNING
    hub.advance(ms=1)
    assert (task.status, attempt_of(task).status) == (Status.PENDING, AttemptStatus.TIMEOUT)


def test_a_timed_out_attempts_daemon_is_told_to_kill_it_and_its_slot_is_taken_until_it_did() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000)))
    other = hub.submit()
    hub.advance(s=1)
    assert hub.of(hub.effects, CancelWork)[-1].reason is CancelReason.TIMEOUT
    assert (other.status, list(daemon.lingering)) == (Status.QUEUED, [(task.id, 1)])
    hub.confirm_cancel(task)
    assert (other.status, daemon.lingering) == (Status.SCHEDULED, {})


def test_a_timeout_counts_as_a_try_and_is_passed_through() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000, max_attempts=1)))
    hub.advance(s=1)
    assert task.status is Status.PERMANENTLY_FAILED
    assert [(e.was, e.now) for e in hub.said(EventName.TASK_FAILED)] == [(Status.RUNNING, Status.TIMEOUT)]


def test_a_timeout_told_by_the_daemon_is_one_too() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.fail(task, code=ErrorCode.EXECUTION_TIMEOUT)
    assert attempt_of(task).status is AttemptStatus.TIMEOUT
    assert task.trouble.timeout_factor == 1.5
    assert Category.TIMEOUT.value == "timeout"


@pytest.mark.parametrize("jump_ms", [3_600_000, -3_600_000])
def test_a_calendar_that_jumps_ends_no_attempt_and_lengthens_none(jump_ms: int) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=60_000)))
    hub.now = Now(hub.now.wall + jump_ms, hub.now.mono)
    hub.live(s=55)
    assert task.status is Status.RUNNING
    hub.live(s=5)
    assert attempt_of(task).status is AttemptStatus.TIMEOUT


def test_usage_is_kept_per_attempt() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0))
    hub.fail(task, usage=Usage(input_tokens=5))
    hub.complete(task, usage=Usage(cost_usd=0.5))
    assert [a.usage for a in task.attempts or ()] == [Usage(input_tokens=5), Usage(cost_usd=0.5)]


def test_a_daemon_knows_how_much_cpu_intensive_work_it_has() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit(cpu_intensive=True)
    assert daemon.cpu_intensive == 1
    hub.complete(task)
    assert daemon.cpu_intensive == 0

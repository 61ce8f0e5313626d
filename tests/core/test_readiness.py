"""Whether a task is ready, and what it waits for."""

import pytest

from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import EventName
from tests.support.harness import ErrorCode, HubHarness, Status, attempt_of


def trouble_of(task: Task) -> object:
    return task.trouble.waiting_for_daemon if task.trouble is not None else None


def test_a_task_starts_as_soon_as_its_time_has_come() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(scheduled_for=hub.now.wall + 5000)
    hub.advance(ms=4999)
    assert task.status is Status.PENDING
    hub.advance(ms=1)
    assert (task.status, task.not_before) == (Status.SCHEDULED, None)


def test_a_ready_task_that_a_free_daemon_may_run_starts_without_a_poll() -> None:
    hub = HubHarness()
    task = hub.submit()
    assert task.status is Status.QUEUED
    assert hub.core.next_due_ms(hub.now) is None
    hub.daemon()
    assert task.status is Status.SCHEDULED


# Deadlines


@pytest.mark.parametrize("fields", [{}, {"scheduled_for": 10**15}, {"depends_on": ("base",)}])
def test_a_task_whose_deadline_passes_before_it_started_is_stale(fields: dict[str, object]) -> None:
    hub = HubHarness()
    hub.submit(id="base")
    task = hub.submit(deadline=hub.now.wall + 1000, **fields)
    hub.advance(ms=999)
    assert task.status is not Status.STALE
    hub.advance(ms=1)
    assert (task.status, task.completed_at) == (Status.STALE, hub.now.wall)


def test_a_blocked_task_is_stale_at_its_deadline_too() -> None:
    hub = HubHarness()
    dead = hub.submit(target="nobody")
    task = hub.submit(depends_on=(dead.id,), deadline=hub.now.wall + 1000)
    hub.advance(s=1)
    assert task.status is Status.STALE


def test_a_task_that_runs_at_its_deadline_is_left_to_finish() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(deadline=hub.now.wall + 1000))
    hub.live(s=10)
    assert task.status is Status.RUNNING
    hub.complete(task)
    assert task.status is Status.COMPLETED


def test_a_task_that_started_before_and_waits_at_its_deadline_is_a_dead_letter() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit(deadline=hub.now.wall + 60_000))
    hub.drain(daemon)
    hub.reject(task, drained=True)
    hub.live(s=60)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.DEADLINE_PASSED


def test_a_task_that_was_given_out_but_never_started_is_stale_at_its_deadline() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(deadline=hub.now.wall + 60_000)
    hub.advance(s=60)
    assert (task.status, attempt_of(task).started_at) == (Status.STALE, None)


def test_a_task_that_ever_started_is_never_stale_however_often_it_was_retried() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    task = hub.submit(terms=Terms(max_attempts=1), deadline=hub.now.wall + 600_000)
    hub.fail(task)
    hub.run(hub.submit(terms=Terms(timeout_ms=10**7)))
    hub.retry(task)
    hub.live(s=600)
    assert (task.status, task.series) == (Status.PERMANENTLY_FAILED, 2)


def test_a_task_that_becomes_ready_past_its_deadline_never_starts() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(scheduled_for=hub.now.wall + 1000, deadline=hub.now.wall + 1000)
    hub.now = type(hub.now)(hub.now.wall + 1000, hub.now.mono + 1000)
    hub.advance(ms=0)
    assert (task.status, task.attempts) == (Status.STALE, None)


# Targets


@pytest.mark.parametrize("target", ["mac", "d-mac"])
def test_a_target_is_named_by_id_or_by_name(target: str) -> None:
    hub = HubHarness()
    hub.daemon("other")
    hub.daemon("mac")
    assert attempt_of(hub.submit(target=target)).daemon_id == "d-mac"


def test_an_unknown_target_is_a_dead_letter() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(target="nobody")
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.DAEMON_NOT_FOUND
    assert "nobody" in task.error.message


def test_another_users_daemon_is_an_unknown_target_unless_it_is_shared() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.daemon("bobs", user="bob")
    hub.daemon("ours", user="bob", shared=True)
    assert hub.submit(target="bobs").status is Status.PERMANENTLY_FAILED
    assert hub.submit(target="ours").status is Status.SCHEDULED


def test_a_known_target_that_is_away_holds_the_task_and_its_user_is_told_once() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.disconnect(daemon)
    task = hub.submit(target="mac")
    assert (task.status, trouble_of(task)) == (Status.QUEUED, "mac")
    assert [e.data for e in hub.said(EventName.TASK_WAITING_FOR_DAEMON)] == [
        {"reason": "DAEMON_OFFLINE", "daemon": "mac", "message": "waiting for mac to come online"}
    ]
    assert hub.said(EventName.TASK_BLOCKED) == []
    hub.daemon()
    assert (task.status, trouble_of(task)) == (Status.SCHEDULED, None)
    hub.reject(task)
    hub.disconnect(daemon)
    assert trouble_of(task) is None or len(hub.said(EventName.TASK_WAITING_FOR_DAEMON)) <= 2


def test_a_target_of_whose_name_one_is_there_is_not_away() -> None:
    hub = HubHarness(users=("ann", "bob"))
    hub.disconnect(hub.daemon())
    hub.step(JoinDaemon(77, "bob", "d-other", "boot-1", "mac", shared=True, slots=1))
    task = hub.submit(target="mac")
    assert (task.status, task.trouble, hub.said(EventName.TASK_WAITING_FOR_DAEMON)) == (Status.SCHEDULED, None, [])


def test_a_target_that_is_away_is_told_of_once_however_often_the_task_becomes_ready() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    hub.disconnect(daemon)
    task = hub.submit(target="mac")
    hub.change(task, scheduled_for=hub.now.wall + 1000)
    hub.advance(s=1)
    assert task.status is Status.QUEUED
    assert len(hub.said(EventName.TASK_WAITING_FOR_DAEMON)) == 1


def test_a_timer_of_a_task_that_is_not_pending_any_more_does_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=10_000))
    hub.fail(task)
    hub.retry(task)
    hub.run(task)
    hub.live(s=20)
    assert task.status is Status.RUNNING

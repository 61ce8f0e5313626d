"""Arvis's job queue: order, retries, recovery, manual retry and cancel.

Covered here: the queue. Its schedules are in `test_arvis_schedules.py`.
"""

import pytest

from taskyard.core.commands import BeginWait, Tick
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import Done, Refused
from taskyard.core.settings import Limits, Settings
from taskyard.core.task import Failure, Terms
from taskyard.vocabulary import AttemptStatus, Refusal, SourceType
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub
from tests.support.harness import HubHarness, Status, attempt_of

TASKS = "/api/v1/tasks"


def test_the_highest_priority_goes_first_and_between_equals_the_oldest() -> None:
    hub = HubHarness()
    ids = [hub.submit(value=value).id for value in (5, 10, 5, 1, 10)]
    hub.daemon(slots=1)
    for _ in range(4):
        hub.complete(hub.state.tasks[hub.sent()[-1][0]])
    assert [task_id for task_id, _ in hub.sent()] == [ids[1], ids[4], ids[0], ids[2], ids[3]]


def test_ten_is_the_most_urgent_whatever_a_job_is() -> None:
    hub = HubHarness()
    low, high = hub.submit(value=1, type="cron"), hub.submit(value=10, type="message")
    hub.daemon(slots=1)
    assert (high.status, low.status) == (Status.SCHEDULED, Status.QUEUED)


def test_background_work_does_not_go_before_what_a_person_asks_for() -> None:
    hub = HubHarness()
    heartbeat = hub.submit(source=SourceType.SCHEDULE)
    message = hub.submit(channel="desktop")
    hub.daemon(slots=1)
    assert (message.status, heartbeat.status) == (Status.SCHEDULED, Status.QUEUED)


def test_a_job_starts_the_moment_it_is_queued() -> None:
    hub = HubHarness()
    hub.daemon()
    assert hub.submit().status is Status.SCHEDULED


def test_when_a_job_completes_the_next_one_starts() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    tasks = [hub.submit() for _ in range(3)]
    for task in tasks:
        assert task.status is Status.SCHEDULED
        hub.complete(task)


def test_a_failed_job_waits_for_its_time_before_it_is_picked_up_again() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=60_000))
    hub.fail(task, message="model overloaded")
    assert (task.status, task.error) == (Status.PENDING, Failure("BOOM", "model overloaded"))
    assert task.not_before is not None
    hub.live(s=59)
    assert task.status is Status.PENDING
    hub.await_offer(task)
    assert len(task.attempts or ()) == 2


def test_after_three_attempts_a_job_has_failed_and_shows_its_error() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0))
    for n in range(3):
        hub.fail(task, message=f"try {n}")
    assert (task.status, len(task.attempts or ())) == (Status.PERMANENTLY_FAILED, 3)
    assert task.error is not None
    assert task.error.message == "try 2"


def test_a_failed_job_can_be_retried_by_hand() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    hub.fail(task)
    assert hub.retry(task) == Done(task.id)
    assert (task.status, task.error) == (Status.SCHEDULED, None)


def test_a_pending_job_can_be_cancelled() -> None:
    hub = HubHarness()
    task = hub.submit()
    assert hub.cancel(task) == Done(task.id)
    assert task.status is Status.CANCELLED


def test_a_job_that_was_cancelled_is_not_retried() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.cancel(task)
    answer = hub.retry(task)
    assert isinstance(answer, Refused)
    assert answer.code is Refusal.INVALID_TRANSITION


@pytest.mark.anyio
async def test_a_job_that_was_cancelled_is_still_there_with_its_reason_and_its_history(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    await ann.request("DELETE", f"{TASKS}/T-001?reason=no+more")
    assert (await ann.get(f"{TASKS}/T-001")).json["status"] == "cancelled"
    events = (await ann.get(f"{TASKS}/T-001/events")).json
    assert (events[-1]["event"], events[-1]["data"]) == ("task.cancelled", {"reason": "no more"})


def test_a_retry_by_hand_keeps_what_was_tried_before() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    hub.fail(task, message="first")
    hub.retry(task)
    assert [(a.number, a.error and a.error.message) for a in task.attempts or ()] == [(1, "first"), (2, None)]


@pytest.mark.parametrize("still_runs", [True, False])
def test_after_a_restart_a_job_goes_on_if_it_still_runs_and_is_requeued_if_not(still_runs: bool) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    other = hub.restarted()
    other.daemon(inventory=[Held(task.id, 1)] if still_runs else ())
    restored = other.state.tasks[task.id]
    assert attempt_of(restored).number == (1 if still_runs else 2)
    assert restored.status is (Status.RUNNING if still_runs else Status.SCHEDULED)


def test_a_long_job_is_not_taken_for_stuck_while_its_daemon_lists_it() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=3_600_000)))
    hub.live(s=1800)
    assert (task.status, attempt_of(task).number) == (Status.RUNNING, 1)


def test_a_job_whose_daemon_is_lost_is_tried_again_and_not_given_up() -> None:
    hub = HubHarness()
    hub.daemon("gone")
    task = hub.run(hub.submit(terms=Terms(max_attempts=1)))
    hub.advance(s=36)
    hub.daemon("other")
    hub.complete(hub.run(task))
    assert task.status is Status.COMPLETED
    assert [a.status for a in task.attempts or ()] == [AttemptStatus.LOST, AttemptStatus.SUCCESS]


def test_a_completion_that_comes_after_a_job_failed_for_good_is_kept_and_changes_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=10_000, max_attempts=1)))
    hub.live(s=10)
    assert task.status is Status.PERMANENTLY_FAILED
    hub.complete(task, outcome=b'{"result":"after all"}', known=hub.known(task))
    assert (task.status, attempt_of(task).status) == (Status.PERMANENTLY_FAILED, AttemptStatus.TIMEOUT)
    assert [late.body for batch in hub.batches for late in batch.late] == [b'{"result":"after all"}']


@pytest.mark.anyio
@pytest.mark.parametrize("at", ["2027-01-15T08:00:05Z", "2027-01-15T10:00:05+02:00", "2027-01-14T22:00:05.000-10:00"])
async def test_a_time_is_an_instant_however_it_is_written(hub: GatewayHub, ann: Client, at: str) -> None:
    # Given a hub on whose calendar it is 8:00:00 UTC
    await ann.post(TASKS, {"input": "a", "scheduled_for": at})
    for later_ms, status in ((4_999, "pending"), (1, "queued")):
        hub.wall_ms += later_ms
        hub.tell(Tick())
        assert (await ann.get(f"{TASKS}/T-001")).json["status"] == status


def test_instants_are_compared_as_numbers() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(scheduled_for=hub.now.wall + 9)
    later = hub.submit(scheduled_for=hub.now.wall + 10)
    hub.advance(ms=9)
    assert (task.status, later.status) == (Status.SCHEDULED, Status.PENDING)


def test_the_result_of_a_job_is_stored_with_its_completion() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.complete(task, outcome=b'{"result":"hi"}')
    assert hub.batches[-1].outcomes == [(task.id, b'{"result":"hi"}')]
    assert task.completed_at == hub.now.wall


def test_a_conductor_that_waits_for_its_delegations_never_waits_for_itself() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=3)))
    hub.daemon(slots=3)
    conductors = [hub.run(hub.submit(value=5)) for _ in range(3)]
    message = hub.submit(value=7)
    delegations = [hub.submit(parent_id=each.id, value=4) for each in conductors]
    for conductor, delegation in zip(conductors, delegations, strict=True):
        assert delegation.level is conductor.level, "a delegation is as urgent as who waits for it"
        hub.step(BeginWait(conductor.id, 1, "w"))
        hub.run(delegation)
        hub.complete(delegation)
        hub.complete(conductor)
    assert (message.status, {task.status for task in delegations}) == (Status.SCHEDULED, {Status.COMPLETED})

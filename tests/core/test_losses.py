"""Attempts that end without their daemon saying how."""

import pytest

from taskyard.core.effects import CancelWork, CloseSession
from taskyard.core.settings import Settings, Suspects
from taskyard.core.task import Terms
from taskyard.vocabulary import AttemptStatus, CancelReason, EventName, LostPolicy
from tests.support.harness import ErrorCode, HubHarness, Status, attempt_of


def test_a_lost_task_goes_at_once_to_another_daemon_and_no_try_is_used_up() -> None:
    hub = HubHarness()
    hub.daemon("a")
    task = hub.run(hub.submit(terms=Terms(max_attempts=1)))
    hub.advance(s=10)
    other = hub.daemon("b")
    hub.advance(s=26)
    assert [a.status for a in task.attempts or ()] == [AttemptStatus.LOST, AttemptStatus.RUNNING]
    assert (task.status, attempt_of(task).daemon_id) == (Status.SCHEDULED, other.id)
    assert hub.said(EventName.TASK_LOST)[0].data == {"code": ErrorCode.DAEMON_UNRESPONSIVE, "daemon_id": "d-a"}


def test_a_lost_task_prefers_another_daemon_for_a_minute() -> None:
    hub = HubHarness()
    first = hub.daemon("a")
    task = hub.run(hub.submit())
    second = hub.daemon("b", slots=2)
    hub.run(hub.submit(target="b"))
    hub.daemon("a", boot="boot-2")
    # The other one has more to do, and gets it all the same.
    assert attempt_of(task).daemon_id == second.id
    hub.live(s=60)
    assert (task.trouble.avoid, first.active) == ([], 0)


def test_on_lost_fail_makes_a_dead_letter_of_it() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(on_lost=LostPolicy.FAIL)))
    hub.advance(s=36)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.DAEMON_UNRESPONSIVE


def test_an_offer_that_never_reached_its_daemon_is_lost_without_avoiding_it() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.daemon()
    assert attempt_of(task).number == 2
    assert task.trouble is None


# Not taken up


def test_an_offer_not_accepted_within_5_s_is_taken_back_and_the_socket_closed() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.advance(ms=4999)
    assert task.status is Status.SCHEDULED
    effects = hub.advance(ms=1)
    assert [c.code for c in hub.of(effects, CloseSession)] == ["NOT_ACCEPTED"]
    assert (task.status, attempt_of(task).status, daemon.session) == (Status.QUEUED, AttemptStatus.REJECTED, 0)


def test_a_task_accepted_but_not_started_within_30_s_is_taken_back_and_withdrawn() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.accept(task)
    hub.live(s=25)
    hub.advance(ms=4999)
    assert task.status is Status.SCHEDULED
    effects = hub.advance(ms=1)
    assert [c.reason for c in hub.of(effects, CancelWork)] == [CancelReason.WITHDRAWN]
    assert (task.status, list(daemon.lingering)) == (Status.QUEUED, [(task.id, 1)])


def test_after_a_reject_the_daemon_is_avoided_for_a_second_doubling_also_on_a_fleet_of_one() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    waits = []
    for _ in range(5):
        hub.reject(task, reason="busy")
        waits.append(hub.await_offer(task))
    assert waits == [1, 2, 4, 8, 16]
    assert hub.said(EventName.TASK_REJECTED)[0].data == {
        "reason": "The daemon rejected it: busy",
        "daemon_id": "d-mac",
    }


def test_the_time_of_avoidance_is_bounded() -> None:
    hub = HubHarness(Settings(suspects=Suspects(avoid_max_s=3)))
    hub.daemon()
    task = hub.submit()
    for _ in range(4):
        hub.reject(task)
        hub.live(s=3)
    assert task.status is Status.SCHEDULED


def test_another_daemon_takes_a_rejected_task_at_once() -> None:
    hub = HubHarness()
    hub.daemon("a")
    task = hub.submit()
    other = hub.daemon("b")
    hub.reject(task)
    assert attempt_of(task).daemon_id == other.id


def test_ten_offers_in_a_row_that_nobody_takes_up_make_a_dead_letter() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    for _ in range(9):
        hub.reject(task)
        hub.await_offer(task)
    hub.reject(task)
    assert len(task.attempts or ()) == 10
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.NOT_STARTED


def test_a_start_ends_the_row() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    for _ in range(9):
        hub.reject(task)
        hub.await_offer(task)
    hub.run(task)
    assert task.trouble.unstarted == 0


# Handed back


def test_what_a_leaving_daemon_hands_back_is_queued_and_uses_up_no_try() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit(terms=Terms(max_attempts=1)))
    hub.drain(daemon)
    hub.reject(task, drained=True)
    assert (task.status, attempt_of(task).status) == (Status.QUEUED, AttemptStatus.DRAINED)
    data = hub.said(EventName.TASK_QUEUED, task)[-1].data
    assert (data["because"], data["daemon_id"], data["queue_depth"]) == ("drained", daemon.id, 1)


@pytest.mark.parametrize("started", [True, False])
def test_past_its_deadline_a_lost_task_is_over(started: bool) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(deadline=hub.now.wall + 10_000)
    hub.accept(task)
    if started:
        hub.start(task)
    hub.advance(s=20)
    assert task.status in (Status.RUNNING, Status.SCHEDULED)
    hub.daemon(boot="boot-2")
    assert task.status is (Status.PERMANENTLY_FAILED if started else Status.STALE)

"""Ending a task on purpose."""

import pytest

from taskyard.core.commands import CancelTask, SkipTask
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import Acknowledge, CancelWork, Done, Welcome
from taskyard.core.task import Terms
from taskyard.vocabulary import AttemptStatus, CancelReason, EventName, InventoryVerdict, Refusal
from tests.support.harness import HubHarness, Status, attempt_of


@pytest.mark.parametrize("fields", [{}, {"scheduled_for": 10**15}, {"depends_on": ("base",)}])
def test_a_task_that_no_daemon_holds_is_cancelled_at_once(fields: dict[str, object]) -> None:
    hub = HubHarness()
    hub.submit(id="base")
    task = hub.submit(key="k", **fields)
    assert hub.cancel(task, reason="not needed") == Done(task.id)
    assert (task.status, task.completed_at) == (Status.CANCELLED, hub.now.wall)
    assert hub.said(EventName.TASK_CANCELLED, task)[0].data == {"reason": "not needed"}
    assert hub.state.keys == {("ann", "k"): task.id}


def test_cancelling_a_running_task_answers_at_once_and_the_task_runs_on_until_its_daemon_confirms() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    task = hub.run(hub.submit())
    waiting = hub.submit()
    # When it is cancelled
    assert hub.cancel(task) == Done(task.id)
    # Then it is told to stop, and everything it holds stays held
    assert (task.status, task.cancel_requested_at) == (Status.RUNNING, hub.now.wall)
    assert hub.of(hub.effects, CancelWork) == [CancelWork(daemon.session, task.id, 1, CancelReason.CANCELLED, 10_000)]
    assert (waiting.status, list(daemon.holding)) == (Status.QUEUED, [task.id])
    # And when its daemon confirms, it is over
    effects = hub.confirm_cancel(task)
    assert (task.status, attempt_of(task).status) == (Status.CANCELLED, AttemptStatus.CANCELLED)
    assert Acknowledge(daemon.session, task.id, 1) in effects
    assert waiting.status is Status.SCHEDULED


def test_a_second_cancel_of_a_running_task_says_the_same_and_sends_nothing() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task, reason="first")
    asked_at = task.cancel_requested_at
    hub.advance(ms=100)
    assert hub.cancel(task) == Done(task.id)
    assert task.cancel_requested_at == asked_at
    assert len(hub.of(hub.effects, CancelWork)) == 1
    assert [e.data for e in hub.said(EventName.TASK_CANCELLING)] == [{"reason": "first"}]


def test_the_end_of_the_lease_ends_a_cancelled_task_whose_daemon_is_silent() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task)
    hub.advance(s=36)
    assert (task.status, attempt_of(task).status) == (Status.CANCELLED, AttemptStatus.LOST)


def test_a_task_told_to_stop_is_not_tried_again_when_its_timeout_passes() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=60_000)))
    hub.cancel(task)
    hub.live(s=120)
    assert (task.status, len(task.attempts or ())) == (Status.RUNNING, 1)
    hub.confirm_cancel(task)
    assert task.status is Status.CANCELLED


def test_a_task_told_to_stop_before_it_was_accepted_waits_for_its_daemons_word() -> None:
    # Given an offer that was cancelled and never answered
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.cancel(task)
    # When the time to accept it is over
    hub.advance(s=5)
    # Then the daemon is made to come back, and until then work may be alive
    assert (task.status, daemon.session) == (Status.SCHEDULED, 0)
    hub.daemon()
    assert task.status is Status.CANCELLED


def test_a_task_told_to_stop_after_it_was_accepted_waits_for_its_daemons_word() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.accept(task)
    hub.cancel(task)
    hub.live(s=40)
    assert task.status is Status.SCHEDULED
    hub.reject(task, reason="never began")
    assert task.status is Status.CANCELLED


def test_a_result_that_arrives_after_a_cancel_request_is_late_and_confirms_the_cancel() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task)
    hub.complete(task)
    assert task.status is Status.CANCELLED
    assert [(r.task_id, r.attempt, r.body) for r in hub.batches[-1].late] == [(task.id, 1, b'{"result":"done"}')]
    assert hub.batches[-1].outcomes == []


def test_a_failure_that_arrives_after_a_cancel_request_confirms_it_and_is_kept() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task)
    hub.fail(task)
    assert task.status is Status.CANCELLED
    assert b"it broke" in hub.batches[-1].late[0].body


def test_a_daemon_that_is_away_is_not_told_and_its_list_brings_it_up() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    hub.cancel(task)
    assert hub.of(hub.effects, CancelWork) == []
    hub.daemon(inventory=[Held(task.id, 1)])
    assert [j.verdict for j in hub.of(hub.effects, Welcome)[-1].verdicts] == [InventoryVerdict.ABORT]
    assert task.status is Status.RUNNING
    hub.confirm_cancel(task)
    assert task.status is Status.CANCELLED


@pytest.mark.parametrize("handed_back", [True, False])
def test_a_daemon_that_hands_back_or_rejects_a_cancelled_task_confirms_it(handed_back: bool) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task)
    hub.reject(task, drained=handed_back)
    assert (task.status, attempt_of(task).status) == (Status.CANCELLED, AttemptStatus.CANCELLED)


def test_a_dead_letter_can_be_cancelled() -> None:
    hub = HubHarness()
    task = hub.submit(target="nobody", key="k")
    hub.advance(ms=1)
    assert hub.cancel(task) == Done(task.id)
    assert [row.task.id for row in hub.batches[-1].amended] == [task.id]


def test_a_completed_task_cannot_be_cancelled_or_skipped() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.complete(task)
    for answer in (hub.cancel(task), hub.skip(task)):
        assert answer.code is Refusal.TASK_ALREADY_COMPLETED


def test_what_is_cancelled_stays_cancelled_and_the_refusal_says_what_is_possible() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.cancel(task)
    answer = hub.cancel(task)
    assert answer.code is Refusal.INVALID_TRANSITION
    assert answer.detail == "T-001 is cancelled already."
    answer = hub.skip(task)
    assert answer.detail == "T-001 is cancelled and cannot be skipped: it has ended."


def test_a_running_task_cannot_be_skipped() -> None:
    hub = HubHarness()
    hub.daemon()
    answer = hub.skip(hub.run(hub.submit()))
    assert answer.code is Refusal.INVALID_TRANSITION


@pytest.mark.parametrize("command", [CancelTask, SkipTask])
def test_another_users_task_looks_like_none(command: type[CancelTask | SkipTask]) -> None:
    hub = HubHarness(users=("ann", "bob"))
    task = hub.submit(user="bob")
    for task_id in (task.id, "nowhere"):
        answer = hub.ask(command("ann", task_id))
        assert answer.code is Refusal.TASK_NOT_FOUND
    assert task.status is Status.QUEUED


@pytest.mark.parametrize(("reason", "kept"), [("later", "later"), (None, "skipped by its owner")])
def test_a_skipped_task_says_why(reason: str | None, kept: str) -> None:
    hub = HubHarness()
    task = hub.submit()
    assert hub.skip(task, reason=reason) == Done(task.id)
    assert task.status is Status.SKIPPED
    assert task.trouble.skipped_reason == kept


def test_a_blocked_task_that_is_skipped_is_blocked_no_longer() -> None:
    hub = HubHarness()
    dead = hub.submit(target="nobody")
    task = hub.submit(depends_on=(dead.id,))
    hub.skip(task)
    assert (task.status, task.trouble.blocked_reason) == (Status.SKIPPED, None)

"""What daemons say, and when it counts."""

from collections.abc import Callable

import pytest

from taskyard.core.commands import BeatTask, CompleteTask, FailTask, ReportProgress, SaveCheckpoint
from taskyard.core.daemon_commands import AcceptTask, Beat, ConfirmCancel, Held, RejectTask, StartTask
from taskyard.core.effects import Acknowledge, CancelWork, Done, Progressed, Refused
from taskyard.core.outcomes import GAP
from taskyard.core.settings import Limits, Settings, Sizes
from taskyard.core.task import Failure, Task, Terms, Usage
from taskyard.vocabulary import AttemptStatus, EventName, Refusal
from tests.support.harness import ErrorCode, HubHarness, ResultStatus, Status, attempt_of


def a_running_task(**settings: object) -> tuple[HubHarness, Task]:
    hub = HubHarness(Settings(**settings))  # type: ignore[arg-type]
    hub.daemon()
    return hub, hub.run(hub.submit(terms=Terms(retry_delay_ms=0)))


def stale(answer: object, *, kept: bool = False) -> bool:
    return isinstance(answer, Refused) and answer.code is Refusal.STALE_ATTEMPT and answer.kept is kept


# Results


def test_a_result_completes_the_task_and_is_acknowledged() -> None:
    hub, task = a_running_task()
    effects = hub.complete(task, summary="fine")
    assert (task.status, task.summary, task.result_status) == (Status.COMPLETED, "fine", ResultStatus.SUCCESS)
    assert attempt_of(task).status is AttemptStatus.SUCCESS
    assert Acknowledge(1, task.id, 1) in effects
    assert hub.batches[-1].outcomes == [(task.id, b'{"result":"done"}')]


def test_a_result_before_its_start_was_told_says_that_it_started() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.complete(task, outcome=None)
    assert task.status is Status.COMPLETED
    assert attempt_of(task).started_at == hub.now.wall
    assert hub.batches[-1].outcomes == []


def test_a_result_is_taken_once_and_acknowledged_as_often_as_it_comes() -> None:
    hub, task = a_running_task()
    hub.complete(task)
    effects = hub.complete(task, outcome=b'{"result":"again"}')
    assert hub.of(effects, Acknowledge) == [Acknowledge(1, task.id, 1)]
    assert hub.batches[-1].is_empty()
    hub.advance(ms=1)
    assert task.id not in hub.state.tasks
    hub.complete(task, known=hub.known(task))
    assert hub.batches[-1].is_empty()
    assert len(hub.said(EventName.TASK_COMPLETED)) == 1


def test_a_result_that_says_failed_is_a_failure_that_is_tried_again() -> None:
    hub, task = a_running_task()
    hub.complete(task, result_status=ResultStatus.FAILED, summary="could not log in")
    first = (task.attempts or [])[0]
    assert first.status is AttemptStatus.FAILED
    assert first.error == Failure(ErrorCode.AGENT_REPORTED_FAILURE, "could not log in")
    assert task.status is Status.SCHEDULED


def test_a_decision_report_that_is_required_and_there_completes() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(decision_report=True))
    hub.complete(task, has_report=True)
    assert task.status is Status.COMPLETED


def test_a_result_of_a_lost_attempt_is_taken_while_nothing_newer_was_sent_out() -> None:
    # Given an attempt that was called lost, and no daemon for another
    hub, task = a_running_task()
    hub.advance(s=36)
    assert (task.status, attempt_of(task).status) == (Status.QUEUED, AttemptStatus.LOST)
    # When its result comes after all
    hub.complete(task, usage=Usage(input_tokens=3))
    # Then the work was not for nothing
    assert (task.status, attempt_of(task).status, attempt_of(task).error) == (
        Status.COMPLETED,
        AttemptStatus.SUCCESS,
        None,
    )
    assert attempt_of(task).usage == Usage(input_tokens=3)


def test_a_result_that_arrives_after_a_timeout_is_taken_while_nothing_newer_was_sent_out() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000, retry_delay_ms=60_000)))
    hub.advance(s=1)
    assert task.status is Status.PENDING
    hub.complete(task)
    assert (task.status, task.error) == (Status.COMPLETED, None)


def test_a_result_of_an_offer_that_was_taken_back_is_taken_while_nothing_newer_was_sent_out() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.advance(s=5)
    assert (task.status, attempt_of(task).status) == (Status.QUEUED, AttemptStatus.REJECTED)
    hub.complete(task)
    assert task.status is Status.COMPLETED


@pytest.mark.parametrize(
    "fields", [{"result_status": ResultStatus.FAILED}, {"has_report": False}], ids=["failed", "without report"]
)
def test_a_bad_result_of_a_lost_attempt_is_only_kept(fields: dict[str, object]) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(decision_report=True)))
    hub.advance(s=36)
    hub.complete(task, **fields)
    assert (task.status, len(hub.batches[-1].late)) == (Status.QUEUED, 1)


def test_a_result_of_an_older_attempt_is_acknowledged_kept_as_late_and_changes_nothing() -> None:
    # Given a task that was lost on one daemon and sent to another
    hub = HubHarness()
    slow = hub.daemon("slow")
    task = hub.run(hub.submit())
    hub.advance(s=10)
    spare = hub.daemon("spare")
    hub.advance(s=26)
    assert attempt_of(task).daemon_id == spare.id
    # When the first answers
    effects = hub.complete(task, attempt=1, outcome=b'{"result":"old"}')
    # Then it may forget it, and the second goes on
    assert hub.of(effects, Acknowledge) == [Acknowledge(1, task.id, 1)]
    assert [(r.attempt, r.body) for r in hub.batches[-1].late] == [(1, b'{"result":"old"}')]
    assert (task.status, attempt_of(task).status) == (Status.SCHEDULED, AttemptStatus.RUNNING)
    assert slow.session == 0


def test_a_late_failure_is_kept_too_and_a_caller_is_told_so() -> None:
    hub, task = a_running_task()
    hub.advance(s=36)
    answer = hub.ask(FailTask(None, task.id, 1, Failure("X", "y")))
    assert stale(answer, kept=True)
    assert hub.batches[-1].late[0].body == b'{"error":{"code":"X","message":"y"}}'
    assert task.status is Status.QUEUED


def test_a_late_result_of_a_task_that_was_forgotten_is_kept() -> None:
    hub, task = a_running_task()
    hub.cancel(task)
    hub.confirm_cancel(task)
    hub.advance(ms=1)
    assert stale(hub.ask(CompleteTask(None, task.id, 1, known=hub.known(task))), kept=True)
    assert hub.batches[-1].late[0].body == b"{}"
    assert task.status is Status.CANCELLED


@pytest.mark.parametrize(
    ("task_id", "attempt", "daemon_id"), [("x", 1, None), (None, 9, None), (None, 0, None), (None, 1, "d-other")]
)
def test_a_result_of_no_attempt_or_anothers_attempt_is_refused(
    task_id: str | None, attempt: int, daemon_id: str | None
) -> None:
    hub, task = a_running_task()
    assert stale(hub.ask(CompleteTask(daemon_id, task_id or task.id, attempt)))
    assert task.status is Status.RUNNING
    assert hub.batches[-1].is_empty()


def test_a_result_by_token_is_answered() -> None:
    hub, task = a_running_task()
    assert hub.ask(CompleteTask(None, task.id, 1)) == Done(task.id)
    assert hub.ask(CompleteTask(None, task.id, 1)) == Done(task.id)


@pytest.mark.parametrize("attempts_max", [1, 3])
def test_a_result_after_the_attempt_said_that_it_failed_is_kept_as_late_and_its_caller_told(attempts_max: int) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(max_attempts=attempts_max)))
    hub.ask(FailTask(None, task.id, 1, Failure("X", "y")))
    ended = task.status
    answer = hub.ask(CompleteTask(None, task.id, 1, outcome=b'{"result":"precious"}', known=hub.known(task)))
    assert stale(answer, kept=True)
    assert [late.body for late in hub.batches[-1].late] == [b'{"result":"precious"}']
    assert task.status is ended is not Status.COMPLETED


@pytest.mark.parametrize(
    "again",
    [
        lambda task: FailTask(None, task.id, 1, Failure("X", "y")),
        lambda task: CompleteTask(None, task.id, 1, result_status=ResultStatus.FAILED),
    ],
)
def test_a_failure_after_the_attempt_handed_in_its_result_is_kept_as_late(
    again: Callable[[Task], CompleteTask | FailTask],
) -> None:
    hub, task = a_running_task()
    hub.ask(CompleteTask(None, task.id, 1))
    assert stale(hub.ask(again(task)), kept=True)
    assert (task.status, len(hub.batches[-1].late)) == (Status.COMPLETED, 1)


def test_a_failure_that_comes_twice_is_known() -> None:
    hub, task = a_running_task()
    failed = FailTask(None, task.id, 1, Failure("X", "y"))
    assert [hub.ask(failed), hub.ask(failed)] == [Done(task.id), Done(task.id)]
    assert not any(batch.late for batch in hub.batches)


def test_a_failure_by_token_is_answered() -> None:
    hub, task = a_running_task()
    assert hub.ask(FailTask(None, task.id, 1, Failure("X", "y"))) == Done(task.id)


# Words about attempts that are not current


def test_words_about_an_older_attempt_change_nothing() -> None:
    hub, task = a_running_task()
    hub.fail(task)
    assert attempt_of(task).number == 2
    daemon = hub.state.daemons["d-mac"]
    before = hub.hot()
    hub.step(AcceptTask(daemon.session, daemon.id, task.id, 1))
    hub.step(StartTask(daemon.session, daemon.id, task.id, 1))
    hub.step(RejectTask(daemon.session, daemon.id, task.id, 1))
    hub.step(ConfirmCancel(daemon.id, task.id, 1, daemon.session))
    assert hub.hot() == before
    assert not attempt_of(task).accepted


def test_a_daemon_that_stops_a_task_by_itself_has_lost_it() -> None:
    hub, task = a_running_task()
    hub.step(ConfirmCancel("d-mac", task.id, 1, 1, reason="out of paper"))
    lost = (task.attempts or [])[0]
    assert (lost.status, task.status) == (AttemptStatus.LOST, Status.SCHEDULED)
    assert lost.error.message == "The daemon stopped it by itself: out of paper"
    hub.confirm_cancel(task)
    assert (task.attempts or [])[1].error == Failure(
        ErrorCode.DAEMON_DISCONNECTED, "The daemon stopped it by itself: no reason given"
    )


# Soft news


def test_progress_is_passed_on_and_not_kept() -> None:
    hub, task = a_running_task()
    answer = hub.ask(ReportProgress(None, task.id, 1, percent=40.0, message="reading"))
    assert answer == Done(task.id)
    assert hub.of(hub.effects, Progressed) == [Progressed(task.id, "ann", 1, 1, 40.0, "reading", None)]
    assert hub.batches[-1].is_empty()


def test_progress_from_a_socket_needs_no_answer() -> None:
    hub, task = a_running_task()
    effects = hub.step(ReportProgress("d-mac", task.id, 1, session=1, percent=1.0))
    assert [type(e) for e in effects] == [Progressed]
    assert hub.step(ReportProgress("d-mac", task.id, 7, session=1)) == []


def test_a_log_is_kept_up_to_its_limit_and_the_cut_is_marked_once() -> None:
    hub, task = a_running_task(limits=Limits(size=Sizes(log=10)))
    for text in ("12345", "67890", "more", "and more"):
        hub.step(ReportProgress("d-mac", task.id, 1, log=text))
    assert [c.text for b in hub.batches for c in b.logs] == ["12345", "67890", GAP]
    assert [p.log for p in hub.of(hub.effects, Progressed)] == ["12345", "67890", GAP, None]


def test_a_checkpoint_is_kept_and_the_task_says_it_has_one() -> None:
    hub, task = a_running_task()
    assert hub.ask(SaveCheckpoint(None, task.id, 1, b'{"step":2}')) == Done(task.id)
    assert task.checkpoint
    assert hub.batches[-1].checkpoints == [(task.id, b'{"step":2}')]


def test_a_heartbeat_by_token_is_answered() -> None:
    hub, task = a_running_task()
    assert hub.ask(BeatTask(task.id, 1)) == Done(task.id)


def test_soft_news_of_an_attempt_that_is_over_is_refused() -> None:
    hub, task = a_running_task()
    hub.complete(task)
    assert stale(hub.ask(ReportProgress(None, task.id, 1)))
    assert stale(hub.ask(SaveCheckpoint(None, task.id, 1, b"{}")))
    assert stale(hub.ask(BeatTask(task.id, 1)))


# Slots of attempts that were given up


@pytest.mark.parametrize("word", ["complete", "fail", "reject", "confirm"])
def test_any_last_word_about_an_attempt_that_was_given_up_frees_its_slot(word: str) -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000)))
    hub.advance(s=1)
    assert list(daemon.lingering) == [(task.id, 1)]
    spoken = {
        "complete": CompleteTask(daemon.id, task.id, 1, daemon.session),
        "fail": FailTask(daemon.id, task.id, 1, Failure("X", "y"), daemon.session),
        "reject": RejectTask(daemon.session, daemon.id, task.id, 1),
        "confirm": ConfirmCancel(daemon.id, task.id, 1, daemon.session),
    }
    hub.step(spoken[word])
    assert daemon.lingering == {}


def test_a_slot_is_not_freed_twice() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    task = hub.run(hub.submit())
    hub.complete(task)
    hub.complete(task)
    hub.confirm_cancel(task)
    assert (daemon.active, len(daemon.holding)) == (0, 0)
    one, two = hub.submit(), hub.submit()
    assert (one.status, two.status) == (Status.SCHEDULED, Status.QUEUED)


def test_what_a_heartbeat_lists_and_the_hub_gave_up_is_withdrawn_once() -> None:
    hub, task = a_running_task()
    daemon = hub.state.daemons["d-mac"]
    hub.fail(task)
    for expected in (1, 0):
        effects = hub.step(Beat(daemon.session, daemon.id, running=[Held(task.id, 1)]))
        assert len(hub.of(effects, CancelWork)) == expected
    assert list(daemon.lingering) == [(task.id, 1)]


def test_what_is_known_of_a_log_is_forgotten_with_its_attempt() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.step(ReportProgress("d-mac", task.id, 1, log="hello"))
    assert list(hub.state.log_bytes) == [(task.id, 1)]
    hub.complete(task)
    assert hub.state.log_bytes == {}

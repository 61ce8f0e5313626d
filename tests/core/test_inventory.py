"""What a daemon that comes back is told to do with what it lists."""

import pytest

from taskyard.core.commands import RetryTask
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import Welcome
from taskyard.core.task import Terms
from taskyard.vocabulary import (
    AttemptStatus,
    InventoryVerdict,
    LostPolicy,
)
from tests.support.harness import HubHarness, InventoryState, Status, a_draft, attempt_of

CONTINUE, ABORT = InventoryVerdict.CONTINUE, InventoryVerdict.ABORT
SEND_RESULT, FORGET = InventoryVerdict.SEND_RESULT, InventoryVerdict.FORGET


def verdicts(hub: HubHarness) -> list[InventoryVerdict]:
    return [judged.verdict for judged in hub.of(hub.effects, Welcome)[-1].verdicts]


def test_a_daemon_that_comes_back_in_time_goes_on_with_what_it_lists() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    started = attempt_of(task).started_at
    hub.disconnect(daemon)
    hub.advance(s=30)
    hub.daemon(inventory=[Held(task.id, 1)])
    assert verdicts(hub) == [CONTINUE]
    assert (task.status, attempt_of(task).number, attempt_of(task).started_at) == (Status.RUNNING, 1, started)
    assert len(hub.sent()) == 1


@pytest.mark.parametrize("boot", ["boot-0", "boot-2"])
def test_what_a_new_process_lists_it_took_over(boot: str) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.daemon(boot=boot, inventory=[Held(task.id, 1)])
    assert (task.status, attempt_of(task).boot_id) == (Status.RUNNING, boot)
    assert boot.encode() in hub.hot()[task.id]


@pytest.mark.parametrize("state", [InventoryState.ACCEPTED, InventoryState.RUNNING])
def test_its_list_tells_how_far_it_is(state: InventoryState) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.daemon(inventory=[Held(task.id, 1, state)])
    assert verdicts(hub) == [CONTINUE]
    assert attempt_of(task).accepted
    assert task.status is (Status.RUNNING if state is InventoryState.RUNNING else Status.SCHEDULED)


def test_what_it_accepted_before_gets_a_new_while_to_begin() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.accept(task)
    hub.live(s=20)
    hub.disconnect(daemon)
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ACCEPTED)])
    hub.live(s=29)
    assert task.status is Status.SCHEDULED
    hub.live(s=1)
    assert task.status is Status.QUEUED


def test_a_lost_attempt_its_daemon_still_runs_is_taken_back_while_nothing_newer_was_sent_out() -> None:
    # Given an attempt called lost after its lease, with nobody to run another
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=60_000)))
    started = attempt_of(task).started_at
    hub.advance(s=36)
    assert task.status is Status.QUEUED
    # When its daemon comes back with it
    daemon = hub.daemon(inventory=[Held(task.id, 1)])
    # Then it goes on, as long as it still may
    assert verdicts(hub) == [CONTINUE]
    assert (task.status, task.started_at, attempt_of(task).started_at) == (Status.RUNNING, started, started)
    assert (attempt_of(task).status, attempt_of(task).error, list(daemon.holding)) == (
        AttemptStatus.RUNNING,
        None,
        [task.id],
    )
    hub.live(s=20)
    assert task.status is Status.RUNNING
    hub.live(s=5)
    assert attempt_of(task).status is AttemptStatus.TIMEOUT


def test_an_attempt_taken_back_by_a_task_that_was_tried_anew_meanwhile_counts_in_the_new_series() -> None:
    # Given a task that was lost for good, and brought back by its owner
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    task = hub.submit(a_draft(terms=Terms(on_lost=LostPolicy.FAIL, timeout_ms=60_000)))
    hub.start(task)
    hub.disconnect(daemon)
    hub.advance(s=37)
    assert task.status is Status.PERMANENTLY_FAILED
    hub.ask(RetryTask("ann", task.id, known=hub.known(task)))
    # When its daemon comes back and still runs it, and it then fails
    hub.daemon(slots=1, inventory=[Held(task.id, 1)])
    assert verdicts(hub) == [CONTINUE]
    hub.fail(task)
    # Then that was a try of the series that its owner began
    assert attempt_of(task).series == task.series == 2
    assert task.status is Status.PENDING


def test_an_offer_that_was_taken_back_unheard_is_adopted_too() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.advance(s=5)
    assert attempt_of(task).status is AttemptStatus.REJECTED
    hub.daemon(inventory=[Held(task.id, 1)])
    assert (verdicts(hub), task.status) == ([CONTINUE], Status.RUNNING)


def test_a_lost_attempt_is_not_taken_back_when_another_was_sent_out() -> None:
    hub = HubHarness()
    hub.daemon("a")
    task = hub.run(hub.submit())
    hub.advance(s=30)
    hub.daemon("b")
    hub.advance(s=6)
    assert attempt_of(task).daemon_id == "d-b"
    daemon = hub.daemon("a", inventory=[Held(task.id, 1)])
    assert verdicts(hub) == [ABORT]
    assert list(daemon.lingering) == [(task.id, 1)]


def test_a_lost_attempt_is_not_taken_back_past_another_that_runs_under_its_exclusive_key() -> None:
    hub = HubHarness()
    hub.daemon("a")
    exclusive = Terms(exclusive="repo")
    first, second = hub.run(hub.submit(terms=exclusive, target="a")), hub.submit(terms=exclusive)
    hub.advance(s=30)
    hub.daemon("b")
    hub.advance(s=6)
    assert (first.status, second.status) == (Status.QUEUED, Status.SCHEDULED)
    hub.daemon("a", inventory=[Held(first.id, 1)])
    assert (verdicts(hub), first.status) == ([ABORT], Status.QUEUED)


def test_a_timed_out_attempt_is_not_taken_back() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=1000, retry_delay_ms=60_000)))
    hub.advance(s=2)
    hub.disconnect(daemon)
    hub.daemon(inventory=[Held(task.id, 1)])
    assert verdicts(hub) == [ABORT]
    assert list(daemon.lingering) == [(task.id, 1)]


def test_a_lost_attempt_of_a_task_that_its_owner_put_off_is_not_taken_back() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(s=36)
    hub.change(task, scheduled_for=hub.now.wall + 60_000)
    daemon = hub.daemon(inventory=[Held(task.id, 1)])
    assert (verdicts(hub), task.status) == ([ABORT], Status.PENDING)
    # It has a slot until its daemon says that it stopped
    assert (list(daemon.holding), list(daemon.lingering)) == ([], [(task.id, 1)])


def test_what_was_cancelled_while_its_daemon_was_away_is_stopped_and_holds_its_slot_once() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.disconnect(daemon)
    hub.cancel(task)
    hub.daemon(inventory=[Held(task.id, 1)])
    assert verdicts(hub) == [ABORT]
    assert (list(daemon.holding), list(daemon.lingering)) == ([task.id], [])


def test_an_ended_attempt_whose_result_the_hub_lacks_is_asked_for() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED), Held("forgotten", 1, InventoryState.ENDED)])
    assert verdicts(hub) == [SEND_RESULT, SEND_RESULT]
    hub.complete(task)
    assert task.status is Status.COMPLETED


def test_what_ended_unheard_is_not_begun_anew_while_its_result_is_on_the_way() -> None:
    # Given an attempt called lost after its lease, whose daemon finished it meanwhile
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(s=36)
    assert task.status is Status.QUEUED
    # When the daemon comes back with the result in its hands
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED)])
    # Then it keeps the task until it has told it
    assert verdicts(hub) == [SEND_RESULT]
    assert (task.status, len(task.attempts or ())) == (Status.RUNNING, 1)
    hub.complete(task)
    assert task.status is Status.COMPLETED


def test_what_ended_unheard_takes_no_slot_beyond_the_daemons() -> None:
    hub = HubHarness()
    hub.daemon(slots=2)
    first, second = hub.run(hub.submit()), hub.run(hub.submit())
    hub.advance(s=36)
    ended = [Held(task.id, 1, InventoryState.ENDED) for task in (first, second)]
    daemon = hub.daemon(slots=1, inventory=ended)
    assert (verdicts(hub), list(daemon.holding)) == ([SEND_RESULT, SEND_RESULT], [first.id])


def test_what_ended_unheard_and_past_its_time_is_not_called_too_slow() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=60_000)))
    hub.advance(s=36)
    hub.advance(s=24)
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED)])
    assert verdicts(hub) == [SEND_RESULT]
    assert next(iter(task.attempts or ())).status is AttemptStatus.LOST


def test_what_ended_while_its_daemon_was_away_is_not_called_too_slow_before_its_result_can_be_here() -> None:
    # Given a last try that ended while its daemon was away, for longer than it may run
    hub = HubHarness()
    task = hub.overdue_while_away()
    # When the daemon is back with the result in its hands
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED)])
    hub.advance(s=4)
    # Then that counts
    hub.complete(task)
    assert task.status is Status.COMPLETED


def test_a_result_that_was_listed_and_does_not_come_is_not_waited_for_beyond_its_time() -> None:
    hub = HubHarness()
    task = hub.overdue_while_away()
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED)])
    hub.advance(s=5)
    assert task.status is Status.PERMANENTLY_FAILED


def test_what_ended_unheard_is_given_back_if_it_was_cancelled_meanwhile() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(s=36)
    hub.cancel(task)
    daemon = hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED)])
    assert (verdicts(hub), list(daemon.holding)) == ([SEND_RESULT], [])


def test_an_ended_attempt_whose_result_the_hub_has_may_be_forgotten() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0))
    hub.fail(task)
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED), Held(task.id, 2)])
    assert verdicts(hub) == [FORGET, CONTINUE]


def test_the_result_of_a_second_attempt_is_asked_for_though_the_first_one_was_reported() -> None:
    # Given a task whose first attempt failed, and whose second ended while its daemon was away
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit(terms=Terms(retry_delay_ms=0))
    hub.fail(task)
    hub.run(task)
    hub.disconnect(daemon)

    # When it lists the second as ended, and one that never was
    hub.daemon(inventory=[Held(task.id, number, InventoryState.ENDED) for number in (2, 0)])

    # Then neither is taken for the first
    assert verdicts(hub) == [SEND_RESULT, SEND_RESULT]
    hub.complete(task)
    assert task.status is Status.COMPLETED


def test_an_ended_attempt_whose_result_never_comes_is_given_up() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.ENDED)])
    hub.live(s=30)
    assert attempt_of(task).status is AttemptStatus.REJECTED


def test_what_nobody_knows_is_aborted_and_holds_a_slot_until_it_is_gone() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1, inventory=[Held("unknown", 3)])
    assert verdicts(hub) == [ABORT]
    task = hub.submit()
    assert (task.status, daemon.active) == (Status.QUEUED, 1)
    hub.beat(daemon)
    assert task.status is Status.SCHEDULED

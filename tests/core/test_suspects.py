"""Tasks that daemons do not survive, and daemons a task stays away from."""

import pytest

from taskyard.core.suspects import _avoid, end_avoidance
from taskyard.core.task import Avoidance, Task, Terms, Trouble
from taskyard.vocabulary import AttemptStatus
from tests.support.harness import ErrorCode, HubHarness, Status, attempt_of
from tests.support.suspects import a_suspect, kill


def is_unblamed(task: Task) -> bool:
    return task.trouble is not None and (task.trouble.deaths, task.trouble.suspect) == (0, False)


def test_a_task_whose_daemon_died_under_it_three_times_is_a_suspect_that_runs_alone() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = a_suspect(hub)
    assert (task.status, daemon.alone) == (Status.RUNNING, task.id)
    assert hub.submit().status is Status.QUEUED


def test_lost_again_it_is_a_dead_letter() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = a_suspect(hub)
    other = hub.submit()
    kill(hub, task)
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.POISON_TASK
    assert daemon.alone is None
    assert other.status is Status.SCHEDULED


def test_mere_silence_does_not_count() -> None:
    hub = HubHarness()
    task = hub.submit()
    for _ in range(6):
        hub.daemon()
        hub.run(task)
        hub.advance(s=36)
    assert [a.status for a in task.attempts or ()] == [AttemptStatus.LOST] * 6
    assert (task.trouble.deaths, task.status) == (0, Status.QUEUED)


def test_an_offer_that_had_not_reached_the_process_that_died_does_not_count() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    for n in range(2, 9):
        hub.daemon(boot=f"boot-{n}")
        hub.advance(s=61)
        hub.daemon(boot=f"boot-{n}")
    assert task.trouble is None or task.trouble.deaths == 0


@pytest.mark.parametrize("accepted", [True, False])
def test_a_process_that_died_before_the_task_began_did_not_die_under_it(accepted: bool) -> None:
    # Given a task that was taken up, or not even that, and had not begun
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(terms=Terms(max_attempts=1))
    for _ in range(4):
        if accepted:
            hub.accept(task)
        # When its daemon's process dies and comes back, more often than a suspect survives
        kill(hub, task)
        hub.await_offer(task)
    # Then it is no suspect, and no try is used up
    assert (task.trouble.deaths, task.trouble.suspect, task.status) == (0, False, Status.SCHEDULED)
    assert hub.run(task).status is Status.RUNNING


@pytest.mark.parametrize("accepted", [True, False])
def test_a_task_before_whose_start_every_process_dies_is_put_aside_all_the_same(accepted: bool) -> None:
    # Given work that kills its daemon in its first step, before anybody has heard of it
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    waits = []
    for _ in range(10):
        if accepted:
            hub.accept(task)
        kill(hub, task)
        if task.status is Status.QUEUED:
            waits.append(hub.await_offer(task))
    # Then it is offered less and less often, and after ten times no more
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert task.status is Status.PERMANENTLY_FAILED
    assert task.error.code == ErrorCode.NOT_STARTED
    assert [attempt.status for attempt in task.attempts or ()] == [AttemptStatus.LOST] * 10


def test_a_suspect_that_was_taken_up_alone_when_the_next_process_died_is_poison_begun_or_not() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    for _ in range(3):
        kill(hub, task)
        if task.trouble is None or not task.trouble.suspect:
            hub.run(task)
    hub.accept(task)
    kill(hub, task)
    assert task.error.code == ErrorCode.POISON_TASK


@pytest.mark.parametrize("accepted", [True, False])
def test_work_that_kills_in_its_first_step_is_put_aside_with_the_fourth_process(accepted: bool) -> None:
    # Given work of which nobody had heard that it began when its daemon's process died
    hub = HubHarness()
    daemon = hub.daemon(slots=40)
    task = hub.submit()
    others = [hub.submit(terms=Terms(max_attempts=1)) for _ in range(10)]
    for each in (task, *others):
        if accepted:
            hub.accept(each)
    kill(hub, task)
    assert is_unblamed(task)
    # When the next two die of it, told this time, and the one after that, under it alone
    hub.await_offer(task)
    for other in others:
        hub.complete(hub.run(other))
    for _ in range(2):
        kill(hub, hub.run(task))
    assert daemon.alone == task.id
    kill(hub, hub.run(task))
    # Then it is put aside, and what was offered to the first process beside it has lost nothing
    assert (task.error.code, len(task.attempts or ())) == (ErrorCode.POISON_TASK, 4)
    assert {other.status for other in others} == {Status.COMPLETED}


def test_what_was_merely_offered_beside_it_and_is_beside_it_again_is_done_alone() -> None:
    # Given one that kills in its first step, and others that are there whenever it does
    hub = HubHarness()
    hub.daemon(slots=40)
    task = hub.submit()
    others = [hub.submit(terms=Terms(max_attempts=1)) for _ in range(5)]
    kill(hub, task)
    for _ in range(2):
        for each in (task, *others):
            hub.await_offer(each)
            hub.run(each)
        kill(hub, task)
    # When each has a daemon to itself
    for _ in range(1 + len(others)):
        (held,) = [each for each in (task, *others) if each.status is Status.SCHEDULED]
        hub.run(held)
        kill(hub, held) if held is task else hub.complete(held)
    # Then it is known by that, and the others are done
    assert task.status is Status.PERMANENTLY_FAILED
    assert {other.status for other in others} == {Status.COMPLETED}


def test_however_many_processes_died_before_a_task_began_they_are_one_death_with_the_first_that_is_certain() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    for _ in range(4):
        kill(hub, task)
        hub.await_offer(task)
    kill(hub, hub.run(task))
    assert (task.trouble.deaths, task.trouble.suspect) == (2, False)


def test_tasks_that_merely_shared_the_daemon_lose_no_try() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    bystander = hub.run(hub.submit(terms=Terms(max_attempts=1)))
    kill(hub, task)
    assert bystander.status is Status.SCHEDULED


def test_a_retry_by_a_person_clears_the_suspicion() -> None:
    hub = HubHarness()
    hub.daemon()
    task = a_suspect(hub)
    kill(hub, task)
    hub.retry(task)
    assert (task.trouble.suspect, task.trouble.deaths, task.status) == (False, 0, Status.SCHEDULED)


# Avoidance


def test_avoidances_are_renewed_and_end_one_by_one() -> None:
    hub = HubHarness()
    for name in "ab":
        hub.daemon(name)
    task = hub.submit()
    hub.reject(task)
    hub.reject(task)
    assert {a.daemon_id: a.until - hub.now.wall for a in task.trouble.avoid} == {"d-a": 1000, "d-b": 2000}
    assert task.status is Status.QUEUED
    hub.advance(s=1)
    assert ([a.daemon_id for a in task.trouble.avoid], attempt_of(task).daemon_id) == (["d-b"], "d-a")
    hub.reject(task)
    assert {a.daemon_id: a.until - hub.now.wall for a in task.trouble.avoid} == {"d-b": 1000, "d-a": 4000}


def test_what_a_waiting_task_avoids_cannot_change_under_it() -> None:
    hub = HubHarness()
    task = hub.submit()
    trouble = task.trouble = Trouble()
    with pytest.raises(AssertionError, match="I5"):
        _avoid(hub.core.turn(hub.now), task, trouble, Avoidance("d", 1, firm=True))
    task.trouble = None
    with pytest.raises(AssertionError, match="I5"):
        end_avoidance(hub.core.turn(hub.now), task)

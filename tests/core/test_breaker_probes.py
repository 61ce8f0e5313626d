"""Circuit breakers, half-open: one task tries at a time."""

from collections.abc import Callable

import pytest

from taskyard.core.limits import Hold
from taskyard.core.task import Task, Terms
from taskyard.vocabulary import SourceType
from taskyard.vocabulary.reasons import Reason
from tests.support.breakers import (
    BLOCKER,
    CLOSED,
    HALF_OPEN,
    NEUTRAL,
    ONCE,
    OPEN,
    fail_times,
    half_opened,
    hold,
    kept_breakers,
    now_is,
    opened,
    probe,
    the,
)
from tests.support.harness import AttemptStatus, HubHarness, Level, Status, attempt_of


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

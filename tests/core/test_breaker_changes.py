"""Circuit breakers: their settings, a person's word, what is told of them, restarts and bounds."""

import pytest

from taskyard.core import breakers
from taskyard.core.breakers import numbers_of
from taskyard.core.effects import Done
from taskyard.core.limits import Hold
from taskyard.core.settings import Breaker, Breakers, Settings
from taskyard.core.task import Task, Terms
from taskyard.core.yard_commands import ChangeSettings, OpenBreaker, ResetBreaker
from taskyard.vocabulary import Refusal
from taskyard.vocabulary.reasons import Reason
from tests.support.breakers import (
    BLOCKER,
    CLOSED,
    ONCE,
    OPEN,
    a_hub,
    fail_times,
    half_opened,
    hold,
    kept_breakers,
    now_is,
    opened,
    probe,
    the,
)
from tests.support.harness import EventName, Status

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

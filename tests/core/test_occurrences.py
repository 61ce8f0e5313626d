"""What schedules hear of the tasks that they made."""

import msgspec
import pytest

from taskyard.core.occurrences import is_empty
from taskyard.vocabulary import Status
from tests.support.schedules import MINUTE, Scheduled, a_what


def test_the_outcome_of_the_last_run_is_known_once_it_has_ended() -> None:
    hub = Scheduled()
    hub.daemon()
    beat = hub.schedule(every=MINUTE)
    hub.live(s=MINUTE)
    assert hub.runs(beat).last_outcome is None

    hub.finish(beat)

    assert hub.runs(beat).last_outcome is Status.COMPLETED
    assert hub.runs(beat).last_run_at == beat.created_at + 60_000


def test_an_older_run_that_ends_later_says_nothing_of_the_last_one() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.run_now(beat)
    hub.run_now(beat)
    older, _ = hub.made(beat)

    hub.cancel(older)

    assert hub.runs(beat).last_outcome is None


def test_a_last_run_that_is_brought_back_is_unfinished_again() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.run_now(beat)
    hub.run_now(beat)
    older, last = hub.made(beat)
    hub.skip(older)
    hub.skip(last)
    assert hub.runs(beat).last_outcome is Status.SKIPPED

    hub.retry(older)
    assert hub.runs(beat).last_outcome is Status.SKIPPED
    hub.retry(last)

    assert hub.runs(beat).last_outcome is None
    assert set(hub.state.unfinished[beat.id]) == {older.id, last.id}


def test_a_task_that_is_brought_back_after_its_schedule_was_deleted_is_nobodys() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.run_now(beat)
    [task] = hub.made(beat)
    hub.skip(task)
    hub.delete_schedule(beat)

    hub.retry(task)

    assert task.status is Status.QUEUED
    assert not hub.state.unfinished


def test_a_restarted_hub_knows_what_is_unfinished() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.run_now(beat)
    assert hub.restarted().state.unfinished == hub.state.unfinished


def test_a_run_that_ends_as_it_begins_is_known_to_have_ended() -> None:
    hub = Scheduled()
    what = a_what()
    needs = msgspec.structs.replace(what.template.kind.needs, target="nobody")
    kind = msgspec.structs.replace(what.template.kind, needs=needs)
    lost = msgspec.structs.replace(what, template=msgspec.structs.replace(what.template, kind=kind))
    beat = hub.schedule(every=MINUTE, what=lost)

    hub.advance(s=2 * MINUTE)

    assert hub.runs(beat).made == 2
    assert hub.runs(beat).last_outcome is Status.PERMANENTLY_FAILED


@pytest.mark.parametrize(("said", "empty"), [(b"", True), (b" null\n", True), (b"0.5", False), (b'"no"', False)])
def test_what_says_that_there_is_nothing(said: bytes, empty: bool) -> None:
    assert is_empty(said) is empty

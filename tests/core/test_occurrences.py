"""What schedules hear of the tasks that they made."""

import msgspec

from taskyard.core.occurrences import REMEMBERED_MAX, is_empty, remember
from taskyard.core.schedule_records import Occurrence, RunsRecord
from taskyard.vocabulary import Status
from taskyard.vocabulary.schedules import SkipReason
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


def test_what_says_that_there_is_nothing() -> None:
    for said in (b"", b" null\n", b"false", b"0", b'""', b"[]", b"{}", b" [] "):
        assert is_empty(said), said
    for said in (b"0.5", b'"no"', b"1", b'[{"id":1}]', b"true"):
        assert not is_empty(said), said


def test_what_became_of_due_runs_is_remembered_with_task_or_reason() -> None:
    hub = Scheduled()
    hub.daemon()
    beat = hub.schedule(every=MINUTE)
    hub.live(s=MINUTE)
    first = hub.state.tasks[hub.runs(beat).last_task_id or ""]
    # Given that it is not finished for two more
    hub.live(s=2 * MINUTE)
    hub.finish(beat)
    hub.live(s=MINUTE)

    due = beat.created_at
    made, skipped, again = hub.runs(beat).recent
    assert (made.task_id, made.due_at, made.reason) == (first.id, due + 60_000, None)
    assert (skipped.task_id, skipped.reason, skipped.count) == (None, SkipReason.UNFINISHED, 2)
    assert (skipped.due_at, skipped.at) == (due + 120_000, due + 180_000)
    assert again.task_id == hub.runs(beat).last_task_id
    assert hub.restarted().state.schedule_runs[beat.id].recent == hub.runs(beat).recent


def test_a_run_that_a_person_began_is_remembered_too() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.run_now(beat)
    [task] = hub.made(beat)
    [run] = hub.runs(beat).recent
    assert (run.task_id, run.due_at) == (task.id, hub.now.wall)


def test_so_many_are_remembered_and_no_more() -> None:
    runs = RunsRecord(through=0)
    for at in range(REMEMBERED_MAX + 5):
        remember(runs, Occurrence(at, at, task_id=f"t_{at}"))
    assert [one.at for one in runs.recent] == list(range(5, REMEMBERED_MAX + 5))


def test_skips_for_other_reasons_are_told_apart() -> None:
    runs = RunsRecord(through=0)
    for at, (reason, code) in enumerate(
        [
            (SkipReason.REFUSED, "A"),
            (SkipReason.REFUSED, "A"),
            (SkipReason.REFUSED, "B"),
            (SkipReason.MISSED, None),
        ]
    ):
        remember(runs, Occurrence(at, at, reason=reason, code=code))
    assert [(one.at, one.due_at, one.count) for one in runs.recent] == [(1, 0, 2), (2, 2, 1), (3, 3, 1)]
    assert RunsRecord(through=0).recent == []

"""What becomes of a due run: a task, a skip with its reason, or first a probe."""

import pytest

from taskyard.core.due_runs import MADE_AT_ONCE_MAX, come_due, run_id
from taskyard.core.effects import AskProbe
from taskyard.core.schedule_commands import AnswerProbe
from taskyard.core.schedule_records import ScheduleRecord
from taskyard.core.settings import Limits, Rate, Settings
from taskyard.core.task import Task
from taskyard.vocabulary import EventName, Profile, Refusal, SourceType, Status
from taskyard.vocabulary.schedules import CatchUp, SkipReason
from tests.support.schedules import DAY, HOUR, MINUTE, Scheduled, a_probe, a_request, a_what


def due_times(hub: Scheduled, record: ScheduleRecord) -> list[int]:
    """Of the runs that were made, in seconds since it was written down."""
    told = [event.data or {} for event in hub.said(EventName.SCHEDULE_RAN)]
    mine = [data["due_at"] for data in told if data["schedule_id"] == record.id]
    return [(int(due) - record.created_at) // 1000 for due in mine if isinstance(due, int)]


# The guard.


def test_a_due_run_is_skipped_and_counted_while_the_last_one_is_unfinished() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)

    hub.advance(s=3 * MINUTE)

    assert due_times(hub, beat) == [60]
    assert hub.runs(beat).skipped == 2
    assert hub.last_skip(beat).reason is SkipReason.UNFINISHED
    said = hub.said(EventName.SCHEDULE_SKIPPED)
    assert [(each.user_id, (each.data or {})["reason"]) for each in said] == [("ann", "unfinished")] * 2


def test_a_dead_letter_holds_up_nothing_until_it_is_brought_back() -> None:
    hub = Scheduled()
    hub.daemon()
    beat = hub.schedule(every=MINUTE)
    hub.live(s=MINUTE)
    [first] = hub.made(beat)
    hub.run(first)
    hub.fail(first, retryable=False)
    assert hub.runs(beat).last_outcome is Status.PERMANENTLY_FAILED
    hub.live(s=MINUTE)
    hub.finish(beat)

    hub.retry(first)
    hub.advance(s=MINUTE)

    assert len(hub.made(beat)) == 2
    assert hub.last_skip(beat).reason is SkipReason.UNFINISHED


def test_what_is_blocked_waits_for_a_person_and_holds_up_nothing() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)
    hub.advance(s=MINUTE)
    [task] = hub.made(beat)
    # No template names a dependency; only the status is looked at.
    task.status = Status.BLOCKED
    hub.state.yard.leave(hub.state.users["ann"], task)

    hub.advance(s=MINUTE)

    assert len(hub.made(beat)) == 2


def test_what_intake_refuses_is_skipped_with_its_code() -> None:
    settings = Settings(
        profile=Profile.SERVICE, limits=Limits(rate={SourceType.SCHEDULE: Rate(per_minute=1, per_hour=1)})
    )
    hub = Scheduled(settings, is_metered=True)
    first, second = hub.schedule(every=MINUTE), hub.schedule(every=MINUTE)

    hub.advance(s=MINUTE)

    assert len(hub.made(first)) == 1
    assert not hub.made(second)
    assert hub.last_skip(second).reason is SkipReason.REFUSED
    assert hub.last_skip(second).code == Refusal.RATE_LIMITED


# Missed runs.


@pytest.mark.parametrize(
    ("catch_up", "made", "skipped"),
    [(CatchUp.ONE, [600], 9), (CatchUp.NONE, [], 10), (CatchUp.ALL, [60 * n for n in range(1, 11)], 0)],
)
def test_runs_that_nobody_was_there_for_are_made_up_as_their_schedule_says(
    catch_up: CatchUp, made: list[int], skipped: int
) -> None:
    hub = Scheduled(late_after_s=15)
    beat = hub.schedule(every=MINUTE, catch_up=catch_up)

    hub.sleep(s=10 * MINUTE + 20)

    assert due_times(hub, beat) == made
    assert hub.runs(beat).skipped == skipped
    hub.sleep(s=0)
    assert due_times(hub, beat) == made


def test_a_hub_that_is_back_in_time_has_missed_nothing() -> None:
    hub = Scheduled(late_after_s=60)
    beat = hub.schedule(every=HOUR, catch_up=CatchUp.NONE)
    hub.sleep(s=HOUR + 59)
    assert due_times(hub, beat) == [HOUR]


def test_what_is_later_than_its_schedule_allows_is_not_made_up() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, max_lateness_ms=600_000)

    hub.sleep(s=HOUR + 11 * MINUTE)
    assert not hub.made(beat)
    assert hub.last_skip(beat).reason is SkipReason.TOO_LATE
    hub.sleep(s=HOUR)

    assert due_times(hub, beat) == []
    hub.sleep(s=50 * MINUTE)
    assert due_times(hub, beat) == [3 * HOUR]


def test_all_is_at_most_a_hundred_and_the_newest_of_them() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=1, catch_up=CatchUp.ALL)

    hub.sleep(s=250)

    assert due_times(hub, beat) == list(range(151, 251))
    assert hub.runs(beat).skipped == 150
    skip = hub.last_skip(beat)
    assert (skip.reason, skip.count, skip.due_at) == (SkipReason.MISSED, 150, beat.created_at + 1000)


def test_what_is_made_up_passes_the_guard_and_what_is_due_afterwards_does_not() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE, catch_up=CatchUp.ALL)

    hub.sleep(s=3 * MINUTE)
    assert due_times(hub, beat) == [60, 120, 180]
    hub.advance(s=MINUTE)

    assert due_times(hub, beat) == [60, 120, 180]
    assert hub.last_skip(beat).reason is SkipReason.UNFINISHED


def test_missed_runs_are_made_up_a_few_at_a_time_and_survive_a_crash_between() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=1, catch_up=CatchUp.ALL)
    now = hub.now
    hub.now = now.__class__(now.wall + 25_000, now.mono + 25_000)
    turn = hub.core.turn(hub.now)
    come_due(turn, beat.id)
    assert hub.runs(beat).made == MADE_AT_ONCE_MAX
    hub.batches.append(hub.core.cut(batch_id="cut", now=hub.now))

    hub.sleep(s=0)

    assert hub.runs(beat).made == 25
    assert len({task.id for task in hub.made(beat)}) == 25


def test_a_cron_schedule_catches_up_too() -> None:
    hub = Scheduled()
    daily = hub.schedule(cron="0 9 * * *", timezone="Europe/Paris")
    hub.sleep(s=10 * DAY)
    assert len(hub.made(daily)) == 1
    assert hub.runs(daily).skipped == 9


# The calendar is put right.


@pytest.mark.parametrize("catch_up", CatchUp)
def test_a_calendar_that_is_put_back_repeats_nothing(catch_up: CatchUp) -> None:
    hub = Scheduled()
    beat = hub.schedule(every=10 * MINUTE, catch_up=catch_up, what=a_what(type="none-left"))
    for _ in range(6):
        hub.advance(s=10 * MINUTE)
        hub.cancel(hub.made(beat)[-1])
    before = due_times(hub, beat)

    hub.shift_calendar(s=-HOUR)
    hub.advance(s=HOUR)
    assert due_times(hub, beat) == before
    hub.advance(s=10 * MINUTE)

    assert due_times(hub, beat) == [*before, 70 * MINUTE]


@pytest.mark.parametrize(
    ("catch_up", "made"), [(CatchUp.ONE, [60]), (CatchUp.NONE, [60]), (CatchUp.ALL, [10, 20, 30, 40, 50, 60])]
)
def test_a_calendar_that_is_put_forth_drops_nothing_beyond_the_policy(catch_up: CatchUp, made: list[int]) -> None:
    hub = Scheduled()
    beat = hub.schedule(every=10 * MINUTE, catch_up=catch_up)

    hub.shift_calendar(s=HOUR)

    assert due_times(hub, beat) == [minute * MINUTE for minute in made]
    assert hub.runs(beat).skipped == 6 - len(made)


def test_an_hour_forth_and_back_again_makes_each_run_once() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=10 * MINUTE, catch_up=CatchUp.ALL)
    hub.shift_calendar(s=HOUR)
    hub.shift_calendar(s=-HOUR)
    hub.advance(s=2 * HOUR)
    times = due_times(hub, beat)
    assert times == sorted(set(times))
    assert len(times) + hub.runs(beat).skipped == 12


def test_the_same_run_is_the_same_task() -> None:
    assert run_id("s-1", 1_800_000_060_000) == run_id("s-1", 1_800_000_060_000)
    ids = {run_id(schedule, due, purpose) for schedule in "ab" for due in (1, 2) for purpose in ("run", "probe")}
    assert len(ids) == 8
    assert all(len(each) == 36 and each[14] == "7" and each[19] in "89ab" for each in ids)
    assert run_id("s-1", 1) < run_id("s-1", 60_001)


# Probes.


def a_probing_hub(**fields: object) -> tuple[Scheduled, ScheduleRecord, Task]:
    hub = Scheduled()
    hub.daemon()
    beat = hub.schedule(every=MINUTE, probe=a_probe(), **fields)
    hub.live(s=MINUTE)
    return hub, beat, hub.run(hub.probing(beat))


def test_a_probe_that_finds_something_has_the_task_made_in_the_same_commit() -> None:
    hub, beat, probe = a_probing_hub()
    assert not hub.made(beat)
    hub.complete(probe, outcome=b'{"result":1}')

    [task] = hub.made(beat)
    assert hub.batches[-1].created[0].task.id == task.id
    assert due_times(hub, beat) == [MINUTE]
    assert hub.runs(beat).made == 1
    assert hub.runs(beat).last_task_id == task.id
    assert hub.runs(beat).probing is None


@pytest.mark.parametrize("outcome", [b'{"result":[]}', None])
def test_a_probe_that_finds_nothing_has_the_run_skipped(outcome: bytes | None) -> None:
    hub, beat, probe = a_probing_hub()
    hub.complete(probe, outcome=outcome)
    assert not hub.made(beat)
    assert hub.last_skip(beat).reason is SkipReason.PROBE_SAID_NO


def test_a_probe_that_fails_has_the_run_skipped() -> None:
    hub, beat, probe = a_probing_hub()
    hub.fail(probe, code="MAILBOX_GONE", retryable=False)
    assert not hub.made(beat)
    assert (hub.last_skip(beat).reason, hub.last_skip(beat).code) == (SkipReason.PROBE_FAILED, "MAILBOX_GONE")


def test_a_probe_that_a_person_cancels_has_the_run_skipped() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, probe=a_probe())
    hub.advance(s=HOUR)
    hub.cancel(hub.probing(beat))
    assert (hub.last_skip(beat).reason, hub.last_skip(beat).code) == (SkipReason.PROBE_FAILED, "cancelled")


def test_a_probe_that_takes_too_long_is_called_off() -> None:
    hub, beat, probe = a_probing_hub()

    hub.live(s=30)

    assert hub.last_skip(beat).reason is SkipReason.PROBE_TIMED_OUT
    assert probe.cancel_requested_at is not None
    # What it says afterwards changes nothing.
    hub.complete(probe)
    assert not hub.made(beat)


def test_while_a_run_waits_for_its_probe_the_next_is_skipped() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=10, probe=a_probe(timeout_s=30))
    hub.advance(s=20)
    assert hub.last_skip(beat).reason is SkipReason.UNFINISHED


def test_a_probe_that_intake_refuses_has_the_run_skipped() -> None:
    settings = Settings(
        profile=Profile.SERVICE, limits=Limits(rate={SourceType.SCHEDULE: Rate(per_minute=1, per_hour=1)})
    )
    hub = Scheduled(settings, is_metered=True)
    hub.schedule(every=HOUR)
    beat = hub.schedule(every=HOUR, probe=a_probe())

    hub.advance(s=HOUR)

    assert hub.last_skip(beat).reason is SkipReason.REFUSED
    assert hub.last_skip(beat).code == Refusal.RATE_LIMITED
    assert hub.runs(beat).probing is None


def test_a_person_who_has_it_run_meanwhile_has_had_it_run() -> None:
    hub, beat, probe = a_probing_hub()
    hub.run_now(beat)
    hub.complete(probe)
    assert len(hub.made(beat)) == 1
    assert hub.last_skip(beat).reason is SkipReason.UNFINISHED


def test_a_run_that_waits_for_its_probe_is_given_up_when_its_schedule_changes() -> None:
    hub, beat, probe = a_probing_hub()
    hub.change_schedule(beat, enabled=False)
    assert hub.last_skip(beat).reason is SkipReason.CHANGED
    assert probe.cancel_requested_at is not None


def test_another_name_does_not_disturb_a_probe() -> None:
    hub, beat, probe = a_probing_hub()
    hub.change_schedule(beat, name="another")
    hub.complete(probe)
    assert len(hub.made(beat)) == 1


def test_what_a_deleted_schedules_probe_says_is_heard_by_nobody() -> None:
    hub, beat, probe = a_probing_hub()
    hub.state.probed.append(beat.id)
    hub.delete_schedule(beat)
    hub.complete(probe)
    assert not hub.made(beat)


def asked(hub: Scheduled) -> list[AskProbe]:
    return hub.of(hub.effects, AskProbe)


def test_a_request_is_made_after_the_commit_and_its_answer_decides() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, probe=a_request(timeout_s=5))
    hub.advance(s=HOUR)
    [ask] = asked(hub)
    assert (ask.schedule_id, ask.timeout_ms) == (beat.id, 5000)

    hub.step(AnswerProbe(beat.id, ask.due_at))

    assert due_times(hub, beat) == [HOUR]
    # A second answer, and one to another run, find nobody.
    hub.step(AnswerProbe(beat.id, ask.due_at))
    hub.step(AnswerProbe("gone", ask.due_at))
    assert len(hub.made(beat)) == 1


def test_a_request_that_says_no_has_the_run_skipped() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, probe=a_request())
    hub.advance(s=HOUR)
    hub.step(AnswerProbe(beat.id, asked(hub)[0].due_at, SkipReason.PROBE_SAID_NO))
    assert hub.last_skip(beat).reason is SkipReason.PROBE_SAID_NO


def test_an_answer_to_an_older_question_decides_nothing() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, probe=a_request())
    hub.advance(s=HOUR)
    hub.step(AnswerProbe(beat.id, 1))
    assert hub.runs(beat).probing is not None


def test_a_request_that_is_not_answered_in_time_has_the_run_skipped() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, probe=a_request(timeout_s=5))
    hub.advance(s=HOUR + 5)
    assert hub.last_skip(beat).reason is SkipReason.PROBE_TIMED_OUT
    hub.step(AnswerProbe(beat.id, asked(hub)[0].due_at))
    assert not hub.made(beat)


def test_a_hub_that_starts_asks_again() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, probe=a_request())
    hub.advance(s=HOUR)
    hub.sleep(s=1)
    assert len(asked(hub)) == 2
    hub.step(AnswerProbe(beat.id, asked(hub)[1].due_at))
    assert len(hub.made(beat)) == 1

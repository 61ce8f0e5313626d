"""Schedules: what may be written down, and what their owners change."""

import pytest
from msgspec import structs

from taskyard.core.effects import Done
from taskyard.core.schedule_commands import ChangeSchedule, CreateSchedule, DeleteSchedule, RunSchedule
from taskyard.core.schedule_records import ScheduleRecord, TaskProbe
from taskyard.core.schedules import find
from taskyard.core.settings import Limits, Queue, Rate, Settings
from taskyard.core.task import Kind, Needs
from taskyard.core.timers import Clock, Due
from taskyard.vocabulary import Keeps, Level, Profile, Refusal, SourceType, Status
from taskyard.vocabulary.schedules import CatchUp, SkipReason
from tests.support.schedules import DAY, HOUR, MINUTE, Scheduled, a_probe, a_request, a_what


def next_run(hub: Scheduled, record: ScheduleRecord) -> int | None:
    return hub.state.timers.due_at(Clock.WALL, Due.SCHEDULE, record.id)


def test_a_heartbeat_makes_a_task_each_time_it_is_due() -> None:
    hub = Scheduled()
    hub.daemon()
    beat = hub.schedule(every=5 * MINUTE)

    for _ in range(3):
        hub.live(s=5 * MINUTE)
        hub.finish(beat)

    tasks = hub.made(beat)
    assert [task.created_at - beat.created_at for task in tasks] == [300_000, 600_000, 900_000]
    assert {task.kind.source for task in tasks} == {SourceType.SCHEDULE}
    assert {task.level for task in tasks} == {Level.NORMAL}
    assert hub.runs(beat).made == 3
    assert hub.runs(beat).last_outcome is Status.COMPLETED


def test_a_cron_schedule_runs_on_the_clock_of_its_place() -> None:
    hub = Scheduled()
    nine = hub.schedule(cron="0 9 * * *", timezone="Asia/Tokyo")

    hub.advance(s=DAY)

    [task] = hub.made(nine)
    assert task.created_at % (DAY * 1000) == 0


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({}, "every"),
        ({"every": 5, "cron": "0 9 * * *"}, "every"),
        ({"every": 0.5}, "every"),
        ({"cron": "0 9 * *"}, "cron"),
        ({"cron": "0 9 * * *", "timezone": "Mars/Olympus"}, "timezone"),
        ({"every": 60, "probe": a_probe(timeout_s=601)}, "probe.timeout"),
        ({"every": 60, "probe": a_request(), "catch_up": CatchUp.ALL}, "catch_up"),
        ({"every": 60, "what": a_what(queue="nowhere")}, "task.queue"),
        ({"every": 60, "probe": TaskProbe(a_what(queue="nowhere"), 1000)}, "probe.task.queue"),
    ],
)
def test_what_makes_no_schedule_is_refused_and_changes_nothing(fields: dict[str, object], field: str) -> None:
    hub = Scheduled()
    _, answer = hub.offer_schedule(**fields)  # type: ignore[arg-type]
    assert (answer.code, answer.field) == (Refusal.INVALID_INPUT, field)
    assert not hub.state.schedules
    assert hub.batches[-1].is_empty()


def test_a_model_that_no_queue_serves_is_refused_as_at_submission() -> None:
    hub = Scheduled(Settings(queues={"local": Queue(models=("llama3",))}))
    what = a_what()
    unserved = structs.replace(what.template, kind=Kind(Needs("general", model="gpt-9"), source=SourceType.SCHEDULE))
    _, answer = hub.offer_schedule(every=60, what=structs.replace(what, template=unserved))
    assert (answer.code, answer.field) == (Refusal.MODEL_NOT_ROUTED, "task.model")


def test_a_schedule_whose_queue_went_away_can_still_be_paused() -> None:
    hub = Scheduled(Settings(queues={"local": Queue()}))
    beat = hub.schedule(every=60, what=a_what(queue="local"), probe=TaskProbe(a_what(queue="local"), 1000))
    hub.state.settings = Settings()
    assert hub.change_schedule(beat, enabled=False) == Done()
    answer = hub.change_schedule(beat, what=a_what(queue="local"))
    assert answer.field == "task.queue"


def test_names_are_each_owners_own() -> None:
    hub = Scheduled()
    first = hub.schedule(every=60, name="nightly")
    hub.schedule(every=60, name="nightly", user="bob")

    _, again = hub.offer_schedule(every=60, name="nightly")
    _, like_an_id = hub.offer_schedule(every=60, name=first.id)
    of_another = hub.schedule(every=60, name=first.id, user="bob")

    assert again.code is like_an_id.code is Refusal.NAME_TAKEN
    assert find(hub.state, "ann", "nightly") is first
    assert find(hub.state, "bob", first.id) is of_another


def test_a_user_has_so_many_schedules_and_no_more() -> None:
    hub = Scheduled(per_user_max=2)
    hub.schedule(every=60)
    last = hub.schedule(every=60)

    _, answer = hub.offer_schedule(every=60)

    assert answer.code is Refusal.TOO_MANY_SCHEDULES
    assert hub.change_schedule(last, name="still possible") == Done()
    hub.delete_schedule(last)
    hub.schedule(every=60)


def test_a_schedule_belongs_to_somebody_who_exists() -> None:
    hub = Scheduled()
    answer = hub.ask(CreateSchedule(ScheduleRecord("s", "nobody", "x", a_what(), every_ms=1000), "ann"))
    assert answer.code is Refusal.USER_NOT_FOUND


def test_anothers_schedule_looks_like_none() -> None:
    hub = Scheduled()
    record = hub.schedule(every=60)
    for command in (
        ChangeSchedule("bob", record.id, "bob", enabled=False),
        DeleteSchedule("bob", record.id, "bob"),
        RunSchedule("bob", record.id, "task"),
    ):
        answer = hub.ask(command)
        assert answer.code is Refusal.SCHEDULE_NOT_FOUND
    assert record.enabled


def test_new_times_hold_at_once_and_begin_now() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR)
    hub.advance(s=10 * MINUTE)

    assert hub.change_schedule(beat, every="60s", every_ms=60_000) == Done()

    beat = hub.state.schedules[beat.id]
    assert next_run(hub, beat) == hub.now.wall + 60_000
    assert hub.change_schedule(beat, cron="0 9 * * *") == Done()
    beat = hub.state.schedules[beat.id]
    assert (beat.every, beat.every_ms, beat.cron) == (None, None, "0 9 * * *")
    assert hub.change_schedule(beat, timezone="Asia/Tokyo") == Done()
    assert hub.change_schedule(beat, every="5m", every_ms=300_000, cron="0 9 * * *") != Done()
    assert hub.change_schedule(beat, every="5m", every_ms=300_000) == Done()
    assert hub.state.schedules[beat.id].cron is None


def test_another_task_or_name_changes_no_times() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, name="old")
    was = next_run(hub, beat)
    hub.advance(s=10 * MINUTE)

    hub.change_schedule(beat, name="new", what=a_what(type="review"), max_lateness_ms=None, catch_up=CatchUp.NONE)

    assert next_run(hub, beat) == was
    assert find(hub.state, "ann", "old") is None
    hub.advance(s=HOUR)
    assert [task.kind.needs.type for task in hub.made(beat)] == ["review"]


def test_a_disabled_schedule_makes_nothing_and_makes_nothing_up() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE)

    hub.change_schedule(beat, enabled=False)
    hub.advance(s=10 * MINUTE + 20)
    assert next_run(hub, beat) is None
    hub.change_schedule(beat, enabled=True)

    # It goes on in its old rhythm.
    assert next_run(hub, beat) == hub.now.wall + 40_000
    assert not hub.made(beat)
    assert not hub.runs(beat).skipped


def test_a_deleted_schedule_is_gone_and_its_task_goes_on() -> None:
    hub = Scheduled()
    hub.daemon()
    beat = hub.schedule(every=MINUTE)
    hub.live(s=MINUTE)
    [task] = hub.made(beat)
    hub.run(task)

    assert hub.delete_schedule(beat) == Done()

    hub.live(s=3 * MINUTE)
    assert hub.made(beat) == [task]
    hub.complete(task)
    assert task.status is Status.COMPLETED
    assert not [kept for kept in hub.kept() if kept.kind in (Keeps.SCHEDULE, Keeps.SCHEDULE_RUNS)]


def test_a_run_now_is_made_whatever_is_due_and_whatever_runs() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, enabled=False)

    first, second = hub.run_now(beat), hub.run_now(beat)

    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert [task.id for task in hub.made(beat)] == [first.task_id, second.task_id]
    assert next_run(hub, beat) is None


def test_a_run_now_that_intake_refuses_is_refused_with_its_code() -> None:
    settings = Settings(
        profile=Profile.SERVICE, limits=Limits(rate={SourceType.SCHEDULE: Rate(per_minute=1, per_hour=10)})
    )
    hub = Scheduled(settings, is_metered=True)
    beat = hub.schedule(every=HOUR)
    hub.run_now(beat)

    answer = hub.run_now(beat)

    assert answer.code is Refusal.RATE_LIMITED
    assert len(hub.made(beat)) == 1


@pytest.mark.parametrize(
    ("written", "asked", "level"),
    [
        (None, None, Level.CRITICAL),
        (Level.HIGH, None, Level.HIGH),
        (Level.HIGH, Level.LOW, Level.LOW),
        (None, Level.LOW, Level.LOW),
    ],
)
def test_no_run_exceeds_the_keys_that_wrote_it_down_and_that_asked_for_it(
    written: Level | None, asked: Level | None, level: Level
) -> None:
    hub = Scheduled()
    beat = hub.schedule(every=HOUR, what=a_what(level=Level.CRITICAL, ceiling=written))
    hub.run_now(beat, ceiling=asked)
    assert hub.made(beat)[0].level is level


def test_who_changed_what_is_in_the_audit() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=60, name="old")
    hub.change_schedule(beat, name="new")
    hub.delete_schedule(beat)
    told = [(each.action, each.old, each.new) for batch in hub.batches for each in batch.audit]
    assert told == [
        ("schedule.create", None, "old"),
        ("schedule.change", "old", "new"),
        ("schedule.delete", "new", None),
    ]


def test_a_restarted_hub_has_the_same_schedules() -> None:
    hub = Scheduled()
    hub.schedule(every=90, max_lateness_ms=5, probe=a_probe())
    hub.schedule(cron="0 9 * * *", timezone="Asia/Tokyo", enabled=False, catch_up=CatchUp.NONE)
    hub.advance(s=100)

    other = hub.restarted()

    assert other.state.schedules == hub.state.schedules
    assert other.state.schedule_runs == hub.state.schedule_runs
    assert other.state.timers.plan(Clock.WALL) == hub.state.timers.plan(Clock.WALL)


def test_a_run_that_waits_for_a_task_gives_it_its_time_anew_after_a_restart() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE, probe=a_probe(timeout_s=30))
    hub.advance(s=MINUTE + 20)

    hub.sleep(s=0)
    hub.advance(s=29)
    assert hub.runs(beat).probing is not None
    hub.advance(s=1)

    assert hub.last_skip(beat).reason is SkipReason.PROBE_TIMED_OUT


def test_an_answer_that_a_crash_found_unheard_is_heard_after_it() -> None:
    hub = Scheduled()
    beat = hub.schedule(every=MINUTE, probe=a_probe())
    hub.daemon()
    hub.advance(s=MINUTE)
    probing = hub.runs(beat).probing
    probing.is_answered = True
    hub.state.timers.cancel(Clock.MONO, Due.SCHEDULE_PROBE, beat.id)
    hub.state.ledger.kept[Keeps.SCHEDULE_RUNS, beat.id] = hub.runs(beat)
    hub.advance()

    other = hub.restarted()
    assert list(other.state.probed) == [beat.id]
    assert other.core.next_due_ms(other.now) == 0
    turn = other.core.turn(other.now)
    other.core.dispatch(turn)

    # The probe itself had not ended, so there is still something of it that runs.
    assert other.state.schedule_runs[beat.id].last_skip is not None

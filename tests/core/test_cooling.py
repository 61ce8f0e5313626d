"""Cooling down: a provider that refuses one task is left alone by the whole queue, and asked again by one alone."""

import pytest

from taskyard.core.changes import CoolingRecord
from taskyard.core.commands import BeginWait
from taskyard.core.daemon_commands import Held
from taskyard.core.effects import Effect, SlowDown
from taskyard.core.limits import Hold, queue_is_cool
from taskyard.core.settings import Cooling, Limits, Queue, Settings, Shares
from taskyard.core.task import Task
from taskyard.core.yard_commands import ChangeUser
from taskyard.vocabulary import Keeps
from taskyard.vocabulary.reasons import Reason
from tests.support.harness import AttemptStatus, EventName, HubHarness, Level, Status, a_draft, attempt_of

MODEL = "glm5"
QUEUE = "cloud"


def a_hub(
    *, users: tuple[str, ...] = ("ann",), at_a_time: int = 10, cooling: Cooling | None = None, slots: int | None = 20
) -> HubHarness:
    """A hub with one queue and, unless `slots` is None, ann's own daemon."""
    settings = Settings(
        queues={QUEUE: Queue(models=(MODEL,), max_concurrent=at_a_time)},
        limits=Limits(running_per_user=1000, running_per_source={}),
        shares=Shares(critical_reserve=0.0),
        cooling=cooling or Cooling(),
    )
    hub = HubHarness(settings, users=users)
    if slots is not None:
        hub.daemon(slots=slots)
    return hub


def many(hub: HubHarness, count: int, **fields: object) -> list[Task]:
    return hub.submit_all(*(a_draft(model=MODEL, **fields) for _ in range(count)))  # type: ignore[arg-type]


def held(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.status in (Status.SCHEDULED, Status.RUNNING)]


def refuse(hub: HubHarness, task: Task, *, s: float = 30) -> list[Effect]:
    """The provider says no, and when to come back."""
    return hub.fail(task, code="RATE_LIMITED", message="slow down", retry_after_ms=round(s * 1000))


def record_of(hub: HubHarness, pool: str = "ann") -> CoolingRecord:
    return hub.state.cooling[QUEUE, pool]


def probe_of(hub: HubHarness, tasks: list[Task]) -> Task:
    """The one task that runs after the rest."""
    (probe,) = held(tasks)
    assert record_of(hub).probe == probe.id
    return probe


def a_probing_hub(**options: object) -> tuple[HubHarness, list[Task], Task]:
    """Ten tasks; one was refused, the time is over, and the probe is granted."""
    hub = a_hub(at_a_time=1, **options)  # type: ignore[arg-type]
    tasks = many(hub, 10)
    refuse(hub, tasks[0])
    hub.live(s=30)
    return hub, tasks, probe_of(hub, tasks)


# --- the rest ----------------------------------------------------------------------------------------------


def test_a_storm_costs_no_attempt_and_after_it_everything_completes() -> None:
    # Given a hundred tasks of one model source, of which ten may run at a time
    hub = a_hub()
    hub.ask(ChangeUser("ann", "root", overrides={"max_pending": 100}))
    tasks = many(hub, 100)
    assert len(held(tasks)) == 10
    refused_until = hub.now.wall + 30_000

    # When the provider refuses whoever asks, for 30 s
    while hub.now.wall < refused_until:
        for task in held(tasks):
            hub.run(task)
            refuse(hub, task, s=(refused_until - hub.now.wall) / 1000)
        assert not held(tasks), "nothing of the queue is given out while it cools"
        hub.live(s=5)

    # Then one goes first; once it is through, all go on, and none has lost a try
    assert len(hub.sent()) == 11
    while open_tasks := held(tasks):
        assert len(open_tasks) == (1 if record_of_or_none(hub) else min(10, len(unfinished(tasks))))
        for task in open_tasks:
            hub.complete(task)
    assert {task.status for task in tasks} == {Status.COMPLETED}
    ends = [attempt.status for task in tasks for attempt in task.attempts or ()]
    assert (ends.count(AttemptStatus.RATE_LIMITED), ends.count(AttemptStatus.SUCCESS)) == (10, 100)
    assert len(ends) == 110


def record_of_or_none(hub: HubHarness) -> CoolingRecord | None:
    return hub.state.cooling.get((QUEUE, "ann"))


def unfinished(tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if task.status is not Status.COMPLETED]


def test_the_others_are_held_until_the_refused_task_is_tried_again() -> None:
    hub = a_hub(at_a_time=1)
    first, second = many(hub, 2)
    refuse(hub, first)
    until = hub.now.wall + 30_000
    assert (first.status, first.not_before, second.status) == (Status.PENDING, until, Status.QUEUED)
    line = next(line for line in hub.state.yard.lines.values() if line.queue == QUEUE)
    turn = hub.core.turn(hub.now)
    assert queue_is_cool(turn, line) == Hold(Reason.QUEUE_COOLING, ("queue", QUEUE, "ann"), until=until, name=QUEUE)
    hub.advance(ms=29_999)
    assert second.status is Status.QUEUED
    hub.advance(ms=1)
    assert len(held([first, second])) == 1
    assert queue_is_cool(hub.core.turn(hub.now), line) == Hold(
        Reason.QUEUE_PROBING, ("queue", QUEUE, "ann"), name=QUEUE
    )


def test_other_queues_go_on() -> None:
    hub = a_hub()
    refuse(hub, hub.submit(model=MODEL))
    assert hub.submit().status is Status.SCHEDULED


def test_the_later_of_several_refusals_counts() -> None:
    hub = a_hub()
    one, two, three = many(hub, 3)
    refuse(hub, one, s=30)
    refuse(hub, two, s=90)
    refuse(hub, three, s=10)
    assert record_of(hub).until == hub.now.wall + 90_000


def test_a_task_that_gives_up_for_its_deadline_still_speaks_for_its_queue() -> None:
    hub = a_hub(at_a_time=1)
    first, second = hub.submit(model=MODEL, deadline=hub.now.wall + 10_000), hub.submit(model=MODEL)
    refuse(hub, first)
    assert first.status is Status.PERMANENTLY_FAILED
    assert (second.status, record_of(hub).until) == (Status.QUEUED, hub.now.wall + 30_000)
    hub.live(s=30)
    assert second.status is Status.SCHEDULED


def test_one_users_machine_never_holds_up_anothers() -> None:
    # Given a queue in two pools
    hub = a_hub(users=("ann", "bob"))
    hub.daemon("box", user="bob")
    mine, yours = hub.submit(model=MODEL), hub.submit(model=MODEL, user="bob")

    # When it is refused in one, then it goes on in the other
    refuse(hub, mine)
    assert hub.submit(model=MODEL).status is Status.QUEUED
    assert (yours.status, hub.submit(model=MODEL, user="bob").status) == (Status.SCHEDULED, Status.SCHEDULED)


def test_whoever_could_use_both_pools_goes_on_in_the_one_that_is_not_refused() -> None:
    hub = a_hub(users=("ann", "bob"))
    refuse(hub, hub.submit(model=MODEL))
    waiting = hub.submit(model=MODEL)
    assert waiting.status is Status.QUEUED
    shared = hub.daemon("farm", user="bob", shared=True)
    assert waiting.status is Status.SCHEDULED
    assert attempt_of(waiting).daemon_id == shared.id


def test_a_provider_that_names_no_time_costs_a_minute_that_doubles() -> None:
    hub = a_hub(at_a_time=1)
    tasks = many(hub, 3)
    hub.fail(tasks[0], message="429 Too Many Requests")
    first = record_of(hub).until - hub.now.wall
    hub.live(s=70, step_ms=1000, starting=True)
    hub.fail(probe_of(hub, tasks), message="429 Too Many Requests")
    second = record_of(hub).until - hub.now.wall
    assert 60_000 <= first <= 66_000
    assert 120_000 <= second <= 132_000


def test_a_provider_that_says_now_is_asked_by_one_at_once() -> None:
    hub = a_hub()
    tasks = many(hub, 12)
    refuse(hub, tasks[0], s=0)
    hub.live(s=1)
    for task in tasks[1:10]:
        hub.complete(task)
    assert len(held(tasks)) == 1


# --- the probe ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["BOOM", "INVALID_INPUT"])
def test_a_probe_that_fails_for_another_reason_has_passed(code: str) -> None:
    hub, tasks, probe = a_probing_hub()
    hub.fail(probe, code=code)
    assert hub.state.cooling == {}
    assert len(held(tasks)) == 1


def test_a_probe_that_succeeds_has_passed_and_that_is_told() -> None:
    hub, tasks, probe = a_probing_hub()
    hub.complete(probe)
    assert hub.state.cooling == {}
    assert len(held(tasks)) == 1
    (told,) = hub.said(EventName.QUEUE_RESUMED)
    assert (told.user_id, told.data) == ("ann", {"queue": QUEUE, "after": "cooling"})
    assert not [kept for kept in hub.kept() if kept.kind is Keeps.COOLING]


def test_a_probe_that_is_refused_cools_the_queue_again() -> None:
    hub, tasks, probe = a_probing_hub()
    hub.run(probe)
    refuse(hub, probe, s=20)
    assert not held(tasks)
    assert (record_of(hub).until, record_of(hub).probe) == (hub.now.wall + 20_000, None)
    hub.live(s=20)
    assert probe_of(hub, tasks)


def test_a_probe_that_has_run_a_minute_has_passed() -> None:
    # Given a probe that starts two seconds after it was granted, in a queue that may run ten
    hub = a_hub()
    tasks = many(hub, 20)
    for task in tasks[:10]:
        refuse(hub, task)
    hub.live(s=30)
    probe = probe_of(hub, tasks)
    hub.accept(probe)
    hub.advance(s=2)
    hub.start(probe)

    # When it has run for a minute, then the others go on beside it
    hub.live(s=59.999)
    assert held(tasks) == [probe]
    hub.advance(ms=1)
    assert len(held(tasks)) == 10
    assert hub.state.cooling == {}

    # And what it meets afterwards is a refusal like any other
    refuse(hub, probe)
    assert record_of(hub).until == hub.now.wall + 30_000


def test_how_long_a_probe_must_run_can_be_set() -> None:
    hub, tasks, probe = a_probing_hub(cooling=Cooling(probe_s=3))
    hub.run(probe)
    hub.live(s=3)
    assert hub.state.cooling == {}
    assert held(tasks) == [probe], "the queue itself runs one at a time"


def test_time_before_its_start_does_not_count_for_a_probe() -> None:
    hub, _, probe = a_probing_hub(cooling=Cooling(probe_s=3))
    hub.accept(probe)
    hub.advance(s=20)
    assert record_of(hub).probe == probe.id
    hub.complete(probe)
    assert hub.state.cooling == {}


@pytest.mark.parametrize("end", ["cancelled", "lost", "rejected", "drained"])
def test_a_probe_that_shows_nothing_makes_way_for_another(end: str) -> None:
    hub, tasks, probe = a_probing_hub()
    hub.daemon("spare")
    hub.run(probe)
    if end == "cancelled":
        hub.cancel(probe)
        hub.confirm_cancel(probe)
    elif end == "lost":
        hub.daemon(slots=20, boot="boot-2")
    elif end == "rejected":
        hub.reject(probe)
    else:
        hub.reject(probe, drained=True)
    assert probe_of(hub, tasks)
    assert [each.until for each in hub.state.cooling.values()] == [record_of(hub).until]


def test_a_probe_that_is_preempted_makes_way_for_another() -> None:
    # Given a daemon of one slot, and a low task on it as the probe
    hub = a_hub(slots=1)
    tasks = many(hub, 3, level=Level.LOW, value=2)
    refuse(hub, tasks[0])
    hub.live(s=30)
    probe = hub.run(probe_of(hub, tasks))
    hub.live(s=15)

    # When a critical task takes its slot
    urgent = hub.submit(level=Level.CRITICAL, value=10)
    hub.confirm_cancel(probe)
    assert (attempt_of(probe).status, urgent.status) == (AttemptStatus.PREEMPTED, Status.SCHEDULED)
    assert record_of(hub).probe is None

    # Then another goes first once there is room
    hub.complete(urgent)
    assert probe_of(hub, tasks)


def test_a_refusal_of_one_that_began_earlier_ends_the_probe_too() -> None:
    # Given two at work, of which one was refused and is tried again as the probe
    hub = a_hub(at_a_time=2)
    slow, first, *others = many(hub, 5)
    hub.run(slow)
    refuse(hub, first)
    hub.live(s=30)
    assert record_of(hub).probe == first.id

    # When the other is refused too
    hub.run(first)
    refuse(hub, slow, s=40)

    # Then what the probe finds says nothing: all wait, and another probe goes first
    hub.complete(first)
    assert not held(others)
    hub.live(s=40)
    assert record_of(hub).probe is not None


def test_a_queue_nobody_waits_in_asks_with_the_next_task_that_comes() -> None:
    hub = a_hub()
    only = hub.submit(model=MODEL)
    refuse(hub, only)
    hub.cancel(only)
    hub.live(s=100)
    tasks = many(hub, 3)
    hub.complete(probe_of(hub, tasks))
    assert len(held(tasks)) == 2


def test_a_daemon_that_changed_its_pool_still_frees_the_probe_it_held() -> None:
    # Given a probe on ann's own daemon, which then comes back as one for all
    hub, tasks, probe = a_probing_hub()
    hub.run(probe)
    hub.daemon(slots=20, shared=True, inventory=[held_line(probe)])
    assert probe.status is Status.RUNNING

    # When it ends, then its queue has passed where it was the probe
    hub.complete(probe)
    assert hub.state.cooling == {}
    assert len(held(tasks)) == 1


def held_line(task: Task) -> Held:
    return Held(task.id, attempt_of(task).number)


# --- restarts ----------------------------------------------------------------------------------------------


def test_a_queue_goes_on_cooling_after_a_restart() -> None:
    hub = a_hub(at_a_time=1)
    tasks = many(hub, 3)
    refuse(hub, tasks[0])
    hub.advance(s=10)
    hub = hub.restarted()
    hub.daemon(slots=20)
    tasks = list(hub.state.tasks.values())
    hub.advance(s=19)
    assert not held(tasks)
    hub.live(s=1)
    assert probe_of(hub, tasks)


def test_a_probe_goes_on_after_a_restart() -> None:
    hub, _, probe = a_probing_hub()
    hub.run(probe)
    hub.live(s=20)
    hub = hub.restarted()
    probe = hub.state.tasks[probe.id]
    hub.daemon(slots=20, inventory=[held_line(probe)])
    assert probe_of(hub, list(hub.state.tasks.values())) is probe
    hub.live(s=39.999)
    assert hub.state.cooling
    hub.advance(ms=1)
    assert hub.state.cooling == {}


def test_a_probe_that_is_not_held_after_a_restart_is_free() -> None:
    # Given a record that names a probe which no daemon holds
    hub = a_hub(at_a_time=1)
    tasks = many(hub, 3)
    refuse(hub, tasks[0])
    record = record_of(hub)
    hub.state.ledger.kept[Keeps.COOLING, "ann:cloud"] = CoolingRecord(QUEUE, "ann", record.until, tasks[1].id)
    hub.advance(s=0)
    hub = hub.restarted()
    hub.daemon(slots=20)
    hub.live(s=30)
    assert probe_of(hub, list(hub.state.tasks.values()))


# --- what is told ------------------------------------------------------------------------------------------


def slowed(effects: list[Effect]) -> list[SlowDown]:
    return [effect for effect in effects if isinstance(effect, SlowDown)]


def test_the_other_daemons_that_serve_the_queue_are_told_for_how_long() -> None:
    # Given the daemon that was refused and, of the same user, one that serves all, one that serves the model, one that
    # serves another, and one that is away; and somebody else's
    hub = a_hub(users=("ann", "bob"), slots=None)
    hub.daemon("mac", slots=1)
    task = hub.submit(model=MODEL)
    all_models, this_model = hub.daemon("all"), hub.daemon("this", models=(MODEL,))
    hub.daemon("other", models=("llama3",))
    hub.disconnect(hub.daemon("away"))
    hub.daemon("theirs", user="bob")

    # When it is refused for half a minute, then the first two hear of it
    told = slowed(refuse(hub, task, s=30))
    assert told == [SlowDown(all_models.session, QUEUE, 30_000), SlowDown(this_model.session, QUEUE, 30_000)]


def test_whoever_serves_the_default_queue_serves_it_whatever_models_it_lists() -> None:
    hub = a_hub(slots=None)
    hub.daemon("mac", slots=1)
    task = hub.submit()
    other = hub.daemon("other", models=("llama3",))
    assert slowed(refuse(hub, task)) == [SlowDown(other.session, "default", 30_000)]


def test_refusals_that_come_in_a_bunch_are_told_once() -> None:
    # Given ten at work on one daemon, and another beside it
    hub = a_hub()
    tasks = many(hub, 10)
    hub.daemon("spare", slots=1)

    # When all are refused within a second
    told: list[SlowDown] = []
    for task in tasks:
        hub.advance(ms=50)
        told += slowed(refuse(hub, task))
    assert len(told) == 1
    assert record_of(hub).until == hub.now.wall + 30_000
    (event,) = hub.said(EventName.QUEUE_COOLING)
    assert event.user_id == "ann"
    assert event.data == {"queue": QUEUE, "until": hub.now.wall + 30_000 - 450}


def test_a_much_longer_time_is_told_again() -> None:
    hub = a_hub()
    one, two = many(hub, 2)
    hub.daemon("spare", slots=1)
    refuse(hub, one, s=30)
    assert [effect.wait_ms for effect in slowed(refuse(hub, two, s=300))] == [300_000]


def test_the_shared_pools_news_is_for_admins() -> None:
    hub = a_hub(users=("ann", "bob"), slots=None)
    hub.daemon("farm", user="bob", shared=True)
    refuse(hub, hub.submit(model=MODEL))
    (event,) = hub.said(EventName.QUEUE_COOLING)
    assert event.user_id is None


def test_a_task_that_is_refused_each_time_does_not_keep_others_from_being_asked() -> None:
    # Given a queue of one, a task that is refused whenever it runs, and another of the same user behind it
    hub = HubHarness(Settings(queues={"local": Queue(models=("m",), max_concurrent=1)}))
    hub.daemon()
    refused = hub.submit(model="m")
    other = hub.submit(model="m")

    # When it was refused twice
    for _ in range(2):
        hub.run(refused)
        hub.fail(refused, code="RATE_LIMITED", message="too many requests", retry_after_ms=10_000)
        hub.live(s=10)

    # Then the other one is asked next
    assert other.status is Status.SCHEDULED
    hub.run(other)
    hub.complete(other)
    hub.live(s=2)
    assert refused.status is Status.SCHEDULED


def test_a_probe_is_not_what_holds_a_sub_task_of_its_own_queue() -> None:
    # Given a queue that waits for what its probe finds, and a probe that waits for its sub-task there
    hub, tasks, probe = a_probing_hub()
    hub.run(probe)
    part = hub.submit(model=MODEL, parent_id=probe.id)
    hub.step(BeginWait(probe.id, attempt_of(probe).number, "w"))

    # Then that runs in its place, and is not the probe
    assert (part.status, attempt_of(part).in_place) == (Status.SCHEDULED, probe.id)
    assert (record_of(hub).probe, held(tasks)) == (probe.id, [probe])
    hub.complete(part)
    assert record_of(hub).probe == probe.id
    hub.complete(probe)
    assert hub.state.cooling == {}

"""Why a task is not running: each code with its numbers, all of them at once, and promises that come true."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from taskyard.core.settings import Limits, Queue, Settings, Shares
from taskyard.core.task import Task
from taskyard.core.why import Cause, Why, why
from taskyard.core.yard_commands import (
    ChangeSettings,
    ChangeUser,
    OpenBreaker,
    PauseQueue,
    PutQueue,
    ResetBreaker,
    ResumeQueue,
)
from taskyard.vocabulary import Level, SourceType, Status
from taskyard.vocabulary.reasons import Reason
from tests.core.test_claims import claimed
from tests.support.harness import HubHarness, Terms, a_draft
from tests.support.suspects import two_busy_daemons

MODEL = Settings(queues={"q": Queue(models=("m",))})


def told(hub: HubHarness, task: Task, names: dict[str, str] | None = None) -> Why:
    return why(hub.core.turn(hub.now), task, names)


def causes(hub: HubHarness, task: Task) -> dict[Reason, Cause]:
    return {cause.code: cause for cause in told(hub, task).reasons}


def only(hub: HubHarness, task: Task) -> Cause:
    (cause,) = told(hub, task).reasons
    return cause


# Before it is ready.


def test_one_whose_time_has_not_come() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit(scheduled_for=hub.now.wall + 3_600_000)
    found = told(hub, task)
    assert (found.status, found.position, found.estimated_start) == (Status.PENDING, None, hub.now.wall + 3_600_000)
    assert found.summary == "Waits for its time: it may start from 09:00:00 UTC on."
    assert (only(hub, task).code, only(hub, task).until) == (Reason.NOT_BEFORE, hub.now.wall + 3_600_000)
    assert only(hub, task).would_help == "an earlier `scheduled_for`"


def test_one_whose_time_has_not_come_says_what_would_hold_it_then() -> None:
    # Given one whose queue is paused, whose user has a breaker open beyond its time, and whose slots are taken
    hub = HubHarness(MODEL)
    hub.daemon(models=("m",), slots=1)
    hub.submit(model="m")
    hub.step(PauseQueue("q", "root"))
    hub.ask(OpenBreaker("ann", "general", "ann"))
    task = hub.submit(model="m", scheduled_for=hub.now.wall + 1000)

    # Then what lasts until then is told, and not what passes by itself
    found = told(hub, task)
    assert [cause.code for cause in found.reasons] == [Reason.NOT_BEFORE, Reason.BREAKER_OPEN, Reason.QUEUE_PAUSED]
    assert found.summary.endswith("; 2 more things hold it.")
    assert found.estimated_start is None

    # When the queue is resumed it may start after the breaker closes
    hub.step(ResumeQueue("q", "root"))
    assert told(hub, task).estimated_start == causes(hub, task)[Reason.BREAKER_OPEN].until


def test_one_whose_time_has_not_come_says_that_nothing_can_run_it() -> None:
    hub = HubHarness()
    task = hub.submit(scheduled_for=hub.now.wall + 1000)
    assert [cause.code for cause in told(hub, task).reasons] == [Reason.NOT_BEFORE, Reason.NO_DAEMON]
    assert told(hub, task).estimated_start is None


def test_one_that_is_tried_again_later_says_after_what() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.fail(task)
    assert "attempt 1 on mac ended as failed (BOOM), and it may start from" in told(hub, task).summary
    assert only(hub, task).would_help == "trying it at once (`taskyard retry T-001`)"


def test_one_that_its_provider_refused_can_only_wait_as_its_queue_does() -> None:
    # Given a task that came too often for its provider
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.fail(task, code="RATE_LIMITED")
    # Then nothing is advised, since its queue rests for as long
    assert (only(hub, task).code, only(hub, task).would_help) == (Reason.NOT_BEFORE, None)
    hub.retry(task)
    assert task.status is Status.QUEUED
    assert only(hub, task).code is Reason.QUEUE_COOLING


def test_one_that_waits_for_others_names_them_with_their_status() -> None:
    hub = HubHarness()
    hub.daemon(slots=1)
    done, running = hub.run(hub.submit()), hub.submit(terms=Terms(estimated_ms=300_000))
    task = hub.submit(depends_on=(done.id, running.id))
    hub.complete(done)
    hub.run(running)
    cause = only(hub, task)
    assert (cause.code, cause.used, cause.limit) == (Reason.DEPENDENCY_UNFINISHED, 1, 2)
    assert cause.message == "1 of 2 tasks it depends on are done, and it still waits for T-002 (running)."
    assert cause.would_help == "T-002 finishing (about 5 min)"
    assert told(hub, task).estimated_start == hub.now.wall + 300_000


def test_one_that_waits_for_a_task_that_does_not_run_says_why_that_one_does_not() -> None:
    hub = HubHarness()
    first = hub.submit()
    task = hub.submit(depends_on=(first.id,))
    assert only(hub, task).would_help == (
        "T-001 finishing, which does not run yet: no daemon of yours has ever connected, and none is shared"
    )
    assert told(hub, task).estimated_start is None
    chained = hub.submit(depends_on=(task.id,))
    assert only(hub, chained).would_help == "T-002 completing"


def test_one_that_is_blocked_says_by_what_and_what_to_do() -> None:
    hub = HubHarness()
    first = hub.submit()
    task = hub.submit(depends_on=(first.id,))
    hub.skip(first)
    cause = only(hub, task)
    assert (cause.code, cause.used, cause.limit) == (Reason.DEPENDENCY_FAILED, 1, 1)
    hub.core.forget(through_seq=hub.state.ledger.seq)
    assert only(hub, task).message == "It depends on task-000001 (skipped), and will not run without."
    named = told(hub, task, {first.id: "T-001"})
    assert named.summary == "Blocked by a dependency: it depends on T-001 (skipped), and will not run without."
    assert named.reasons[0].would_help == "retrying T-001 (skipped); or skipping or cancelling this task"


def test_no_priority_is_advised_that_it_cannot_get() -> None:
    # Given tasks that are held by their level, one of which may not be higher
    hub = HubHarness()
    hub.daemon(slots=5)
    for _ in range(4):
        hub.submit()
    free = hub.submit()
    (bound,) = hub.submit_all(a_draft(), ceiling=Level.NORMAL)
    assert causes(hub, free)[Reason.CRITICAL_RESERVE].would_help.startswith("priority `critical`, more slots")
    assert causes(hub, bound)[Reason.CRITICAL_RESERVE].would_help.startswith("more slots")


# Ready, and held: each with its numbers.


def at_user_limit(hub: HubHarness) -> Task:
    hub.ask(ChangeUser("ann", "root", plan="pro"))
    hub.daemon(slots=10)
    for _ in range(3):
        hub.run(hub.submit(terms=Terms(estimated_ms=120_000)))
    return hub.submit()


def test_a_user_at_the_limit_of_the_plan() -> None:
    hub = HubHarness()
    task = at_user_limit(hub)
    found = told(hub, task)
    assert found.summary == "Waits for a free slot: you run 3 of 3 tasks of plan pro."
    assert (found.position, found.estimated_start) == (1, hub.now.wall + 120_000)
    cause = only(hub, task)
    assert (cause.code, cause.used, cause.limit, cause.until) == (Reason.USER_CONCURRENCY, 3, 3, None)
    assert cause.would_help == ("It would start now with a fourth concurrent task, or T-001 finishing (about 2 min)")
    assert [one.eligible for one in found.daemons] == [True]
    # One that is not the first of its like is promised nothing.
    second = hub.submit()
    first, behind = told(hub, second).reasons
    assert first.would_help == "a fourth concurrent task, or T-001 finishing (about 2 min)"
    # And it is told that alike ones go before it.
    assert (behind.code, behind.used) == (Reason.BEHIND_OTHERS, 1)
    assert behind.message == "One of your tasks of its queue goes first."


def test_a_user_at_the_limit_of_a_source() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_source={"webhook": 1})))
    hub.daemon()
    hub.submit(source=SourceType.WEBHOOK)
    cause = only(hub, hub.submit(source=SourceType.WEBHOOK))
    assert (cause.code, cause.message) == (Reason.SOURCE_CONCURRENCY, "You run 1 of 1 tasks of source webhook.")


def test_a_full_queue_a_paused_one_and_one_that_cools_down() -> None:
    hub = HubHarness(MODEL)
    hub.daemon()
    running = hub.run(hub.submit(model="m"))
    task = hub.submit(model="m")
    cause = only(hub, task)
    assert (cause.code, cause.used, cause.limit) == (Reason.QUEUE_FULL, 1, 1)
    assert cause.message == "Queue q runs 1 of 1 tasks at a time."
    hub.ask(PauseQueue("q", "ann"))
    assert told(hub, task).summary == (
        "Its queue is paused: queue q was paused, and starts nothing until it is resumed; 1 more thing holds it."
    )
    hub.ask(ResumeQueue("q", "ann"))
    hub.fail(running, code="RATE_LIMITED", retry_after_ms=60_000)
    cause = only(hub, task)
    assert cause.code is Reason.QUEUE_COOLING
    assert cause.until is not None
    assert told(hub, task).estimated_start == cause.until
    hub.live(s=75, starting=True)
    waiting = task if task.status is Status.QUEUED else running
    assert Reason.QUEUE_PROBING in causes(hub, waiting)


def test_where_two_pools_could_run_it_the_pool_is_named() -> None:
    hub = HubHarness(MODEL)
    hub.daemon("own")
    hub.daemon("shared", shared=True)
    hub.submit(model="m")
    hub.submit(model="m")
    found = told(hub, hub.submit(model="m"))
    assert [cause.message for cause in found.reasons] == [
        "Queue q runs 1 of 1 tasks at a time among your own daemons.",
        "Queue q runs 1 of 1 tasks at a time among the shared daemons.",
    ]
    assert found.summary.endswith("; 1 more thing holds it.")


def test_a_breaker_that_is_open_and_one_that_tries() -> None:
    hub = HubHarness()
    hub.daemon()
    for _ in range(5):
        hub.fail(hub.run(hub.submit(terms=Terms(max_attempts=1))))
    task, other = hub.submit(), hub.submit()
    cause = only(hub, task)
    assert (cause.code, cause.used, cause.limit, cause.until) == (Reason.BREAKER_OPEN, 5, 5, hub.now.wall + 60_000)
    assert cause.message.startswith("Tasks of type general failed 5 times in a row")
    hub.live(s=61)
    assert Reason.BREAKER_PROBING in causes(hub, other)


def test_a_breaker_that_a_person_opened_says_so() -> None:
    hub = HubHarness()
    hub.daemon()
    hub.ask(OpenBreaker("ann", "general", "root"))
    task = hub.submit(terms=Terms(max_attempts=1))
    cause = only(hub, task)
    assert cause.message == "A person opened the breaker of type general, and no such task starts until 08:05:00 UTC."
    assert (cause.code, cause.used, cause.limit) == (Reason.BREAKER_OPEN, None, None)
    # A probe that fails leaves it open, and it is still the person's doing that it was.
    hub.live(s=301)
    hub.fail(hub.run(task))
    assert only(hub, hub.submit()).message.startswith("A person opened the breaker")


def test_a_user_without_hours_left() -> None:
    hub = HubHarness()
    hub.ask(ChangeUser("ann", "root", plan="free", overrides={"monthly_agent_hours": 0.5}))
    hub.daemon()
    task = hub.run(hub.submit(terms=Terms(timeout_ms=7_200_000)))
    waiting = hub.submit()
    hub.live(s=1800)
    cause = causes(hub, waiting)[Reason.USER_HOURS]
    assert (cause.used, cause.limit) == (0.5, 0.5)
    assert cause.message.startswith(
        "You have used 0.5 of 0.5 hours of this month of plan free, which ends at 2027-02-15"
    )
    assert task.status is Status.PENDING


def test_the_caps_of_levels() -> None:
    hub = HubHarness()
    hub.daemon(slots=20)
    for _ in range(5):
        hub.submit(level=Level.LOW)
    cause = only(hub, hub.submit(level=Level.LOW))
    assert (cause.code, cause.used, cause.limit) == (Reason.LOW_CAP, 5, 5)
    assert cause.would_help == "a higher priority, or T-001 finishing (about 5 min)"
    small = HubHarness()
    small.daemon(slots=5)
    for _ in range(4):
        small.submit()
    cause = only(small, small.submit())
    assert cause.message == "Tasks that are not critical use 4 of the 4 slots left to them."
    strict = HubHarness(Settings(shares=Shares(strict=True)))
    strict.daemon(slots=5)
    strict.submit()
    assert only(strict, strict.submit()).message == "Tasks of level normal use 1 of the 1 slots of their share."


def test_a_full_hub_tells_nothing_of_others() -> None:
    hub = HubHarness(Settings(limits=Limits(running_total=1)), users=("ann", "bob"))
    hub.daemon("b", user="bob")
    hub.daemon("a")
    hub.run(hub.submit(user="bob"))
    cause = only(hub, hub.submit())
    assert (cause.code, cause.used, cause.limit) == (Reason.HUB_FULL, 1, 1)
    assert "T-001" not in f"{cause}"


def test_an_exclusive_key_that_another_task_has() -> None:
    hub = HubHarness()
    hub.daemon()
    hub.run(hub.submit(terms=Terms(exclusive="repo")))
    cause = only(hub, hub.submit(terms=Terms(exclusive="repo")))
    assert cause.message == "Only one task of the key repo runs at a time, and now it is T-001."
    assert cause.would_help == "It would start now with T-001 finishing (about 5 min)"


def test_no_daemon_none_that_fits_and_none_with_a_slot() -> None:
    hub = HubHarness()
    task = hub.submit(capabilities=("browser",))
    assert only(hub, task).would_help == "starting one (`taskyard daemon`)"
    hub.daemon("mac-2")
    found = told(hub, task)
    assert found.summary == "No daemon can run it: none of the daemons you may use has ever offered browser."
    assert found.reasons[0].would_help == "mac-2 would qualify if it had browser"
    hub.daemon("mac-3", capabilities=("browser",), slots=1)
    assert task.status is Status.SCHEDULED
    waiting = hub.submit(capabilities=("browser",))
    cause = only(hub, waiting)
    assert (cause.code, cause.used, cause.limit) == (Reason.NO_FREE_SLOT, 1, 1)
    assert cause.message == "The only daemon that could run it is mac-3 (full: 1 of 1)."
    assert cause.would_help == "T-001 finishing (about 5 min); mac-2 would qualify if it had browser"


def test_a_daemon_that_is_away_is_waited_for() -> None:
    hub = HubHarness()
    hub.disconnect(hub.daemon("mac", capabilities=("browser",)))
    cause = only(hub, hub.submit(capabilities=("browser",)))
    assert cause.message == "The only daemon that could run it is mac (offline since 08:00:00 UTC)."
    assert cause.would_help == "mac would qualify if it were online"


def test_without_anything_nearer_a_daemon_that_fits_would_help() -> None:
    hub = HubHarness()
    hub.daemon("a", types=("x",))
    gpu = hub.submit(capabilities=("gpu",))
    assert only(hub, gpu).would_help == "a daemon that has gpu and runs tasks of type general"
    assert only(hub, hub.submit(capabilities=("gpu",), model="m")).would_help == (
        "a daemon that has gpu, serves m and runs tasks of type general"
    )
    assert only(hub, hub.submit(capabilities=("gpu",), memory_mb=4096)).would_help == (
        "a daemon that has gpu, has 4096 MB of memory free and runs tasks of type general"
    )
    full = HubHarness(users=("ann", "bob"))
    full.daemon("b", shared=True, user="bob", slots=1)
    full.submit(user="bob")
    assert only(full, full.submit()).would_help == "a daemon with a free slot"


def test_a_model_that_no_daemon_serves_is_told_beside_a_missing_capability() -> None:
    hub = HubHarness(MODEL)
    hub.daemon(models=("other",))
    task = hub.submit(model="m", capabilities=("browser",))
    said = "None of the daemons you may use has ever offered browser"
    assert only(hub, task).message == f"{said}, and none serves m."
    hub.daemon("mac-2", models=("m",))
    assert only(hub, task).message == f"{said}."


def test_a_suspect_says_how_often_its_daemon_died() -> None:
    hub = HubHarness()
    _, _, task = two_busy_daemons(hub)
    cause = only(hub, task)
    assert cause.code is Reason.WAITS_ALONE
    assert cause.message.startswith("Its daemon died under it 3 times, so it runs alone")
    cause = only(hub, hub.submit(target="a"))
    assert cause.code is Reason.NO_FREE_SLOT


def test_one_that_somebody_makes_room_for() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    hub.daemon()
    low = hub.run(hub.submit(level=Level.LOW))
    hub.live(s=15)
    task = hub.submit(level=Level.CRITICAL)
    found = told(hub, task)
    assert [cause.code for cause in found.reasons] == [Reason.PREEMPTING, Reason.USER_CONCURRENCY]
    assert found.summary.startswith("About to start: another task of yours, T-001, was asked to save its work")
    assert low.status is Status.RUNNING


def test_one_that_nothing_holds_is_about_to_start() -> None:
    # Given a task that came in, before anything is given away
    hub = HubHarness()
    task = hub.submit()
    hub.daemon()
    hub.cancel(task)
    turn = hub.core.turn(hub.now)
    ready = a_ready_task(hub)
    found = why(turn, ready)
    assert (found.reasons[0].code, found.position) == (Reason.BEHIND_OTHERS, 1)
    assert found.summary == "Next in line: nothing else holds it, and none of your tasks of its queue go first."
    assert found.estimated_start == hub.now.wall


def a_ready_task(hub: HubHarness) -> Task:
    user, pattern = hub.state.users["ann"], hub.submit()
    task = Task(
        id="task-9",
        user_id="ann",
        number=9,
        kind=pattern.kind,
        terms=pattern.terms,
        created_at=hub.now.wall,
        status=Status.QUEUED,
        queued_at=hub.now.wall,
    )
    hub.state.tasks[task.id] = task
    hub.state.yard.enter(user, task)
    return task


# With a daemon, and after.


def test_one_that_is_being_handed_over() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    cause = only(hub, task)
    assert (cause.code, cause.until) == (Reason.AWAITING_ACCEPT, hub.now.wall + 5000)
    hub.accept(task)
    cause = only(hub, task)
    assert (cause.code, cause.until) == (Reason.AWAITING_START, hub.now.wall + 30_000)
    assert cause.message == "It is with mac, which has until 08:00:30 UTC to start it."


def test_one_that_runs_says_where_since_when_and_how_long_still() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.live(s=60)
    assert told(hub, task) == Why(
        "T-001", Status.RUNNING, "It runs on mac since 08:00:00 UTC, attempt 1; about 4 min to go."
    )


def test_one_whose_daemon_is_away_says_since_when_and_when_it_is_taken_for_lost() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.run(hub.submit())
    hub.live(s=60)
    hub.disconnect(daemon)
    hub.advance(s=12)
    assert told(hub, task).summary == (
        "It began on mac at 08:00:00 UTC, attempt 1, but its daemon has been silent for 12 s; "
        "it is taken for lost at 08:01:36 UTC."
    )
    hub.advance(s=24)
    assert task.status is Status.QUEUED, "it was taken for lost when it was said to be"


def test_one_that_was_only_given_to_a_daemon_that_is_away_says_so_too() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    task = hub.submit()
    hub.disconnect(daemon)
    hub.advance(s=3)
    assert told(hub, task) == Why(
        "T-001",
        Status.SCHEDULED,
        "It was given to mac, but its daemon has been silent for 3 s; it is taken for lost at 08:00:36 UTC.",
    )


def test_a_daemon_that_is_connected_and_says_nothing_is_silent_after_two_heartbeats() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.advance(s=10)
    assert told(hub, task).summary.endswith("to go.")
    hub.advance(s=1)
    assert "its daemon has been silent for 11 s; it is taken for lost at 08:00:36 UTC." in told(hub, task).summary


def test_one_that_waits_for_a_task_on_a_daemon_that_is_away_says_so() -> None:
    hub = HubHarness()
    daemon = hub.daemon()
    first = hub.run(hub.submit())
    second = hub.submit(depends_on=(first.id,))
    assert only(hub, second).would_help == "T-001 finishing (about 5 min)"
    hub.disconnect(daemon)
    hub.advance(s=4)
    assert only(hub, second).would_help == (
        "T-001 finishing (its daemon has been silent for 4 s; it is taken for lost at 08:00:36 UTC)"
    )


def test_an_agent_that_pulls_is_not_away_while_it_works() -> None:
    hub = HubHarness()
    task = claimed(hub)
    assert told(hub, task).summary.endswith("to go.")


@pytest.mark.parametrize("is_running", [True, False])
def test_one_that_is_being_cancelled(is_running: bool) -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.submit()
    if is_running:
        hub.run(task)
    hub.cancel(task)
    assert told(hub, task).summary == ("Being cancelled: it was asked to stop, and mac has not confirmed it yet.")


def test_one_that_was_asked_to_stop_says_with_what_words() -> None:
    hub = HubHarness()
    hub.daemon()
    task = hub.run(hub.submit())
    hub.cancel(task, reason="the wrong branch.")
    hub.cancel(task, reason="asked twice")
    assert told(hub, task).summary == (
        "Being cancelled: it was asked to stop (the wrong branch), and mac has not confirmed it yet."
    )


def test_one_that_has_ended_tells_its_story() -> None:
    hub = HubHarness()
    task = hub.submit()
    hub.cancel(task)
    found = told(hub, task)
    assert (found.reasons, found.summary) == ((), "Cancelled at 08:00:00 UTC. Nothing was tried.")


# Promises come true.


def raise_user_limit(hub: HubHarness) -> None:
    hub.ask(ChangeUser("ann", "root", overrides={"max_concurrent_agents": 4}))


def raise_source_limit(hub: HubHarness) -> None:
    limits = Limits(running_per_source={"user": 2})
    hub.step(ChangeSettings(Settings(limits=limits, queues=hub.state.settings.queues)))


PROMISES: dict[Reason, tuple[Callable[[HubHarness], Task], Callable[[HubHarness], object]]] = {
    Reason.USER_CONCURRENCY: (at_user_limit, raise_user_limit),
    Reason.QUEUE_FULL: (
        lambda hub: (hub.daemon(), hub.submit(model="m"), hub.submit(model="m"))[-1],
        lambda hub: hub.ask(PutQueue("q", ("m",), 2, "ann")),
    ),
    Reason.QUEUE_PAUSED: (
        lambda hub: (hub.daemon(), hub.ask(PauseQueue("q", "ann")), hub.submit(model="m"))[-1],
        lambda hub: hub.ask(ResumeQueue("q", "ann")),
    ),
    Reason.SOURCE_CONCURRENCY: (
        lambda hub: (
            hub.step(ChangeSettings(Settings(limits=Limits(running_per_source={"user": 1})))),
            hub.daemon(),
            hub.submit(),
            hub.submit(),
        )[-1],
        raise_source_limit,
    ),
    Reason.EXCLUSIVE_HELD: (
        lambda hub: (
            hub.daemon(),
            hub.run(hub.submit(terms=Terms(exclusive="k"))),
            hub.submit(terms=Terms(exclusive="k")),
        )[-1],
        lambda hub: hub.complete(hub.state.tasks["task-000001"]),
    ),
    Reason.BREAKER_OPEN: (
        lambda hub: (
            hub.daemon(),
            *(hub.fail(hub.run(hub.submit(terms=Terms(max_attempts=1)))) for _ in range(5)),
            hub.submit(),
        )[-1],
        lambda hub: hub.ask(ResetBreaker("ann", "general", "ann")),
    ),
}


@pytest.mark.parametrize("reason", PROMISES)
def test_what_is_promised_to_start_it_starts_it(reason: Reason) -> None:
    hub = HubHarness(MODEL)
    arrange, act = PROMISES[reason]
    task = arrange(hub)
    cause = only(hub, task)
    assert cause.code is reason
    assert cause.would_help.startswith("It would start now with "), cause
    act(hub)
    assert task.status is Status.SCHEDULED


def test_a_daemon_that_would_qualify_does() -> None:
    hub = HubHarness()
    hub.daemon("mac-2", capabilities=("gpu",))
    task = hub.submit(capabilities=("gpu", "browser"))
    assert only(hub, task).would_help == "mac-2 would qualify if it had browser"
    hub.daemon("mac-2", capabilities=("gpu", "browser"), boot="boot-2")
    assert task.status is Status.SCHEDULED


def test_nothing_is_promised_to_one_of_many_who_wait_for_the_same() -> None:
    hub = HubHarness(MODEL, users=("ann", "bob"))
    hub.daemon(shared=True)
    hub.submit(model="m")
    task = hub.submit(model="m")
    hub.submit(model="m", user="bob")
    help_for = only(hub, task).would_help
    assert not help_for.startswith("It would")


# Whatever happens, there is an answer.


ACTS = some.lists(
    some.tuples(
        some.sampled_from(
            [
                "submit",
                "submit",
                "low",
                "critical",
                "model",
                "gpu",
                "exclusive",
                "webhook",
                "bob",
                "end",
                "fail",
                "daemon",
                "shared",
                "leave",
                "pause",
                "resume",
                "time",
                "limit",
                "cancel",
            ]
        ),
        some.integers(0, 7),
    ),
    min_size=3,
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(ACTS)
def test_whatever_is_left_queued_has_a_reason(acts: list[tuple[str, int]]) -> None:
    hub = HubHarness(MODEL, users=("ann", "bob"))
    for what, number in acts:
        act(hub, what, number)
        for task in [t for t in hub.state.tasks.values() if t.status is Status.QUEUED]:
            found = told(hub, task)
            assert found.reasons, task
            assert found.reasons[0].code is not Reason.BEHIND_OTHERS, found
            assert "{" not in f"{found.summary}{found.reasons}", "a blank that nobody filled in"
            assert found.position is not None
            assert found.position >= 1
            starts = [cause.would_help for cause in found.reasons if (cause.would_help or "").startswith("It would")]
            assert len(starts) <= (len(found.reasons) == 1)


def act(hub: HubHarness, what: str, number: int) -> None:
    running = [t for d in hub.state.daemons.values() for t in d.holding.values() if d.session]
    drafts = {
        "submit": lambda: a_draft(type=f"t{number % 2}"),
        "low": lambda: a_draft(level=Level.LOW),
        "critical": lambda: a_draft(level=Level.CRITICAL),
        "model": lambda: a_draft(model="m"),
        "gpu": lambda: a_draft(capabilities=("gpu",), memory_mb=number * 100),
        "exclusive": lambda: a_draft(terms=Terms(exclusive="k", max_attempts=1)),
        "webhook": lambda: a_draft(source=SourceType.WEBHOOK),
        "bob": lambda: a_draft(value=1 + number),
    }
    if what in drafts:
        hub.submit(drafts[what](), user="bob" if what == "bob" else "ann")
    elif what in ("end", "fail") and running:
        task = hub.run(running[number % len(running)])
        hub.complete(task) if what == "end" else hub.fail(task)
    elif what in ("daemon", "shared"):
        capabilities = ("gpu",) if number % 2 else ()
        name = f"{what}{number % 3}"
        if f"d-{name}" not in hub.state.daemons:
            hub.daemon(name, slots=1 + number % 4, shared=what == "shared", capabilities=capabilities, memory_mb=300)
    elif what == "leave":
        there = [d for d in hub.state.daemons.values() if d.session]
        if there:
            hub.disconnect(there[number % len(there)])
    elif what in ("pause", "resume"):
        hub.ask(PauseQueue("q", "ann") if what == "pause" else ResumeQueue("q", "ann"))
    elif what == "time":
        hub.live(s=1 + 20 * number, step_ms=20_000)
    elif what == "limit":
        hub.ask(ChangeUser("ann", "root", overrides={"max_concurrent_agents": number}))
    elif what == "cancel":
        waiting = [t for t in hub.state.tasks.values() if t.status is Status.QUEUED]
        if waiting:
            hub.cancel(waiting[number % len(waiting)])

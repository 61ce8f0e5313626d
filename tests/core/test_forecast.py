"""Where a waiting task stands, and when it will presumably start."""

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from taskyard.core.forecast import LANES_MAX, Forecast, forecast
from taskyard.core.lanes import LOOKS_MAX, key_of, place_of
from taskyard.core.limits import ages_of
from taskyard.core.settings import Ageing, Limits, Queue, Settings
from taskyard.core.task import Task
from taskyard.core.why import why
from taskyard.core.yard_commands import ChangeUser, PauseQueue
from taskyard.vocabulary import RANK, Level, SourceType, Status
from tests.support.harness import HubHarness, Terms, a_draft

MANY = 100_000


def foreseen(hub: HubHarness, task: Task) -> Forecast:
    found = forecast(hub.core.turn(hub.now), task)
    assert found is not None
    return found


def starts_in(hub: HubHarness, task: Task) -> float | None:
    at = foreseen(hub, task).starts_at
    return None if at is None else (at - hub.now.wall) / 1000


# Position.


def test_the_position_counts_ones_own_tasks_of_the_queue() -> None:
    hub = HubHarness(Settings(queues={"q": Queue(models=("m",))}), users=("ann", "bob"))
    hub.submit(user="bob")
    first, second = hub.submit(), hub.submit(capabilities=("gpu",))
    elsewhere = hub.submit(model="m")
    urgent = hub.submit(level=Level.HIGH)
    assert [foreseen(hub, t).position for t in (urgent, first, second, elsewhere)] == [1, 2, 3, 1]
    assert forecast(hub.core.turn(hub.now), hub.submit(scheduled_for=hub.now.wall + 1000)) is None


def test_numbers_then_age_and_who_waited_too_long_first() -> None:
    hub = HubHarness(Settings(ageing=Ageing(normal_s=60)))
    low, other_low = hub.submit(value=5), hub.submit(value=5, capabilities=("gpu",))
    hub.advance(s=30)
    high = hub.submit(value=7)
    assert [foreseen(hub, t).position for t in (high, low, other_low)] == [1, 2, 3]
    hub.advance(s=40)
    newer = hub.submit(value=6)
    assert [foreseen(hub, t).position for t in (low, other_low, high, newer)] == [1, 2, 3, 4]


def test_tasks_that_left_from_the_middle_are_not_counted() -> None:
    hub = HubHarness()
    tasks = [hub.submit() for _ in range(6)]
    hub.cancel(tasks[2])
    hub.cancel(tasks[4])
    assert [foreseen(hub, t).position for t in tasks if t.status is Status.QUEUED] == [1, 2, 3, 4]


def brute_position(hub: HubHarness, task: Task) -> int:
    """By sorting all of them."""
    ages = ages_of(hub.core.turn(hub.now))

    def order(each: Task) -> tuple[int, tuple[bool, int, str]]:
        lane = hub.state.users[each.user_id].lanes[key_of(each)]
        return lane.rank, place_of(each, ages[lane.rank])

    alike = [t for t in hub.state.tasks.values() if t.status is Status.QUEUED and t.kind.queue == task.kind.queue]
    return sorted(alike, key=order).index(task) + 1


STEPS = some.lists(
    some.tuples(some.sampled_from(["low", "normal", "high", "wait", "cancel", "gpu"]), some.integers(0, 9)),
    min_size=1,
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_the_position_is_that_of_sorting_them_all(steps: list[tuple[str, int]]) -> None:
    hub = HubHarness(Settings(ageing=Ageing(normal_s=60, high_s=30, low_s=100)))
    tasks: list[Task] = []
    for what, number in steps:
        if what == "wait":
            hub.advance(s=number * 10)
        elif what == "cancel":
            if tasks:
                hub.cancel(tasks.pop(number % len(tasks)))
        else:
            level = {"low": Level.LOW, "high": Level.HIGH}.get(what, Level.NORMAL)
            needs = ("gpu",) if what == "gpu" else ()
            tasks.append(hub.submit(a_draft(level=level, value=1 + number, capabilities=needs)))
    for task in tasks:
        assert foreseen(hub, task).position == brute_position(hub, task)
        assert RANK[task.level] >= 0


# Estimates.


def test_it_starts_when_those_ahead_have_taken_the_places_that_fall_free() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=2)))
    hub.daemon()
    for _ in range(2):
        hub.run(hub.submit(terms=Terms(estimated_ms=60_000)))
    hub.live(s=20)
    waiting = [hub.submit(terms=Terms(estimated_ms=60_000)) for _ in range(4)]
    # Those that run have 40 s to go; those ahead are taken to last as long as their like did, or 300 s.
    assert [starts_in(hub, task) for task in waiting] == [40, 40, 340, 340]


def test_lately_counts_and_who_overruns_is_expected_soon() -> None:
    hub = HubHarness(Settings(limits=Limits(running_per_user=1)))
    hub.daemon()
    for _ in range(2):
        task = hub.run(hub.submit())
        hub.live(s=100)
        hub.complete(task)
    running = hub.run(hub.submit())
    waiting = hub.submit()
    assert starts_in(hub, waiting) == 100
    hub.live(s=250)
    assert starts_in(hub, waiting) == 10
    assert running.status is Status.RUNNING


def test_a_known_instant_is_taken_and_the_last_of_all_decides() -> None:
    hub = HubHarness(Settings(queues={"q": Queue(models=("m",))}))
    hub.daemon()
    hub.fail(hub.run(hub.submit(model="m")), code="RATE_LIMITED", retry_after_ms=120_000)
    at = starts_in(hub, hub.submit(model="m"))
    assert at is not None
    assert 119 <= at <= 135


def test_nothing_is_said_where_only_a_person_helps() -> None:
    hub = HubHarness(Settings(queues={"q": Queue(models=("m",))}))
    assert starts_in(hub, hub.submit()) is None
    hub.daemon()
    hub.ask(PauseQueue("q", "ann"))
    assert starts_in(hub, hub.submit(model="m")) is None
    hub.ask(ChangeUser("ann", "root", overrides={"max_concurrent_agents": 0}))
    assert starts_in(hub, hub.submit()) is None


def test_nothing_is_said_where_nobody_is_there() -> None:
    hub = HubHarness()
    hub.disconnect(hub.daemon())
    assert starts_in(hub, hub.submit()) is None


def test_nothing_is_said_where_a_slot_is_taken_by_work_that_was_given_up() -> None:
    hub = HubHarness()
    daemon = hub.daemon(slots=1)
    hub.run(hub.submit(terms=Terms(timeout_ms=2000)))
    hub.advance(s=3)
    assert daemon.lingering
    assert starts_in(hub, hub.submit()) is None


def test_where_more_run_than_may_some_must_end_first() -> None:
    hub = HubHarness()
    hub.daemon()
    for seconds in (10, 20, 30):
        hub.run(hub.submit(terms=Terms(estimated_ms=seconds * 1000)))
    hub.ask(ChangeUser("ann", "root", overrides={"max_concurrent_agents": 1}))
    assert starts_in(hub, hub.submit()) == 30


def test_others_have_their_turns_in_between() -> None:
    hub = HubHarness(users=("ann", "bob", "cyd"))
    hub.daemon(shared=True, slots=1)
    hub.run(hub.submit(terms=Terms(estimated_ms=60_000)))
    for user in ("bob", "cyd"):
        hub.submit(user=user)
    tasks = [hub.submit() for _ in range(2)]
    # Three users wait: one of the others before the first, both of them between the two.
    assert [starts_in(hub, task) for task in tasks] == [360, 60 + 4 * 300]


@pytest.mark.parametrize("held_by", ["source", "low", "exclusive", "hub", "queue", "breaker"])
def test_each_hold_ends_with_those_who_hold_it(held_by: str) -> None:
    limits = Limits(running_per_source={"user": 1}) if held_by == "source" else Limits()
    limits = Limits(running_total=1) if held_by == "hub" else limits
    hub = HubHarness(Settings(limits=limits, queues={"q": Queue(models=("m",))}))
    hub.daemon(slots=20)
    model = "m" if held_by == "queue" else None
    level = Level.LOW if held_by == "low" else Level.NORMAL
    terms = Terms(estimated_ms=60_000, exclusive="k" if held_by == "exclusive" else None)
    if held_by == "breaker":
        for _ in range(5):
            hub.fail(hub.run(hub.submit(terms=Terms(max_attempts=1))))
        hub.live(s=61)
    else:
        # Somebody who is not in the way, and would be done sooner.
        hub.submit(source=SourceType.AGENT, terms=Terms(estimated_ms=1000)) if held_by != "hub" else None
    for _ in range(5 if held_by == "low" else 1):
        hub.run(hub.submit(model=model, level=level, terms=terms))
    assert starts_in(hub, hub.submit(model=model, level=level, terms=terms)) == 60


# What it costs.


def opcodes(hub: HubHarness, task: Task) -> int:
    """How much is looked at, in steps of the interpreter: a clock would measure the machine."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    turn, before = hub.core.turn(hub.now), sys.gettrace()
    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        forecast(turn, task)
        why(turn, task)
    finally:
        sys.settrace(before)
    return steps


def with_many(hub: HubHarness, number: int, *, name: str = "task-1", apart: bool = False) -> list[Task]:
    """So many more ready tasks, put into their lanes without the rest of what a submission does; `apart`: one each."""
    user, pattern = hub.state.users["ann"], hub.submit()
    tasks = []
    for index in range(number):
        task = Task(
            id=f"{name}{index:09d}",
            user_id=user.id,
            number=index + 10,
            kind=pattern.kind,
            terms=Terms(exclusive=f"k{index}") if apart else pattern.terms,
            created_at=hub.now.wall,
            status=Status.QUEUED,
            queued_at=hub.now.wall,
        )
        hub.state.tasks[task.id] = task
        hub.state.yard.enter(user, task)
        tasks.append(task)
    return tasks


def test_the_cost_of_an_answer_does_not_grow_with_those_who_wait() -> None:
    few, many = HubHarness(), HubHarness()
    for hub in (few, many):
        hub.daemon(slots=1)
        hub.submit()
    last_of_few, last_of_many = with_many(few, 100)[-1], with_many(many, MANY)[-1]
    assert foreseen(many, last_of_many).position == MANY + 1
    # A search by halves takes a few steps more, and that is all.
    assert opcodes(many, last_of_many) < 2 * opcodes(few, last_of_few) < 20_000


def test_among_very_many_those_who_left_are_taken_off_by_their_share() -> None:
    hub = HubHarness()
    tasks = with_many(hub, 4 * LOOKS_MAX)
    user = hub.state.users["ann"]
    for task in tasks[::2]:
        hub.state.yard.leave(user, task)
        task.status = Status.CANCELLED
        del hub.state.tasks[task.id]
    assert foreseen(hub, tasks[-1]).position == pytest.approx(2 * LOOKS_MAX, abs=2)


def test_of_very_many_that_came_back_a_sample_is_looked_at() -> None:
    # Given tasks that became ready in the opposite order of their age
    hub = HubHarness()
    newest = hub.submit(a_draft(id="task-999999999"))
    user = hub.state.users["ann"]
    for task in with_many(hub, 3 * LOOKS_MAX, name="task-0"):
        assert task.id < newest.id
    assert foreseen(hub, newest).position == pytest.approx(3 * LOOKS_MAX + 2, rel=0.01)
    assert len(user.lanes) == 1


def test_of_very_many_lanes_the_others_are_taken_to_be_alike() -> None:
    hub = HubHarness()
    last = with_many(hub, 2 * LANES_MAX, apart=True)[-1]
    assert foreseen(hub, last).position == pytest.approx(2 * LANES_MAX, abs=2)

"""Used agent time: what is charged, to which month, and what follows at its end."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from taskyard.core.commands import Tick
from taskyard.core.daemon_commands import Held, RejectTask
from taskyard.core.effects import Refused
from taskyard.core.scheduler import held_by
from taskyard.core.state import Now
from taskyard.core.task import Task, Terms
from taskyard.core.usage import HOUR_MS, cycle_of, used_ms
from taskyard.core.yard_commands import ChangeUser
from taskyard.vocabulary import HELD, AttemptStatus, Keeps, LostPolicy, Refusal
from taskyard.vocabulary.reasons import Reason
from tests.support.harness import HubHarness, InventoryState, Status, a_draft, attempt_of

MINUTE_MS = 60_000
LONG = Terms(timeout_ms=100 * HOUR_MS)


def a_yard(*, hours: float | None = None, **daemon: object) -> HubHarness:
    hub = HubHarness(users=("ann", "bob"))
    if hours is not None:
        hub.ask(ChangeUser("ann", "root", overrides={"monthly_agent_hours": hours}))
    hub.daemon(**daemon)  # type: ignore[arg-type]
    return hub


def used(hub: HubHarness, user: str = "ann") -> int:
    return used_ms(hub.state, hub.state.users[user], hub.now)


def at_reset(hub: HubHarness, *, before_ms: int) -> None:
    """Go to so long before the month of everybody here ends."""
    _, until = cycle_of(hub.state.users["ann"].record.created_at, hub.now.wall)
    hub.now = Now(until - before_ms, hub.now.mono + until - before_ms - hub.now.wall)


# Months.


def ms(text: str) -> int:
    return round(datetime.fromisoformat(f"{text}+00:00").timestamp() * 1000)


@pytest.mark.parametrize(
    ("anchor", "now", "since", "until"),
    [
        ("2027-01-15T08:00", "2027-01-15T08:00", "2027-01-15T08:00", "2027-02-15T08:00"),
        ("2027-01-15T08:00", "2027-02-15T07:59:59.999", "2027-01-15T08:00", "2027-02-15T08:00"),
        ("2027-01-15T08:00", "2027-02-15T08:00", "2027-02-15T08:00", "2027-03-15T08:00"),
        ("2027-01-31T10:00", "2027-02-14T00:00", "2027-01-31T10:00", "2027-02-28T10:00"),
        ("2027-01-31T10:00", "2027-02-28T10:00", "2027-02-28T10:00", "2027-03-31T10:00"),
        ("2027-01-31T10:00", "2027-03-31T09:59", "2027-02-28T10:00", "2027-03-31T10:00"),
        ("2027-01-31T10:00", "2027-04-30T10:00", "2027-04-30T10:00", "2027-05-31T10:00"),
        ("2027-01-31T10:00", "2028-02-29T09:00", "2028-01-31T10:00", "2028-02-29T10:00"),
        ("2028-02-29T10:00", "2029-02-28T10:00", "2029-02-28T10:00", "2029-03-29T10:00"),
        ("2028-02-29T10:00", "2032-02-29T10:00", "2032-02-29T10:00", "2032-03-29T10:00"),
        ("2026-12-15T00:00", "2027-01-14T23:59", "2026-12-15T00:00", "2027-01-15T00:00"),
        ("2026-12-31T23:59:59.999", "2027-01-31T23:59:59.998", "2026-12-31T23:59:59.999", "2027-01-31T23:59:59.999"),
        ("2026-12-31T12:00", "2027-12-31T12:00", "2027-12-31T12:00", "2028-01-31T12:00"),
        ("2027-01-15T08:00", "2026-12-24T00:00", "2026-12-15T08:00", "2027-01-15T08:00"),
    ],
)
def test_a_month_goes_from_the_users_own_date_to_the_next(anchor: str, now: str, since: str, until: str) -> None:
    assert cycle_of(ms(anchor), ms(now)) == (ms(since), ms(until))


@pytest.mark.parametrize("day", [1, 29, 31])
def test_every_instant_is_in_one_month_and_months_follow_without_a_gap(day: int) -> None:
    anchor = ms(f"2027-01-{day:02}T13:37:11.123")
    at = datetime(2027, 1, 1, tzinfo=UTC)
    ends: set[int] = set()
    while at.year < 2029:
        now = round(at.timestamp() * 1000)
        since, until = cycle_of(anchor, now)
        assert since <= now < until
        assert cycle_of(anchor, until)[0] == until
        assert cycle_of(anchor, until - 1) == (since, until)
        ends.add(until)
        at += timedelta(hours=11)
    assert len(ends) in (24, 25)


# What is charged.


def completes(hub: HubHarness, task: Task) -> None:
    hub.complete(task)


def fails(hub: HubHarness, task: Task) -> None:
    hub.fail(task)


def is_rate_limited(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code="RATE_LIMITED")


def is_incomplete(hub: HubHarness, task: Task) -> None:
    hub.fail(task, code="DECISION_REPORT_MISSING")


def is_cancelled(hub: HubHarness, task: Task) -> None:
    hub.cancel(task)
    hub.confirm_cancel(task)


def is_drained(hub: HubHarness, task: Task) -> None:
    hub.step(RejectTask(1, "d-mac", task.id, attempt_of(task).number, drained=True))


def is_rejected_after_all(hub: HubHarness, task: Task) -> None:
    hub.reject(task)


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        (completes, AttemptStatus.SUCCESS),
        (fails, AttemptStatus.FAILED),
        (is_rate_limited, AttemptStatus.RATE_LIMITED),
        (is_incomplete, AttemptStatus.INCOMPLETE),
        (is_cancelled, AttemptStatus.CANCELLED),
        (is_drained, AttemptStatus.DRAINED),
        (is_rejected_after_all, AttemptStatus.REJECTED),
    ],
)
def test_an_attempt_is_charged_for_what_it_ran_however_it_ends(
    ends: Callable[[HubHarness, Task], None], status: AttemptStatus
) -> None:
    hub = a_yard()
    task = hub.submit()
    hub.live(s=3)
    hub.run(task)
    hub.live(s=12.345, step_ms=1000)
    ends(hub, task)
    assert (task.attempts or [])[0].status is status
    assert used(hub) == 12_345
    assert [k.name for k in hub.batches[-1].kept if k.kind is Keeps.USAGE] == ["ann"]


def test_a_timeout_is_charged_up_to_the_timeout() -> None:
    hub = a_yard()
    hub.run(hub.submit(terms=Terms(timeout_ms=20_000, max_attempts=1)))
    hub.live(s=60)
    assert used(hub) == 20_000


def test_what_waits_is_free_and_so_is_an_offer_that_nobody_takes_up() -> None:
    hub = a_yard(slots=1)
    offered = hub.submit()
    hub.accept(offered)
    hub.submit()
    hub.live(s=29)
    hub.reject(offered)
    assert used(hub) == 0
    assert not any(k.kind is Keeps.USAGE for k in hub.kept())


def test_each_attempt_of_a_task_is_charged() -> None:
    hub = a_yard()
    task = hub.submit(terms=Terms(retry_delay_ms=0))
    for _ in range(3):
        hub.run(task)
        hub.live(s=7)
        hub.fail(task)
    assert (task.status, used(hub)) == (Status.PERMANENTLY_FAILED, 21_000)


def test_many_short_tasks_are_not_free() -> None:
    hub = a_yard()
    for _ in range(40):
        task = hub.run(hub.submit())
        hub.advance(ms=17)
        hub.complete(task)
    assert used(hub) == 40 * 17


def test_one_user_does_not_pay_for_another() -> None:
    hub = a_yard(shared=True)
    task = hub.run(hub.submit(user="bob"))
    hub.live(s=10)
    hub.complete(task)
    assert (used(hub), used(hub, "bob")) == (0, 10_000)


def test_what_runs_now_counts_as_used() -> None:
    hub = a_yard(slots=3)
    ended, _, scheduled = hub.run(hub.submit()), hub.run(hub.submit()), hub.submit()
    hub.live(s=10)
    hub.complete(ended)
    assert scheduled.status is Status.QUEUED
    assert used(hub) == 20_000
    hub.live(s=5)
    assert used(hub) == 25_000


def test_a_calendar_that_jumps_charges_nobody() -> None:
    hub = a_yard()
    task = hub.run(hub.submit())
    hub.advance(s=5)
    hub.now = Now(hub.now.wall + HOUR_MS, hub.now.mono + 1000)
    assert used(hub) == 6000
    hub.complete(task)
    assert used(hub) == 6000
    hub.now = Now(hub.now.wall - 2 * HOUR_MS, hub.now.mono + 1000)
    assert used(hub) == 0, "before its user was made it is another month"


# What is lost.


def a_lost_attempt(hub: HubHarness, *, silent_s: float = 36) -> Task:
    """Its daemon was heard last when it had run for 15 s; 36 s after that the lease is over."""
    task = hub.run(hub.submit(terms=LONG))
    hub.live(s=15)
    hub.advance(s=silent_s)
    return task


def test_a_lost_attempt_is_charged_up_to_its_daemons_last_heartbeat() -> None:
    hub = a_yard()
    task = a_lost_attempt(hub)
    assert attempt_of(task).status is AttemptStatus.LOST
    assert used(hub) == 15_000


def test_an_attempt_whose_daemon_came_back_as_a_new_process_is_charged_up_to_the_old_ones_last_heartbeat() -> None:
    hub = a_yard()
    a_lost_attempt(hub, silent_s=20)
    assert used(hub) == 35_000, "as far as anybody knows it runs"
    hub.daemon(boot="boot-2")
    assert used(hub) == 15_000


def test_an_attempt_that_a_heartbeat_no_longer_lists_is_charged_up_to_the_one_before() -> None:
    hub = a_yard()
    a_lost_attempt(hub, silent_s=5)
    hub.beat(hub.state.daemons["d-mac"])
    assert used(hub) == 15_000


def test_an_attempt_that_began_after_the_last_heartbeat_and_was_lost_ran_no_time_that_is_known() -> None:
    hub = a_yard()
    hub.advance(s=3)
    hub.run(hub.submit())
    hub.advance(s=10)
    hub.daemon(boot="boot-2")
    assert used(hub) == 0


def test_a_lost_attempt_that_goes_on_is_charged_once() -> None:
    # Given an attempt that was called lost, and charged
    hub = a_yard()
    task = a_lost_attempt(hub)
    # When its daemon comes back with it, and it ends
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.RUNNING)])
    assert task.status is Status.RUNNING
    assert used(hub) == 51_000
    hub.live(s=9)
    hub.complete(task)
    # Then its whole time is charged, and none of it twice
    assert used(hub) == 60_000


def test_an_attempt_that_is_lost_twice_is_charged_once() -> None:
    hub = a_yard()
    task = a_lost_attempt(hub)
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.RUNNING)])
    hub.live(s=9)
    hub.advance(s=36)
    assert attempt_of(task).status is AttemptStatus.LOST
    assert used(hub) == 60_000


def test_what_was_charged_of_a_lost_attempt_is_known_after_a_restart() -> None:
    hub = a_yard()
    task = a_lost_attempt(hub)
    other = hub.restarted()
    other.daemon(inventory=[Held(task.id, 1, InventoryState.RUNNING)])
    other.live(s=9)
    other.complete(other.state.tasks[task.id])
    assert used(other) == 60_000


def test_a_result_that_is_taken_after_all_is_not_charged_again() -> None:
    hub = a_yard()
    task = a_lost_attempt(hub)
    hub.complete(task)
    assert (task.status, used(hub)) == (Status.COMPLETED, 15_000)


def test_a_rejected_attempt_that_goes_on_is_charged_once() -> None:
    hub = a_yard()
    task = hub.run(hub.submit())
    hub.live(s=10)
    hub.reject(task)
    hub.daemon(inventory=[Held(task.id, 1, InventoryState.RUNNING)])
    hub.live(s=10)
    hub.complete(task)
    assert used(hub) == 20_000


# Months and restarts.


def test_an_attempt_that_spans_the_reset_is_split() -> None:
    hub = a_yard()
    at_reset(hub, before_ms=40_000)
    hub.daemon()
    task = hub.run(hub.submit())
    hub.live(s=35)
    assert used(hub) == 35_000
    hub.live(s=20)
    assert used(hub) == 15_000
    hub.complete(task)
    assert used(hub) == 15_000


def test_an_attempt_that_was_heard_of_last_in_the_old_month_costs_nothing_in_the_new() -> None:
    hub = a_yard()
    at_reset(hub, before_ms=20_000)
    hub.daemon()
    a_lost_attempt(hub)
    assert used(hub) == 0


def test_used_time_and_what_runs_are_known_after_a_restart() -> None:
    hub = a_yard(slots=2)
    ended, running = hub.run(hub.submit()), hub.run(hub.submit(terms=LONG))
    hub.live(s=10)
    hub.complete(ended)
    other = hub.restarted()
    assert used(other) == 20_000
    other.now = Now(other.now.wall + 4000, other.now.mono + 4000)
    other.daemon(inventory=[Held(running.id, 1)])
    other.live(s=6)
    other.complete(other.state.tasks[running.id])
    assert used(other) == 30_000


def test_what_a_restart_finds_lost_is_charged_up_to_a_heartbeat_that_was_written_down() -> None:
    # Given a task that has run for 100 s, when hub and daemon die together and only the hub comes back, hours later
    hub = a_yard()
    task = hub.run(hub.submit(terms=LONG))
    hub.live(s=100)
    hub.now = Now(hub.now.wall + 8 * HOUR_MS, hub.now.mono)
    other = hub.restarted()
    other.advance(s=36)
    # Then nobody pays for the night
    assert attempt_of(other.state.tasks[task.id]).status is AttemptStatus.LOST
    assert 40_000 <= used(other) <= 100_000


def test_heartbeats_are_written_down_once_a_minute_and_only_of_those_at_work() -> None:
    hub = a_yard()
    hub.live(s=300)
    assert not any(batch.daemons for batch in hub.batches[2:])
    before = len(hub.batches)
    hub.run(hub.submit(terms=LONG))
    hub.live(s=180)
    assert sum(bool(batch.daemons) for batch in hub.batches[before:]) in (3, 4)


# The end of a month's hours.


def test_at_the_limit_what_runs_finishes_and_what_waits_waits_for_the_reset() -> None:
    # Given a user with a minute a month, who runs one task and has another waiting
    hub = a_yard(hours=1 / 60, slots=1)
    at_reset(hub, before_ms=100_000)
    hub.daemon(slots=1)
    running, waiting = hub.run(hub.submit()), hub.submit()
    # When the minute is over
    hub.live(s=70)
    assert running.status is Status.RUNNING
    hub.complete(running)
    # Then the other one waits for the next month, and starts with it
    assert (waiting.status, used(hub)) == (Status.QUEUED, 70_000)
    hub.live(s=29)
    seen = [waiting.status]
    hub.live(s=1)
    assert [*seen, waiting.status] == [Status.QUEUED, Status.SCHEDULED]


def test_the_rule_says_how_much_is_used_of_what_and_until_when() -> None:
    hub = a_yard(hours=0.001)
    hub.ask(ChangeUser("ann", "root", plan="pro"))
    task = hub.run(hub.submit(terms=Terms(retry_delay_ms=0)))
    hub.live(s=4)
    hub.fail(task)
    (lane,) = hub.state.users["ann"].lanes.values()
    hold = held_by(hub.core.turn(hub.now), lane)
    assert hold is not None
    until = cycle_of(hub.state.users["ann"].record.created_at, hub.now.wall)[1]
    assert (hold.reason, hold.blocker, hold.used, hold.limit, hold.until, hold.name) == (
        Reason.USER_HOURS,
        ("hours", "ann"),
        4000,
        3600,
        until,
        "pro",
    )


def test_at_the_limit_nothing_new_is_taken_in_and_it_is_said_until_when() -> None:
    hub = a_yard(hours=0.5)
    task = hub.run(hub.submit(key="k"))
    hub.now = Now(hub.now.wall + 30 * MINUTE_MS, hub.now.mono + 30 * MINUTE_MS)
    answer = hub.offer(a_draft())
    assert answer == Refused(
        Refusal.MONTHLY_LIMIT_REACHED,
        "This month's agent hours (0.5) are used up; the next month begins on 2027-02-15 at 08:00 UTC.",
        index=0,
    )
    assert [t.id for t in hub.submit_all(a_draft(key="k"))] == [task.id], "what is there already is not new"
    assert hub.submit(user="bob").status is Status.QUEUED


def test_nobody_without_a_limit_is_refused() -> None:
    hub = a_yard()
    hub.run(hub.submit())
    hub.now = Now(hub.now.wall + 600 * HOUR_MS, hub.now.mono + 600 * HOUR_MS)
    assert used(hub) == 600 * HOUR_MS
    assert hub.submit().status is Status.SCHEDULED


def test_more_hours_let_go_on_at_once_and_fewer_hold_at_once() -> None:
    hub = a_yard(hours=1 / 3600)
    task = hub.run(hub.submit(terms=Terms(retry_delay_ms=0)))
    hub.live(s=2)
    hub.fail(task)
    seen = [task.status]
    hub.ask(ChangeUser("ann", "root", overrides={"monthly_agent_hours": 1}))
    seen.append(task.status)
    hub.run(task)
    hub.ask(ChangeUser("ann", "root", overrides={"monthly_agent_hours": 0}))
    hub.fail(task)
    seen.append(task.status)
    hub.ask(ChangeUser("ann", "root", overrides={"monthly_agent_hours": None}))
    assert [*seen, task.status] == [Status.QUEUED, Status.SCHEDULED] * 2


def test_time_in_which_the_hub_was_away_is_there_again() -> None:
    # Given a user whose running task has used up the month, so that another waits
    hub = a_yard(hours=1)
    hub.run(hub.submit(terms=LONG))
    waiting = hub.submit(capabilities=("gpu",))
    hub.live(s=3600, step_ms=20_000)
    hub.daemon("big", capabilities=("gpu",))
    assert waiting.status is Status.QUEUED

    # When a part of that turns out to be a stall of the hub itself
    hub.step(Tick(lag_ms=MINUTE_MS))

    # Then there is time left, and it starts
    assert used(hub) < HOUR_MS
    assert waiting.status is Status.SCHEDULED


def test_time_that_turns_out_not_to_be_used_is_there_again() -> None:
    # Given two tasks of a user with 40 s a month, of which the second has to wait: the first, as far as anybody knows,
    # has run for as long
    hub = a_yard(hours=40 / 3600, slots=1)
    hub.daemon("spare", slots=1)
    first = hub.run(hub.submit(target="mac", terms=Terms(timeout_ms=HOUR_MS, on_lost=LostPolicy.FAIL)))
    second = hub.submit(target="spare", scheduled_for=hub.now.wall + 45_000)
    spare = hub.state.daemons["d-spare"]
    hub.live(s=15)
    for _ in range(6):
        hub.advance(s=5)
        hub.beat(spare)
    assert (second.status, used(hub)) == (Status.QUEUED, 45_000)
    # When its daemon turns out to have been silent since the 15th second
    hub.advance(s=6)
    # Then there is time for the second
    assert attempt_of(first).status is AttemptStatus.LOST
    assert (second.status, used(hub)) == (Status.SCHEDULED, 15_000)


# Everything at once.


class Meter:
    """A life of one daemon and its tasks, and beside it what every attempt should be charged."""

    def __init__(self, seed: int) -> None:
        self.dice = Random(seed)
        self.hub = a_yard(slots=4)
        self.heard = self.hub.now.wall
        self.tasks: dict[str, Task] = {}
        self.lost: dict[tuple[str, int], int] = {}
        """Lost attempts, and when their daemon was last heard."""

    def step(self) -> None:
        held = [t for t in self.tasks.values() if t.status in HELD]
        step = self.dice.choice(("work", "work", "end", "live", "live", "silence", "crash", "restart"))
        daemon = self.hub.state.daemons["d-mac"]
        if step == "work" and len(held) < 3:
            task = self.hub.submit(terms=Terms(timeout_ms=120_000, retry_delay_ms=0, max_attempts=9))
            self.tasks[task.id] = task
        elif step == "live":
            for _ in range(self.dice.choice((1, 4, 20))):
                self.hub.live(s=2, starting=True)
                self.note_lost()
                self.heard = self.hub.now.wall
        elif step == "end" and held:
            end = self.dice.choice((completes, fails, is_cancelled))
            end(self.hub, self.dice.choice(held))
        elif step == "silence":
            self.hub.disconnect(daemon)
            self.hub.advance(s=self.dice.choice((2, 20, 50)))
            self.note_lost()
            self.come_back("boot-1")
        elif step == "crash":
            self.hub.advance(s=2)
            self.hub.daemon(slots=4, boot=f"boot-{self.hub.now.wall}")
            self.note_lost()
            self.come_back("boot-1")
        elif step == "restart":
            earlier, self.hub = self.hub, self.hub.restarted()
            self.hub.batches = list(earlier.batches)
            # Until the next heartbeat is heard, only the last one that was written down is known; so it is heard now.
            self.tasks.update(self.hub.state.tasks)
            self.come_back("boot-1")
        self.note_lost()

    def come_back(self, boot: str) -> None:
        """With all that it may go on with: what runs, and what was called lost."""
        ends = (AttemptStatus.RUNNING, AttemptStatus.LOST)
        going_on = [t for t in self.tasks.values() if t.attempts and attempt_of(t).status in ends]
        has_run = [t for t in going_on if attempt_of(t).started_at is not None and t.cancel_requested_at is None]
        inventory = [Held(t.id, attempt_of(t).number, InventoryState.RUNNING) for t in has_run]
        self.hub.daemon(slots=4, boot=boot, inventory=inventory)
        self.note_lost()
        self.heard = self.hub.now.wall

    def note_lost(self) -> None:
        for task in self.tasks.values():
            for attempt in task.attempts or ():
                name = task.id, attempt.number
                if attempt.status is not AttemptStatus.LOST:
                    self.lost.pop(name, None)
                else:
                    self.lost.setdefault(name, self.heard)

    def expected(self) -> int:
        total = 0
        for task in self.tasks.values():
            for attempt in task.attempts or ():
                ended = self.lost.get((task.id, attempt.number)) or attempt.ended_at or self.hub.now.wall
                if attempt.started_at is not None:
                    total += max(ended - attempt.started_at, 0)
        return total


@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_every_attempt_is_charged_what_it_ran_once(seed: int) -> None:
    meter = Meter(seed)
    for _ in range(120):
        meter.step()
        assert used(meter.hub) == meter.expected()

"""What the hub counts of what it commits, and what it says of how it stands."""

import asyncio

import pytest

from taskyard.core.commands import Command
from taskyard.core.effects import Effect
from taskyard.core.task import Terms
from taskyard.gateway.figures import Figures
from taskyard.gateway.rest.metrics import answer_of
from taskyard.hub.metrics import LAG_EVERY_S, LANES_PER_TURN, Metrics, depth_of
from taskyard.vocabulary import BreakerState, DaemonStatus, Level, Pressure, SourceType
from taskyard.wire.metrics import MetricsAnswer
from tests.core.test_claims import claim, leave, take
from tests.support.harness import HubHarness, a_draft
from tests.support.hub_scene import a_scene

ONCE = Terms(max_attempts=1)
AT_ONCE = Terms(max_attempts=3, retry_delay_ms=0)


class CountedHub(HubHarness):
    """A core each of whose commits is counted as it is released."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.metrics = Metrics(lambda: self.now)

    def step(self, command: Command) -> list[Effect]:
        effects = super().step(command)
        self.metrics.observe(self.batches[-1])
        return effects

    @property
    def figures(self) -> Figures:
        return asyncio.run(self.metrics.figures(self.state))

    @property
    def shown(self) -> MetricsAnswer:
        return answer_of(self.figures)


def test_a_fresh_hub_has_nothing_to_tell() -> None:
    shown = CountedHub().shown
    assert shown.queue_depth_total == 0
    assert shown.queue_depth_by_priority == dict.fromkeys(Level, 0)
    assert shown.queue_depth_by_source == dict.fromkeys(SourceType, 0)
    assert shown.queue_depth_by_queue == {}
    assert (shown.retry_rate, shown.failure_rate, shown.timeout_rate) == (0, 0, 0)
    assert (shown.avg_queue_wait_time_ms, shown.p99_execution_time_ms) == (0, 0)
    assert (shown.daemons_online, shown.daemons_busy, shown.total_daemon_capacity) == (0, 0, 0)
    assert shown.backpressure_level is Pressure.NORMAL


def test_depth_is_told_by_priority_source_and_queue_and_each_adds_up() -> None:
    hub = CountedHub(users=("ann", "bob"))
    hub.submit(a_draft(level=Level.HIGH), a_draft(level=Level.HIGH), a_draft(level=Level.LOW))
    hub.submit(a_draft(source=SourceType.WEBHOOK, level=Level.LOW), user="bob")
    hub.submit(a_draft(scheduled_for=hub.now.wall + 60_000))
    shown = hub.shown
    assert shown.queue_depth_total == 4
    assert shown.queue_depth_by_priority == {Level.CRITICAL: 0, Level.HIGH: 2, Level.NORMAL: 0, Level.LOW: 2}
    assert shown.queue_depth_by_source[SourceType.WEBHOOK] == 1
    assert sum(shown.queue_depth_by_source.values()) == 4
    assert shown.queue_depth_by_queue == {"default": 4}


@pytest.mark.slow
def test_looking_at_very_many_lanes_lets_the_loop_go_on_in_between() -> None:
    hub = CountedHub()
    alone = LANES_PER_TURN + 1
    for start in range(0, alone, 1000):
        numbers = range(start, min(start + 1000, alone))
        hub.submit_all(*(a_draft(terms=Terms(exclusive=f"key {number}")) for number in numbers))
    turns = 0

    async def look() -> int:
        nonlocal turns
        looking = asyncio.ensure_future(depth_of(hub.state))
        while not looking.done():
            turns += 1
            await asyncio.sleep(0)
        return sum((await looking).values())

    assert asyncio.run(look()) == alone
    assert turns >= 2


def test_throughput_is_of_the_last_minute() -> None:
    hub = CountedHub()
    hub.daemon()
    done, lost = hub.submit(), hub.submit(a_draft(terms=ONCE))
    hub.complete(hub.run(done))
    hub.fail(hub.run(lost))
    shown = hub.shown
    assert shown.tasks_enqueued_per_minute == 2
    assert (shown.tasks_completed_per_minute, shown.tasks_failed_per_minute) == (1, 1)
    hub.live(s=61)
    shown = hub.shown
    assert shown.tasks_enqueued_per_minute == 0
    assert (shown.tasks_completed_per_minute, shown.tasks_failed_per_minute) == (0, 0)
    assert shown.failure_rate == 0.5
    hub.live(s=300)
    assert hub.shown.failure_rate == 0


def test_waiting_and_running_are_timed_from_their_events() -> None:
    hub = CountedHub()
    task = hub.submit()
    hub.advance(ms=4000)
    hub.daemon()
    hub.advance(ms=100)
    hub.run(task)
    hub.advance(ms=2000)
    hub.complete(task)
    shown = hub.shown
    assert shown.avg_queue_wait_time_ms == 4000
    assert 3000 < shown.p50_queue_wait_time_ms <= 4000
    assert shown.avg_execution_time_ms == 2000
    assert 1500 < shown.p99_execution_time_ms <= 2000


def test_a_task_that_goes_from_end_to_end_in_one_commit_is_timed_too() -> None:
    hub = CountedHub()
    hub.daemon()
    for _ in range(3):
        hub.complete(hub.submit())
    figures = hub.figures
    assert figures.wait_ms.buckets[-1][1] == 3
    assert figures.execution_ms.buckets[-1][1] == 3
    assert figures.attempts == {"completed": 3}


def test_rates_are_parts_of_the_attempts_that_ended() -> None:
    hub = CountedHub()
    hub.daemon()
    for _ in range(2):
        hub.complete(hub.run(hub.submit()))
    again = hub.submit(a_draft(terms=AT_ONCE))
    hub.fail(hub.run(again))
    slow = hub.submit(a_draft(terms=Terms(max_attempts=1, timeout_ms=1000)))
    hub.run(slow)
    hub.advance(ms=1001)
    shown, figures = hub.shown, hub.figures
    assert figures.attempts == {"completed": 2, "failed": 1, "timeout": 1}
    assert (shown.retry_rate, shown.failure_rate, shown.timeout_rate) == (0.25, 0.5, 0.25)
    assert figures.execution_ms.buckets[-1][1] == 4


def test_every_way_an_attempt_ends_has_its_name() -> None:
    hub = CountedHub()
    daemon = hub.daemon()
    cancelled, limited, lost = (hub.run(hub.submit()) for _ in range(3))
    hub.cancel(cancelled)
    hub.confirm_cancel(cancelled)
    hub.fail(limited, code="RATE_LIMITED")
    hub.disconnect(daemon)
    hub.advance(s=40)
    assert lost.attempts is not None
    assert hub.figures.attempts == {"cancelled": 1, "rate_limited": 1, "lost": 1}


def test_daemons_are_told_by_status_and_their_slots_by_use() -> None:
    hub = CountedHub()
    hub.daemon("full", slots=1)
    hub.submit()
    hub.daemon("free", slots=3)
    hub.drain(hub.daemon("leaving", slots=2))
    hub.disconnect(hub.daemon("gone", slots=7))
    shown = hub.shown
    assert hub.figures.daemons == {
        DaemonStatus.ONLINE: 1,
        DaemonStatus.BUSY: 1,
        DaemonStatus.DRAINING: 1,
        DaemonStatus.OFFLINE: 1,
    }
    assert (shown.daemons_online, shown.daemons_busy) == (3, 1)
    assert (shown.total_daemon_capacity, shown.used_daemon_capacity) == (6, 1)
    assert shown.tasks_running == 1


def test_agents_that_pull_count_in_the_capacity_of_the_fleet_while_they_wait_and_while_they_work() -> None:
    hub = CountedHub()
    hub.daemon("mac", slots=3)
    # Given one that works without a connection, and one that waits for a task of its own kind
    task = hub.submit(a_draft(capabilities=("gpu",)))
    claim(hub, 1, capabilities=("gpu",))
    take(hub, task, 1)
    claim(hub, 2, capabilities=("gpu",))
    shown = hub.shown
    assert (shown.total_daemon_capacity, shown.used_daemon_capacity) == (5, 1)
    assert (shown.daemons_online, shown.daemons_busy) == (3, 1)
    # When the task is done and the claim over, no agent is behind their slots
    hub.complete(task)
    leave(hub, 2)
    shown = hub.shown
    assert (shown.total_daemon_capacity, shown.used_daemon_capacity) == (3, 0)


def test_breakers_are_counted_by_what_they_let_through() -> None:
    hub = CountedHub()
    hub.daemon()
    for _ in range(hub.state.settings.breakers.failure_threshold):
        hub.fail(hub.run(hub.submit(a_draft(terms=ONCE))))
    assert hub.figures.breakers[BreakerState.OPEN] == 1
    assert (hub.shown.breakers_open, hub.shown.breakers_half_open) == (1, 0)


@pytest.mark.slow
async def test_the_hub_times_its_commits_and_its_loop() -> None:
    async with a_scene() as scene:
        await scene.submit()
        async with asyncio.timeout(30 * LAG_EVERY_S):
            while not (figures := await scene.hub.figures()).loop_lag_ms.buckets[-1][1]:
                await asyncio.sleep(LAG_EVERY_S / 10)
    assert figures.commit_ms.buckets[-1][1] >= 2
    assert figures.commit_ms.total > 0
    assert figures.commit_rows.total == 1
    assert figures.events["task.created"] == 1
    assert sum(figures.depth.values()) == 1

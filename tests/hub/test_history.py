"""What is kept of how the hub did: by whom, when, for how long, and what it costs when it cannot be."""

import asyncio

import pytest

from taskyard.core.state import Now
from taskyard.gateway.rest.metrics import SPANS, Span
from taskyard.gateway.samples import Sample, decode_sample, encode_sample
from taskyard.hub.clock import read_clock
from taskyard.hub.history import HOURS_KEPT_MS, MINUTES_KEPT_MS, minute_ended, until_turn_ms
from taskyard.store.port import Figures, StoreBroken, StoreFenced, StoreUnavailable
from taskyard.vocabulary import Level
from taskyard.wire.metrics import HOUR_S, MINUTE_S
from tests.support.hub_scene import WAIT_S, HeldStore, Scene, a_scene

NOON = 1_800_014_400_000
"""The turn of an hour."""
MINUTE_MS, HOUR_MS = MINUTE_S * 1000, HOUR_S * 1000


class Calendar:
    """Says the time that a test wants; the stopwatch goes on by itself."""

    def __init__(self, wall: int) -> None:
        self.put(wall)

    def put(self, wall: int) -> None:
        self._ahead = wall - read_clock().wall
        self._stands_at: int | None = None

    def stop(self, wall: int) -> None:
        """Until it is put."""
        self._stands_at = wall

    def __call__(self) -> Now:
        now = read_clock()
        return Now(wall=now.wall + self._ahead if self._stands_at is None else self._stands_at, mono=now.mono)


async def kept(scene: Scene, step_s: int = MINUTE_S) -> dict[int, Sample]:
    found = await scene.hub.read(lambda reader: reader.figures(step_s=step_s, since=0))
    return {one.at: decode_sample(one.record) for one in found}


async def work(scene: Scene, *, done: int, waiting: int) -> None:
    """So many tasks are completed by a daemon that leaves; so many more wait."""
    session = await scene.daemon()
    for _ in range(done):
        task_id = await scene.submit()
        attempt = await scene.run(session, task_id)
        scene.complete(session, task_id, attempt)
        await scene.hub.ended(task_id, WAIT_S)
    for _ in range(waiting):
        await scene.submit(type="nobody does this")


@pytest.mark.parametrize(
    ("now_ms", "wait_ms"),
    [(0, 60_000), (1, 59_999), (58_999, 1_001), (59_000, 61_000), (59_999, 60_001), (60_000, 60_000)],
)
def test_it_waits_for_the_turn_of_the_minute(now_ms: int, wait_ms: int) -> None:
    assert until_turn_ms(NOON + now_ms) == wait_ms


@pytest.mark.parametrize("woken_ms", [-900, -1, 0, 1, 20_000])
def test_who_wakes_about_the_turn_of_a_minute_tells_of_the_one_before(woken_ms: int) -> None:
    assert minute_ended(NOON + woken_ms) == NOON - MINUTE_MS


async def test_a_minute_is_kept_with_what_stood_and_what_happened_and_outlives_the_hub() -> None:
    store, calendar = HeldStore(), Calendar(NOON + MINUTE_MS)
    async with a_scene(store, clock=calendar) as scene:
        await work(scene, done=2, waiting=3)
        await scene.hub.history.keep()
        told = await kept(scene)
    async with a_scene(store, with_user=False, clock=calendar) as scene:
        assert await kept(scene) == told
    [(at, sample)] = told.items()
    assert at == NOON
    assert (sample.enqueued, sample.completed, sample.failed) == (5, 2, 0)
    assert (sample.depth, sample.running) == ({Level.NORMAL: 3}, 0)
    assert (sum(sample.waits.values()), sum(sample.runs.values())) == (2, 2)
    assert (sample.daemons_online, sample.slots, sample.slots_used) == (1, 5, 0)


async def test_each_minute_counts_what_happened_since_the_one_before() -> None:
    calendar = Calendar(NOON + MINUTE_MS)
    async with a_scene(clock=calendar) as scene:
        await work(scene, done=1, waiting=1)
        await scene.hub.history.keep()
        calendar.put(NOON + 2 * MINUTE_MS)
        await scene.submit()
        await scene.hub.history.keep()
        calendar.put(NOON + 3 * MINUTE_MS)
        await scene.hub.history.keep()
        samples = (await kept(scene)).values()
        assert [(one.enqueued, one.completed, sum(one.runs.values())) for one in samples] == [
            (2, 1, 1),
            (1, 0, 0),
            (0, 0, 0),
        ]


async def test_an_hour_is_made_of_its_minutes_whoever_led_in_each_of_them() -> None:
    store, calendar = HeldStore(), Calendar(NOON + MINUTE_MS)
    async with a_scene(store, clock=calendar) as scene:
        await work(scene, done=1, waiting=0)
        await scene.hub.history.keep()
    # Nobody was there for half an hour, which is a gap and not a time in which nothing happened
    async with a_scene(store, with_user=False, clock=calendar) as scene:
        calendar.put(NOON + 31 * MINUTE_MS)
        await scene.submit(type="nobody does this")
        await scene.hub.history.keep()
        calendar.put(NOON + HOUR_MS + MINUTE_MS)
        await scene.hub.history.keep()
        hours = await kept(scene, HOUR_S)
        assert list(await kept(scene)) == [NOON, NOON + 30 * MINUTE_MS, NOON + HOUR_MS]
        assert list(hours) == [NOON, NOON + HOUR_MS]
        assert (hours[NOON].enqueued, hours[NOON].completed) == (2, 1)
        assert sum(hours[NOON].runs.values()) == 1
        assert hours[NOON + HOUR_MS].enqueued == 0


async def test_minutes_are_kept_for_a_day_and_hours_for_a_month_and_none_from_the_future() -> None:
    store, calendar = HeldStore(), Calendar(NOON + MINUTE_MS)
    async with a_scene(store, clock=calendar) as scene:
        record = encode_sample(Sample(running=1))
        ages = {
            MINUTE_S: (-HOUR_MS, 0, MINUTES_KEPT_MS, MINUTES_KEPT_MS + MINUTE_MS),
            HOUR_S: (-HOUR_MS, HOUR_MS, HOURS_KEPT_MS, HOURS_KEPT_MS + HOUR_MS),
        }
        old = [Figures(step_s, NOON - age, record) for step_s, each in ages.items() for age in each]
        store.keep_figures(old, kept={})
        await scene.hub.history.keep()
        assert list(await kept(scene)) == [NOON - MINUTES_KEPT_MS, NOON]
        assert list(await kept(scene, HOUR_S)) == [NOON - HOURS_KEPT_MS, NOON - HOUR_MS, NOON]


@pytest.mark.parametrize("span", SPANS.values(), ids=SPANS)
async def test_the_oldest_step_that_is_shown_stays_until_the_newest_is_whole(span: Span) -> None:
    store, calendar = HeldStore(), Calendar(NOON + HOUR_MS - MINUTE_MS)
    oldest = NOON - span.length_s * 1000
    async with a_scene(store, clock=calendar) as scene:
        store.keep_figures([Figures(span.kept_s, oldest, encode_sample(Sample(running=1)))], kept={})
        await scene.hub.history.keep()
        assert oldest in await kept(scene, span.kept_s)


@pytest.mark.parametrize("fault", [StoreUnavailable("no room"), StoreFenced("another leads")])
async def test_a_minute_that_the_store_does_not_take_is_a_gap_and_nothing_more(fault: StoreUnavailable) -> None:
    calendar = Calendar(NOON + MINUTE_MS)
    async with a_scene(clock=calendar) as scene:
        scene.held.fail_next(fault)
        await scene.hub.history.keep()
        assert (await scene.log.line("figures.unkept"))["data"]["reason"] == str(fault)
        calendar.put(NOON + 2 * MINUTE_MS)
        await scene.hub.history.keep()
        assert list(await kept(scene)) == [NOON + MINUTE_MS]
        assert scene.hub.ready


async def test_a_broken_store_stops_the_hub_here_as_anywhere() -> None:
    async with a_scene(clock=Calendar(NOON + MINUTE_MS)) as scene:
        scene.held.fail_next(StoreBroken("bits flipped"))
        scene.hub.watch(scene.hub.history.keep())
        with pytest.raises(StoreBroken):
            await asyncio.wait_for(asyncio.shield(scene.hub.failure), WAIT_S)


async def test_while_the_store_is_away_nothing_is_kept() -> None:
    async with a_scene(clock=Calendar(NOON + MINUTE_MS)) as scene:
        scene.hub.is_prepared = False
        await scene.hub.history.keep()
        assert await kept(scene) == {}


@pytest.mark.slow
async def test_a_hub_keeps_minutes_by_itself() -> None:
    # Given a hub that finds, however long it takes to start, that there is a little more to the turn of the minute
    # than what counts as waking early
    calendar = Calendar(NOON)
    calendar.stop(NOON + MINUTE_MS - 1_100)
    async with a_scene(clock=calendar) as scene:
        # When that has come
        calendar.put(NOON + MINUTE_MS)
        async with asyncio.timeout(WAIT_S):
            while not await kept(scene):
                await asyncio.sleep(0.05)
        assert list(await kept(scene)) == [NOON]


async def test_commits_go_on_while_a_minute_is_kept() -> None:
    async with a_scene(clock=Calendar(NOON + MINUTE_MS)) as scene:
        keeping = asyncio.create_task(scene.hub.history.keep())
        ids = await asyncio.gather(*(scene.submit() for _ in range(50)))
        await keeping
        assert len(set(ids)) == 50
        assert list(await kept(scene)) == [NOON]

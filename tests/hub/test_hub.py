"""One hub as its gateway sees it, over every engine where the disk matters."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from taskyard.core.daemon_commands import Beat, Held, LeaveDaemon
from taskyard.core.effects import Submitted
from taskyard.core.settings import Lease, Limits, Settings
from taskyard.core.state import Now
from taskyard.gateway.port import Unavailable
from taskyard.hub.clock import read_clock
from taskyard.hub.tokens import Tokens
from taskyard.store.port import Store, StoreBroken, StoreRefused, StoreUnavailable
from taskyard.vocabulary import DaemonStatus, Level, Refusal, Status
from tests.support.engines import Engine, opener
from tests.support.hub_scene import SECRET, USER, WAIT_S, HeldStore, Scene, a_scene
from tests.support.room import without_rates

FUTURE = "7fffffff-ffff-7000-8000-000000000001"


@pytest.fixture(params=Engine)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """What opens the same store again and again, as one process after another does."""
    if request.param is not Engine.MEMORY:
        return opener(request.param, tmp_path)
    kept: list[HeldStore] = []

    def again() -> Store:
        if not kept:
            kept.append(HeldStore())
        return kept[0]

    return again


async def test_a_restart_keeps_users_keys_numbers_and_waiting_tasks(opened: Callable[[], Store]) -> None:
    async with a_scene(opened()) as scene:
        await scene.a_key("k_1", "secret")
        ended, waiting = await scene.submit(), await scene.submit(key="mine", digest="same")
        await scene.cancel(ended)
        before = scene.hub.identity
    async with a_scene(opened(), with_user=False) as scene:
        identity = scene.hub.identity
        assert (identity.cluster_id, identity.epoch) == (before.cluster_id, before.epoch + 1)
        assert identity.seq >= before.seq
        user = scene.hub.directory.user_by_name("ada")
        assert user.id == USER
        assert [key.id for key in scene.hub.directory.keys_of(USER)] == ["k_1"]
        assert await scene.status(ended) is Status.CANCELLED
        assert await scene.status(waiting) is Status.QUEUED
        again = await scene.ask(scene.submission(key="mine", digest="same"))
        assert again == Submitted((waiting,), (True,))
        new = await scene.submit()
        assert scene.hub.state.tasks[new].number == 3
        daemon = await scene.daemon()
        sent = await daemon.message("task.execute")
        assert sent["task"]["id"] == waiting, "the older one first"


async def test_work_that_runs_goes_on_over_a_restart(opened: Callable[[], Store]) -> None:
    async with a_scene(opened()) as scene:
        daemon = await scene.daemon()
        task_id = await scene.submit()
        attempt = await scene.run(daemon, task_id)
        scene.hub.tell(Beat(daemon.id, "d_one", running=(Held(task_id, attempt),)))
        await daemon.message("heartbeat.ack")
        token = Tokens(SECRET).make(task_id, attempt)
    assert daemon.closed.result()[0] == 4503
    async with a_scene(opened(), with_user=False) as scene:
        assert await scene.status(task_id) is Status.RUNNING
        assert scene.hub.attempt_of(token) == (task_id, attempt)
        daemon = await scene.daemon(holds=(Held(task_id, attempt),))
        assert (await daemon.message("welcome"))["inventory"][0]["verdict"] == "continue"
        scene.complete(daemon, task_id, attempt)
        await daemon.message("ack")
        assert await scene.status(task_id) is Status.COMPLETED
        assert "task.execute" not in daemon.types


async def test_a_second_hub_on_the_same_store_is_refused(opened: Callable[[], Store]) -> None:
    async with a_scene(opened()) as scene:
        with pytest.raises(StoreRefused, match=r"Another hub|leads this yard"):
            async with a_scene(opened()):
                pass
        await scene.submit()


async def test_get_after_post_sees_it(opened: Callable[[], Store]) -> None:
    async with a_scene(opened()) as scene:
        for _ in range(20):
            assert await scene.status(await scene.submit()) is Status.QUEUED


async def test_ids_grow_on_when_the_wall_clock_stepped_back_before_a_restart(opened: Callable[[], Store]) -> None:
    """Lanes sort by id: a smaller one would be served before those who waited longer."""
    async with a_scene(opened()) as scene:
        command = scene.submission()
        command.drafts[0].id = FUTURE
        await scene.ask(command)
        await scene.cancel(FUTURE)
    async with a_scene(opened(), with_user=False) as scene:
        assert scene.hub.mint() > FUTURE


# --- waiting for an end ------------------------------------------------------------------------------------


async def test_waiting_for_an_end_returns_at_the_commit() -> None:
    async with a_scene() as scene:
        task_id = await scene.submit()
        waiting = asyncio.create_task(scene.hub.ended(task_id, 3600))
        await scene.status(task_id)
        assert not waiting.done()
        await scene.cancel(task_id)
        await asyncio.wait_for(waiting, WAIT_S)
        assert await scene.status(task_id) is Status.CANCELLED


async def test_waiting_for_what_has_ended_or_never_was_returns_at_once() -> None:
    async with a_scene() as scene:
        task_id = await scene.submit()
        await scene.cancel(task_id)
        await asyncio.wait_for(scene.hub.ended(task_id, 3600), WAIT_S)
        await asyncio.wait_for(scene.hub.ended("never was", 3600), WAIT_S)


async def test_waiting_for_an_end_is_over_when_the_time_is_up() -> None:
    async with a_scene() as scene:
        task_id = await scene.submit()
        await asyncio.wait_for(scene.hub.ended(task_id, 0.01), WAIT_S)
        assert await scene.status(task_id) is Status.QUEUED


# --- reading -----------------------------------------------------------------------------------------------


async def test_a_read_that_cannot_be_answered_now_is_503() -> None:
    async with a_scene() as scene:
        scene.held.read_faults = [StoreUnavailable("busy")]
        with pytest.raises(Unavailable) as refused:
            await scene.hub.read(lambda reader: reader.position())
        assert refused.value.code == Refusal.STORE_UNAVAILABLE
        assert scene.hub.ready


async def test_a_read_that_finds_what_was_never_written_serves_nothing_and_stops_the_hub() -> None:
    async with a_scene() as scene:
        scene.held.read_faults = [StoreBroken("checksum")]
        with pytest.raises(Unavailable):
            await scene.hub.read(lambda reader: reader.position())
        assert isinstance(scene.hub.failure.exception(), StoreBroken)
        assert not scene.hub.ready


# --- what it shows -----------------------------------------------------------------------------------------


async def test_daemons_are_shown_with_what_they_run_and_how_they_are() -> None:
    async with a_scene() as scene:
        assert await scene.hub.daemons() == []
        daemon = await scene.daemon()
        task_id = await scene.submit()
        attempt = await scene.run(daemon, task_id)
        (view,) = await scene.hub.daemons()
        assert (view.id, view.user_id, view.status) == ("d_one", USER, DaemonStatus.ONLINE)
        assert (view.active_tasks, view.running) == (1, [(task_id, attempt)])
        for _ in range(4):
            await scene.submit(level=Level.CRITICAL)
        (view,) = await scene.hub.daemons()
        assert view.status is DaemonStatus.BUSY
        watcher = scene.watcher()
        scene.hub.tell(LeaveDaemon(daemon.id, "d_one"))
        scene.hub.detach(daemon)
        await watcher.event("daemon.disconnected")
        (view,) = await scene.hub.daemons()
        assert view.status is DaemonStatus.OFFLINE


async def test_a_subscriber_that_left_hears_nothing_more() -> None:
    async with a_scene() as scene:
        watcher = scene.watcher(USER)
        await scene.submit()
        heard = len(watcher.told.all)
        assert heard > 0
        scene.hub.unsubscribe(watcher)
        await scene.submit()
        assert len(watcher.told.all) == heard


async def test_it_tells_its_settings_its_clock_and_new_secrets() -> None:
    settings = Settings(limits=Limits(daemon_slots=3))
    async with a_scene(settings=settings, clock=lambda: Now(77, read_clock().mono)) as scene:
        assert scene.hub.settings is settings
        assert scene.hub.now_ms() == 77
        assert scene.hub.mint_secret() != scene.hub.mint_secret()


# --- the sweep ---------------------------------------------------------------------------------------------


async def is_archived(scene: Scene, task_id: str) -> None:
    """Returns when it is."""
    async with asyncio.timeout(WAIT_S):
        while True:
            stored = await scene.hub.read(lambda reader: reader.find(user_id=None, task=task_id))
            if stored is not None and stored.archived:
                return


async def test_what_is_old_is_archived_by_itself_also_when_the_store_was_away() -> None:
    async with a_scene(archive_after_s=-1.0, sweep_s=0.01) as scene:
        task_id = await scene.submit()
        await scene.cancel(task_id)
        scene.held.read_faults = [StoreUnavailable("busy")]
        async with asyncio.timeout(WAIT_S):
            while scene.held.read_faults:
                await asyncio.sleep(0)
        await is_archived(scene, task_id)


async def test_daemons_that_nothing_was_heard_of_for_long_are_forgotten_by_themselves() -> None:
    lease = Lease(heartbeat_s=0.01, lease_s=0.03)
    async with a_scene(settings=without_rates(Settings(lease=lease)), daemons_s=-1.0, sweep_s=0.01) as scene:
        watcher = scene.watcher()
        session = await scene.daemon()
        scene.hub.tell(LeaveDaemon(session.id, "d_one"))
        forgotten = await watcher.event("daemon.forgotten")
        assert forgotten.event.data == {"daemon_id": "d_one", "name": "d_one", "because": "unseen"}
        assert scene.held.load().daemons == []

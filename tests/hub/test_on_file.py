"""A hub on a file in whose place an older copy was put: what a daemon proves stops it, over restarts too."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from taskyard.core.daemon_commands import JoinDaemon, LeaveDaemon, Seen
from taskyard.core.settings import Settings
from taskyard.hub.doctor import examine
from taskyard.hub.findings import Health
from taskyard.hub.hub import Hub
from taskyard.hub.observe import Log
from taskyard.hub.on_file import start_on_file
from taskyard.store.rewind import Rewound
from taskyard.store.sqlite import SqliteStore
from taskyard.vocabulary import EPOCHS_PER_ERA, REFS_PER_ERA
from tests.support.hub_scene import SECRET, USER, WAIT_S, ALog, Scene, a_scene
from tests.support.room import without_rates


@asynccontextmanager
async def started(
    data: Path, *, new_era: bool = False, accepts: bool = False
) -> AsyncIterator[tuple[Scene, asyncio.Event]]:
    store, log = SqliteStore(data / "taskyard.db", new_cluster_id="c_test"), ALog()
    hub = Hub(store, without_rates(Settings()), Log(log), secret=SECRET)
    try:
        again = await start_on_file(hub, data, Log(log), new_era=new_era, accepts=accepts)
        yield Scene(store, hub, log), again
    finally:
        await hub.stop()


async def lost_commits(data: Path) -> Seen:
    """An older copy in the file's place; what a daemon has seen since it was made."""
    async with started(data) as (scene, _):
        await scene.a_user()
        await scene.submit()
        scene.store.backup(str(data / "backup.db"))
        await scene.submit()
        here = scene.hub.identity
    for name in ("taskyard.db", "taskyard.db-wal", "taskyard.db-shm"):
        (data / name).unlink(missing_ok=True)
    shutil.copy(data / "backup.db", data / "taskyard.db")
    return Seen(here.cluster_id, here.epoch, here.seq, here.takeover, here.batch_id)


async def proved(scene: Scene, seen: Seen) -> None:
    session = scene.session()
    scene.hub.tell(JoinDaemon(session.id, USER, "d_one", "boot", "mac-1", types=("echo",), seen=seen))
    assert (await session.message("error"))["code"] == "HUB_REWOUND"


async def test_a_proof_stops_the_hub_until_a_person_accepts_it(tmp_path: Path) -> None:
    seen = await lost_commits(tmp_path)
    async with started(tmp_path) as (scene, again):
        for _ in range(4):
            await scene.submit()
        await proved(scene, seen)
        await scene.log.line("hub.rewound")
        assert not scene.hub.ready
        assert scene.hub.missing is not None
        assert not again.is_set()
    [finding] = [finding for finding in examine(str(tmp_path)) if finding.name == "history"]
    assert (finding.state, "taskyard up --accept-rewind" in finding.detail) == (Health.FAILED, True)
    for _ in range(2):
        with pytest.raises(Rewound, match=r"lacks 1 commit that daemon mac-1 \(d_one\) saw"):
            async with started(tmp_path):
                pass
    async with started(tmp_path, new_era=True) as (scene, _):
        assert scene.hub.identity.epoch == EPOCHS_PER_ERA
        stored = await scene.submit()
        found = await scene.hub.read(lambda reader: reader.find(user_id=USER, task=stored))
        assert found.task.number == 5 + REFS_PER_ERA + 1
        audit = await scene.hub.read(lambda reader: reader.audit(subject=None, limit=9, before=None))
        assert [entry.action for _, entry in audit].count("rewind.accepted") == 1
    # What the era has settled is said no more
    async with started(tmp_path) as (scene, _):
        audit = await scene.hub.read(lambda reader: reader.audit(subject=None, limit=9, before=None))
        assert [entry.action for _, entry in audit].count("rewind.accepted") == 1
        await scene.submit()


async def test_a_hub_that_is_told_to_accept_asks_for_a_new_start_and_begins_an_era_by_itself(tmp_path: Path) -> None:
    seen = await lost_commits(tmp_path)
    async with started(tmp_path, accepts=True) as (scene, again):
        await scene.submit()
        await proved(scene, seen)
        async with asyncio.timeout(WAIT_S):
            await again.wait()
    async with started(tmp_path, accepts=True) as (scene, _):
        assert scene.hub.identity.epoch == EPOCHS_PER_ERA
        await scene.submit()


async def test_a_daemon_that_leaves_while_its_position_is_looked_up_has_left() -> None:
    async with a_scene() as scene:
        here = scene.hub.identity
        session = scene.session()
        seen = Seen(here.cluster_id, here.epoch, here.seq, here.takeover, here.batch_id)
        scene.held.reads.shut()
        scene.hub.tell(JoinDaemon(session.id, USER, "d_one", "boot", "mac-1", types=("echo",), seen=seen))
        await scene.held.reads.reached()
        scene.hub.tell(LeaveDaemon(session.id, "d_one"))
        scene.hub.detach(session)
        scene.held.reads.open()
        async with asyncio.timeout(WAIT_S):
            while scene.hub._loop._looks._begun:
                await asyncio.sleep(0.001)
        await scene.settled()
        assert await scene.hub.daemons() == []


async def test_a_position_without_a_seal_stops_nobody(tmp_path: Path) -> None:
    seen = await lost_commits(tmp_path)
    async with started(tmp_path) as (scene, _):
        await proved(scene, Seen(seen.cluster_id, seen.epoch, seen.seq + 100))
        await scene.submit()
        assert scene.hub.ready
    assert [finding for finding in examine(str(tmp_path)) if finding.name == "history"] == []

"""A file that changes while the hub runs: a good one holds from the next decision on, a bad one changes nothing."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from taskyard.core.yard_commands import ChangeUser
from taskyard.hub.main import FileAndFlags
from taskyard.hub.reload import Reload, stamp_of
from taskyard.hub.settings import FileSettings, core_settings
from taskyard.store.port import StoreUnavailable
from taskyard.vocabulary import Profile
from tests.support.hub_scene import USER, HeldStore, Scene, a_scene


class Desk:
    """A hub with a file, and whoever looks after it."""

    def __init__(self, scene: Scene, file: Path, told: asyncio.Event) -> None:
        self.scene = scene
        self.file = file
        self.told = told
        self.adopted: list[FileSettings] = []
        self._times = 0
        self.reload = Reload(
            FileAndFlags(file, "127.0.0.1", None),
            scene.hub,
            scene.hub._loop._log,
            now=FileSettings(),
            stamp=stamp_of(file),
            told=told,
            adopt=self.adopted.append,
        )

    def write(self, text: str) -> None:
        """Never at the same instant as before, however coarse the disk's clock is."""
        self._times += 1
        self.file.write_text(text)
        os.utime(self.file, ns=(self._times, self._times))

    async def look_twice(self) -> None:
        await self.reload.look()
        await self.reload.look()

    @property
    def events(self) -> list[tuple[str, object]]:
        lines = (line for line in self.scene.log.told.all if line["event"].startswith("settings."))
        return [(line["event"].partition(".")[2], line.get("data")) for line in lines]


@asynccontextmanager
async def a_desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with a_scene(HeldStore(), core_settings(FileSettings())) as scene:
        yield Desk(scene, tmp_path / "taskyard.toml", asyncio.Event())


async def test_a_good_file_holds_once_it_no_longer_changes(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        hub = desk.scene.hub
        desk.write("[limits]\nrunning_per_user = 2\n")
        await desk.reload.look()
        assert desk.events == [], "it may be only half written"
        await desk.reload.look()
        assert hub.settings.limits.running_per_user == 2
        assert hub.state.settings is hub.settings
        assert [new.limits.running_per_user for new in desk.adopted] == [2]
        assert desk.events == [("changed", {"names": ["limits.running_per_user"]})]
        await desk.look_twice()
        assert len(desk.events) == 1, "the same file is judged once"


async def test_a_bad_file_is_reported_once_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_desk(tmp_path) as desk:
        before, watcher = desk.scene.hub.settings, desk.scene.watcher()
        desk.write("[limits]\nrunning_per_user = 2\n[leese]\n")
        await desk.look_twice()
        await desk.look_twice()
        assert desk.scene.hub.settings is before
        assert desk.adopted == []
        ((word, said),) = desk.events
        assert word == "refused"
        assert "leese" in str(said)
        assert desk.scene.log.told.all[-1]["level"] == "error"
        assert [one.event.name for one in watcher.told.all] == ["settings.refused"], "an admin who watches is told"
        assert capsys.readouterr().err.count("leese") == 1
        desk.write("[limits]\nrunning_per_user = 2\n")
        await desk.look_twice()
        assert desk.scene.hub.settings.limits.running_per_user == 2


async def test_a_file_that_is_gone_means_the_defaults(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.write("[limits]\nrunning_per_user = 2\n")
        await desk.look_twice()
        desk.file.unlink()
        await desk.look_twice()
        assert desk.scene.hub.settings.limits.running_per_user == 20


async def test_whoever_is_told_looks_at_once_also_at_the_same_file(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.write('profile = "service"\n')
        running = asyncio.create_task(desk.reload.run())
        desk.told.set()
        await desk.scene.log.line("settings.changed")
        assert desk.scene.hub.settings.profile is Profile.SERVICE
        desk.told.set()
        await desk.scene.log.line("settings.unchanged")
        desk.write("")
        await desk.scene.log.told.first(lambda line: line["event"] == "settings.changed" and len(desk.adopted) == 1)
        running.cancel()


async def test_while_the_store_is_away_they_wait_and_then_hold(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        scene = desk.scene
        scene.held.write_faults.append(StoreUnavailable("disk full"))
        desk.write("[limits]\nrunning_per_user = 2\n")
        await desk.look_twice()
        assert desk.adopted == []
        await scene.ready()
        await desk.reload.look()
        assert scene.hub.settings.limits.running_per_user == 2
        assert scene.hub.state.settings is scene.hub.settings
        assert desk.events == [("changed", {"names": ["limits.running_per_user"]})]


async def test_a_bad_file_is_logged_also_while_the_store_is_away(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.scene.held.write_faults.append(StoreUnavailable("disk full"))
        desk.write("[leese]\n")
        await desk.look_twice()
        ((word, said),) = desk.events
        assert word == "refused"
        assert "leese" in str(said)
        await desk.scene.ready()


async def test_settings_outlive_a_state_that_is_loaded_anew(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        scene = desk.scene
        desk.write("[lease]\nlease_s = 60\n")
        await desk.look_twice()
        scene.held.write_faults.append(StoreUnavailable("disk full"))
        await asyncio.gather(scene.submit(), return_exceptions=True)
        await scene.ready()
        assert scene.hub.state.settings.lease.lease_s == 60
        daemon = scene.join()
        assert (await daemon.message("welcome"))["lease_s"] == 60


async def test_users_whose_plan_is_gone_are_told_of(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.write("[plans.gold]\nmax_concurrent_agents = 9\n")
        await desk.look_twice()
        await desk.scene.ask(ChangeUser(USER, "test", plan="gold"))
        desk.write("")
        await desk.look_twice()
        assert desk.events[-1] == ("plan_missing", {"plan": "gold", "users": 1})


async def test_settings_under_which_the_hub_must_not_listen_are_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as desk:
        desk.reload._source = FileAndFlags(desk.file, "0.0.0.0", None)
        desk.write("[gateway]\nbehind_tls = false\n")
        await desk.look_twice()
        ((word, said),) = desk.events
        assert (word, "behind_tls" in str(said)) == ("refused", True)

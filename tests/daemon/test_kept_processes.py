"""Processes whose daemon or keeper dies or leaves: what goes on, what the next one finds, and that nobody is left."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.daemon.clock import now_ms
from taskyard.daemon.process import tree
from taskyard.daemon.process.launching import LaunchFailed, Stream
from taskyard.daemon.process.messages import PROTOCOL, Hello, Leave, ToKeeper, Welcome, packed, to_keeper, unpacked
from taskyard.daemon.process.processes import Processes
from tests.daemon.kept import ONE, PATIENCE_S, a_hostile, keeper_of, play, said, shell, wait_gone
from tests.support import hostile
from tests.support.live import ROOT, environment, wait_until
from tests.support.measured import measured_children

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with measured_children(tmp_path_factory.mktemp("coverage") / "site", ROOT):
        yield


class Abandoned:
    """A daemon with one process, to be killed."""

    def __init__(self, directory: Path, command: list[str], *, on_loss: str = "continue", away_s: float = 60.0) -> None:
        directory.mkdir(exist_ok=True)
        arguments = [sys.executable, "-m", "tests.support.abandoned", str(directory), on_loss, str(away_s), *command]
        self._process = subprocess.Popen(arguments, cwd=ROOT, env=environment(), stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self.work_pid = int(self._process.stdout.readline())

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.mark.slow  # all twelve of them are
@pytest.mark.parametrize("kind", hostile.KINDS)
def test_nobody_is_left_of_hostile_work_whose_daemon_is_killed(kind: str, tmp_path: Path) -> None:
    roll = tmp_path / "roll"
    daemon = Abandoned(tmp_path / "kept", hostile.command(kind, roll), on_loss="kill")
    hostile.wait_begun(roll)
    daemon.kill()
    hostile.wait_gone(roll)
    wait_gone(keeper_of(tmp_path / "kept"))


def test_work_goes_on_without_its_daemon_and_is_adopted_with_all_its_output(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    script = f"echo before; while [ ! -e {go_on} ]; do sleep 0.01; done; echo after; exit 7"
    daemon = Abandoned(tmp_path / "kept", ["/bin/sh", "-c", script])
    daemon.kill()

    async def main() -> None:
        processes = Processes(tmp_path / "kept")
        (running,) = await processes.open()
        assert (running.key, running.note, running.pid) == (ONE, b"noted", daemon.work_pid)
        assert running.exit is None
        go_on.touch()
        assert (await said(running))[Stream.STDOUT] == b"before\nafter\n"
        assert (await running.wait()).code == 7
        running.forget()
        await processes.close()

    asyncio.run(main())
    assert list((tmp_path / "kept" / "attempts").iterdir()) == []


def test_what_ended_without_its_daemon_is_adopted_until_it_is_forgotten(tmp_path: Path) -> None:
    go_on = tmp_path / "go-on"
    script = f"while [ ! -e {go_on} ]; do sleep 0.01; done; echo result; exit 5"
    daemon = Abandoned(tmp_path / "kept", ["/bin/sh", "-c", script])
    keeper = keeper_of(tmp_path / "kept")
    daemon.kill()
    go_on.touch()
    wait_gone(keeper)

    async def adopt(*, forget: bool) -> int:
        processes = Processes(tmp_path / "kept")
        adopted = await processes.open()
        for running in adopted:
            assert (await said(running))[Stream.STDOUT] == b"result\n"
            assert (await running.wait()).code == 5
            if forget:
                running.forget()
        await processes.close()
        return len(adopted)

    assert [asyncio.run(adopt(forget=forget)) for forget in (False, True, False)] == [1, 1, 0]


def test_work_whose_daemon_stays_away_too_long_is_killed(tmp_path: Path) -> None:
    roll = tmp_path / "roll"
    daemon = Abandoned(tmp_path / "kept", hostile.command("setsid", roll), away_s=0.5)
    hostile.wait_begun(roll)
    daemon.kill()
    hostile.wait_gone(roll)


def test_what_must_not_run_twice_is_killed_when_the_lease_is_over_although_its_daemon_stands_still(
    tmp_path: Path,
) -> None:
    async def scenario(processes: Processes) -> None:
        plain = await processes.launch(shell("sleep 60", tmp_path, key=("t2", 1)))
        launch = shell("sleep 60", tmp_path)
        launch.exclusive = True
        running = await processes.launch(launch)
        # Given a lease that is renewed, and then no more
        processes.lease_lasts_until(now_ms() + 60_000)
        processes.lease_lasts_until(now_ms() + 300)
        await asyncio.sleep(0)
        # When this loop does nothing at all, the keeper sees to it
        wait_until(lambda: tree.identify(running.pid) is None, within_s=PATIENCE_S, what="the end of the work")
        assert (await running.wait()).signal == signal.SIGKILL
        assert plain.exit is None

    play(tmp_path / "kept", scenario)


def test_what_a_dead_keeper_and_a_dead_guard_left_is_found_by_its_mark(tmp_path: Path) -> None:
    roll = tmp_path / "roll"
    daemon = Abandoned(tmp_path / "kept", hostile.command("forks", roll))
    wait_until(lambda: len(hostile.enrolled(roll)) == 6, within_s=30, what="six processes")
    keeper = keeper_of(tmp_path / "kept")
    guards = tree.children(keeper.pid)
    for one in (keeper, *guards):
        os.kill(one.pid, signal.SIGSTOP)  # so that neither can do anything about the other's death
    for one in (*guards, keeper):
        tree.send(one, signal.SIGKILL)
    daemon.kill()
    assert hostile.survivors(roll), "or this shows nothing"

    async def main() -> None:
        processes = Processes(tmp_path / "kept")
        assert await processes.open() == []
        assert hostile.survivors(roll) == []
        await processes.close()

    asyncio.run(main())


def test_a_daemon_in_a_directory_with_a_long_name_finds_its_keeper(tmp_path: Path) -> None:
    directory = tmp_path / ("long" * 30)
    daemon = Abandoned(directory, ["/bin/sleep", "60"])
    daemon.kill()

    async def main() -> None:
        processes = Processes(directory)
        (running,) = await processes.open()
        await processes.close()
        assert running.exit is not None
        assert running.exit.signal == signal.SIGKILL

    asyncio.run(main())


def test_a_launch_that_is_cancelled_leaves_nobody(tmp_path: Path) -> None:
    async def scenario(processes: Processes) -> None:
        rolls = [tmp_path / f"roll-{number}" for number in range(8)]
        launches = [a_hostile("setsid", roll) for roll in rolls]
        for number, launch in enumerate(launches):
            launch.key = (f"t{number}", 1)
        # When some are cancelled while their keeper starts, and some while they do
        tasks = [asyncio.create_task(processes.launch(launch)) for launch in launches]
        for number, task in enumerate(tasks):
            await asyncio.sleep(0.02 * number)
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        # Then what is called cancelled is gone, and there is one keeper.
        for number, (task, roll) in enumerate(zip(tasks, rolls, strict=True)):
            if task.cancelled():
                assert hostile.survivors(roll) == [], number
            else:
                task.result().stop(0)
                await task.result().wait()
        assert processes._running == {}
        again = await processes.launch(shell("true", tmp_path, key=("t9", 1)))
        assert (await again.wait()).code == 0

    play(tmp_path / "kept", scenario)
    wait_until(lambda: not _at_work_in(tmp_path), within_s=30, what="the end of every keeper")


def _at_work_in(directory: Path) -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if str(directory).encode() in _arguments(path.name)]


def _arguments(pid: str) -> bytes:
    try:
        return Path("/proc", pid, "cmdline").read_bytes()
    except OSError:
        return b""


def test_who_leaves_starts_nothing_more(tmp_path: Path) -> None:
    async def main() -> None:
        processes = Processes(tmp_path)
        await processes.open()
        starting = asyncio.create_task(processes.launch(shell("sleep 60", tmp_path)))
        await asyncio.sleep(0)
        await processes.close()
        with pytest.raises(LaunchFailed, match="leaving"):
            await processes.launch(shell("true", tmp_path, key=("t2", 1)))
        (outcome,) = await asyncio.gather(starting, return_exceptions=True)
        assert isinstance(outcome, LaunchFailed) or (await outcome.wait()).signal == signal.SIGKILL

    asyncio.run(main())


@pytest.mark.parametrize("answer", [Welcome(PROTOCOL + 1, "old", []), None], ids=["another version", "no answer"])
def test_a_keeper_that_cannot_be_understood_is_told_to_leave_and_replaced(
    answer: Welcome | None, tmp_path: Path
) -> None:
    heard: list[ToKeeper] = []

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        buffer = bytearray()
        while answer is not None and not any(isinstance(message, Leave) for message in heard):
            buffer += await reader.read(4096)
            for body in unpacked(buffer):
                heard.append(to_keeper(body))
                if isinstance(heard[-1], Hello):
                    writer.write(packed(answer))
        writer.close()

    async def main() -> None:
        server = await asyncio.start_unix_server(keep, tmp_path / "keeper.sock")
        processes = Processes(tmp_path)
        assert await processes.open() == []
        server.close()
        running = await processes.launch(shell("true", tmp_path))
        assert (await running.wait()).code == 0
        await processes.close()

    asyncio.run(main())
    assert [type(message) for message in heard] == ([Hello, Leave] if answer is not None else [])

"""When a program begins, and what is told where this machine has run out of something, with real processes."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.process import tree
from taskyard.daemon.process.places import Places
from taskyard.wire.frames import TaskCompleted, TaskRejected
from tests.daemon.command.workshop import Workshop, play, script

pytestmark = pytest.mark.slow


def test_it_is_told_to_have_started_when_its_program_runs_and_not_before(tmp_path: Path) -> None:
    # A daemon that dies meanwhile has not lost it under its hands: nothing was begun.
    async def scenario(shop: Workshop) -> None:
        key = shop.start("t1")
        await shop.until_running(key)
        keeper = Places(tmp_path / "processes").card()
        assert keeper is not None
        assert len(tree.descendants(keeper.pid)) >= 2, "its guard, and itself"
        (tmp_path / "go").touch()
        await shop.outcome(key)

    play(tmp_path, script(tmp_path, f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done"), scenario)


def test_what_cannot_be_run_has_never_started(tmp_path: Path) -> None:
    async def scenario(shop: Workshop) -> None:
        key = shop.start("t1")
        assert (await shop.outcome(key)).error.code == "AGENT_NOT_RUNNABLE"
        assert key not in shop.told.running

    play(tmp_path, Agent(command=("/there/is/no/such/program",)), scenario)


@pytest.mark.parametrize("where", ["workspaces", "processes"])
def test_a_machine_that_has_run_out_of_room_hands_the_task_back_and_uses_up_no_try(tmp_path: Path, where: str) -> None:
    async def scenario(shop: Workshop) -> None:
        # Given a disk with next to no room for what an attempt needs
        room = os.statvfs(tmp_path / where)
        (tmp_path / where / "filler").write_bytes(b"x" * room.f_bavail * room.f_frsize)
        # When a task with a long prompt comes
        key = shop.start("t1", input="x" * 200_000)
        # Then it is not a failed attempt of the task
        outcome = await shop.outcome(key)
        assert isinstance(outcome, TaskRejected), outcome
        assert "No space left on device" in outcome.reason
        assert (key in shop.told.running, list((tmp_path / where).glob("**/t1-1"))) == (False, [])
        # And the next one runs when there is room again
        (tmp_path / where / "filler").unlink()
        assert isinstance(await shop.outcome(shop.start("t2")), TaskCompleted)

    (tmp_path / where).mkdir()
    with small_disk(tmp_path / where):
        play(tmp_path, script(tmp_path, "cat"), scenario)


class NoThreads(ThreadPoolExecutor):
    """Of a machine that has run out of them."""

    def submit(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("can't start new thread")


def test_what_cannot_be_begun_for_want_of_a_thread_is_handed_back(tmp_path: Path) -> None:
    async def scenario(shop: Workshop) -> None:
        # The first one needs a keeper, and that a thread
        asyncio.get_running_loop().set_default_executor(NoThreads())
        outcome = await shop.outcome(shop.start("t1"))
        assert isinstance(outcome, TaskRejected), outcome
        assert "can't start new thread" in outcome.reason
        assert list((tmp_path / "workspaces").iterdir()) == []

    play(tmp_path, script(tmp_path, "cat"), scenario)


def test_what_was_done_is_told_also_on_a_machine_without_threads(tmp_path: Path) -> None:
    async def scenario(shop: Workshop) -> None:
        await shop.outcome(shop.start("t1"))
        asyncio.get_running_loop().set_default_executor(NoThreads())
        outcome = await shop.outcome(shop.start("t2"))
        assert isinstance(outcome, TaskCompleted), outcome
        assert outcome.files_changed == ["made.txt"]

    play(tmp_path, script(tmp_path, "echo made > made.txt"), scenario)


def test_the_end_of_work_whose_keeper_was_killed_is_told_also_on_a_machine_without_threads(tmp_path: Path) -> None:
    async def scenario(shop: Workshop) -> None:
        key = shop.start("t1")
        await shop.until_running(key)
        asyncio.get_running_loop().set_default_executor(NoThreads())
        keeper = Places(tmp_path / "processes").card()
        assert keeper is not None
        os.kill(keeper.pid, signal.SIGKILL)
        # Which of the two it is, its guard decides: it may still write down whom it killed
        assert (await shop.outcome(key)).error.code in ("AGENT_KILLED", "AGENT_LOST")

    play(tmp_path, script(tmp_path, "exec sleep 60"), scenario)


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("a disk can be mounted by root only")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)

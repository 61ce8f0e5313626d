"""A whole daemon that is asked to go, or whose disk fails it."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from taskyard.daemon import journal as journal_module
from taskyard.daemon import scribe as scribe_module
from taskyard.daemon.journal import JournalLocked
from taskyard.wire.frames import Drain, Heartbeat, HeartbeatAck, TaskCompleted, TaskRejected, TaskStarted
from tests.daemon.hub_stub import KEY, HubStub, Session
from tests.daemon.live_daemon import PATIENCE_S, Held, a_daemon, begins, begun, completed, heard, play, serving, written
from tests.daemon.scene import ONE, TWO, execute

pytestmark = pytest.mark.slow

# --- leaving -----------------------------------------------------------------------------------------------


def test_a_stopped_daemon_finishes_tells_and_leaves(tmp_path: Path) -> None:
    work = Held()

    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path, work)
        async with serving(daemon) as running:
            session = await begun(hub)
            stopping = asyncio.create_task(daemon.stop(drain_s=PATIENCE_S))
            await session.receive(Drain)
            await session.send(execute(TWO))
            assert await session.receive(TaskRejected) == TaskRejected(*TWO, "draining")
            work.let_go()
            await completed(session)
            await session.acknowledge(ONE)
            await stopping
            await running
            await session.closed()

    play(scenario)


def test_what_does_not_finish_in_time_is_handed_back(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path, Held())
        async with serving(daemon) as running:
            session = await begun(hub)
            stopping = asyncio.create_task(daemon.stop())
            assert await session.receive(TaskRejected) == TaskRejected(*ONE, "drained")
            await stopping
            await running

    play(scenario)


PROGRAM = """
import sys, time
from taskyard.daemon.daemon import Daemon
daemon = Daemon(sys.argv[1], sys.argv[2], name="child", data_dir=sys.argv[3])
@daemon.task("noop")
def holds_out(task):
    time.sleep(3600)
@daemon.task("async")
async def waits(task):
    import asyncio
    await asyncio.Event().wait()
daemon.run(drain_s=3600)
"""


Child = asyncio.subprocess.Process


@asynccontextmanager
async def a_child(hub: HubStub, directory: Path, program: str, *arguments: str) -> AsyncIterator[tuple[Child, Session]]:
    """A daemon in a process of its own, and its connection, welcomed; whatever becomes of it, it is gone afterwards."""
    command = [sys.executable, "-c", program, hub.url, KEY, str(directory), *arguments]
    child = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        session = await hub.session()
        await session.welcome()
        yield child, session
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


def test_a_signal_drains_and_a_second_one_hands_back(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with a_child(hub, tmp_path, PROGRAM) as (child, session):
            await begins(session, type="async")
            child.send_signal(signal.SIGTERM)
            await session.receive(Drain)
            child.send_signal(signal.SIGINT)
            assert await session.receive(TaskRejected) == TaskRejected(*ONE, "drained")
            assert await child.wait() == 0

    play(scenario)


TIED = PROGRAM.replace("drain_s=3600", "drain_s=3600, leaves_with=0")


def test_the_end_of_its_pipe_drains_and_the_next_one_waits_for_its_place(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with a_child(hub, tmp_path, TIED) as (child, session):
            await begins(session, type="async")
            # Given the next one, which found the place taken
            command = [sys.executable, "-c", TIED, hub.url, KEY, str(tmp_path)]
            following = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
            try:
                # When whoever started the first one is gone
                assert child.stdin is not None
                child.stdin.write(b"nobody minds what is said there\n")
                child.stdin.close()
                # Then it takes nothing new, and leaves when its work is over or it is asked once more,
                await session.receive(Drain)
                assert following.returncode is None
                child.terminate()
                assert await session.receive(TaskRejected) == TaskRejected(*ONE, "drained")
                assert await child.wait() == 0
                # and the next one has its place.
                assert (await (await hub.session()).hello()).name == "child"
            finally:
                following.kill()
                await following.wait()

    play(scenario)


def test_one_that_waits_for_its_place_leaves_when_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with a_child(hub, tmp_path, TIED):
            command = [sys.executable, "-c", TIED, hub.url, KEY, str(tmp_path)]
            following = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
            assert following.stdin is not None
            assert following.stderr is not None
            following.stdin.close()
            assert b"JournalLocked" in await following.stderr.read()
            assert await following.wait() != 0

    play(scenario)


def test_a_thread_that_will_not_stop_does_not_hold_the_process(tmp_path: Path) -> None:
    program = PROGRAM.replace(
        "daemon.run(", "import taskyard.daemon.departure as d\nd.STOP_GRACE_MS = d.LINGER_MS = 1\ndaemon.run("
    )

    async def scenario(hub: HubStub) -> None:
        async with a_child(hub, tmp_path, program) as (child, session):
            await begins(session)
            child.send_signal(signal.SIGTERM)
            await session.receive(Drain)
            child.send_signal(signal.SIGTERM)
            assert await child.wait() == 0

    play(scenario)


DEADLY = """
import asyncio, os, signal, sys
import uvloop
from taskyard.daemon.daemon import Daemon
from tests.daemon.workers.functions import kills_its_daemon
daemon = Daemon(sys.argv[1], sys.argv[2], name="child", data_dir=sys.argv[3])
def kills(task):
    os.kill(os.getpid(), signal.SIGKILL)
async def kills_async(task):
    kills(task)
daemon.task("plain")(kills)
daemon.task("async")(kills_async)
os.environ["DAEMON_PID"] = str(os.getpid())
daemon.task("process", process=True)(kills_its_daemon)
how = sys.argv[4]
daemon.run() if how == "run" else {"serve": asyncio, "serve on uvloop": uvloop}[how].run(daemon.serve())
"""


@pytest.mark.parametrize("how", ["run", "serve", "serve on uvloop"])
@pytest.mark.parametrize("kind", ["plain", "async", "process"])
def test_the_hub_hears_of_another_try_before_that_can_kill_its_daemon(tmp_path: Path, how: str, kind: str) -> None:
    async def scenario(hub: HubStub) -> None:
        async with a_child(hub, tmp_path, DEADLY, how) as (child, session):
            # Given a second try of work that kills its daemon in its first step
            await session.send(execute((ONE[0], 2), type=kind))
            # Then the hub knows what that daemon dies of, and the daemon knows that it does
            assert await session.receive(TaskStarted) == TaskStarted(ONE[0], 2)
            await session.receive(Heartbeat)
            assert child.returncode is None
            await session.send(HeartbeatAck("c1", 1, 1))
            assert await child.wait() == -signal.SIGKILL

    play(scenario)


CHANGES = """
import asyncio, sys
from taskyard.daemon.daemon import Daemon
def made(slots):
    daemon = Daemon(sys.argv[1], sys.argv[2], name="child", slots=slots, data_dir=sys.argv[3])
    daemon.task("noop")(lambda task: None)
    return daemon
def anew():
    asyncio.run(asyncio.sleep(0))
    return made(9)
made(5).run(anew=anew)
"""


def test_a_daemon_that_reads_its_file_anew_may_have_to_ask_others_for_it(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        # Given a daemon whose file names an endpoint, which is asked what it has
        async with a_child(hub, tmp_path, CHANGES) as (child, _):
            # When it is to read that anew
            child.send_signal(signal.SIGHUP)
            # Then it comes back as another one
            assert (await (await hub.session()).hello()).max_concurrent_tasks == 9

    play(scenario)


# --- the disk ----------------------------------------------------------------------------------------------


def test_a_full_disk_turns_work_away_and_takes_it_again_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scribe_module, "RETRY_S", 0.001)
    full = threading.Event()
    write_all = journal_module._write_all

    def write(file: int, content: bytes) -> None:
        if full.is_set():
            raise OSError(28, "No space left on device")
        write_all(file, content)

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)), heard("taking no new work") as told:
            session = await hub.session()
            await session.welcome()
            await written(tmp_path / "journal", "d_1")
            full.set()
            await session.send(execute(ONE))
            assert (await completed(session)).task_id == "t1"  # not acknowledged, so it must be written
            await told
            await session.send(execute(TWO))
            assert await session.receive(TaskRejected) == TaskRejected(*TWO, "journal: No space left on device")
            full.clear()
            await written(tmp_path / "journal", "task.completed")
            await session.send(execute(("t3", 1)))
            while isinstance(await session.receive(TaskRejected, TaskCompleted), TaskRejected):
                await session.send(execute(("t3", 1)))

    monkeypatch.setattr(journal_module, "_write_all", write)
    play(scenario)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), MemoryError("Input/output error")])
def test_a_disk_that_fails_ends_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fails(_: int) -> None:
        raise error

    async def scenario(hub: HubStub) -> None:
        running = asyncio.create_task(a_daemon(hub, tmp_path).serve())
        session = await hub.session()
        monkeypatch.setattr(os, "fdatasync", fails)
        await session.welcome()
        with pytest.raises(type(error), match="Input/output error"):
            await running

    play(scenario)


def test_a_daemon_that_could_not_begin_does_not_keep_its_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_more_threads(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def scenario(hub: HubStub) -> None:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", no_more_threads)
            with pytest.raises(RuntimeError, match="new thread"):
                await a_daemon(hub, tmp_path).serve()
        async with serving(a_daemon(hub, tmp_path)):
            await (await hub.session()).welcome()

    play(scenario)


def test_two_daemons_do_not_share_a_directory(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            await hub.session()
            with pytest.raises(JournalLocked):
                await a_daemon(hub, tmp_path).serve()

    play(scenario)

"""The whole daemon against a hub's end of a real socket: frames, reconnects, what survives what."""

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from taskyard.daemon import journal as journal_module
from taskyard.daemon import scribe as scribe_module
from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.connection import HubRefused, logger, socket_url
from taskyard.daemon.context import Context
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.framing import read_frame, write_frames
from taskyard.daemon.journal import JournalLocked
from taskyard.daemon.task import Task
from taskyard.sdk.credentials import data_directory
from taskyard.vocabulary import InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import (
    Drain,
    Heartbeat,
    Item,
    TaskAccepted,
    TaskCancelled,
    TaskCheckpoint,
    TaskCompleted,
    TaskProgress,
    TaskRejected,
    TaskStarted,
)
from tests.daemon.hub_stub import KEY, HubStub, Session
from tests.daemon.scene import ONE, TWO, cancel, execute
from tests.support.wire_client import Closed, Refused, WireClient

PATIENCE_S = 20.0

Scenario = Callable[[HubStub], Awaitable[None]]


@pytest.fixture(autouse=True)
def prompt_reconnects(monkeypatch: pytest.MonkeyPatch) -> None:
    """The delays have tests of their own."""
    monkeypatch.setattr("taskyard.daemon.redial.DELAY_MS", 1)
    monkeypatch.setattr("taskyard.daemon.redial.DELAY_MS_MAX", 1)


def play(scenario: Scenario) -> None:
    async def main() -> None:
        async with asyncio.timeout(PATIENCE_S), HubStub() as hub:
            await scenario(hub)

    asyncio.run(main())


async def answers(task: Task) -> str:
    return f"did {task.id}"


def a_daemon(hub: HubStub, directory: Path, function: Callable[..., Any] = answers, **settings: Any) -> Daemon:
    daemon = Daemon(hub.url, settings.pop("key", KEY), name="mac-1", data_dir=directory, **settings)
    daemon.task("noop")(function)
    return daemon


@asynccontextmanager
async def serving(daemon: Daemon) -> AsyncIterator["asyncio.Task[None]"]:
    """Runs it meanwhile; at the end it is gone without a word to the hub."""
    running = asyncio.create_task(daemon.serve())
    try:
        yield running
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@asynccontextmanager
async def heard(text: str) -> AsyncIterator["asyncio.Future[logging.LogRecord]"]:
    """The first line the daemon logs with this text in it."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[logging.LogRecord] = loop.create_future()

    def take(record: logging.LogRecord) -> None:
        if not found.done():
            found.set_result(record)

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if text in record.getMessage():
                loop.call_soon_threadsafe(take, record)

    ear = Ear()
    logger.addHandler(ear)
    try:
        yield found
    finally:
        logger.removeHandler(ear)


async def written(journal: Path, text: str) -> None:
    while text.encode() not in journal.read_bytes():
        await asyncio.sleep(0)


async def completed(session: Session) -> TaskCompleted:
    message = await session.receive(TaskCompleted)
    assert isinstance(message, TaskCompleted)
    return message


# --- talking -----------------------------------------------------------------------------------------------


def test_tasks_that_end_at_once_are_told_in_one_frame_by_their_outcomes_alone(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            greeting = await session.welcome()
            assert (greeting.name, greeting.types, greeting.max_concurrent_tasks) == ("mac-1", ["noop"], 5)
            await session.send(cancel(("t0", 1)))
            await session.receive(TaskCancelled)
            await session.send(execute(ONE), execute(TWO))
            await session.receive(TaskCompleted)
            assert [type(message) for message in session.frames[-1]] == [TaskCompleted] * 2
        assert hub.paths == ["/api/v1/daemons/connect"]

    play(scenario)


def test_work_that_takes_longer_is_told_to_have_started_and_then_its_outcome(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def waits(_: Task) -> None:
        await release.wait()

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, waits)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute(ONE), execute(TWO))
            assert [await session.receive(), await session.receive()] == [TaskStarted(*ONE), TaskStarted(*TWO)]
            assert len(session.frames[-1]) == 2
            release.set()
            assert [type(await session.receive()) for _ in range(2)] == [TaskCompleted] * 2

    play(scenario)


def test_what_a_slow_hub_has_not_read_is_not_overtaken(tmp_path: Path) -> None:
    count = 30
    go, told = asyncio.Event(), asyncio.Event()

    async def saves_much(task: Task, context: Context) -> None:
        await go.wait()
        for number in range(count):  # together more than the sockets hold
            context.checkpoint([number, "x" * 400_000])
            await asyncio.sleep(0)
        told.set()

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, saves_much)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            await session.receive(TaskStarted)
            session.stop_reading()
            go.set()
            await told.wait()
            session.read_on()
            numbers = []
            while isinstance(message := await session.receive(), TaskCheckpoint):
                numbers.append(msgspec.json.decode(message.data)[0])
            assert numbers == list(range(count))

    play(scenario)


def test_heartbeats_go_on_while_functions_block_their_threads(tmp_path: Path) -> None:
    release = threading.Event()

    def blocks(_: Task) -> None:
        release.wait(PATIENCE_S)

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, blocks)):
            session = await hub.session()
            await session.welcome(heartbeat_s=0.01)
            await session.send(execute())
            for _ in range(3):
                beat = await session.receive(Heartbeat)
            assert isinstance(beat, Heartbeat)
            assert beat.running == [Item(*ONE)]
            release.set()
            await completed(session)

    play(scenario)


def test_progress_and_cancel_reach_a_running_function(tmp_path: Path) -> None:
    def works(_: Task, context: Context) -> None:
        context.progress(30, "reading")
        context.wait_cancelled(PATIENCE_S)
        context.raise_if_cancelled()

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, works)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            assert await session.receive(TaskProgress) == TaskProgress(*ONE, 30.0, "reading")
            await session.send(cancel())
            assert await session.receive(TaskCancelled) == TaskCancelled(*ONE, "cancelled")

    play(scenario)


def test_a_message_of_a_newer_hub_does_not_hide_its_neighbours(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            await session.welcome()
            await session.send_bytes(b'{"type":"fanfare"}')
            await session.send_bytes(b"not json")
            await session.send_bytes(b"[not json")
            await session.send_bytes(b'[{"type":"fanfare"},' + frames.encode(execute()) + b"]")
            assert (await completed(session)).task_id == "t1"

    play(scenario)


# --- reconnecting ------------------------------------------------------------------------------------------


def test_a_result_is_sent_again_until_it_is_acknowledged(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            first = await completed(session)
            for _ in range(3):
                await session.close()
                session = await hub.session()
                greeting = await session.welcome({ONE: InventoryVerdict.SEND_RESULT})
                assert greeting.inventory == [Item(*ONE, InventoryState.ENDED)]
                assert greeting.daemon_id == "d_1"
                assert await completed(session) == first
            await session.acknowledge(ONE)
            await session.send(execute(TWO))
            await completed(session)
            await session.close()
            greeting = await (await hub.session()).hello()
            assert greeting.inventory == [Item(*TWO, InventoryState.ENDED)]

    play(scenario)


def test_work_goes_on_while_the_hub_is_away(tmp_path: Path) -> None:
    runs: list[str] = []
    release = asyncio.Event()

    async def waits(task: Task) -> str:
        runs.append(task.id)
        await release.wait()
        return "done"

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, waits)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            await session.receive(TaskStarted)
            hub.refusals = [HTTPStatus.SERVICE_UNAVAILABLE] * 3
            await session.close(frames.CLOSE_RESTARTING)
            session = await hub.session()
            greeting = await session.welcome({ONE: InventoryVerdict.CONTINUE})
            assert greeting.inventory == [Item(*ONE)]
            release.set()
            assert (await completed(session)).result == Raw(b'"done"')
            assert runs == ["t1"]

    play(scenario)


def test_a_result_is_kept_while_whoever_answers_for_the_hub_refuses(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            # Given a result that the hub has not acknowledged
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            first = await completed(session)
            # When a proxy that has lost its hub, or knows another one, answers in its place
            refusals = [HTTPStatus.CONFLICT, HTTPStatus.GONE, HTTPStatus.NOT_FOUND, HTTPStatus.BAD_GATEWAY]
            hub.refusals = [*refusals]
            await session.close(frames.CLOSE_RESTARTING)
            # Then it is told to the hub that comes back
            session = await hub.session()
            greeting = await session.welcome({ONE: InventoryVerdict.SEND_RESULT})
            assert greeting.inventory == [Item(*ONE, InventoryState.ENDED)]
            assert await completed(session) == first

    play(scenario)


def test_work_goes_on_and_the_socket_stays_while_the_lead_moves(tmp_path: Path) -> None:
    runs: list[str] = []
    release = asyncio.Event()

    async def waits(task: Task) -> str:
        runs.append(task.id)
        await release.wait()
        return "done"

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, waits)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            await session.receive(TaskStarted)
            await session.send(frames.Rejoin())
            greeting = await session.welcome({ONE: InventoryVerdict.CONTINUE}, epoch=2)
            assert (greeting.daemon_id, greeting.inventory) == ("d_1", [Item(*ONE)])
            release.set()
            first = await completed(session)
            await session.send(frames.Rejoin())
            greeting = await session.welcome({ONE: InventoryVerdict.SEND_RESULT}, epoch=3)
            assert greeting.inventory == [Item(*ONE, InventoryState.ENDED)]
            assert await completed(session) == first
            assert (runs, hub.sessions.empty()) == (["t1"], True)

    play(scenario)


@pytest.mark.parametrize("dies", [True, False])
def test_a_finished_result_survives_the_process(tmp_path: Path, dies: bool) -> None:
    directory = tmp_path / "daemon"

    async def scenario(hub: HubStub) -> None:
        nonlocal directory
        async with serving(a_daemon(hub, directory)):
            session = await hub.session()
            first = await session.welcome()
            await session.send(execute())
            result = await completed(session)
            if dies:
                # A process that dies leaves the disk as it was; one that is only cancelled writes what it owes.
                await written(directory / "journal", "task.completed")
                directory = Path(shutil.copytree(directory, tmp_path / "found"))
        async with serving(a_daemon(hub, directory)):
            session = await hub.session()
            greeting = await session.welcome({ONE: InventoryVerdict.SEND_RESULT})
            assert greeting.boot_id != first.boot_id
            assert (greeting.daemon_id, greeting.inventory) == ("d_1", [Item(*ONE, InventoryState.ENDED)])
            assert greeting.seen == frames.Position("c1", 1, 1)
            assert await completed(session) == result

    play(scenario)


def test_running_work_dies_with_the_process_and_is_not_listed(tmp_path: Path) -> None:
    async def waits(_: Task) -> None:
        await asyncio.Event().wait()

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, waits)):
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            await session.receive(TaskStarted)
        async with serving(a_daemon(hub, tmp_path, waits)):
            assert (await (await hub.session()).hello()).inventory == []

    play(scenario)


def test_a_superseded_daemon_does_not_come_back_at_once(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path)
        async with serving(daemon) as running, heard("next try") as told:
            session = await hub.session()
            await session.welcome()
            await session.close(frames.CLOSE_SUPERSEDED, "a newer connection")
            said = (await told).getMessage()
            assert "a newer connection" in said
            assert float(said.split()[-2]) >= 60.0
            await daemon.stop()
            await running

    play(scenario)


def test_a_hub_that_falls_silent_is_left_for_a_new_connection(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            await session.hello()
            await session.send(frames.Welcome(1, "d_1", 0.01, 0.1, [], "c1", 1, 1))
            await (await hub.session()).welcome()

    play(scenario)


def test_a_key_that_is_refused_ends_the_daemon(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with heard("next try") as told:
            with pytest.raises(HubRefused, match="does not accept this daemon"):
                await a_daemon(hub, tmp_path, key="wrong").serve()
            assert not told.done(), "there is none"

    play(scenario)


def test_a_daemon_says_when_it_is_connected_and_nothing_of_a_connection_it_ends_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(hub: HubStub) -> None:
        # Given a daemon that a hub has welcomed
        daemon = a_daemon(hub, tmp_path)
        async with heard("connected to") as first, serving(daemon):
            await (await hub.session()).welcome()
            assert (await first).getMessage() == f"connected to {daemon.hub}"

            # When it becomes another one, which it says in a new connection
            async with heard("connected to") as second:
                daemon.become(a_daemon(hub, tmp_path, slots=9))
                await (await hub.session()).welcome()
                await second

        # Then nobody is told of a fault
        assert "not connected" not in caplog.text

    caplog.set_level(logging.INFO, "taskyard.daemon")
    play(scenario)


def test_a_hub_that_is_not_there_is_tried_again(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path)
        daemon.hub = "http://127.0.0.1:1"
        async with serving(daemon) as running:
            for _ in range(3):
                async with heard("not connected") as told:
                    await told
            await daemon.stop()
            await running

    play(scenario)


def test_a_daemon_that_loses_its_hub_goes_on_with_its_work_at_the_next(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        goes_on = asyncio.Event()

        async def works(task: Task) -> str:
            await goes_on.wait()
            return "done"

        async with HubStub() as other:
            daemon = a_daemon(hub, tmp_path, works)
            daemon.hub = f"{hub.url},{other.url}"
            async with serving(daemon):
                session = await hub.session()
                await session.welcome()
                await session.send(execute())
                await session.receive(TaskStarted)
                await session.close()
                again = await other.session()
                hello = await again.welcome({ONE: InventoryVerdict.CONTINUE})
                assert [item.state for item in hello.inventory] == [InventoryState.RUNNING]
                goes_on.set()
                assert (await completed(again)).result == Raw(b'"done"')

    play(scenario)


# --- leaving -----------------------------------------------------------------------------------------------


def test_a_stopped_daemon_finishes_tells_and_leaves(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def waits(_: Task) -> None:
        await release.wait()

    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path, waits)
        async with serving(daemon) as running:
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            await session.receive(TaskStarted)
            stopping = asyncio.create_task(daemon.stop(drain_s=PATIENCE_S))
            await session.receive(Drain)
            await session.send(execute(TWO))
            assert await session.receive(TaskRejected) == TaskRejected(*TWO, "draining")
            release.set()
            await completed(session)
            await session.acknowledge(ONE)
            await stopping
            await running
            await session.closed()

    play(scenario)


def test_what_does_not_finish_in_time_is_handed_back(tmp_path: Path) -> None:
    async def waits(_: Task) -> None:
        await asyncio.Event().wait()

    async def scenario(hub: HubStub) -> None:
        daemon = a_daemon(hub, tmp_path, waits)
        async with serving(daemon) as running:
            session = await hub.session()
            await session.welcome()
            await session.send(execute())
            await session.receive(TaskStarted)
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


def test_a_signal_drains_and_a_second_one_hands_back(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, hub.url, KEY, str(tmp_path), env=os.environ
        )
        session = await hub.session()
        await session.welcome()
        await session.send(execute(type="async"))
        await session.receive(TaskStarted)
        child.send_signal(signal.SIGTERM)
        await session.receive(Drain)
        child.send_signal(signal.SIGINT)
        assert await session.receive(TaskRejected) == TaskRejected(*ONE, "drained")
        assert await child.wait() == 0

    play(scenario)


def test_a_thread_that_will_not_stop_does_not_hold_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAM.replace(
        "daemon.run(", "import taskyard.daemon.departure as d\nd.STOP_GRACE_MS = d.LINGER_MS = 1\ndaemon.run("
    )

    async def scenario(hub: HubStub) -> None:
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, hub.url, KEY, str(tmp_path), stderr=subprocess.DEVNULL
        )
        session = await hub.session()
        await session.welcome()
        await session.send(execute(type="noop"))
        await session.receive(TaskStarted)
        child.send_signal(signal.SIGTERM)
        await session.receive(Drain)
        child.send_signal(signal.SIGTERM)
        assert await child.wait() == 0

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


def test_a_disk_that_fails_ends_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise OSError(5, "Input/output error")

    async def scenario(hub: HubStub) -> None:
        running = asyncio.create_task(a_daemon(hub, tmp_path).serve())
        session = await hub.session()
        monkeypatch.setattr(os, "fdatasync", fails)
        await session.welcome()
        with pytest.raises(OSError, match="Input/output error"):
            await running

    play(scenario)


def test_two_daemons_do_not_share_a_directory(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            await hub.session()
            with pytest.raises(JournalLocked):
                await a_daemon(hub, tmp_path).serve()

    play(scenario)


# --- the public face ---------------------------------------------------------------------------------------


def test_hub_and_key_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TASKYARD_HUB", "http://hub")
    monkeypatch.setenv("TASKYARD_KEY", "k")
    monkeypatch.setenv("TASKYARD_DATA", str(tmp_path))
    daemon = Daemon(name="a/b")
    assert daemon.hub == "http://hub"
    assert daemon.data_dir == tmp_path / "daemons" / "a_b"


@pytest.mark.parametrize(
    "environment",
    [
        {"TASKYARD_DATA": "~/yard", "XDG_DATA_HOME": "/elsewhere"},
        {"XDG_DATA_HOME": "/share"},
        {},
        {"XDG_DATA_HOME": ""},
    ],
)
def test_a_daemon_keeps_its_journal_where_the_command_line_keeps_it(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    for name in ("TASKYARD_DATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert Daemon("http://hub", "k", name="a/b").data_dir == data_directory() / "daemons" / "a_b"


def test_a_daemon_without_a_hub_or_slots_or_functions_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("TASKYARD_HUB", raising=False)
    with pytest.raises(ValueError, match="needs a hub and a key"):
        Daemon()
    with pytest.raises(ValueError, match="at least one slot"):
        Daemon("http://hub", "k", slots=0)
    with pytest.raises(ValueError, match="no task functions"):
        asyncio.run(Daemon("http://hub", "k", data_dir=tmp_path).serve())


def test_one_type_has_one_function(tmp_path: Path) -> None:
    daemon = Daemon("http://hub", "k", data_dir=tmp_path)
    daemon.task("a")(answers)
    with pytest.raises(ValueError, match="two functions"):
        daemon.task("a")(answers)


@pytest.mark.parametrize(
    ("registered", "declared", "told"),
    [(["b", "a"], None, ["a", "b"]), (["a", "*"], None, []), (["*"], ["x"], ["x"])],
)
def test_registered_types_are_declared_unless_one_serves_all(
    tmp_path: Path, registered: list[str], declared: list[str] | None, told: list[str]
) -> None:
    async def scenario(hub: HubStub) -> None:
        daemon = Daemon(hub.url, KEY, types=declared, data_dir=tmp_path)
        for name in registered:
            daemon.task(name)(answers)
        async with serving(daemon):
            assert (await (await hub.session()).hello()).types == told

    play(scenario)


def test_the_builtin_types_are_there_when_asked_for(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        daemon = Daemon(hub.url, KEY, data_dir=tmp_path)
        daemon.use_builtin()
        async with serving(daemon):
            assert (await (await hub.session()).hello()).types == ["demo", "echo"]

    play(scenario)


@pytest.mark.parametrize(
    ("hub", "url"),
    [
        ("http://localhost:8080", "ws://localhost:8080/api/v1/daemons/connect"),
        ("https://yard.example/base/", "wss://yard.example/base/api/v1/daemons/connect"),
        ("localhost:8080", "ws://localhost:8080/api/v1/daemons/connect"),
    ],
)
def test_the_socket_is_where_the_hub_is(hub: str, url: str) -> None:
    assert socket_url(hub) == url


def test_frames_are_as_few_as_the_limits_allow() -> None:
    small = [b"1"] * (frames.FRAME_MESSAGES_MAX + 1)
    assert [frame.count(b"1") for frame in write_frames(small)] == [frames.FRAME_MESSAGES_MAX, 1]
    large = [b"x" * 3_000_000] * 2
    assert list(write_frames(large)) == large
    assert list(write_frames([])) == []


def test_one_message_is_a_frame_too() -> None:
    assert read_frame(frames.encode(frames.Drain())) == []


# --- the plain client --------------------------------------------------------------------------------------


def test_the_plain_socket_client_speaks_the_same_protocol() -> None:
    async def scenario(hub: HubStub) -> None:
        host, port = hub.url.removeprefix("http://").split(":")

        def converse() -> tuple[str, dict[str, Any], int | None]:
            with WireClient(host, int(port), KEY) as client:
                welcome = client.hello(slots=1)
                offer = client.receive("task.execute")
                report = {"task_id": offer["task"]["id"], "attempt": offer["attempt"]}
                client.send({"type": "task.accepted", **report}, {"type": "task.started", **report})
                client.send({"type": "task.completed", "result": "x" * 70_000, **report})
                with pytest.raises(Closed) as closed:
                    client.receive()
                return welcome["daemon_id"], offer, closed.value.code

        talking = asyncio.create_task(asyncio.to_thread(converse))
        session = await hub.session()
        await session.welcome()
        await session.send(frames.HeartbeatAck("c1", 1, 1), execute())
        assert await session.receive() == TaskAccepted(*ONE)
        assert await session.receive() == TaskStarted(*ONE)
        assert len((await completed(session)).result) == 70_002  # type: ignore[arg-type]
        await session.close(frames.CLOSE_SUPERSEDED)
        daemon_id, _, code = await talking
        assert (daemon_id, code) == ("d_1", frames.CLOSE_SUPERSEDED)

    play(scenario)


def test_the_plain_socket_client_says_how_it_was_refused() -> None:
    async def scenario(hub: HubStub) -> None:
        host, port = hub.url.removeprefix("http://").split(":")
        with pytest.raises(Refused, match="401"):
            await asyncio.to_thread(WireClient, host, int(port), "wrong")

    play(scenario)


def test_a_key_that_cannot_be_sent_is_not_quoted_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    key = "tyk_with a line\nbreak"

    async def scenario() -> None:
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        daemon = Daemon(f"http://127.0.0.1:{port}", key, name="mac-1", data_dir=tmp_path)

        @daemon.task("noop")
        async def noop(task: object) -> None: ...

        serving = asyncio.create_task(daemon.serve())
        while not caplog.records:
            await asyncio.sleep(0)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        server.close()

    asyncio.run(scenario())
    assert "not connected" in caplog.text
    assert "with a line" not in caplog.text


@pytest.mark.slow
def test_a_program_that_finds_its_daemons_key_does_not_tell_it(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        # Given a daemon that was handed its key, and did not find it in its environment
        daemon = Daemon(hub.url, KEY, name="mac-1", data_dir=tmp_path)
        daemon.use_program(Agent(command=("/bin/sh", "-c", f"echo found {KEY}")))
        async with serving(daemon):
            session = await hub.session()
            await session.welcome()
            # When a program prints it
            await session.send(execute())
            done = await session.receive(TaskCompleted)
            # Then it is in nothing that leaves this machine, and in no file
            assert isinstance(done, TaskCompleted)
            assert isinstance(done.result, Raw)
            assert bytes(done.result) == b'"found [hidden]"'
        assert KEY not in str(session.frames)
        kept = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        assert [path.name for path in kept if path.name != "stdout"] == []

    play(scenario)

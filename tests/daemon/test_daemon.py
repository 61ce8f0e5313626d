"""The whole daemon against a hub's end of a real socket: frames, reconnects, what survives what."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from taskyard.daemon.command.configuration import Agent
from taskyard.daemon.context import Context
from taskyard.daemon.daemon import Daemon
from taskyard.daemon.framing import read_frame, write_frames
from taskyard.daemon.hub_address import socket_url
from taskyard.daemon.task import Task
from taskyard.sdk.credentials import data_directory
from taskyard.wire import frames
from taskyard.wire.frames import (
    Heartbeat,
    Item,
    TaskAccepted,
    TaskCancelled,
    TaskCheckpoint,
    TaskCompleted,
    TaskProgress,
    TaskStarted,
)
from tests.daemon.hub_stub import KEY, HubStub
from tests.daemon.live_daemon import PATIENCE_S, a_daemon, answers, completed, play, serving
from tests.daemon.scene import ONE, TWO, cancel, execute
from tests.support.wire_client import Closed, Refused, WireClient

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


def test_what_comes_in_pieces_is_put_together_and_overtaken_by_nothing(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path)):
            session = await hub.session()
            await session.welcome()
            await session.ping()
            await session.send_in_pieces(execute(ONE))
            await session.send(execute(TWO))
            told = [await session.receive(TaskCompleted) for _ in range(2)]
            assert [(one.task_id, one.attempt) for one in told if isinstance(one, TaskCompleted)] == [ONE, TWO]

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
            told: list[Heartbeat] = []
            while len(told) < 3:
                beat = await session.receive(Heartbeat)
                assert isinstance(beat, Heartbeat)
                # The first ones may have left before the work came.
                told += [beat] if beat.running == [Item(*ONE)] else []
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

"""A whole daemon whose hub goes away, comes back, moves or refuses it."""

import logging
import shutil
from http import HTTPStatus
from pathlib import Path

import pytest
from msgspec import Raw

from taskyard.daemon.connection import HubRefused
from taskyard.vocabulary import InventoryState, InventoryVerdict
from taskyard.wire import frames
from taskyard.wire.frames import Item
from tests.daemon.hub_stub import HubStub
from tests.daemon.live_daemon import Held, a_daemon, begun, completed, heard, play, serving, written
from tests.daemon.scene import ONE, TWO, execute


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
    work = Held()

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, work)):
            session = await begun(hub)
            hub.refusals = [HTTPStatus.SERVICE_UNAVAILABLE] * 3
            await session.close(frames.CLOSE_RESTARTING)
            session = await hub.session()
            greeting = await session.welcome({ONE: InventoryVerdict.CONTINUE})
            assert greeting.inventory == [Item(*ONE)]
            work.let_go()
            assert (await completed(session)).result == Raw(b'"done"')
            assert work.begun == ["t1"]

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
    work = Held()

    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, work)):
            session = await begun(hub)
            await session.send(frames.Rejoin())
            greeting = await session.welcome({ONE: InventoryVerdict.CONTINUE}, epoch=2)
            assert (greeting.daemon_id, greeting.inventory) == ("d_1", [Item(*ONE)])
            work.let_go()
            first = await completed(session)
            await session.send(frames.Rejoin())
            greeting = await session.welcome({ONE: InventoryVerdict.SEND_RESULT}, epoch=3)
            assert greeting.inventory == [Item(*ONE, InventoryState.ENDED)]
            assert await completed(session) == first
            assert (work.begun, hub.sessions.empty()) == (["t1"], True)

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


def test_a_process_that_dies_of_its_first_task_is_known_by_the_next_one(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        # Given the disk of a process that died before it could write what the hub's welcome said
        async with serving(a_daemon(hub, tmp_path / "daemon")):
            first = await (await hub.session()).hello()
            found = Path(shutil.copytree(tmp_path / "daemon", tmp_path / "found"))
        # When the next one begins with that
        async with serving(a_daemon(hub, found)):
            second = await (await hub.session()).hello()
        # Then it is the same daemon, and another process
        assert first.daemon_id is not None
        assert (second.daemon_id, second.boot_id == first.boot_id) == (first.daemon_id, False)

    play(scenario)


def test_running_work_dies_with_the_process_and_is_not_listed(tmp_path: Path) -> None:
    async def scenario(hub: HubStub) -> None:
        async with serving(a_daemon(hub, tmp_path, Held())):
            await begun(hub)
        async with serving(a_daemon(hub, tmp_path, Held())):
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
    work = Held()

    async def scenario(hub: HubStub) -> None:
        async with HubStub() as other:
            daemon = a_daemon(hub, tmp_path, work)
            daemon.hub = f"{hub.url},{other.url}"
            async with serving(daemon):
                session = await begun(hub)
                await session.close()
                again = await other.session()
                hello = await again.welcome({ONE: InventoryVerdict.CONTINUE})
                assert [item.state for item in hello.inventory] == [InventoryState.RUNNING]
                work.let_go()
                assert (await completed(again)).result == Raw(b'"done"')

    play(scenario)

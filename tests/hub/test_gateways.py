"""Gateways as processes: a real hub in this one, or in one of its own where it has to die."""

import asyncio
import json
import os
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.core.settings import Limits, Settings, Sizes
from taskyard.gateway.app import build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import bind
from taskyard.gateway.sign_in import COOKIE
from taskyard.hub.gateways import Gateways, HeldPort
from taskyard.hub.observe import Log
from taskyard.hub.yard import CannotStart
from taskyard.vocabulary import Scope
from tests.support.engines import Engine, opener
from tests.support.hub_scene import SECRET, USER, WAIT_S, Scene, a_scene
from tests.support.linked import HERE, lives
from tests.support.live import GATEWAYS, STUBBORN, LiveHub, LiveYard, gateways_of, live_yard, wait_online, wait_until
from tests.support.raw_http import Answer, connect, head, is_closed, request

pytestmark = pytest.mark.slow
KEY = "tyk_of_ada"
TASKS = "/api/v1/tasks"
A_TASK = b'{"type":"echo","input":"hello"}'
PATIENT = "[lease]\nheartbeat_s = 1\nlease_s = 60\n"
"""No daemon loses its work while gateways are started again, however long that takes."""


# --- in this process: the hub; in others: its gateways -----------------------------------------------------


class Front:
    """A hub whose gateways are asked over HTTP."""

    def __init__(self, scene: Scene, gateways: Gateways) -> None:
        self.scene = scene
        self.gateways = gateways

    async def ask(self, method: str, path: str, **given: Any) -> Answer:
        """Whichever gateway it comes to."""
        given.setdefault("key", KEY)
        return await asyncio.to_thread(request, self.gateways.port, method, path, **given)

    async def started(self, count: int, *, other_than: list[int]) -> None:
        """Until so many take connections, besides these."""
        known = set(other_than)
        for _ in range(count):
            line = await self.scene.log.told.first(
                lambda line: line["event"] == "gateway.started" and line["data"]["pid"] not in known
            )
            known.add(line["data"]["pid"])

    async def ask_at(self, gateway: int, method: str, path: str, **given: Any) -> Answer:
        connection = await asyncio.to_thread(connected_to, gateway, self.gateways.port)
        return await self.ask(method, path, connection=connection, **given)


def connected_to(gateway: int, port: int) -> socket.socket:
    """The system chooses who has a connection, so several are made until this one has."""
    for _ in range(100):
        connection = connect(port)
        took = partial(taker_of, connection.getsockname()[1])
        if wait_until(took, within_s=WAIT_S, what="a gateway that took the connection") == gateway:
            return connection
        connection.close()
    raise AssertionError(f"no connection came to {gateway}")


def taker_of(came_from: int) -> int | None:
    for gateway in gateways_of(os.getpid()):
        if any(one.raddr and one.raddr.port == came_from for one in psutil.Process(gateway).net_connections("tcp")):
            return gateway
    return None


@asynccontextmanager
async def a_front(
    directory: Path | None, *, count: int = 2, settings: GatewaySettings | None = None
) -> AsyncIterator[Front]:
    """Without a directory its store is in memory, where a test can hold it and no gateway can read it."""
    store = None if directory is None else opener(Engine.SQLITE, directory)()
    async with a_scene(store) as scene:
        await scene.a_key("k_1", KEY, Scope.TASKS, Scope.ADMIN)
        gateways = Gateways(
            scene.hub,
            count,
            Log(scene.log),
            secret=SECRET,
            database=str((directory or Path("/nowhere")) / "taskyard.db"),
            gateway=settings or GatewaySettings(port=0),
        )
        try:
            await gateways.start()
            yield Front(scene, gateways)
        finally:
            await gateways.stop()


def test_whichever_gateway_answers_knows_who_signed_in_at_another_and_counts_what_it_answered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with a_front(tmp_path) as front:
            here, there = gateways_of(os.getpid())
            door = build_app(front.scene.hub, GatewaySettings()).door
            link = door.sign_in_link(user_id=USER, base_url="")
            signed_in = await front.ask_at(here, "GET", link, key=None)
            cookie = signed_in.headers["set-cookie"].partition(";")[0]
            assert cookie.startswith(COOKIE)
            assert (await front.ask_at(here, "POST", TASKS, body=A_TASK)).status == 201
            me = await front.ask_at(there, "GET", "/api/v1/users/me", key=None, headers={"Cookie": cookie})
            assert (me.status, json.loads(me.body)["id"]) == (200, USER)
            assert (await front.ask_at(there, "GET", link, key=None)).status == 401
            assert (await front.ask_at(there, "GET", "/readyz")).status == 200
            # What each answered is told with the figures of all, by whichever is asked.
            for one in (here, there):
                async with asyncio.timeout(WAIT_S):
                    while not await tells_of_all(front, one):
                        await asyncio.sleep(0.1)

    lives(scenario)


async def tells_of_all(front: Front, gateway: int) -> bool:
    """Whether its metrics have one request of each of these routes, and no more."""
    figures = await front.ask_at(gateway, "GET", "/metrics")
    lines = [line for line in figures.body.decode().splitlines() if line.startswith("taskyard_http_requests_total")]
    routes = (TASKS, "/api/v1/users/me", "/readyz")
    times = [line.rpartition(" ")[2] for route in routes for line in lines if f'route="{route}",' in line]
    return times == ["1.0"] * len(routes)


def test_changed_settings_reach_gateways_also_those_that_are_started_later(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with a_front(tmp_path) as front:
            named = {"Host": "tasks.example.com"}
            assert (await front.ask("GET", "/healthz", headers=named)).status == 403
            # When the hub is given another name, and may be asked for less at a time
            small = Settings(limits=Limits(size=Sizes(request=1000, frame=4 * 1024 * 1024)))
            await front.scene.hub.change_settings(small, ("limits.size.request",))
            port = front.gateways.port
            front.gateways.adopt(GatewaySettings(port=port, hosts=("tasks.example.com",)))
            before = gateways_of(os.getpid())
            for gateway in before:
                async with asyncio.timeout(WAIT_S):
                    while (await front.ask_at(gateway, "GET", "/healthz", headers=named)).status != 200:
                        await asyncio.sleep(0.01)
                large = await front.ask_at(gateway, "POST", f"{TASKS}/batch", body=b" " * 2000)
                assert large.status == 413
            # Then one that is started again has them too
            for gateway in before:
                os.kill(gateway, signal.SIGKILL)
            assert (await front.scene.log.line("gateway.ended"))["data"]["code"] == -signal.SIGKILL
            await front.started(2, other_than=before)
            assert (await front.ask("GET", "/healthz", headers=named)).status == 200
            assert (await front.ask("POST", f"{TASKS}/batch", body=b" " * 2000)).status == 413
            assert not set(gateways_of(os.getpid())) & set(before)

    lives(scenario)


def test_what_was_asked_before_a_stop_is_answered_and_nothing_is_taken_after_it() -> None:
    async def scenario() -> None:
        async with a_front(None, count=1) as front:
            port = front.gateways.port
            front.scene.held.writes.shut()
            asked = asyncio.ensure_future(front.ask("POST", TASKS, body=A_TASK))
            await front.scene.held.writes.reached()
            stopping = asyncio.ensure_future(front.gateways.stop())
            # Then nobody else comes in
            async with asyncio.timeout(WAIT_S):
                while not await asyncio.to_thread(is_shut, port):
                    await asyncio.sleep(0.01)
            assert not asked.done()
            # And who was in is answered
            front.scene.held.writes.open()
            assert (await asked).status == 201
            await stopping
            assert gateways_of(os.getpid()) == []

    lives(scenario)


def is_shut(port: int) -> bool:
    try:
        connect(port).close()
    except ConnectionRefusedError:
        return True
    return False


def test_a_stop_does_not_wait_for_a_gateway_that_is_to_be_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taskyard.hub.gateways.AGAIN_S", 60.0)
    monkeypatch.setattr("taskyard.hub.gateways.AGAIN_S_MAX", 60.0)

    async def scenario() -> None:
        async with a_front(None, count=1) as front:
            [gateway] = gateways_of(os.getpid())
            os.kill(gateway, signal.SIGKILL)
            await front.scene.log.line("gateway.ended")
            async with asyncio.timeout(WAIT_S / 2):
                await front.gateways.stop()

    lives(scenario)


def test_gateways_wait_a_moment_for_a_port_that_those_of_a_killed_hub_still_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("taskyard.hub.gateways.PORT_S", WAIT_S)

    async def scenario() -> None:
        async with a_front(None, count=1) as front:
            port = front.gateways.port
            again = GatewaySettings(port=port)
            late = Gateways(front.scene.hub, 1, Log(front.scene.log), secret=SECRET, database="", gateway=again)
            starting = asyncio.ensure_future(late.start())
            await asyncio.sleep(0)
            await front.gateways.stop()
            await starting
            assert late.port == port
            await late.stop()

    lives(scenario)


def test_a_port_of_gateways_is_refused_to_other_hubs_also_before_anybody_listens_on_it() -> None:
    held = HeldPort(HERE, 0)
    with pytest.raises(OSError, match="in use"):
        HeldPort(HERE, held.number)
    # When its gateways listen, then to everybody
    with bind(HERE, held.number, shared=True) as gateway, bind(HERE, held.number, shared=True) as other:
        gateway.listen()
        other.listen()
        with pytest.raises(OSError, match="in use"):
            bind(HERE, held.number)
    held.release()
    HeldPort(HERE, held.number).release()


@pytest.mark.parametrize("python", ["/bin/false", "/nowhere/python"])
def test_gateways_that_do_not_come_up_are_told_of_at_once(python: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", python)

    async def scenario() -> None:
        with pytest.raises(CannotStart, match=r"Of 2 gateways 0 came up.*--gateways"):
            async with asyncio.timeout(WAIT_S), a_front(None):
                pass

    lives(scenario)


def test_a_gateway_that_is_killed_while_it_comes_up_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given gateways of which the first to begin is killed before it has said a word
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nmkdir "{tmp_path}/began" 2>/dev/null && kill -9 $$\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))

    # Then both come up: that says nothing of whether it can
    async def scenario() -> None:
        async with a_front(None) as front:
            assert (await front.scene.log.line("gateway.ended"))["data"]["code"] == -signal.SIGKILL
            assert len(gateways_of(os.getpid())) == 2

    lives(scenario)


@pytest.mark.parametrize("deep", [False, True])
def test_gateways_without_a_place_for_their_link_say_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, deep: bool
) -> None:
    directory = tmp_path / ("d" * 120)
    if deep:
        directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))

    async def scenario() -> None:
        with pytest.raises(CannotStart, match=r"TMPDIR"):
            async with a_front(None):
                pass

    lives(scenario)
    assert not deep or not list(directory.iterdir())


# --- all of it as processes --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sockets() -> Iterator[Path]:
    """Where the hub has its link; the path is short enough for one."""
    with tempfile.TemporaryDirectory(prefix="ty-") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory, sockets: Path) -> Iterator[LiveYard]:
    """One with a hub that has two gateways."""
    with live_yard(tmp_path_factory.mktemp("gateways"), gateways=GATEWAYS) as made:
        made.hub(prefix=("env", f"TMPDIR={sockets}"), settings=PATIENT)
        yield made


@pytest.fixture
def hub(yard: LiveYard) -> LiveHub:
    """Up again, whatever the test before did to it."""
    [made] = yard.hubs
    if made.process.exit_code is not None:
        made.start()
    return made


def test_daemons_whose_gateways_are_killed_go_on_with_their_work_through_the_next(yard: LiveYard, hub: LiveHub) -> None:
    with hub.client(retry=STUBBORN) as client:
        daemon = yard.daemon(hub)
        wait_online(client, 1)
        task = client.submit("work", type="record", payload={"ms": 1_500})
        wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="a running task")
        killed = hub.gateways
        assert len(killed) == 2
        for gateway in killed:
            os.kill(gateway, signal.SIGKILL)
        task.wait(timeout=60)
        assert (task.status, len(task.attempts)) == ("completed", 1)
        assert task.result == f"{task.id}/1/{daemon.process.pid}"
        assert not set(hub.gateways) & set(killed)
        daemon.process.end()


def test_a_hub_that_is_told_to_stop_ends_its_gateways_and_leaves(hub: LiveHub, sockets: Path) -> None:
    gateways = hub.gateways
    assert hub.process.terminate() == 0
    assert not any(map(psutil.pid_exists, gateways))
    assert list(sockets.iterdir()) == []


def test_when_the_hub_is_killed_its_gateways_end_and_leave_nothing_behind(hub: LiveHub, sockets: Path) -> None:
    with hub.client() as client, ExitStack() as stack:
        # Given somebody who waits for a task's end, and somebody who follows events
        task = client.submit("later", scheduled_for="2099-01-01T00:00:00Z")
        paths = (f"{TASKS}/{task.id}?wait=60", "/api/v1/events")
        readers = [stack.enter_context(opened(hub, path)) for path in paths]
        gateways = hub.gateways
        assert len(list(sockets.iterdir())) == 1
        # When the hub is killed
        hub.kill()
        # Then its gateways are gone soon, with everyone who waited there, and with the link
        wait_until(lambda: not any(map(psutil.pid_exists, gateways)), within_s=20, what="no gateway is left")
        assert all(is_closed(reader, within_s=20) for reader in readers)
        assert list(sockets.iterdir()) == []
    # And the next hub has the port
    hub.start()


def opened(hub: LiveHub, path: str) -> socket.socket:
    """A request whose answer has to wait."""
    connection = connect(hub.port)
    given = {"Host": f"{HERE}:{hub.port}", "Authorization": f"Bearer {hub.key}"}
    connection.sendall(head("GET", path, given.items()))
    return connection


def test_a_hub_that_is_killed_while_it_starts_leaves_no_gateway_behind(yard: LiveYard) -> None:
    [hub] = yard.hubs
    hub.kill()
    hub.start(wait=False)
    gateways = wait_until(lambda: hub.gateways, within_s=20, what="a gateway", every_s=0.001)
    hub.kill()
    wait_until(lambda: not any(map(psutil.pid_exists, gateways)), within_s=20, what="no gateway is left")

"""`POST /claim`: agents without a socket, from the asking to the result."""

import asyncio
import time

import pytest

from taskyard.core.changes import Batch
from taskyard.core.daemon_commands import Beat, JoinDaemon
from taskyard.core.settings import Lease, Settings
from taskyard.core.yard_commands import RevokeKey
from taskyard.gateway import door
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.rest import claims
from taskyard.vocabulary import Scope
from taskyard.wire import frames
from tests.support.gateway_client import WAIT_S, Client, Response
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
CLAIM = "/api/v1/claim"
BEATS_OFTEN = Settings(lease=Lease(heartbeat_s=0.01))


async def claim(agent: Client, hang_up: asyncio.Event | None = None, **body: object) -> Response:
    given = {"name": "agent", "wait_s": 0, **body}
    return await agent.post(CLAIM, given, hang_up=hang_up or asyncio.Event())


async def open_claims(hub: GatewayHub, count: int = 1) -> None:
    """Until so many wait."""
    async with asyncio.timeout(WAIT_S):
        while sum(daemon.session != 0 for daemon in hub.state.daemons.values()) != count:
            await asyncio.sleep(0)


async def test_a_task_is_pulled_worked_on_and_handed_in(hub: GatewayHub, owner: Client) -> None:
    # Given a task that waits
    made = (await owner.post(TASKS, {"input": "a", "context": {"b": 1}, "execution": {"timeout": 60}})).json

    # When an agent asks for one
    answer = await claim(owner)
    given = answer.json

    # Then it is given it with all it needs, and it counts as started
    assert (answer.status, given["attempt"], given["timeout"], given["lease_s"]) == (200, 1, 60, 30)
    assert (given["task"]["id"], given["task"]["input"], given["task"]["context"]) == (made["id"], "a", {"b": 1})
    assert (given["context_input"], given["checkpoint"], given["previous_attempts"]) == ([], None, [])
    shown = (await owner.get(f"{TASKS}/T-001")).json
    assert (shown["status"], shown["attempts"][0]["daemon_name"]) == ("running", "agent")
    (daemon,) = (await owner.get("/api/v1/daemons")).json
    assert (daemon["name"], daemon["active_tasks"], daemon["max_concurrent_tasks"]) == ("agent", 1, 1)

    # And its token speaks for it until it is done
    agent = Client(owner.app, given["token"])
    for word, body in (("heartbeat", {}), ("progress", {"percent": 5}), ("checkpoint", {"data": [1]})):
        assert (await agent.post(f"{TASKS}/T-001/{word}", body)).json == {"ok": True}
    assert (await agent.post(f"{TASKS}/T-001/complete", {"status": "completed", "result": 7})).json == {"ok": True}
    assert (await owner.get(f"{TASKS}/T-001")).json["result"] == 7


async def test_a_claim_is_answered_when_it_is_written_that_its_task_began(
    hub: GatewayHub, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a store that takes its time
    write = hub.store.write

    def slowly(batch: Batch) -> None:
        time.sleep(0.03)
        write(batch)

    monkeypatch.setattr(hub.store, "write", slowly)
    await owner.post(TASKS, {"input": "a"})

    # When the task is claimed, then whoever looks it up sees that it runs
    await claim(owner)
    assert (await owner.get(f"{TASKS}/T-001")).json["status"] == "running"


async def test_open_claims_of_one_name_are_one_daemon_with_a_slot_for_each(hub: GatewayHub, owner: Client) -> None:
    for _ in range(2):
        await owner.post(TASKS, {"input": "a"})
        await claim(owner, name="same")
    waits = asyncio.create_task(claim(owner, name="same", wait_s=WAIT_S))
    await open_claims(hub)
    (daemon,) = (await owner.get("/api/v1/daemons")).json
    shown = ("name", "active_tasks", "max_concurrent_tasks", "idle_because")
    assert [daemon[name] for name in shown] == ["same", 2, 3, "Nothing waits."]
    assert daemon["status"] == "online"
    assert len(daemon["running"]) == 2
    for name in ("same", daemon["id"], f"{daemon['id']}.1"):
        assert (await owner.get(f"/api/v1/daemons/{name}")).json == daemon
    await owner.post(TASKS, {"input": "b"})
    assert (await waits).status == 200
    (daemon,) = (await owner.get("/api/v1/daemons")).json
    assert [daemon[name] for name in shown] == ["same", 3, 3, None]


async def test_where_there_is_nothing_it_says_so_without_a_word(owner: Client) -> None:
    answer = await claim(owner)
    assert (answer.status, answer.body) == (204, b"")
    assert not {"content-length", "content-type"} & answer.headers.keys()
    await owner.post(TASKS, {"input": "a", "requirements": {"capabilities": ["browser"]}})
    await owner.post(TASKS, {"input": "a", "type": "draw"})
    assert (await claim(owner, types=["write"])).status == 204
    assert (await claim(owner, types=["write"], capabilities=["browser"])).status == 204
    assert (await claim(owner, types=["draw"])).json["task"]["type"] == "draw"
    assert (await claim(owner, capabilities=["browser"])).status == 200


@pytest.mark.parametrize("settings", [BEATS_OFTEN])
async def test_an_agent_that_waits_is_kept_alive_and_its_time_is_kept_to(hub: GatewayHub, owner: Client) -> None:
    # Given one that waits until it has been kept alive for a while: how many heartbeats fit into a time is not promised
    hang_up = asyncio.Event()
    waiting = asyncio.create_task(claim(owner, hang_up, wait_s=60))
    async with asyncio.timeout(WAIT_S):
        while sum(isinstance(command, Beat) for command in hub.told) < 3:
            await asyncio.sleep(0.001)
    hang_up.set()
    assert (await waiting).status == 204

    # And one whose time is over by itself, then nobody waits any more
    async with asyncio.timeout(WAIT_S):
        assert (await claim(owner, wait_s=0.05)).status == 204
    assert [daemon.session for daemon in hub.state.daemons.values()] == [0]


async def test_who_hangs_up_is_given_nothing(hub: GatewayHub, owner: Client) -> None:
    hang_up = asyncio.Event()
    waiting = asyncio.create_task(claim(owner, hang_up, wait_s=30))
    await open_claims(hub)
    hang_up.set()
    async with asyncio.timeout(WAIT_S):
        assert (await waiting).status == 204
    await owner.post(TASKS, {"input": "a"})
    assert (await owner.get(f"{TASKS}/T-001")).json["status"] == "queued"


async def test_when_the_lead_moves_whoever_waits_asks_the_next_one(hub: GatewayHub, owner: Client) -> None:
    waiting = asyncio.create_task(claim(owner, wait_s=10))
    await open_claims(hub)
    await hub.lead_moves()
    assert len([command for command in hub.told if isinstance(command, JoinDaemon)]) == 2
    await owner.post(TASKS, {"input": "a"})
    assert (await waiting).json["task"]["input"] == "a"


async def test_a_key_that_ends_meanwhile_gets_nothing(
    hub: GatewayHub, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "REVIEW_S", 0.01)
    waiting = asyncio.create_task(claim(owner, wait_s=30))
    await open_claims(hub)
    assert owner.key is not None
    await hub.decide(RevokeKey(hub.key_named(owner.key).id, actor="test"))
    async with asyncio.timeout(WAIT_S):
        assert (await waiting).status == 401


async def test_a_hub_that_stops_sends_whoever_waits_home(hub: GatewayHub, app: GatewayApp, owner: Client) -> None:
    waiting = asyncio.create_task(claim(owner, wait_s=30))
    await open_claims(hub)
    await app.door.close()
    answer = await waiting
    assert (answer.status, answer.json["code"]) == (503, "NO_LEADER")


@pytest.mark.parametrize("settings", [BEATS_OFTEN])
async def test_a_hub_that_says_nothing_is_not_waited_for_without_end(
    hub: GatewayHub, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "ANSWER_S", 0.0)
    monkeypatch.setattr(hub, "tell", lambda command: None)
    assert (await claim(owner)).status == 503


async def test_too_many_claims_of_one_name_are_refused(hub: GatewayHub, owner: Client) -> None:
    waiting = asyncio.create_task(claim(owner, wait_s=10))
    await open_claims(hub)
    (session,) = (one for one in hub._sessions.values() if isinstance(one, claims.ClaimSession))
    session.send([frames.encode(frames.Error("TOO_MANY_CLAIMS", "Too many."))])
    answer = await waiting
    assert (answer.status, answer.json["code"], answer.headers["retry-after"]) == (503, "OVERLOADED", "1")


async def test_only_a_daemons_key_claims_and_only_its_own_users_tasks(
    hub: GatewayHub, app: GatewayApp, bob: Client
) -> None:
    await bob.post(TASKS, {"input": "b"})
    assert (await claim(bob)).status == 403
    assert (await claim(Client(app, await hub.a_key(await hub.a_user("ann"), Scope.DAEMON)))).status == 204
    assert (await claim(Client(app, await hub.a_key("u_bob", Scope.DAEMON)))).status == 200


@pytest.mark.parametrize("wrong", [{"name": "a\nb"}, {"wait_s": 61}, {"shared": True}])
async def test_a_wrong_claim_is_told_and_changes_nothing(
    hub: GatewayHub, owner: Client, wrong: dict[str, object]
) -> None:
    assert (await claim(owner, **wrong)).status == 422
    assert hub.state.daemons == {}

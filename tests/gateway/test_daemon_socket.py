"""A daemon's socket: from `hello` to its end."""

import asyncio
from typing import Any

import pytest

from taskyard.core.commands import FailTask
from taskyard.core.daemon_commands import Beat, JoinDaemon, LeaveDaemon, RejectTask
from taskyard.core.yard_commands import ChangeUser, RevokeKey
from taskyard.gateway import daemon_socket
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.auth import NOBODY
from taskyard.gateway.daemon_socket import DaemonSession
from taskyard.vocabulary import Scope
from taskyard.wire import frames
from tests.support.gateway_client import HELLO, WAIT_S, Client, Connection, Response
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
DAEMONS = "/api/v1/daemons"


async def executed(daemon: Connection) -> dict[str, Any]:
    (message,) = await daemon.hear()
    assert message["type"] == "task.execute"
    return message


async def test_a_task_travels_to_its_daemon_and_back(owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "hello", "type": "echo", "context": {"a": 1}})
    message = await executed(daemon)
    task = message["task"]
    assert (task["ref"], task["type"], task["input"], task["context"]) == ("T-001", "echo", "hello", {"a": 1})
    assert (message["attempt"], message["timeout"], message["context_input"]) == (1, 300, [])
    about = {"task_id": task["id"], "attempt": 1}
    daemon.say({"type": "task.accepted", **about}, {"type": "task.started", **about})
    daemon.say(
        {
            "type": "task.completed",
            **about,
            "result": {"said": ["hello"]},
            "summary": "done",
            "files_changed": ["a.py"],
            "usage": {"input_tokens": 3},
        }
    )
    (ack,) = await daemon.hear()
    assert (ack["type"], ack["task_id"], ack["attempt"]) == ("ack", task["id"], 1)
    shown = (await owner.get(f"{TASKS}/T-001")).json
    assert (shown["status"], shown["result"], shown["result_summary"]) == ("completed", {"said": ["hello"]}, "done")
    assert shown["files_changed"] == ["a.py"]
    assert shown["attempts"][0]["usage"]["input_tokens"] == 3


async def test_a_dependant_is_told_the_result(owner: Client, daemon: Connection) -> None:
    await owner.post(f"{TASKS}/batch", {"tasks": [{"input": "a", "name": "a"}, {"input": "b", "depends_on": ["a"]}]})
    first = await executed(daemon)
    about = {"task_id": first["task"]["id"], "attempt": 1}
    daemon.say({"type": "task.completed", **about, "result": 42, "summary": "the answer"})
    heard = await daemon.hear()
    while not any(message["type"] == "task.execute" for message in heard):
        heard += await daemon.hear()
    (second,) = [message for message in heard if message["type"] == "task.execute"]
    (told,) = second["context_input"]
    assert (told["source_task"], told["ref"]) == (first["task"]["id"], "T-001")
    assert (told["result"], told["result_summary"], told["result_status"]) == (42, "the answer", "success")
    assert (await owner.get(f"{TASKS}/T-002")).json["context_input"] == [told]


async def test_a_failure_is_told_with_its_time_to_come_back(hub: GatewayHub, owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    about = {"task_id": (await executed(daemon))["task"]["id"], "attempt": 1}
    error = {"code": "RATE_LIMITED", "message": "slow down", "details": {"retry_after": 7}}
    daemon.say({"type": "task.failed", **about, "error": error})
    await daemon.hear()
    (failed,) = [command for command in hub.told if isinstance(command, FailTask)]
    assert failed.retry_after_ms == 7000
    assert failed.error.details == '{"retry_after":7}'


async def test_a_task_handed_back_is_drained(hub: GatewayHub, owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    about = {"task_id": (await executed(daemon))["task"]["id"], "attempt": 1}
    daemon.say({"type": "task.rejected", **about, "reason": "drained"}, {"type": "heartbeat"})
    await daemon.hear()
    (rejected,) = [command for command in hub.told if isinstance(command, RejectTask)]
    assert rejected.drained


async def test_a_nul_in_a_result_is_replaced_not_refused(owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    task_id = (await executed(daemon))["task"]["id"]
    daemon.say_raw(f'{{"type":"task.completed","task_id":"{task_id}","attempt":1,"result":"a\\u0000b"}}')
    await daemon.hear()
    assert (await owner.get(f"{TASKS}/T-001")).json["result"] == "a\ufffdb"


async def test_a_result_over_its_size_is_kept_by_its_head(owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    about = {"task_id": (await executed(daemon))["task"]["id"], "attempt": 1}
    daemon.say({"type": "task.completed", **about, "result": "x" * (1024 * 1024)})
    await daemon.hear()
    result = (await owner.get(f"{TASKS}/T-001")).json["result"]
    assert (result["truncated"], result["bytes"]) == (True, 1024 * 1024 + 2)


async def test_an_unknown_message_is_answered_and_the_others_count(daemon: Connection) -> None:
    daemon.say({"type": "task.sung", "task_id": "x", "attempt": 1}, {"type": "heartbeat"})
    heard = await daemon.hear()
    while len(heard) < 2:
        heard += await daemon.hear()
    assert [message["type"] for message in heard] == ["error", "heartbeat.ack"]


@pytest.mark.parametrize(
    "raw",
    [
        "{",
        '{"type":"task.accepted","task_id":"a"}',
        '{"type":"hello","protocol":1,"boot_id":"b","name":"n"}',
        '{"type":"task.completed","task_id":"a","attempt":1,"result":' + "[" * 100 + "]" * 100 + "}",
        '{"type":"task.checkpoint","task_id":"a","attempt":1,"data":"' + "x" * (1024 * 1024) + '"}',
    ],
)
async def test_a_bad_frame_closes_the_socket(hub: GatewayHub, daemon: Connection, raw: str) -> None:
    daemon.say_raw(raw)
    (error,) = await daemon.hear()
    assert error["type"] == "error"
    closed = await daemon.next()
    assert (closed["type"], closed["code"]) == ("websocket.close", frames.CLOSE_PROTOCOL)
    await daemon.ended()
    assert isinstance(hub.told[-1], LeaveDaemon)


@pytest.mark.parametrize(
    "hello",
    [
        {**HELLO, "protocol": 2},
        {**HELLO, "name": ""},
        {**HELLO, "name": "a\nb"},
        {**HELLO, "max_concurrent_tasks": 0},
        {**HELLO, "shared": True},
        {"type": "heartbeat"},
    ],
)
async def test_a_bad_hello_is_not_welcome(hub: GatewayHub, owner: Client, hello: dict[str, Any]) -> None:
    async with owner.socket() as connection:
        await connection.next()
        connection.say(hello)
        (error,) = await connection.hear()
        assert error["type"] == "error"
        assert (await connection.next())["code"] == frames.CLOSE_PROTOCOL
    assert hub.told == []


async def test_silence_is_not_welcome(owner: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_socket, "HELLO_S", 0.01)
    async with owner.socket() as connection:
        await connection.next()
        assert (await connection.hear())[0]["code"] == "HELLO_MISSING"


async def test_a_shared_daemon_needs_an_admins_key(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("root"), Scope.ADMIN, Scope.DAEMON)
    async with Client(app, key).daemon(shared=True):
        pass


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "evil.example"}, 403),
        ({"authorization": "Bearer wrong"}, 401),
    ],
)
async def test_a_socket_is_refused_before_it_is_one(app: GatewayApp, headers: dict[str, str], status: int) -> None:
    async with Client(app).socket(headers) as connection:
        message = await connection.next()
        assert (message["type"], message["status"]) == ("websocket.http.response.start", status)


async def test_a_key_without_the_scope_is_refused(ann: Client) -> None:
    async with ann.socket() as connection:
        assert (await connection.next())["status"] == 403


async def test_a_revoked_key_closes_its_sockets(
    hub: GatewayHub, owner: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("taskyard.gateway.door.REVIEW_S", 0.01)
    async with owner.daemon() as connection:
        assert owner.key is not None
        await hub.decide(RevokeKey(hub.key_named(owner.key).id, actor="test"))
        assert (await connection.hear())[0]["code"] == "UNAUTHENTICATED"
        assert (await connection.next())["code"] == frames.CLOSE_UNAUTHENTICATED


async def test_a_hub_that_stops_sends_its_daemons_home_to_come_back(
    app: GatewayApp, owner: Client, daemon: Connection
) -> None:
    await app.door.close()
    closed = await daemon.next()
    assert (closed["type"], closed["code"]) == ("websocket.close", frames.CLOSE_RESTARTING)
    assert closed["reason"] == "the hub stops; come back with your list"
    async with owner.socket() as late:
        assert (await late.next())["type"] == "websocket.accept"
        assert (await late.next())["code"] == frames.CLOSE_RESTARTING


async def test_a_daemon_that_does_not_read_is_cut_off(
    owner: Client, daemon: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_socket, "QUEUE_BYTES_MAX", 1000)
    monkeypatch.setattr(daemon_socket, "CLOSE_S", 0.01)
    daemon.reads.clear()
    await owner.post(TASKS, {"input": "x" * 600})
    await asyncio.sleep(0)
    await owner.post(TASKS, {"input": "x" * 2000})
    await daemon.ended()


async def test_what_waits_is_joined_into_few_frames() -> None:
    session = DaemonSession(1, NOBODY)
    sent: list[str] = []

    async def send(message: Any) -> None:
        sent.append(message.get("text", message["type"]))

    session.send([b'{"a":1}', b'{"b":2}'])
    session.send([b"x" * (frames.FRAME_BYTES_MAX - 2), b'{"c":3}'])
    session.close(1000, "bye")
    session.send([b"too late"])
    await session.write_to(send)
    assert [len(text) for text in sent] == [17, frames.FRAME_BYTES_MAX - 2, 7, 15]
    assert sent[0] == '[{"a":1},{"b":2}]'


async def test_callbacks_by_token_are_the_attempts_own(owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    message = await executed(daemon)
    agent = Client(owner.app, message["token"])
    assert (await agent.post(f"{TASKS}/T-001/progress", {"percent": 40, "message": "reading"})).json == {"ok": True}
    shown = [(await owner.get(f"{TASKS}/T-001")).json, *(await owner.get(TASKS)).json]
    assert [one["progress"] for one in shown] == [{"percent": 40, "message": "reading"}] * 2
    assert (await agent.post(f"{TASKS}/T-001/checkpoint", {"data": {"page": 3}})).status == 200
    assert (await owner.get(f"{TASKS}/T-001")).json["checkpoint"] == {"page": 3}
    assert (await agent.post(f"{TASKS}/T-001/heartbeat")).status == 200
    other = (await owner.post(TASKS, {"input": "b"})).json
    assert (await agent.post(f"{TASKS}/{other['id']}/progress", {})).status == 404
    assert (await agent.post(f"{TASKS}/T-001/progress", {"attempt": 2})).status == 403
    done = {"status": "completed", "result": 1}
    assert (await agent.post(f"{TASKS}/T-001/complete", done)).json == {"ok": True}
    assert (await owner.get(f"{TASKS}/T-001")).json["result"] == 1


async def test_who_hangs_up_waits_no_longer(hub: GatewayHub, owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    message = await executed(daemon)
    agent = Client(owner.app, message["token"])
    child = (await agent.post(TASKS, {"input": "child", "requirements": {"capabilities": ["none"]}})).json
    hang_up = asyncio.Event()
    waiting = asyncio.create_task(agent.get(f"{TASKS}/{child['id']}?wait_s=30", hang_up=hang_up))
    async with asyncio.timeout(WAIT_S):
        while not hub.state.waits:
            await asyncio.sleep(0)
    assert list(hub.state.waits) == [message["task"]["id"]]
    hang_up.set()
    async with asyncio.timeout(WAIT_S):
        await waiting
    assert hub.state.waits == {}


async def test_who_was_preempted_says_for_whom(hub: GatewayHub, owner: Client, daemon: Connection) -> None:
    await hub.ask(ChangeUser("u_ann", "test", overrides={"max_concurrent_agents": 1}))
    await owner.post(TASKS, {"input": "a", "priority": "low", "metadata": {"agent": "x"}})
    about = {"task_id": (await executed(daemon))["task"]["id"], "attempt": 1}
    daemon.say({"type": "task.accepted", **about}, {"type": "task.started", **about})
    daemon.say({"type": "heartbeat", "running": [about]})
    await daemon.hear()
    await hub.pass_s(10)
    await owner.post(TASKS, {"input": "now", "priority": "critical"})
    (told,) = await daemon.hear()
    assert (told["type"], told["reason"]) == ("cancel_task", "preempted")
    daemon.say({"type": "task.cancelled", **about, "reason": "preempted"})
    await daemon.hear()
    shown = (await owner.get(f"{TASKS}/T-001")).json
    assert (shown["status"], shown["metadata"]) == ("queued", {"agent": "x", "preempted_by": "T-002"})
    assert shown["attempts"][0]["status"] == "preempted"


async def test_a_daemon_key_must_say_which_attempt(owner: Client, daemon: Connection) -> None:
    await owner.post(TASKS, {"input": "a"})
    await executed(daemon)
    response = await owner.post(f"{TASKS}/T-001/complete", {"status": "completed"})
    assert (response.status, response.json["errors"][0]["path"]) == (422, "attempt")
    assert (await owner.post(f"{TASKS}/T-001/complete", {"status": "completed", "attempt": 1})).status == 200
    late = await owner.post(f"{TASKS}/T-001/complete", {"status": "completed", "attempt": 7, "result": 1})
    assert (late.status, late.json["code"]) == (409, "STALE_ATTEMPT")


async def test_each_attempt_has_its_own_past_and_its_own_late_result(owner: Client, daemon: Connection) -> None:
    # Given a task at its third attempt
    await owner.post(TASKS, {"input": "a"})
    heard = await daemon.hear()
    before = [heard[-1]["previous_attempts"]]
    for number in (1, 2):
        about = {"task_id": heard[-1]["task"]["id"], "attempt": number}
        daemon.say({"type": "task.started", **about}, {"type": "task.cancelled", **about, "reason": "restarting"})
        while heard[-1].get("attempt") != number + 1:
            heard += await daemon.hear()
        before.append(heard[-1]["previous_attempts"])

    # When the second one brings a result after all
    late = await owner.post(f"{TASKS}/T-001/complete", {"status": "completed", "attempt": 2, "result": "late"})
    assert (late.status, late.json["kept"]) == (409, True)

    # Then it is shown with that, and each was told of those before it
    attempts = (await owner.get(f"{TASKS}/T-001")).json["attempts"]
    shown = [(attempt.get("late_result") or {}).get("result") for attempt in attempts]
    assert shown == [None, "late", None]
    assert [[each["number"] for each in earlier] for earlier in before] == [[], [1], [1, 2]]


async def test_daemons_are_shown_to_their_owner(owner: Client, daemon: Connection, bob: Client) -> None:
    (view,) = (await owner.get("/api/v1/daemons")).json
    assert (view["name"], view["status"], view["max_concurrent_tasks"]) == ("mac-1", "online", 2)
    assert (await owner.get("/api/v1/daemons/mac-1")).json["id"] == view["id"]
    assert (await bob.get("/api/v1/daemons")).json == []
    assert (await bob.post("/api/v1/daemons/mac-1/drain")).json["code"] == "DAEMON_NOT_FOUND"
    assert (await owner.post("/api/v1/daemons/mac-1/drain")).json == {"ok": True}


def names_in(response: Response) -> list[str]:
    return [daemon["name"] for daemon in response.json]


async def test_a_daemon_that_does_not_come_back_is_forgotten_by_its_owner(owner: Client, bob: Client) -> None:
    async with owner.daemon():
        refused = await owner.request("DELETE", f"{DAEMONS}/mac-1")
        assert (refused.status, refused.json["code"]) == (409, "DAEMON_IN_USE")
        assert refused.json["detail"].startswith("mac-1 is connected. Stop it first")
    unknown = await bob.request("DELETE", f"{DAEMONS}/mac-1")
    assert (unknown.status, unknown.json["code"]) == (404, "DAEMON_NOT_FOUND")
    assert (await owner.request("DELETE", f"{DAEMONS}/mac-1")).json == {"ok": True}
    assert names_in(await owner.get(DAEMONS)) == []
    again = await owner.request("DELETE", f"{DAEMONS}/mac-1")
    assert (again.status, again.json) == (404, unknown.json)


async def test_of_several_daemons_of_a_name_the_one_that_was_away_longest_is_forgotten(
    hub: GatewayHub, owner: Client
) -> None:
    async with owner.daemon(daemon_id="d_here", boot_id="b0"):
        for number in (1, 2):
            async with owner.daemon(daemon_id=f"d_{number}", boot_id=f"b{number}"):
                pass
            await hub.settled()
            hub.wall_ms += 1000
        for left in ({"d_here", "d_2"}, {"d_here"}):
            assert (await owner.request("DELETE", f"{DAEMONS}/mac-1")).status == 200
            assert {daemon["id"] for daemon in (await owner.get(DAEMONS)).json} == left
        assert (await owner.request("DELETE", f"{DAEMONS}/mac-1")).json["code"] == "DAEMON_IN_USE"


async def test_an_admin_forgets_a_shared_daemon_and_its_users_do_not(
    hub: GatewayHub, app: GatewayApp, bob: Client, admin: Client
) -> None:
    boss = Client(app, await hub.a_key(await hub.a_user("root"), Scope.ADMIN, Scope.DAEMON))
    async with boss.daemon(shared=True):
        pass
    await hub.settled()
    assert (await bob.request("DELETE", f"{DAEMONS}/mac-1")).json["code"] == "DAEMON_NOT_FOUND"
    assert (await admin.request("DELETE", f"{DAEMONS}/mac-1")).json == {"ok": True}


async def test_a_daemon_that_says_that_it_is_ephemeral_is_gone_when_it_has_left(owner: Client, bob: Client) -> None:
    async with owner.daemon(ephemeral=True) as daemon:
        assert names_in(await owner.get(DAEMONS)) == ["mac-1"]
        daemon.say({"type": "drain"})
    async with asyncio.timeout(WAIT_S):
        while names_in(await owner.get(DAEMONS)):
            await asyncio.sleep(0)


# --- when the lead moves -----------------------------------------------------------------------------------


async def asked_to_rejoin(hub: GatewayHub, daemon: Connection) -> None:
    await hub.lead_moves()
    assert await daemon.hear() == [{"type": "rejoin"}]


async def test_a_daemon_joins_the_next_leader_on_the_socket_it_has(
    hub: GatewayHub, owner: Client, daemon: Connection
) -> None:
    # Given work that began, and a lead that moves while its result is under way
    await owner.post(TASKS, {"input": "a"})
    about = {"task_id": (await executed(daemon))["task"]["id"], "attempt": 1}
    daemon.say({"type": "task.started", **about})
    daemon.say({"type": "heartbeat", "running": [about]})
    await daemon.hear()
    await hub.lead_moves()
    daemon.say({"type": "task.completed", **about, "result": 1})
    assert await daemon.hear() == [{"type": "rejoin"}]

    # When it says hello again, then it is asked for what was dropped
    daemon.say({**HELLO, "inventory": [{**about, "state": "ended"}]})
    (welcome,) = await daemon.hear()
    assert (welcome["type"], welcome["inventory"]) == ("welcome", [{**about, "verdict": "send_result"}])
    assert (await owner.get(f"{TASKS}/T-001")).json["status"] == "running"
    daemon.say({"type": "task.completed", **about, "result": 1})
    assert (await daemon.hear())[0]["type"] == "ack"
    assert (await owner.get(f"{TASKS}/T-001")).json["result"] == 1

    # And to the hub it is the same daemon at the same socket
    first, second = (command for command in hub.told if isinstance(command, JoinDaemon))
    assert (second.session, second.daemon_id) == (first.session, first.daemon_id)
    assert not any(isinstance(command, LeaveDaemon) for command in hub.told)


async def test_of_a_frame_that_says_hello_again_what_follows_it_counts(hub: GatewayHub, daemon: Connection) -> None:
    await asked_to_rejoin(hub, daemon)
    del hub.told[:]
    daemon.say({"type": "heartbeat"}, {"type": "drain"}, HELLO, {"type": "heartbeat"})
    heard = await daemon.hear()
    while len(heard) < 2:
        heard += await daemon.hear()
    assert [message["type"] for message in heard] == ["welcome", "heartbeat.ack"]
    assert [type(command) for command in hub.told] == [JoinDaemon, Beat]


@pytest.mark.parametrize(
    "hello",
    [
        {**HELLO, "boot_id": "b2"},
        {**HELLO, "daemon_id": "d_another"},
        {**HELLO, "protocol": 2},
        {**HELLO, "shared": True},
    ],
)
async def test_a_bad_hello_is_not_welcome_again(hub: GatewayHub, daemon: Connection, hello: dict[str, Any]) -> None:
    await asked_to_rejoin(hub, daemon)
    del hub.told[:]
    daemon.say(hello)
    assert (await daemon.hear())[0]["code"] == "BAD_MESSAGE"
    assert (await daemon.next())["code"] == frames.CLOSE_PROTOCOL
    await daemon.ended()
    assert [type(command) for command in hub.told] == [LeaveDaemon]


async def test_a_lead_that_moves_again_asks_once_and_a_hello_too_many_is_an_error(
    hub: GatewayHub, daemon: Connection
) -> None:
    await hub.lead_moves()
    await asked_to_rejoin(hub, daemon)
    daemon.say(HELLO)
    assert (await daemon.hear())[0]["type"] == "welcome"
    await asked_to_rejoin(hub, daemon)
    daemon.say(HELLO)
    assert (await daemon.hear())[0]["type"] == "welcome"
    daemon.say(HELLO)
    assert (await daemon.hear())[0]["message"] == "hello: said already"


async def test_a_daemon_that_does_not_know_the_question_is_sent_home_to_come_back(
    hub: GatewayHub, daemon: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon_socket, "HELLO_S", 0.01)
    # Before it is asked: its time may be over as soon as it has heard the question.
    del hub.told[:]
    await asked_to_rejoin(hub, daemon)
    daemon.say({"type": "heartbeat"})
    closed = await daemon.next()
    assert (closed["code"], closed["reason"]) == (
        frames.CLOSE_RESTARTING,
        "another hub leads now; come back with your list",
    )
    await daemon.ended()
    assert [type(command) for command in hub.told] == [LeaveDaemon]


async def test_whoever_answered_is_not_sent_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_socket, "HELLO_S", 0)
    answered, silent = DaemonSession(1, NOBODY), DaemonSession(2, NOBODY)
    answered.rejoin()
    answered.rejoined()
    silent.rejoin()
    async with asyncio.timeout(WAIT_S):
        await silent.closing.wait()
    assert not answered.closing.is_set()

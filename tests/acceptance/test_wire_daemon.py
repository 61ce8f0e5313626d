"""The daemon protocol as a daemon in any language would speak it: a plain socket against a real hub."""

from collections.abc import Iterator

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.guests import Guest
from tests.support.live import wait_until
from tests.support.wire_client import Closed, Message, Refused, WireClient

pytestmark = pytest.mark.takes(5)

PROTOCOL, SUPERSEDED = 4400, 4409


@pytest.fixture
def daemon(guest: Guest) -> Iterator[WireClient]:
    with dial(guest) as connection:
        connection.hello()
        yield connection


def dial(guest: Guest) -> WireClient:
    """The shared hub gives up on nobody so soon: these daemons send no heartbeats."""
    return WireClient("127.0.0.1", guest.port, guest.key, timeout_s=30)


def about(message: Message) -> Message:
    return {"task_id": message["task"]["id"], "attempt": message["attempt"]}


def begin(connection: WireClient, client: Client) -> tuple[str, Message]:
    """Join, and start a task: the daemon's id, and which attempt it is."""
    welcome = connection.hello()
    task = client.submit("go")
    this = about(connection.receive("task.execute"))
    connection.send({"type": "task.accepted", **this}, {"type": "task.started", **this})
    wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="running")
    return str(welcome["daemon_id"]), this


def test_a_task_travels_to_the_daemon_and_its_result_back(client: Client, daemon: WireClient) -> None:
    task = client.submit("hello", context={"a": 1}, payload={"n": [1, 2]})
    order = daemon.receive("task.execute")
    assert (order["task"]["id"], order["task"]["input"], order["attempt"]) == (task.id, "hello", 1)
    assert order["task"]["payload"] == {"n": [1, 2]}
    assert order["token"]
    daemon.send({"type": "task.accepted", **about(order)})
    daemon.send({"type": "task.started", **about(order)})
    wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="running")
    daemon.send({"type": "task.progress", **about(order), "percent": 40, "message": "reading", "log": "line\n"})
    daemon.send({"type": "task.completed", **about(order), "result": {"said": "hello"}, "summary": "done"})
    ack = daemon.receive("ack")
    assert (ack["task_id"], ack["attempt"]) == (task.id, 1)
    assert {"cluster_id", "epoch", "seq"} <= set(ack)
    done = client.task(task.id)
    assert (done.status, done.result, done.result_summary) == ("completed", {"said": "hello"}, "done")
    assert [line.text for line in client.log(task.id)] == ["line\n"]


def test_a_result_told_twice_is_acknowledged_twice_and_taken_once(client: Client, daemon: WireClient) -> None:
    task = client.submit("twice")
    this = about(daemon.receive("task.execute"))
    daemon.send({"type": "task.accepted", **this}, {"type": "task.started", **this})
    for result in ("first", "second"):
        daemon.send({"type": "task.completed", **this, "result": result})
        daemon.receive("ack")
    assert client.task(task.id).result == "first"
    assert [event.event for event in client.task_events(task.id)].count("task.completed") == 1


def test_a_cancelled_task_is_cancelled_when_the_daemon_says_so(client: Client, daemon: WireClient) -> None:
    task = client.submit("stop me")
    this = about(daemon.receive("task.execute"))
    daemon.send({"type": "task.accepted", **this}, {"type": "task.started", **this})
    wait_until(lambda: client.task(task.id).status == "running", within_s=30, what="running")
    client.cancel(task.id)
    order = daemon.receive("cancel_task")
    assert (order["task_id"], order["attempt"], order["reason"]) == (task.id, 1, "cancelled")
    assert client.task(task.id).status == "running"
    daemon.send({"type": "task.cancelled", **this, "reason": "cancelled"})
    wait_until(lambda: client.task(task.id).status == "cancelled", within_s=30, what="cancelled")


def test_a_newer_connection_supersedes_and_brings_its_list(guest: Guest, client: Client) -> None:
    older, newer = dial(guest), dial(guest)
    with older, newer:
        daemon_id, this = begin(older, client)
        inventory = [{**this, "state": "running"}]
        welcome = newer.hello(daemon_id=daemon_id, inventory=inventory)
        assert welcome["inventory"] == [{**this, "verdict": "continue"}]
        with pytest.raises(Closed) as closed:
            older.receive("nothing")
        assert closed.value.code == SUPERSEDED
        newer.send({"type": "task.completed", **this, "result": "from the newer"})
        newer.receive("ack")
    assert len(client.task(this["task_id"]).attempts) == 1


def test_a_new_process_has_lost_what_it_does_not_list(guest: Guest, client: Client) -> None:
    with dial(guest) as first:
        daemon_id, this = begin(first, client)
    with dial(guest) as second:
        second.hello(daemon_id=daemon_id, boot_id="boot-2")
        again = second.receive("task.execute")
        assert about(again) == {**this, "attempt": 2}
        assert client.task(this["task_id"]).attempts[0].status == "lost"
        second.send({"type": "task.completed", **about(again), "result": None})
        second.receive("ack")


def test_a_bad_frame_closes_the_socket_and_the_hub_goes_on(client: Client, daemon: WireClient) -> None:
    daemon.send_text("[" * 10_000 + "]" * 10_000)
    with pytest.raises(Closed) as closed:
        daemon.receive("nothing")
    assert closed.value.code == PROTOCOL
    assert client.healthz()


def test_a_socket_without_a_good_key_is_no_socket(guest: Guest) -> None:
    with pytest.raises(Refused) as refused:
        WireClient("127.0.0.1", guest.port, "tyk_wrong")
    assert refused.value.status in (401, 403)

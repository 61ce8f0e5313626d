"""Promises 8 and 9 through real sockets: bad input gets a clear error and changes nothing, and nobody sees another's.

Each kind of bad input is tested in `tests/gateway`; here a real hub has to stay well.
"""

import contextlib
import json
import socket
from collections.abc import Iterator

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.sdk.client import Client
from tests.acceptance.guests import Guest
from tests.support.live import LiveHub, get_status
from tests.support.raw_http import Answer, connect, head, is_closed, read_answer, request

pytestmark = pytest.mark.takes(11)

TASKS = "/api/v1/tasks"
MIB = 1024 * 1024
UNKNOWN_ID = "01900000-0000-7000-8000-000000000000"
CLOSED_S = 120.0
"""The hub closes them after 5 s and 10 s; the rest is for a busy machine."""


@pytest.fixture(autouse=True)
def unchanged(guest: Guest, client: Client) -> Iterator[None]:
    """Whatever a test of this module sends: it leaves no task that is alive, and the hub is well."""
    yield
    assert {task.status for task in client.tasks()} <= {"cancelled"}
    assert get_status(f"{guest.url}/readyz") == 200


def post(hub: Guest, body: bytes, **headers: str) -> Answer:
    return request(hub.port, "POST", TASKS, key=hub.key, body=body, headers=headers)


def refuses(answer: Answer, status: int, code: str) -> None:
    problem = answer.problem
    assert (answer.status, problem["status"], problem["code"]) == (status, status, code)
    assert problem["title"]
    assert problem["detail"]
    assert "Traceback" not in problem["detail"]


def test_bad_input_of_every_kind_is_refused_with_its_code(guest: Guest, client: Client) -> None:
    wrong_field = post(guest, b'{"input": "x", "execution": {"timeout": "soon"}}')
    refuses(wrong_field, 422, "INVALID_INPUT")
    assert "execution.timeout" in wrong_field.body.decode()
    refuses(post(guest, b"[" * 200_000), 422, "INVALID_INPUT")
    refuses(post(guest, b'{"input": "a\\u0000b"}'), 422, "INVALID_INPUT")
    refuses(post(guest, json.dumps({"input": "x" * MIB}).encode()), 413, "TOO_LARGE")
    refuses(post(guest, b'{"input": "x", "depends_on": ["T-999"]}'), 422, "DEPENDENCY_NOT_FOUND")
    one_bad = json.dumps({"tasks": [{"input": "good"}, {"input": 7}]}).encode()
    refuses(request(guest.port, "POST", f"{TASKS}/batch", key=guest.key, body=one_bad), 422, "INVALID_INPUT")
    refuses(request(guest.port, "GET", f"{TASKS}?cursor=%00", key=guest.key), 422, "INVALID_INPUT")
    assert request(guest.port, "GET", f"{TASKS}/..%2f..%2fetc", key=guest.key).status == 404
    refuses(post(guest, b'{"input": "x"}', Host="evil.example"), 403, "FORBIDDEN")
    refuses(post(guest, b'{"input": "x"}', Origin="https://evil.example"), 403, "FORBIDDEN")
    kept = client.submit("first", idempotency_key="once", scheduled_for="2099-01-01T00:00:00Z")
    refuses(post(guest, b'{"input": "second"}', **{"Idempotency-Key": "once"}), 422, "IDEMPOTENCY_KEY_REUSED")
    client.cancel(kept.id)


def test_twenty_mebibytes_are_refused_and_not_kept(guest: Guest) -> None:
    hub = psutil.Process(guest.pid)
    before = hub.memory_info().rss
    body = b'{"input": "' + b"x" * (20 * MIB) + b'"}'
    for _ in range(5):
        refuses(post(guest, body), 413, "TOO_LARGE")
        refuses(chunked(guest, body), 413, "TOO_LARGE")
    assert hub.memory_info().rss - before < 64 * MIB


def chunked(hub: Guest, body: bytes) -> Answer:
    """Without saying beforehand how much it will be."""
    given = {
        **{"Host": f"127.0.0.1:{hub.port}", "Authorization": f"Bearer {hub.key}"},
        **{"Transfer-Encoding": "chunked", "Content-Type": "application/json", "Connection": "close"},
    }
    with connect(hub.port) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(head("POST", TASKS, given.items()))
            for start in range(0, len(body), MIB):
                part = body[start : start + MIB]
                connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")
            connection.sendall(b"0\r\n\r\n")
        return read_answer(connection)


def test_anothers_task_looks_like_one_that_never_was(guest: Guest, client: Client, shared_hub: LiveHub) -> None:
    """Nothing tells user B whether an id exists: same status, same body, on every route that takes one."""
    stranger = Guest(shared_hub).key
    mine = client.submit("mine", scheduled_for="2099-01-01T00:00:00Z")
    routes = [
        *(("GET", ""), ("DELETE", ""), ("PATCH", ""), ("POST", "/retry"), ("POST", "/skip"), ("GET", "/events")),
        *(
            ("GET", "/log"),
            ("POST", "/complete"),
            ("POST", "/progress"),
            ("POST", "/checkpoint"),
            ("POST", "/heartbeat"),
        ),
    ]
    bodies = {"PATCH": b'{"priority": "low"}', "/complete": b'{"status": "completed", "attempt": 1}'}
    for method, tail in routes:
        body = bodies.get(tail) or bodies.get(method) or (b'{"attempt": 1}' if method == "POST" else b"")
        seen = {
            (answer.status, answer.body.replace(task_id.encode(), b"ID"))
            for task_id in (mine.id, UNKNOWN_ID)
            for answer in [request(guest.port, method, f"{TASKS}/{task_id}{tail}", key=stranger, body=body)]
        }
        assert len(seen) == 1, (method, tail, seen)
        assert {status for status, _ in seen} <= {404, 422}, (method, tail, seen)
    assert client.task(mine.id).status == "pending"
    client.cancel(mine.id)


@pytest.mark.slow
def test_slow_heads_and_silent_sockets_are_closed_while_others_are_served(guest: Guest) -> None:
    """A hundred heads that never end, and a hundred sockets that upgrade and say nothing."""
    opening = head("GET", TASKS, [("Host", f"127.0.0.1:{guest.port}")])
    slow = [connect(guest.port) for _ in range(100)]
    for connection in slow:
        connection.sendall(opening[:-3])
    silent = [half_open(guest) for _ in range(100)]
    with contextlib.ExitStack() as stack:
        for connection in (*slow, *silent):
            stack.enter_context(connection)
        for _ in range(20):
            assert request(guest.port, "GET", TASKS, key=guest.key).status == 200
        assert not is_closed(slow[-1], within_s=0.01), "requests waited for those who say nothing"
        assert all(is_closed(connection, within_s=CLOSED_S) for connection in silent)
        for connection in slow:
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"X")
        assert all(is_closed(connection, within_s=CLOSED_S) for connection in slow)


def half_open(hub: Guest) -> socket.socket:
    """A WebSocket that is upgraded and then says nothing."""
    connection = connect(hub.port)
    asked = [
        *(("Host", f"127.0.0.1:{hub.port}"), ("Authorization", f"Bearer {hub.key}"), ("Connection", "Upgrade")),
        *(("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "MDEyMzQ1Njc4OWFiY2RlZg==")),
    ]
    connection.sendall(head("GET", "/api/v1/daemons/connect", asked))
    assert connection.recv(12) == b"HTTP/1.1 101"
    return connection

"""Promises 8 and 9 through real sockets: bad input gets a clear error and changes nothing, and nobody sees another's.

Shapes and sizes are tested one by one in `tests/gateway`; here it is the whole hub that has to stay well.
"""

import contextlib
import json
import socket
import time
from collections.abc import Iterator

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.sdk.client import Client
from tests.support.live import LiveHub, get_status
from tests.support.raw_http import Answer, connect, head, is_closed, read_answer, request

pytestmark = pytest.mark.takes(15)

TASKS = "/api/v1/tasks"
MIB = 1024 * 1024
UNKNOWN_ID = "01900000-0000-7000-8000-000000000000"
HEAD_S, HELLO_S = 10.0, 5.0


@pytest.fixture(autouse=True)
def unchanged(shared_hub: LiveHub, client: Client) -> Iterator[None]:
    """Whatever a test of this module sends: it leaves no task that is alive, and the hub is well."""
    yield
    assert {task.status for task in client.tasks()} <= {"cancelled"}
    assert get_status(f"{shared_hub.url}/readyz") == 200


def post(hub: LiveHub, body: bytes, **headers: str) -> Answer:
    return request(hub.port, "POST", TASKS, key=hub.key, body=body, headers=headers)


def refuses(answer: Answer, status: int, code: str) -> None:
    problem = answer.problem
    assert (answer.status, problem["status"], problem["code"]) == (status, status, code)
    assert problem["title"]
    assert problem["detail"]
    assert "Traceback" not in problem["detail"]


# --- bodies ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b'{"input": 7}', "input"),
        (b'{"input": null}', "input"),
        (b'{"input": "x", "priority": 11}', "priority"),
        (b'{"input": "x", "priority": []}', "priority"),
        (b'{"input": "x", "execution": {"timeout": "soon"}}', "execution.timeout"),
        (b'{"input": "x", "execution": {"timeout": -1}}', "execution.timeout"),
        (b'{"input": "x", "execution": {"max_attempts": 1.5}}', "execution.max_attempts"),
        (b'{"input": "x", "deadline": "tomorrow"}', "deadline"),
        (b'{"input": "x", "depends_on": "T-001"}', "depends_on"),
        (b'{"input": "x", "requirements": {"capabilities": [1]}}', "requirements.capabilities"),
        (b'{"input": "x", "source": {"type": "martian"}}', "source.type"),
        (b'{"input": "x", "inptu": "y"}', "inptu"),
        (b'{"input": "x", "execution": {"timeuot": 3}}', "timeuot"),
        (b"{}", "input"),
    ],
)
def test_a_wrong_field_is_named(shared_hub: LiveHub, body: bytes, path: str) -> None:
    answer = post(shared_hub, body)
    refuses(answer, 422, "INVALID_INPUT")
    assert path in answer.body.decode()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b"[]",
        b'"x"',
        b'{"input": "x"',
        b'{"input": "a\\u0000b"}',
        b'{"input": "a\x00b"}',
        b'{"input": "\xff\xfe"}',
        b'{"input": "\\ud800"}',
        b'{"input": "x", "payload": {"a": "\xff\xfe"}}',
        b'{"input": "x", "payload": {"\xff": 1}}',
        b'{"input": "x", "payload": {"a": "\\ud800"}}',
        b'{"input": "x", "payload": {"a": "\\u0000"}}',
        b'{"input": "x", "payload": {"n": NaN}}',
        b'{"input": "x", "payload": {"n": 1e400}}',
        b'{"input": "x", "payload": {"n": ' + b"9" * 100_000 + b"}}",
        b'{"input": "x", "payload": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}",
        b'{"input": "x", "payload": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b"[" * 200_000,
    ],
    ids=[
        *("nothing", "words", "list", "text", "cut", "nul escape", "nul byte", "no utf-8", "half a surrogate"),
        *("no utf-8 inside", "no utf-8 in a name", "half a surrogate inside", "nul inside"),
        *("nan", "endless number", "long number", "deep objects", "deep lists", "deeper"),
    ],
)
def test_what_is_no_submission_is_refused(shared_hub: LiveHub, body: bytes) -> None:
    refuses(post(shared_hub, body), 422, "INVALID_INPUT")


@pytest.mark.parametrize("field", ["input", "title", "context", "payload"])
def test_a_field_of_a_mebibyte_is_too_large(shared_hub: LiveHub, field: str) -> None:
    long = "x" * MIB
    value: object = {"a": long} if field in ("context", "payload") else long
    answer = post(shared_hub, json.dumps({"input": "x", field: value}).encode())
    refuses(answer, answer.status, answer.problem["code"])
    assert (answer.status, answer.problem["code"]) in ((413, "TOO_LARGE"), (422, "INVALID_INPUT"))
    assert field in answer.body.decode()


def test_twenty_mebibytes_are_refused_and_not_kept(shared_hub: LiveHub) -> None:
    hub = psutil.Process(shared_hub.process.pid)
    before = hub.memory_info().rss
    body = b'{"input": "' + b"x" * (20 * MIB) + b'"}'
    for _ in range(5):
        refuses(post(shared_hub, body), 413, "TOO_LARGE")
        refuses(chunked(shared_hub, body), 413, "TOO_LARGE")
    assert hub.memory_info().rss - before < 64 * MIB


def chunked(hub: LiveHub, body: bytes) -> Answer:
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


def test_a_batch_with_one_bad_task_stores_none(shared_hub: LiveHub) -> None:
    body = json.dumps({"tasks": [{"input": "good"}, {"input": 7}]}).encode()
    refuses(request(shared_hub.port, "POST", f"{TASKS}/batch", key=shared_hub.key, body=body), 422, "INVALID_INPUT")
    cycle = [{"input": "a", "name": "a", "depends_on": ["b"]}, {"input": "b", "name": "b", "depends_on": ["a"]}]
    body = json.dumps({"tasks": cycle}).encode()
    refuses(request(shared_hub.port, "POST", f"{TASKS}/batch", key=shared_hub.key, body=body), 422, "DEPENDENCY_CYCLE")
    body = b'{"input": "x", "depends_on": ["T-999"]}'
    refuses(post(shared_hub, body), 422, "DEPENDENCY_NOT_FOUND")


# --- addresses and names -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/tasks/%00", "/api/v1/tasks/%ff", "/api/v1/tasks/..%2f..%2fetc", "/api/v1/tasks/" + "a" * 5_000),
        *("/api/v1/tasks/T-0", "/api/v1/tasks/T-99999999999999999999", "/api/v1/tasks/' OR 1=1 --".replace(" ", "%20")),
        *("/api/v1/nothing", "/api/v2/tasks", "/../../etc/passwd", "//", "/api/v1/tasks/%F0%9F%92%A9"),
    ],
)
def test_an_address_that_leads_nowhere(shared_hub: LiveHub, path: str) -> None:
    answer = request(shared_hub.port, "GET", path, key=shared_hub.key)
    assert answer.status in (404, 422)
    assert answer.problem["detail"]


@pytest.mark.parametrize(
    "query", ["?limit=0", "?limit=501", "?limit=x", "?cursor=%00", "?cursor=zzz", "?status=no", "?nonsense=1", "?q=%ff"]
)
def test_a_wrong_question_is_named(shared_hub: LiveHub, query: str) -> None:
    refuses(request(shared_hub.port, "GET", TASKS + query, key=shared_hub.key), 422, "INVALID_INPUT")


def test_anothers_task_looks_like_one_that_never_was(shared_hub: LiveHub, client: Client) -> None:
    """Nothing tells user B whether an id exists: same status, same body, on every route that takes one."""
    name = f"b-{time.monotonic_ns()}"
    user = client.add_user(name)
    stranger = client.add_key(user.id, name="b", scopes=["tasks", "daemon"]).key
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
            for answer in [request(shared_hub.port, method, f"{TASKS}/{task_id}{tail}", key=stranger, body=body)]
        }
        assert len(seen) == 1, (method, tail, seen)
        assert {status for status, _ in seen} <= {404, 422}, (method, tail, seen)
    assert client.task(mine.id).status == "pending"
    client.cancel(mine.id)
    client.change_user(user.id, name=f"gone-{name}")


def test_the_same_key_with_other_content_is_refused(shared_hub: LiveHub, client: Client) -> None:
    kept = client.submit("first", idempotency_key="once", scheduled_for="2099-01-01T00:00:00Z")
    refuses(post(shared_hub, b'{"input": "second"}', **{"Idempotency-Key": "once"}), 422, "IDEMPOTENCY_KEY_REUSED")
    again = client.submit("first", idempotency_key="once", scheduled_for="2099-01-01T00:00:00Z")
    assert (again.id, again.deduplicated) == (kept.id, True)
    client.cancel(kept.id)


# --- connections -------------------------------------------------------------------------------------------


def test_a_request_for_another_name_or_from_another_page_is_refused(shared_hub: LiveHub) -> None:
    body = b'{"input": "x"}'
    refuses(post(shared_hub, body, Host="evil.example"), 403, "FORBIDDEN")
    refuses(post(shared_hub, body, Host=""), 403, "FORBIDDEN")
    refuses(post(shared_hub, body, Origin="https://evil.example"), 403, "FORBIDDEN")
    refuses(post(shared_hub, body, Origin="null"), 403, "FORBIDDEN")
    upgrade = {"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="}
    path = "/api/v1/daemons/connect"
    foreign = {**upgrade, "Connection": "Upgrade", "Origin": "https://evil.example"}
    assert request(shared_hub.port, "GET", path, key=shared_hub.key, headers=foreign).status == 403


@pytest.mark.parametrize("raw", [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"HELLO\r\n\r\n", b"\0" * 1000])
def test_what_is_no_http_is_hung_up_on(shared_hub: LiveHub, raw: bytes) -> None:
    with connect(shared_hub.port) as connection:
        connection.sendall(raw)
        assert is_closed(connection, within_s=HEAD_S + 10)


@pytest.mark.slow
def test_slow_heads_and_silent_sockets_are_closed_while_others_are_served(shared_hub: LiveHub) -> None:
    """A hundred heads that never end, and a hundred sockets that upgrade and say nothing."""
    opening = head("GET", TASKS, [("Host", f"127.0.0.1:{shared_hub.port}")])
    slow = [connect(shared_hub.port) for _ in range(100)]
    for connection in slow:
        connection.sendall(opening[:-3])
    silent = [half_open(shared_hub) for _ in range(100)]
    with contextlib.ExitStack() as stack:
        for connection in (*slow, *silent):
            stack.enter_context(connection)
        began = time.monotonic()
        while time.monotonic() - began < 1:
            asked = time.monotonic()
            assert request(shared_hub.port, "GET", TASKS, key=shared_hub.key).status == 200
            assert time.monotonic() - asked < HELLO_S, "it waited for those who say nothing"
        assert all(is_closed(connection, within_s=HELLO_S + 20) for connection in silent)
        for connection in slow:
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"X")
        assert all(is_closed(connection, within_s=HEAD_S + 20) for connection in slow)


def half_open(hub: LiveHub) -> socket.socket:
    """A WebSocket that is upgraded and then says nothing."""
    connection = connect(hub.port)
    asked = [
        *(("Host", f"127.0.0.1:{hub.port}"), ("Authorization", f"Bearer {hub.key}"), ("Connection", "Upgrade")),
        *(("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "MDEyMzQ1Njc4OWFiY2RlZg==")),
    ]
    connection.sendall(head("GET", "/api/v1/daemons/connect", asked))
    assert connection.recv(12) == b"HTTP/1.1 101"
    return connection

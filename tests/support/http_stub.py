"""A hub that says what it is told to say: real sockets and threads, canned answers, faults on demand.

It knows no rule of Taskyard. Tests of the clients and of the command line script it: for each route a row
of answers, given one per call, the last one for ever. What was asked is kept in `calls`.
"""

import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec
from msgspec import Struct, field

KEY: Final = "ty_test"


class Reply(Struct, kw_only=True):
    """An ordinary answer."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = {}


class Reset(Struct):
    """The connection is torn down without an answer, as by a hub that is killed."""


class Stream(Struct):
    """An event stream: chunks as given, then cut off unless `torn` is false, which ends it in order."""

    chunks: Sequence[bytes]
    torn: bool = True
    content_type: str = "text/event-stream"


Answer = Reply | Reset | Stream


class Call(Struct, kw_only=True):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any = None


class StubHub(Struct):
    url: str
    calls: list[Call] = field(default_factory=list)
    answers: dict[tuple[str, str], list[Answer]] = field(default_factory=lambda: defaultdict(list))
    lock: threading.Lock = field(default_factory=threading.Lock)

    def on(self, method: str, path: str, *answers: Answer) -> None:
        """What to answer there from now on. Paths without a leading slash are under `/api/v1`."""
        with self.lock:
            self.answers[method, path if path.startswith("/") else f"/api/v1/{path}"] = list(answers)

    def answer_to(self, call: Call) -> Answer:
        with self.lock:
            self.calls.append(call)
            row = self.answers.get((call.method, call.path))
            if not row:
                return problem(404, "NOT_FOUND", f"The stub has nothing at {call.method} {call.path}.")
            return row.pop(0) if len(row) > 1 else row[0]

    def asked(self, method: str, path: str) -> list[Call]:
        """The calls of one route so far."""
        with self.lock:
            return [call for call in self.calls if (call.method, call.path) == (method, f"/api/v1/{path}")]


def problem(status: int, code: str, detail: str, *, retry_after: int | None = None, **more: object) -> Reply:
    headers = {"Content-Type": "application/problem+json"}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    body = {"status": status, "code": code, "title": code, "detail": detail, **more}
    return Reply(status=status, body=body, headers=headers)


def a_task(**fields: object) -> dict[str, object]:
    """A task as the hub answers it."""
    return {
        "id": "01900000-0000-7000-8000-000000000002",
        "ref": "T-002",
        "user_id": "u_1",
        "status": "queued",
        "type": "echo",
        "title": None,
        "input": "hello",
        "source": {"type": "user", "id": None, "channel": "api"},
        "priority": "normal",
        "priority_value": 5,
        "queue": "default",
        "depends_on": [],
        "requirements": {"capabilities": []},
        "execution": {"timeout": 300, "max_attempts": 3},
        "attempts": [],
        "progress": None,
        "result": None,
        "created_at": "2026-01-01T00:00:00.125Z",
        "deduplicated": False,
        "a_field_of_a_newer_hub": True,
    } | fields


def an_event(event_id: str | None, name: str, **fields: object) -> bytes:
    """One event as it stands in the stream."""
    data = {"id": event_id, "event": name, "at": "2026-01-01T00:00:00Z", "ref": "T-002", "data": {}} | fields
    head = f"id: {event_id}\n" if event_id is not None else ""
    return f"{head}event: {name}\ndata: {msgspec.json.encode(data).decode()}\n\n".encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    hub: StubHub

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away in the middle is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm: ClassVar[bool] = True
    server: _Server

    def _serve(self) -> None:
        address = urlsplit(self.path)
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        call = Call(
            method=self.command,
            path=address.path,
            query=dict(parse_qsl(address.query)),
            headers={name.lower(): value for name, value in self.headers.items()},
            body=msgspec.json.decode(raw) if raw else None,
        )
        match self.server.hub.answer_to(call):
            case Reply() as reply:
                self._reply(reply)
            case Stream() as stream:
                self._stream(stream)
            case Reset():
                self._reset()

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _serve

    def _reply(self, reply: Reply) -> None:
        body = reply.body if isinstance(reply.body, bytes) else msgspec.json.encode(reply.body)
        body = b"" if reply.status == 204 else body
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, stream: Stream) -> None:
        self.send_response(200)
        self.send_header("Content-Type", stream.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for chunk in stream.chunks:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        if stream.torn:
            # In order, so that what was sent arrives; a reset could overtake it.
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _reset(self) -> None:
        # Lingering zero seconds makes the kernel send a reset instead of a farewell.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Tests have their own output."""


@contextmanager
def running_stub() -> Iterator[StubHub]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.hub = StubHub(url=f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""The rows about repeated fields, several requests on one connection and what comes after HTTP; see `http_rows.py`."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from tests.support.http_body_rows import CHUNKS, CODINGS, LENGTHS, TRAILERS, chunked, task_with, unsigned
from tests.support.http_rows import (
    CHUNKED,
    FIELDS,
    GET,
    HOST,
    HOSTS,
    KEY,
    LENGTH,
    POST,
    REQUEST_LINES,
    TARGETS,
    TASK,
    VERSIONS,
    Row,
    chunks,
    head,
    row,
)

KEY_CHARS: Final = len("tyk_") + 43
NEXT: Final = head(GET, HOST)
WHOLE: Final = head(POST, HOST, KEY, LENGTH) + TASK

REPEATED: Final = [
    *(
        row(f"{name}", 400, "ADR 31", task_with(LENGTH, f"{name}: {one}", f"{name}: {other}"))
        for name, one, other in [
            ("Authorization", "Bearer KEY", "Bearer x"),
            ("Idempotency-Key", "a", "b"),
            ("idempotency-key", "a", "a"),
            ("Content-Type", "application/json", "text/plain"),
            ("Origin", "http://localhost", "http://evil.example"),
            ("Cookie", "a=b", "c=d"),
            ("X-Taskyard-Request", "1", "1"),
            ("Last-Event-ID", "1-1-1", "1-1-2"),
            ("Content-Encoding", "identity", "identity"),
        ]
    ),
    row("Authorization for nothing", 400, "ADR 31", head(GET, HOST, KEY, KEY)),
    row(
        "traceparent",
        201,
        "ADR 31",
        task_with(LENGTH, f"traceparent: 00-{'1' * 32}-{'2' * 16}-01", f"traceparent: 00-{'3' * 32}-{'4' * 16}-01"),
        open=True,
    ),
    row("tracestate", 201, "9110 5.3", task_with(LENGTH, "tracestate: a=b", "tracestate: c=d"), open=True),
    row("Accept", 201, "9110 5.3", task_with(LENGTH, "Accept: text/html", "Accept: application/json"), open=True),
    row(
        "X-Forwarded-For",
        201,
        "9110 5.3",
        task_with(LENGTH, "X-Forwarded-For: 1.1.1.1", "X-Forwarded-For: 2.2.2.2"),
        open=True,
    ),
    row("a field 3,000 times", 201, "9110 5.3", task_with(LENGTH, *["A: b"] * 3000), open=True),
]

PIPELINES: Final = [
    row("two", (200, 200), "9.3.2", NEXT * 2, open=True),
    row("twenty", (200,) * 20, "9.3.2", NEXT * 20, open=True),
    row("a thousand", (200,) * 65, "ADR 31", NEXT * 1000),
    row("a task and another", (201, 201), "9.3.2", WHOLE * 2, open=True),
    row(
        "different answers",
        (200, 201, 404, 401),
        "9.3.2",
        NEXT + WHOLE + head("GET /no HTTP/1.1", HOST) + unsigned(LENGTH, body=TASK),
        open=None,
    ),
    row("empty lines between", (200, 200), "2.2", NEXT + "\r\n\r\n" + NEXT, open=True),
    row("rubbish after one", (200, 400), "9.3.2", NEXT + "rubbish\r\n\r\n"),
    row("rubbish after a task", (201, 400), "9.3.2", WHOLE + "rubbish\r\n\r\n" + NEXT),
    row("rubbish after three", (200, 200, 200, 400), "9.3.2", NEXT * 3 + "\0"),
    row("an absolute target after one", (201, 400), "9.3.2", WHOLE + head("GET http://a/ HTTP/1.1", HOST) + NEXT),
    row("a bad chunk after one", (200, 400), "9.3.2", NEXT + chunked("x\r\n") + NEXT),
    row("two Hosts after one", (200, 400), "9.3.2", NEXT + head(GET, HOST, HOST) + NEXT),
    row("rubbish behind two Hosts", (200, 400), "9.6", NEXT + head(GET, HOST, HOST) + "rubbish\0", NEXT),
    row("close, and another", 200, "9.6", head(GET, HOST, "Connection: close") + NEXT),
    row("close and a task", 200, "9.6", head(GET, HOST, "Connection: close") + WHOLE),
    row("close in a list", 200, "9.6", head(GET, HOST, "Connection: keep-alive, close") + NEXT),
    row("close twice", 200, "9.6", head(GET, HOST, "Connection: close", "Connection: keep-alive") + NEXT),
    row("close in capitals", 200, "9.6", head(GET, HOST, "Connection: CLOSE") + NEXT),
    row(
        "a length for one reader, chunks for another",
        400,
        "11.2",
        task_with("Content-Length: 4", CHUNKED, body=f"0\r\n\r\n{NEXT}"),
    ),
    row(
        "chunks for one reader, a length for another",
        400,
        "11.2",
        task_with(CHUNKED, "Content-Length: 4", body=f"0\r\n\r\n{NEXT}"),
    ),
    row(
        "a coding for one reader",
        400,
        "11.2",
        task_with("Transfer-Encoding: xchunked", "Content-Length: 5", body=f"0\r\n\r\n{NEXT}"),
    ),
    row(
        "a coding with a blank", 400, "11.2", task_with("Transfer-Encoding : chunked", LENGTH, body=f"0\r\n\r\n{NEXT}")
    ),
    row("a coding after LF", 400, "11.2", task_with(f"A: b\n{CHUNKED}", LENGTH, body=f"0\r\n\r\n{NEXT}")),
    row("a coding after CR", 400, "11.2", task_with(f"A: b\r{CHUNKED}", LENGTH, body=f"0\r\n\r\n{NEXT}")),
    row("a coding in a fold", 400, "11.2", task_with(f"A: b\r\n {CHUNKED}", LENGTH, body=f"0\r\n\r\n{NEXT}")),
    row("two codings", 400, "11.2", task_with("Transfer-Encoding: gzip", CHUNKED, body=f"0\r\n\r\n{NEXT}")),
    row("a request in a body", 422, "11.2", task_with(f"Content-Length: {len(NEXT)}", body=NEXT), open=True),
    row(
        "a request in the body of GET",
        200,
        "11.2",
        head(GET, HOST, f"Content-Length: {len(WHOLE) + KEY_CHARS - len('KEY')}") + WHOLE,
        open=None,
    ),
    row("a request in a body, unsigned", 401, "11.2", unsigned(f"Content-Length: {len(NEXT)}", body=NEXT), open=None),
    row("a request in an extension", 400, "11.2", chunked(f"d;{NEXT}{TASK}\r\n0\r\n\r\n")),
    row("a request in a trailer", 400, "11.2", chunked(chunks(TASK, last=f"0\r\n{NEXT}"))),
]

EXPECTATIONS: Final = [
    row("100-continue", 201, "9110 10.1.1", task_with(LENGTH, "Expect: 100-continue"), open=True),
    row(
        "100-continue, then the body",
        201,
        "9110 10.1.1",
        task_with(LENGTH, "Expect: 100-continue", body=""),
        TASK,
        open=True,
    ),
    row(
        "100-continue of 1.0",
        201,
        "9110 10.1.1",
        head(POST[:-1] + "0", HOST, KEY, LENGTH, "Expect: 100-continue") + TASK,
    ),
    row("100-continue without a key", 401, "9110 10.1.1", unsigned("Content-Length: 99999999", "Expect: 100-continue")),
    row("another", 201, "9110 10.1.1", task_with(LENGTH, "Expect: 200-ok"), open=True),
    row("twice", 201, "9110 10.1.1", task_with(LENGTH, "Expect: 100-continue", "Expect: 100-continue"), open=True),
]

UPGRADE: Final = ("Connection: Upgrade", "Upgrade: websocket")
SOCKET: Final = "GET /api/v1/daemons/connect HTTP/1.1"
ASKED: Final = ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")
UPGRADES: Final = [
    row(
        "to HTTP/2",
        200,
        "9110 7.8",
        head(GET, HOST, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AA"),
        open=True,
    ),
    row("to HTTP/2, with a task", 201, "9110 7.8", task_with(LENGTH, "Connection: Upgrade", "Upgrade: h2c"), open=True),
    row(
        "to HTTP/2, and another",
        (201, 200),
        "9110 7.8",
        task_with(LENGTH, "Connection: Upgrade", "Upgrade: h2c") + NEXT,
        open=True,
    ),
    row(
        "to HTTP/2, forty times",
        (200,) * 40,
        "9110 7.8",
        head(GET, HOST, "Connection: Upgrade", "Upgrade: h2c") * 40,
        open=True,
    ),
    row("to TLS", 200, "9110 7.8", head(GET, HOST, "Connection: Upgrade", "Upgrade: TLS/1.0"), open=True),
    row(
        "to one of two",
        401,
        "9110 7.8",
        head(SOCKET, HOST, "Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c", *ASKED),
        open=True,
    ),
    row("unnamed by Connection", 401, "9110 7.8", head(SOCKET, HOST, "Upgrade: websocket", *ASKED), open=True),
    row("of POST", 405, "RFC 6455 4.1", head(SOCKET.replace("GET", "POST"), HOST, KEY, *UPGRADE, *ASKED)),
    row("of 1.0", 401, "9110 7.8", head(SOCKET[:-1] + "0", HOST, *UPGRADE, *ASKED)),
    row("of 2.0", 400, "ADR 31", head(SOCKET[:-3] + "2.0", HOST, *UPGRADE, *ASKED)),
    row(
        "for another host", 400, "ADR 31", head("GET http://a/api/v1/daemons/connect HTTP/1.1", HOST, *UPGRADE, *ASKED)
    ),
    msgspec.structs.replace(
        row("after an unanswered task", (201, 400), "9.3.2", WHOLE + head(SOCKET, HOST, KEY, *UPGRADE, *ASKED)),
        is_cut=False,
    ),
    row("without Host", 400, "3.2", head(SOCKET, KEY, *UPGRADE, *ASKED)),
    row("with two Hosts", 400, "3.2", head(SOCKET, HOST, HOST, KEY, *UPGRADE, *ASKED)),
    row("with a comma in Host", 400, "ADR 31", head(SOCKET, "Host: localhost, a", KEY, *UPGRADE, *ASKED)),
    row("with two keys", 400, "ADR 31", head(SOCKET, HOST, KEY, KEY, *UPGRADE, *ASKED)),
    row(
        "with two Origins",
        400,
        "ADR 31",
        head(SOCKET, HOST, KEY, "Origin: http://localhost", "Origin: http://a", *UPGRADE, *ASKED),
    ),
    row("without a key", 401, "9110 15.5.2", head(SOCKET, HOST, *UPGRADE, *ASKED)),
    row("with a blank before a colon", 400, "5.1", head(SOCKET, HOST, "Authorization : Bearer KEY", *UPGRADE, *ASKED)),
]

GROUPS: Final[Mapping[str, Sequence[Row]]] = {
    "request lines": REQUEST_LINES,
    "versions": VERSIONS,
    "targets": TARGETS,
    "fields": FIELDS,
    "hosts": HOSTS,
    "repeated fields": REPEATED,
    "lengths": LENGTHS,
    "codings": CODINGS,
    "chunks": CHUNKS,
    "trailers": TRAILERS,
    "pipelines": PIPELINES,
    "expectations": EXPECTATIONS,
    "upgrades": UPGRADES,
}

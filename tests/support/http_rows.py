"""Requests of the kinds that public corpora abuse servers with: what each must be answered, and where that stands.

Sections are of RFC 9112 unless they name RFC 9110 (`9110 5.3`) or our own decision (`ADR 31`). `KEY` stands for a key
that may submit. Rows whose connection is good for another request say `open`, and are asked one more.
"""

from typing import Final

from msgspec import Struct

HOST: Final = "Host: localhost"
KEY: Final = "Authorization: Bearer KEY"
CHUNKED: Final = "Transfer-Encoding: chunked"
POST: Final = "POST /api/v1/tasks HTTP/1.1"
GET: Final = "GET /healthz HTTP/1.1"
TASK: Final = '{"input":"a"}'
LENGTH: Final = f"Content-Length: {len(TASK)}"


class Row(Struct):
    name: str
    statuses: tuple[int, ...]
    """Of every answer there must be, in their order."""
    section: str
    pieces: tuple[bytes, ...]
    is_open: bool | None = False
    """None: where the body came after its answer it is closed."""
    is_cut: bool = True
    """Whether it may come in several packets and mean the same."""


def head(*lines: str) -> str:
    return "".join(f"{line}\r\n" for line in lines) + "\r\n"


def row(name: str, statuses: int | tuple[int, ...], section: str, *pieces: str, open: bool | None = False) -> Row:
    several = (statuses,) if isinstance(statuses, int) else statuses
    return Row(name, several, section, tuple(piece.encode("latin-1") for piece in pieces), open)


def chunks(*parts: str, last: str = "0\r\n\r\n") -> str:
    return "".join(f"{len(part):x}\r\n{part}\r\n" for part in parts) + last


def task_in(body: str, *fields: str) -> str:
    return head(POST, HOST, KEY, CHUNKED, *fields) + body


def get_with(field: str) -> str:
    return head(GET, HOST, field)


REQUEST_LINES: Final = [
    row("plain", 200, "3", head(GET, HOST), open=True),
    row("empty line before", 200, "2.2", "\r\n" + head(GET, HOST), open=True),
    row("many empty lines before", 200, "2.2", "\r\n" * 50 + head(GET, HOST), open=True),
    row("blank before", 400, "3", " " + head(GET, HOST)),
    row("two blanks", 200, "3", head("GET  /healthz HTTP/1.1", HOST), open=True),
    row("tab for a blank", 400, "3", head("GET\t/healthz HTTP/1.1", HOST)),
    row("tab before the version", 400, "3", head("GET /healthz\tHTTP/1.1", HOST)),
    row("blank after the version", 400, "3", head("GET /healthz HTTP/1.1 ", HOST)),
    row("four words", 400, "3", head("GET /healthz a HTTP/1.1", HOST)),
    row("one word", 400, "3", head("GET", HOST)),
    row("no version", 400, "3", head("GET /healthz", HOST)),
    row("no target", 400, "3", head("GET HTTP/1.1", HOST)),
    row("nothing", 400, "3", head("HTTP/1.1", HOST)),
    row("LF alone ends the line", 400, "2.2", "GET /healthz HTTP/1.1\nHost: localhost\n\n"),
    row("CR alone ends the line", 400, "2.2", "GET /healthz HTTP/1.1\rHost: localhost\r\r"),
    row("CR in the method", 400, "2.2", head("GE\rT /healthz HTTP/1.1", HOST)),
    row("CR in the target", 400, "2.2", head("GET /heal\rthz HTTP/1.1", HOST)),
    row("LF in the target", 400, "2.2", head("GET /heal\nthz HTTP/1.1", HOST)),
    row("CRLF in the target", 400, "2.2", head("GET /heal\r\nthz HTTP/1.1", HOST)),
    row("NUL in the method", 400, "3.1", head("GE\0T /healthz HTTP/1.1", HOST)),
    row("NUL in the target", 400, "3.2", head("GET /heal\0thz HTTP/1.1", HOST)),
    row("NUL in the version", 400, "2.3", head("GET /healthz HTTP/1.\0", HOST)),
    row("NUL alone", 400, "3", "\0"),
    row("unknown method", 400, "3.1", head("BREW /healthz HTTP/1.1", HOST)),
    row("method in small letters", 400, "3.1", head("get /healthz HTTP/1.1", HOST)),
    row("method of another protocol", 400, "3.1", head("DESCRIBEX /healthz HTTP/1.1", HOST)),
    row("method that this address has not", 405, "9110 15.5.6", head("DELETE /healthz HTTP/1.1", HOST), open=True),
    row("TRACE", 405, "9110 9.3.8", head("TRACE /healthz HTTP/1.1", HOST), open=True),
    row("method without end", 400, "3.1", "A" * 10_000),
    row("TLS", 400, "3", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    row("SSH", 400, "3", "SSH-2.0-OpenSSH_9.2\r\n"),
    row("SMTP", 400, "3", "EHLO localhost\r\n"),
    row("proxy protocol 1", 400, "3", "PROXY TCP4 1.2.3.4 1.2.3.4 5 80\r\n" + head(GET, HOST)),
    row("proxy protocol 2", 400, "3", "\r\n\r\n\0\r\nQUIT\n!\x11\0\x0c"),
    row("byte order mark", 400, "3", "\xef\xbb\xbf" + head(GET, HOST)),
    row("an answer", 400, "3", head("HTTP/1.1 200 OK", "Content-Length: 0")),
]

VERSIONS: Final = [
    row("0.9", 400, "2.3", "GET /healthz\r\n\r\n"),
    row("0.9 named", 400, "2.3", head("GET /healthz HTTP/0.9")),
    row("1.0", 200, "9.3", head("GET /healthz HTTP/1.0", HOST)),
    row("1.0 that would stay", 200, "9.3", head("GET /healthz HTTP/1.0", HOST, "Connection: keep-alive")),
    row("1.0 without Host", 403, "3.2", head("GET /healthz HTTP/1.0")),
    row("1.0 with chunks", 400, "6.1", head(POST[:-1] + "0", HOST, KEY, CHUNKED) + chunks(TASK)),
    row("1.0 with a length", 201, "6.2", head(POST[:-1] + "0", HOST, KEY, LENGTH) + TASK),
    row("1.0 and a stream", 400, "6.1", head("GET /api/v1/events HTTP/1.0", HOST, KEY)),
    row("1.2", 400, "ADR 31", head("GET /healthz HTTP/1.2", HOST)),
    row("1.10", 400, "2.3", head("GET /healthz HTTP/1.10", HOST)),
    row("1.", 400, "2.3", head("GET /healthz HTTP/1.", HOST)),
    row("1", 400, "2.3", head("GET /healthz HTTP/1", HOST)),
    row("01.1", 400, "2.3", head("GET /healthz HTTP/01.1", HOST)),
    row("1,1", 400, "2.3", head("GET /healthz HTTP/1,1", HOST)),
    row("-1.1", 400, "2.3", head("GET /healthz HTTP/-1.1", HOST)),
    row("2.0", 400, "ADR 31", head("GET /healthz HTTP/2.0", HOST)),
    row("2.0 with a task", 400, "ADR 31", head(POST[:-3] + "2.0", HOST, KEY, LENGTH) + TASK),
    row("2", 400, "2.3", head("GET /healthz HTTP/2", HOST)),
    row("3.0", 400, "2.3", head("GET /healthz HTTP/3.0", HOST)),
    row("9.9", 400, "2.3", head("GET /healthz HTTP/9.9", HOST)),
    row("the beginning of HTTP/2", 400, "ADR 31", head("PRI * HTTP/2.0") + "SM\r\n\r\n"),
    row("small letters", 400, "2.3", head("GET /healthz http/1.1", HOST)),
    row("HTTPS", 400, "2.3", head("GET /healthz HTTPS/1.1", HOST)),
    row("no slash", 400, "2.3", head("GET /healthz HTTP1.1", HOST)),
    row("letters", 400, "2.3", head("GET /healthz HTTP/a.b", HOST)),
    row("other digits", 400, "2.3", head("GET /healthz HTTP/\xb9.\xb9", HOST)),
]

TARGETS: Final = [
    row("absolute, of this Host", 200, "3.2.2", head("GET http://localhost/healthz HTTP/1.1", HOST), open=True),
    row("absolute, in capitals", 200, "3.2.2", head("GET HTTP://LOCALHOST/healthz HTTP/1.1", HOST), open=True),
    row("absolute, https", 200, "3.2.2", head("GET https://localhost/healthz HTTP/1.1", HOST), open=True),
    row("absolute without a path", 200, "3.2.1", head("GET http://localhost HTTP/1.1", HOST), open=True),
    row("absolute, a query alone", 200, "3.2.1", head("GET http://localhost?a=b HTTP/1.1", HOST), open=True),
    row("absolute, of another host", 400, "ADR 31", head("GET http://evil.example/healthz HTTP/1.1", HOST)),
    row(
        "absolute, ours, but not Host", 400, "ADR 31", head("GET http://localhost/healthz HTTP/1.1", "Host: 127.0.0.1")
    ),
    row("absolute, another port", 400, "ADR 31", head("GET http://localhost:1/healthz HTTP/1.1", HOST)),
    row("absolute, with a user", 400, "ADR 31", head("GET http://a@localhost/healthz HTTP/1.1", HOST)),
    row("absolute, with a user and a password", 400, "ADR 31", head("GET http://a:b@localhost/ HTTP/1.1", HOST)),
    row("absolute, no host", 400, "3.2.2", head("GET http:///healthz HTTP/1.1", HOST)),
    row("absolute, no host, empty Host", 400, "3.2.2", head("GET http:///healthz HTTP/1.1", "Host:")),
    row("absolute, without Host", 400, "3.2", head("GET http://localhost/healthz HTTP/1.1")),
    row("absolute, ftp", 400, "3.2.2", head("GET ftp://localhost/healthz HTTP/1.1", HOST)),
    row("absolute, file", 400, "3.2.2", head("GET file:///etc/passwd HTTP/1.1", HOST)),
    row(
        "absolute, a task",
        201,
        "3.2.2",
        head("POST http://localhost/api/v1/tasks HTTP/1.1", HOST, KEY, LENGTH) + TASK,
        open=True,
    ),
    row(
        "absolute, a task for another",
        400,
        "ADR 31",
        head("POST http://a/api/v1/tasks HTTP/1.1", HOST, KEY, LENGTH) + TASK,
    ),
    row("CONNECT to a host", 400, "3.2.3", head("CONNECT localhost:80 HTTP/1.1", HOST)),
    row("CONNECT to a path", 400, "3.2.3", head("CONNECT /healthz HTTP/1.1", HOST)),
    row("CONNECT with what follows", 400, "3.2.3", head("CONNECT a:80 HTTP/1.1", HOST) + head(GET, HOST)),
    row("a host for GET", 400, "3.2.3", head("GET localhost:80 HTTP/1.1", HOST)),
    row("asterisk for OPTIONS", 404, "3.2.4", head("OPTIONS * HTTP/1.1", HOST), open=True),
    row("asterisk for GET", 400, "3.2.4", head("GET * HTTP/1.1", HOST)),
    row("asterisk for POST", 400, "3.2.4", head("POST * HTTP/1.1", HOST, KEY, LENGTH) + TASK),
    row("no slash", 400, "3.2.1", head("GET healthz HTTP/1.1", HOST)),
    row("query alone", 400, "3.2.1", head("GET ?a=b HTTP/1.1", HOST)),
    row("two slashes", 404, "3.2.1", head("GET //healthz HTTP/1.1", HOST), open=True),
    row("two slashes and a host", 404, "3.2.1", head("GET //evil.example/healthz HTTP/1.1", HOST), open=True),
    row("fragment", 400, "3.2", head("GET /healthz#a HTTP/1.1", HOST)),
    row("fragment of nothing", 400, "3.2", head("GET /healthz# HTTP/1.1", HOST)),
    row("letters beyond ASCII", 400, "3.2", head("GET /h\xe9althz HTTP/1.1", HOST)),
    row("backslash", 404, "3.2", head("GET \\healthz HTTP/1.1".replace("\\", "/\\"), HOST), open=True),
    row("dots", 404, "3.2", head("GET /../healthz HTTP/1.1", HOST), open=True),
    row("dots in disguise", 404, "3.2", head("GET /%2e%2e/%2e%2e/etc/passwd HTTP/1.1", HOST), open=True),
    row("escaped NUL", 404, "3.2", head("GET /api/v1/tasks/%00 HTTP/1.1", HOST, KEY), open=True),
    row("escaped CRLF", 404, "3.2", head("GET /api/v1/tasks/a%0d%0aSet-Cookie:%20a HTTP/1.1", HOST, KEY), open=True),
    row("escape that is none", 404, "3.2", head("GET /api/v1/tasks/%zz HTTP/1.1", HOST, KEY), open=True),
    row("escape cut short", 404, "3.2", head("GET /api/v1/tasks/% HTTP/1.1", HOST, KEY), open=True),
    row("escape that is no UTF-8", 404, "3.2", head("GET /api/v1/tasks/%ff%fe HTTP/1.1", HOST, KEY), open=True),
    row("parameter twice", 422, "ADR 31", head("GET /api/v1/tasks?limit=1&limit=2 HTTP/1.1", HOST, KEY), open=True),
    row("query that is no UTF-8", 422, "3.2", head("GET /api/v1/tasks?type=%ff HTTP/1.1", HOST, KEY), open=True),
    row("NUL in a query", 422, "3.2", head("GET /api/v1/tasks?type=%00 HTTP/1.1", HOST, KEY), open=True),
    row("address of 60 KiB", 404, "3", head(f"GET /{'a' * 60_000} HTTP/1.1", HOST), open=True),
    row("address of 70 KiB", 414, "3", head(f"GET /{'a' * 70_000} HTTP/1.1", HOST)),
    row("address without end", 414, "3", "GET /" + "a" * 200_000),
    row("query of 70 KiB", 414, "3", head(f"GET /healthz?a={'a' * 70_000} HTTP/1.1", HOST)),
]

FIELDS: Final = [
    row("blank before the colon", 400, "5.1", get_with("A : b")),
    row("tab before the colon", 400, "5.1", get_with("A\t: b")),
    row("blank before Host's colon", 400, "5.1", head(GET, "Host : localhost")),
    row("blank before the colon of a length", 400, "5.1", head(POST, HOST, KEY, "Content-Length : 13") + TASK),
    row("blank before the first name", 400, "2.2", head(GET, " Host: localhost")),
    row("tab before the first name", 400, "2.2", head(GET, "\tHost: localhost")),
    row("folded", 400, "5.2", get_with("A: b\r\n c")),
    row("folded by a tab", 400, "5.2", get_with("A: b\r\n\tc")),
    row("folded at the beginning", 400, "5.2", get_with("A:\r\n b")),
    row("folded to nothing", 400, "5.2", get_with("A: b\r\n ")),
    row("folded Host", 400, "5.2", head(GET, "Host:\r\n localhost")),
    row("folded framing", 400, "5.2", head(POST, HOST, KEY, "Transfer-Encoding:\r\n chunked") + chunks(TASK)),
    row("no colon", 400, "5", get_with("A")),
    row("no name", 400, "5", get_with(": b")),
    row("blank in the name", 400, "5.1", get_with("A b: c")),
    row("bracket in the name", 400, "9110 5.1", get_with("A(b): c")),
    row("quote in the name", 400, "9110 5.1", get_with('"A": c')),
    row("letter beyond ASCII in the name", 400, "9110 5.1", get_with("\xc4: c")),
    row("NUL in the name", 400, "9110 5.1", get_with("A\0: c")),
    row("CR in the name", 400, "2.2", get_with("A\rB: c")),
    row("empty value", 200, "5.1", get_with("A:"), open=True),
    row("blanks and tabs around the value", 200, "5.1", get_with("A: \t b \t "), open=True),
    row("blanks around Host", 200, "5.1", head(GET, "Host: \t localhost \t "), open=True),
    row("letter beyond ASCII in the value", 200, "9110 5.5", get_with("A: \xe9"), open=True),
    row("NUL in the value", 400, "9110 5.5", get_with("A: b\0c")),
    row("control character in the value", 400, "9110 5.5", get_with("A: b\x01c")),
    row("escape in the value", 400, "9110 5.5", get_with("A: b\x1b[0m")),
    row("DEL in the value", 400, "9110 5.5", get_with("A: b\x7fc")),
    row("vertical tab in the value", 400, "9110 5.5", get_with("A: b\x0bc")),
    row("CR in the value", 400, "2.2", get_with("A: b\rc")),
    row("CR at the end of the value", 400, "2.2", get_with("A: b\r")),
    row("LF in the value", 400, "2.2", get_with("A: b\nC: d")),
    row("LF for the empty line", 400, "2.2", f"{GET}\r\n{HOST}\r\n\n"),
    row("CR for the empty line", 400, "2.2", f"{GET}\r\n{HOST}\r\n\rX"),
    row("a request in the value", 200, "5.1", get_with("A: GET / HTTP/1.1"), open=True),
    row("2,000 fields", 200, "9110 5.4", head(GET, HOST, *(f"A{n}: b" for n in range(2000))), open=True),
    row("20,000 fields", 413, "9110 5.4", head(GET, HOST, *(f"A{n}: b" for n in range(20_000)))),
    row("a field of 60 KiB", 200, "9110 5.4", get_with("A: " + "b" * 60_000), open=True),
    row("a field of 70 KiB", 413, "9110 5.4", get_with("A: " + "b" * 70_000)),
    row("a field without end", 413, "9110 5.4", f"{GET}\r\n{HOST}\r\nA: " + "b" * 200_000),
    row("a name of 70 KiB", 413, "9110 5.4", get_with("A" * 70_000 + ": b")),
]

HOSTS: Final = [
    row("missing", 400, "3.2", head(GET)),
    row("missing in a task", 400, "3.2", head(POST, KEY, LENGTH) + TASK),
    row("empty", 403, "3.2", head(GET, "Host:"), open=True),
    row("twice", 400, "3.2", head(GET, HOST, "Host: evil.example")),
    row("twice the same", 400, "3.2", head(GET, HOST, HOST)),
    row("twice, in other letters", 400, "3.2", head(GET, HOST, "hOST: localhost")),
    row("comma", 400, "ADR 31", head(GET, "Host: localhost, evil.example")),
    row("comma without a blank", 400, "ADR 31", head(GET, "Host: localhost,localhost")),
    row("blank", 400, "3.2", head(GET, "Host: localhost evil.example")),
    row("user", 400, "3.2", head(GET, "Host: a@localhost")),
    row("path", 400, "3.2", head(GET, "Host: localhost/a")),
    row("address", 400, "3.2", head(GET, "Host: http://localhost")),
    row("port of letters", 400, "3.2", head(GET, "Host: localhost:abc")),
    row("two ports", 400, "3.2", head(GET, "Host: localhost:80:81")),
    row("quote", 400, "3.2", head(GET, 'Host: "localhost"')),
    row("letter beyond ASCII", 400, "3.2", head(GET, "Host: l\xf6calhost")),
    row("bracket left open", 400, "3.2", head(GET, "Host: [::1")),
    row("another", 403, "ADR 31", head(GET, "Host: evil.example"), open=True),
    row("another that ends like ours", 403, "ADR 31", head(GET, "Host: localhost.evil.example"), open=True),
    row("dot at the end", 403, "ADR 31", head(GET, "Host: localhost."), open=True),
    row("port", 200, "3.2", head(GET, "Host: localhost:80"), open=True),
    row("empty port", 200, "3.2", head(GET, "Host: localhost:"), open=True),
    row("capitals", 200, "3.2", head(GET, "Host: LOCALHOST"), open=True),
    row("address of version 6", 200, "3.2", head(GET, "Host: [::1]:80"), open=True),
]

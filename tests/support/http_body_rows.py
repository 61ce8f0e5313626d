"""The rows about bodies, and about several requests on one connection; see `http_rows.py`."""

from typing import Final

from tests.support.http_rows import CHUNKED, GET, HOST, KEY, LENGTH, POST, TASK, chunks, head, row

NEXT: Final = head(GET, HOST)


def task_with(*fields: str, body: str = TASK) -> str:
    return head(POST, HOST, KEY, *fields) + body


def chunked(body: str, *fields: str) -> str:
    return task_with(CHUNKED, *fields, body=body)


def unsigned(*fields: str, body: str = "") -> str:
    return head(POST, HOST, *fields) + body


LENGTHS: Final = [
    row("right", 201, "6.2", task_with(LENGTH), open=True),
    row("zeros before it", 201, "6.2", task_with("Content-Length: 0013"), open=True),
    row("60,000 zeros before it", 201, "6.2", task_with(f"Content-Length: {'0' * 60_000}13"), open=True),
    row("blanks around it", 201, "6.2", task_with("Content-Length: \t 13 "), open=True),
    row("none, and no body", 422, "6.3", task_with(body=""), open=True),
    row("none, and a body", (422, 400), "6.3", task_with(body="0123456789abc\r\n")),
    row("0, and a body", (422, 400), "6.3", task_with("Content-Length: 0", body="0123456789abc\r\n")),
    row("too short", (422, 400), "6.3", task_with("Content-Length: 5")),
    row("twice the same", 400, "6.3", task_with(LENGTH, LENGTH)),
    row("twice", 400, "6.3", task_with(LENGTH, "Content-Length: 14")),
    row("a list of the same", 400, "6.3", task_with("Content-Length: 13, 13")),
    row("a list", 400, "6.3", task_with("Content-Length: 13, 14")),
    row("a list with nothing in it", 400, "6.3", task_with("Content-Length: ,13")),
    row("empty", 400, "6.3", task_with("Content-Length:")),
    row("plus", 400, "6.3", task_with("Content-Length: +13")),
    row("minus", 400, "6.3", task_with("Content-Length: -13")),
    row("minus nothing", 400, "6.3", task_with("Content-Length: -0")),
    row("hexadecimal", 400, "6.3", task_with("Content-Length: 0xd")),
    row("hexadecimal without a prefix", 400, "6.3", task_with("Content-Length: d")),
    row("fraction", 400, "6.3", task_with("Content-Length: 13.0")),
    row("exponent", 400, "6.3", task_with("Content-Length: 13e0")),
    row("underscore", 400, "6.3", task_with("Content-Length: 1_3")),
    row("blank inside", 400, "6.3", task_with("Content-Length: 1 3")),
    row("quotes", 400, "6.3", task_with('Content-Length: "13"')),
    row("semicolon", 400, "6.3", task_with("Content-Length: 13;a=b")),
    row("words", 400, "6.3", task_with("Content-Length: thirteen")),
    row("other digits", 400, "6.3", task_with("Content-Length: \xb913")),
    row("NUL", 400, "6.3", task_with("Content-Length: 13\0")),
    row("beyond 64 bits", 400, "6.3", task_with("Content-Length: 18446744073709551629")),
    row("64 bits", 413, "6.3", task_with("Content-Length: 18446744073709551615")),
    row("other name", (422, 400), "6.3", task_with("Content_Length: 13", body="0123456789abc\r\n")),
    row("of GET, and its body", 200, "9.3", head(GET, HOST, "Content-Length: 5") + "hello", open=None),
    row("of HEAD, and its body", 200, "9.3", head("HEAD" + GET[3:], HOST, "Content-Length: 5") + "hello", open=None),
    row("compressed", 422, "9110 8.4", task_with(LENGTH, "Content-Encoding: gzip"), open=None),
]

CODINGS: Final = [
    row("chunked", 201, "6.1", chunked(chunks(TASK)), open=True),
    row("in capitals", 201, "7", task_with("Transfer-Encoding: CHUNKED", body=chunks(TASK)), open=True),
    row("without a blank", 201, "5.1", task_with("Transfer-Encoding:chunked", body=chunks(TASK)), open=True),
    row("tab before it", 201, "5.1", task_with("Transfer-Encoding:\tchunked", body=chunks(TASK)), open=True),
    *(
        row(f"`{value}`", 400, section, task_with(f"Transfer-Encoding: {value}", body=chunks(TASK)))
        for value, section in [
            ("gzip, chunked", "ADR 31"),
            (",chunked", "ADR 31"),
            ("identity, chunked", "ADR 31"),
            ("chunked,", "6.1"),
            ("chunked, chunked", "7.1"),
            ("chunked, gzip", "6.3"),
            ("chunked, identity", "6.3"),
            ("chunked;q=1", "7.1"),
            ("chunked;", "7.1"),
            ('"chunked"', "7"),
            ("'chunked'", "7"),
            ("xchunked", "6.3"),
            ("chunkedx", "6.3"),
            ("x chunked", "6.3"),
            ("chunk", "6.3"),
            ("chunked\0", "9110 5.5"),
            ("\x0bchunked", "9110 5.5"),
            ("chunked\x0b", "9110 5.5"),
            ("chun\xebked", "6.3"),
            ("identity", "6.3"),
            ("gzip", "6.3"),
            ("deflate", "6.3"),
            ("compress", "6.3"),
            ("trailers", "6.3"),
            ("", "6.3"),
        ]
    ),
    row("twice", 400, "7.1", task_with(CHUNKED, CHUNKED, body=chunks(TASK))),
    row("another after it", 400, "6.3", task_with(CHUNKED, "Transfer-Encoding: identity", body=chunks(TASK))),
    row("another before it", 400, "ADR 31", task_with("Transfer-Encoding: identity", CHUNKED, body=chunks(TASK))),
    row("blank before the colon", 400, "5.1", task_with("Transfer-Encoding : chunked", body=chunks(TASK))),
    row("a length before it", 400, "6.3", task_with(LENGTH, CHUNKED, body=chunks(TASK))),
    row("a length after it", 400, "6.3", task_with(CHUNKED, LENGTH, body=chunks(TASK))),
    row("a length of 0 before it", 400, "6.3", task_with("Content-Length: 0", CHUNKED, body=chunks(TASK))),
    row(
        "a length, another name of it",
        422,
        "6.3",
        task_with(LENGTH, "Transfer_Encoding: chunked", body="0\r\n\r\n01234567"),
        open=None,
    ),
]

CHUNKS: Final = [
    row("one", 201, "7.1", chunked(chunks(TASK)), open=True),
    row("of a byte each", 201, "7.1", chunked(chunks(*TASK)), open=True),
    row("capitals", 201, "7.1", chunked(f"D\r\n{TASK}\r\n0\r\n\r\n"), open=True),
    row("zeros before the size", 201, "7.1", chunked(f"0000000d\r\n{TASK}\r\n0\r\n\r\n"), open=True),
    row("many zeros at the end", 201, "7.1", chunked(f"d\r\n{TASK}\r\n00000000\r\n\r\n"), open=True),
    row("extension", 201, "7.1.1", chunked(f"d;a=b\r\n{TASK}\r\n0\r\n\r\n"), open=True),
    row("extension in quotes", 201, "7.1.1", chunked(f'd;a="b\\"c"\r\n{TASK}\r\n0\r\n\r\n'), open=True),
    row("extension at the end", 201, "7.1.1", chunked(f"d\r\n{TASK}\r\n0;a\r\n\r\n"), open=True),
    *(
        row(name, 400, section, chunked(body))
        for name, section, body in [
            ("no size", "7.1", f"\r\n{TASK}\r\n0\r\n\r\n"),
            ("no letters of a size", "7.1", f"g\r\n{TASK}\r\n0\r\n\r\n"),
            ("prefix", "7.1", f"0xd\r\n{TASK}\r\n0\r\n\r\n"),
            ("plus", "7.1", f"+d\r\n{TASK}\r\n0\r\n\r\n"),
            ("minus", "7.1", f"-d\r\n{TASK}\r\n0\r\n\r\n"),
            ("minus nothing", "7.1", f"d\r\n{TASK}\r\n-0\r\n\r\n"),
            ("underscore", "7.1", f"0_d\r\n{TASK}\r\n0\r\n\r\n"),
            ("fraction", "7.1", f"d.0\r\n{TASK}\r\n0\r\n\r\n"),
            ("NUL", "7.1", f"d\0\r\n{TASK}\r\n0\r\n\r\n"),
            ("blank before the size", "7.1", f" d\r\n{TASK}\r\n0\r\n\r\n"),
            ("blank after the size", "7.1", f"d \r\n{TASK}\r\n0\r\n\r\n"),
            ("tab after the size", "7.1", f"d\t\r\n{TASK}\r\n0\r\n\r\n"),
            ("beyond 64 bits", "7.1", f"1000000000000000d\r\n{TASK}\r\n0\r\n\r\n"),
            ("LF after the size", "2.2", f"d\n{TASK}\r\n0\r\n\r\n"),
            ("CR after the size", "2.2", f"d\r{TASK}\r\n0\r\n\r\n"),
            ("two CR after the size", "2.2", f"d\r\r\n{TASK}\r\n0\r\n\r\n"),
            ("LF after the data", "2.2", f"d\r\n{TASK}\n0\r\n\r\n"),
            ("CR after the data", "2.2", f"d\r\n{TASK}\r0\r\n\r\n"),
            ("nothing after the data", "7.1", f"d\r\n{TASK}0\r\n\r\n"),
            ("more data than the size", "7.1", f"c\r\n{TASK}\r\n0\r\n\r\n"),
            ("less data than the size", "7.1", f"e\r\n{TASK}\r\n0\r\n\r\n"),
            ("LF at the end", "2.2", f"d\r\n{TASK}\r\n0\n\n"),
            ("blank before an extension", "7.1.1", f"d ;a\r\n{TASK}\r\n0\r\n\r\n"),
            ("extension without a name", "7.1.1", f"d;\r\n{TASK}\r\n0\r\n\r\n"),
            ("extension with LF", "2.2", f"d;a\nb\r\n{TASK}\r\n0\r\n\r\n"),
            ("extension with CR", "2.2", f"d;a\rb\r\n{TASK}\r\n0\r\n\r\n"),
            ("extension with NUL", "7.1.1", f"d;\0\r\n{TASK}\r\n0\r\n\r\n"),
            ("extension whose quotes stay open", "7.1.1", f'd;a="b\r\n{TASK}\r\n0\r\n\r\n'),
        ]
    ),
    row("chunk of 64 bits", 413, "7.1", chunked(f"ffffffffffffffff\r\n{'a' * 5_000_000}")),
    row("extension without end", 413, "7.1.1", chunked("d;" + "a" * 1_000_000)),
    row("extensions of 20 KiB each", 413, "7.1.1", *([chunked("")] + [f"1;{'a' * 20_000}\r\n \r\n"] * 20)),
]

SIGNED_LATE: Final = "Authorization: Bearer KEY"
TRAILERS: Final = [
    row("a field", 201, "7.1.2", chunked(chunks(TASK, last="0\r\nA: b\r\n\r\n")), open=True),
    row("key", 401, "9110 6.5.1", unsigned(CHUNKED, body=chunks(TASK, last=f"0\r\n{SIGNED_LATE}\r\n\r\n")), open=None),
    row("key, chunk of nothing", 401, "9110 6.5.1", unsigned(CHUNKED, body=f"0\r\n{SIGNED_LATE}\r\n\r\n"), open=None),
    row(
        "key, several chunks",
        401,
        "9110 6.5.1",
        unsigned(CHUNKED, body=chunks(*TASK, last=f"0\r\n{SIGNED_LATE}\r\n\r\n")),
        open=None,
    ),
    row(
        "key, in its own packet",
        401,
        "9110 6.5.1",
        unsigned(CHUNKED, body=chunks(TASK, last="0\r\n")),
        f"{SIGNED_LATE}\r\n\r\n",
        open=None,
    ),
    row(
        "key, after another request",
        (200, 401),
        "9110 6.5.1",
        NEXT + unsigned(CHUNKED, body=chunks(TASK, last=f"0\r\n{SIGNED_LATE}\r\n\r\n")),
        open=None,
    ),
    row(
        "key, and a request after it",
        (401, 200),
        "9110 6.5.1",
        unsigned(CHUNKED, body=chunks(TASK, last=f"0\r\n{SIGNED_LATE}\r\n\r\n")) + NEXT,
        open=None,
    ),
    row(
        "another key", 201, "9110 6.5.1", chunked(chunks(TASK, last="0\r\nAuthorization: Bearer x\r\n\r\n")), open=True
    ),
    row("Host", 400, "9110 6.5.1", head(POST, KEY, CHUNKED) + chunks(TASK, last=f"0\r\n{HOST}\r\n\r\n")),
    row("another Host", 201, "9110 6.5.1", chunked(chunks(TASK, last="0\r\nHost: evil.example\r\n\r\n")), open=True),
    row("Origin", 201, "9110 6.5.1", chunked(chunks(TASK, last="0\r\nOrigin: http://evil.example\r\n\r\n")), open=True),
    row(
        "Origin that would be ours",
        403,
        "9110 6.5.1",
        chunked(chunks(TASK, last="0\r\nOrigin: http://localhost\r\n\r\n"), "Origin: http://a"),
        open=None,
    ),
    row("Idempotency-Key", 201, "9110 6.5.1", chunked(chunks(TASK, last="0\r\nIdempotency-Key: a\r\n\r\n")), open=True),
    row(
        "Content-Encoding",
        201,
        "9110 6.5.1",
        chunked(chunks(TASK, last="0\r\nContent-Encoding: gzip\r\n\r\n")),
        open=True,
    ),
    row("Expect", 201, "9110 6.5.1", chunked(chunks(TASK, last="0\r\nExpect: 100-continue\r\n\r\n")), open=True),
    row(
        "Upgrade",
        201,
        "9110 6.5.1",
        chunked(chunks(TASK, last="0\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n")),
        open=True,
    ),
    row("Connection: close", 201, "9.6", chunked(chunks(TASK, last="0\r\nConnection: close\r\n\r\n")) + NEXT),
    row("Content-Length", 400, "6.5", chunked(chunks(TASK, last="0\r\nContent-Length: 5\r\n\r\n")) + NEXT),
    row("Transfer-Encoding", 400, "6.5", chunked(chunks(TASK, last="0\r\nTransfer-Encoding: chunked\r\n\r\n")) + NEXT),
    row("blank before the colon", 400, "5.1", chunked(chunks(TASK, last="0\r\nA : b\r\n\r\n"))),
    row("folded", 400, "5.2", chunked(chunks(TASK, last="0\r\nA: b\r\n c\r\n\r\n"))),
    row("NUL", 400, "9110 5.5", chunked(chunks(TASK, last="0\r\nA: b\0\r\n\r\n"))),
    row("LF", 400, "2.2", chunked(chunks(TASK, last="0\r\nA: b\n\n"))),
    row("no colon", 400, "5", chunked(chunks(TASK, last="0\r\nA\r\n\r\n"))),
    row("without end", 413, "9110 5.4", *([chunked(chunks(TASK, last="0\r\n"))] + ["A: b\r\n" * 5000] * 10)),
    row("of 1 MiB", 413, "9110 5.4", chunked(chunks(TASK, last="0\r\n")), "A: " + "b" * 1_000_000),
]

"""A server that speaks OpenAI's chat completions, well or badly: `python -m tests.support.openai_server RECORD`.

The first part of a path is how it behaves: `http://127.0.0.1:PORT/cut/v1` cuts every answer off. What it was asked, and
when a caller hung up, it appends to the file RECORD. It prints its port, and ends with its standard input.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Final

ANSWER: Final = ("Grüße", " from", " the\nmodel", " 🙂")
MODELS: Final = ("small", "large")
USAGE: Final = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}
LIMITS: Final[dict[str, dict[str, str]]] = {
    "seconds": {"Retry-After": "7"},
    "milliseconds": {"Retry-After-Ms": "1500", "Retry-After": "2"},
    "openai": {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "6m0.5s",
        "x-ratelimit-remaining-tokens": "900",
        "x-ratelimit-reset-tokens": "20ms",
    },
    "delta": {"RateLimit-Remaining": "0", "RateLimit-Reset": "45"},
    "draft": {"RateLimit": '"default";r=0;t=33'},
    "words": {},
    "google": {},
    "nothing": {},
}

Behaviour = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request, and the way back."""

    def __init__(self, writer: asyncio.StreamWriter, path: list[str], headers: dict[str, str], body: Any) -> None:
        self.writer = writer
        self.path = path
        self.headers = headers
        self.body = body

    async def begin(self, status: int = 200, headers: dict[str, str] | None = None) -> None:
        lines = [f"HTTP/1.1 {status} X", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in (headers or {"Content-Type": "text/event-stream"}).items()]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def event(self, said: object) -> None:
        await self.send(b"data: " + (said if isinstance(said, bytes) else json.dumps(said).encode()) + b"\n\n")

    async def say(self, words: Sequence[str]) -> None:
        for word in words:
            await self.event(delta(word))

    async def finish(self, reason: str = "stop") -> None:
        await self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        if (self.body.get("stream_options") or {}).get("include_usage"):
            await self.event({"choices": [], "usage": USAGE})
        await self.event(b"[DONE]")

    async def answer(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(body).encode()
        more = {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}
        await self.begin(status, more)
        await self.send(content)


def delta(text: str) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}


async def _well(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
    await exchange.send(b": a comment that keeps the connection alive\n\n")
    await exchange.say(ANSWER)
    await exchange.finish()


async def _calling(exchange: Exchange) -> None:
    """Calls a tool and says nothing, in pieces as such servers do."""
    await exchange.begin()
    for called in ({"id": "c1", "function": {"name": "search", "arguments": ""}}, {"function": {"arguments": "{}"}}):
        part = {"role": "assistant", "content": None, "tool_calls": [{"index": 0, "type": "function", **called}]}
        await exchange.event({"choices": [{"index": 0, "delta": part, "finish_reason": None}]})
    await exchange.finish("tool_calls")


async def _calling_at_once(exchange: Exchange) -> None:
    """The same in one piece and by the older field, and with a reason to end that does not say so."""
    message = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}
    await exchange.answer(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE})


async def _calling_with_words(exchange: Exchange) -> None:
    call = {"type": "function", "id": "c1", "function": {"name": "search", "arguments": "{}"}}
    message = {"role": "assistant", "content": "".join(ANSWER), "tool_calls": [call]}
    await exchange.answer(200, {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": USAGE})


async def _whole(exchange: Exchange) -> None:
    message = {"role": "assistant", "content": "".join(ANSWER)}
    await exchange.answer(200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE})


async def _in_pieces(exchange: Exchange) -> None:
    """Each byte by itself, so that no boundary is where anybody expects it; and no `[DONE]`."""
    await exchange.begin()
    events = [json.dumps(delta(word), ensure_ascii=False).encode() for word in ANSWER]
    events.append(b'{"choices":[{"delta":{},"finish_reason":"stop"}]}')
    for byte in b"".join(b"data:" + event + b"\r\n\r\n" for event in events):
        await exchange.send(bytes([byte]))
        await asyncio.sleep(0)


async def _echo(exchange: Exchange) -> None:
    """What a model would say that repeats all it was given, the key included."""
    said = exchange.headers.get("authorization", "") + " " + exchange.body["messages"][-1]["content"]
    await exchange.begin()
    await exchange.say([said[start : start + 5] for start in range(0, len(said), 5)])
    await exchange.finish()


async def _cut(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say(["half an", " answer"])


async def _torn(exchange: Exchange) -> None:
    await exchange.begin(200, {"Content-Type": "text/event-stream", "Content-Length": "100000"})
    await exchange.say(["half an", " answer"])
    exchange.writer.transport.abort()


async def _slow(exchange: Exchange) -> None:
    """Begins, and then says nothing for as long as anybody listens."""
    # In one piece: between two of them a busy machine could be silent for as long as a test waits.
    word = b"data: " + json.dumps(delta("wait")).encode() + b"\n\n"
    await exchange.send(b"HTTP/1.1 200 X\r\nConnection: close\r\nContent-Type: text/event-stream\r\n\r\n" + word)
    await asyncio.sleep(3600)


async def _silent(exchange: Exchange) -> None:
    await asyncio.sleep(3600)


async def _endless(exchange: Exchange) -> None:
    await exchange.begin()
    while True:
        await exchange.say(["more and more of it "] * 100)


async def _one_line(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.send(b"data: ")
    while True:
        await exchange.send(b"x" * 65_536)


async def _malformed(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say(["so far"])
    await exchange.event(b'{"choices": [{"delta": {"content": "brok')
    await exchange.finish()


async def _complains(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say(["so far"])
    await exchange.event({"error": {"code": 503, "message": "The engine is overloaded"}})


async def _json(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say(["```json\n", '{"answer": ', "42}", "\n```"])
    await exchange.finish()


async def _length(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say(ANSWER)
    await exchange.finish("length")


async def _filtered(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.finish("content_filter")


async def _old(exchange: Exchange) -> None:
    """A server from before usage could be asked for."""
    if "stream_options" in exchange.body:
        await exchange.answer(400, {"error": {"message": "Unrecognized request argument supplied: stream_options"}})
    else:
        await _well(exchange)


async def _redirect(exchange: Exchange) -> None:
    await exchange.begin(308, {"Location": "http://elsewhere.example/v1?key=hush", "Content-Length": "0"})


async def _limited(exchange: Exchange) -> None:
    """`/limited-STYLE/v1`: a refusal for now, with the headers of one kind of provider."""
    style = exchange.path[0].partition("-")[2]
    now = datetime.now(UTC)
    moving = {
        "date": {"Retry-After": format_datetime(now + timedelta(seconds=90), usegmt=True)},
        "anthropic": {
            "anthropic-ratelimit-requests-remaining": "0",
            "anthropic-ratelimit-requests-reset": (now + timedelta(seconds=90)).isoformat().replace("+00:00", "Z"),
            "anthropic-ratelimit-tokens-remaining": "5000",
            "anthropic-ratelimit-tokens-reset": (now + timedelta(seconds=900)).isoformat(),
        },
        "epoch": {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int((time.time() + 90) * 1000))},
    }
    error: dict[str, object] = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
    if style == "words":
        error["message"] = "Rate limit reached for requests. Please try again in 1m12.5s. Visit our pages."
    if style == "google":
        error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]
    await exchange.answer(429, {"error": error}, LIMITS.get(style) or moving.get(style))


async def _refused(exchange: Exchange) -> None:
    """`/refused-STATUS/v1`: quotes the key, as providers do."""
    said = f"Incorrect API key provided: {exchange.headers.get('authorization')}"
    await exchange.answer(int(exchange.path[0].partition("-")[2]), {"error": {"message": said}})


async def _too_long(exchange: Exchange) -> None:
    error = {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}
    await exchange.answer(400, {"error": error})


async def _keeps(exchange: Exchange) -> None:
    """Cuts the first attempt off; the next one is told what it was told."""
    content = exchange.body["messages"][-1]["content"]
    await (_echo(exchange) if "unfinished_answer" in content else _cut(exchange))


BEHAVIOURS: Final[dict[str, Behaviour]] = {
    "well": _well,
    "whole": _whole,
    "calling": _calling,
    "calling_at_once": _calling_at_once,
    "calling_with_words": _calling_with_words,
    "pieces": _in_pieces,
    "echo": _echo,
    "cut": _cut,
    "torn": _torn,
    "slow": _slow,
    "silent": _silent,
    "endless": _endless,
    "one_line": _one_line,
    "malformed": _malformed,
    "complains": _complains,
    "json": _json,
    "length": _length,
    "filtered": _filtered,
    "old": _old,
    "redirect": _redirect,
    "limited": _limited,
    "refused": _refused,
    "too_long": _too_long,
    "keeps": _keeps,
}


async def _serve(record: Path) -> None:
    note = record.open("a", buffering=1)

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)
            }
            content = await reader.readexactly(int(headers.get("content-length", "0")))
            method, target, _ = head[0].split(" ")
            path = target.strip("/").split("/")
            body = json.loads(content) if content else {}
            note.write(json.dumps({"method": method, "path": target, "headers": headers, "body": body}) + "\n")
            exchange = Exchange(writer, path, headers, body)
            if path[-1] == "models" and not path[0].startswith("refused"):
                listed = [] if path[0] == "empty" else [{"id": name, "object": "model"} for name in MODELS]
                await exchange.answer(200, {"object": "list", "data": listed})
            else:
                await _until_hung_up(BEHAVIOURS[path[0].partition("-")[0]](exchange), reader, target)
        writer.close()

    async def _until_hung_up(answering: Awaitable[None], reader: asyncio.StreamReader, target: str) -> None:
        answer = asyncio.ensure_future(answering)
        gone = asyncio.ensure_future(reader.read())
        await asyncio.wait((answer, gone), return_when=asyncio.FIRST_COMPLETED)
        if not answer.done():
            note.write(json.dumps({"hung_up": target}) + "\n")
        for task in (answer, gone):
            task.cancel()
        await asyncio.gather(answer, gone, return_exceptions=True)

    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.buffer.read)


class OpenAIServer:
    """The process, as a test sees it."""

    def __init__(self, port: int, record: Path) -> None:
        self.port = port
        self._record = record

    def url(self, behaviour: str) -> str:
        return f"http://127.0.0.1:{self.port}/{behaviour}/v1"

    def requests(self, behaviour: str) -> list[dict[str, Any]]:
        return [entry for entry in self._entries() if entry.get("path", "").startswith(f"/{behaviour}/")]

    def was_left(self, behaviour: str) -> bool:
        """Whether somebody hung up before the end of an answer."""
        return any(entry.get("hung_up", "").startswith(f"/{behaviour}/") for entry in self._entries())

    def _entries(self) -> list[dict[str, Any]]:
        whole = self._record.read_text().rpartition("\n")[0]  # what comes after it is being written
        return [json.loads(line) for line in whole.splitlines()]


@contextmanager
def an_openai_server(directory: Path) -> Iterator[OpenAIServer]:
    record = directory / "record.jsonl"
    record.touch()
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.openai_server", str(record)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield OpenAIServer(int(process.stdout.readline()), record)
    finally:
        process.stdin.close()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))

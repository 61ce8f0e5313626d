"""`/mcp`: the tools of `taskyard.mcp` for agents that speak HTTP, each call of one made here as its caller.

A tool asks this gateway as anybody would from outside, with the headers that came with the agent's own request. So it
passes the same order of checks, and nothing has to be allowed or bounded a second time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import unquote, urlencode

import msgspec
from msgspec import Raw

from taskyard.gateway import plain_json
from taskyard.gateway.asgi import Receive
from taskyard.gateway.call import Call, Empty, Reply, RequestRefused, Stream
from taskyard.gateway.duplicates import Shape, shape_of
from taskyard.mcp import revisions
from taskyard.mcp.tools import REPORTING, TOOLS
from taskyard.mcp.yard import Ask, Outcome, problem, refusal
from taskyard.vocabulary import Refusal
from taskyard.wire.invalid import faults_in, sentence_of
from taskyard.wire.mcp import McpMessage, McpToolCall

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

    from taskyard.mcp.server import Answer, Streamed

NOT_HANDED_ON: Final = frozenset({b"content-length", b"content-type", b"transfer-encoding", b"idempotency-key"})
"""Headers that are about the agent's own request."""
JSON: Final = (b"content-type", b"application/json")
OWN_HEADERS: Final = frozenset({b"content-type", b"content-length"})

TOOL_CALL: Final = "tools/call"
EVENTS: Final = b"text/event-stream"
WRAPS: Final = 4
# What stands around a field of a tool's arguments: the message, its params, the arguments; in a batch one more.
ERROR_STATUS: Final = 400

_encode: Final = msgspec.json.Encoder().encode
_message: Final = msgspec.json.Decoder(McpMessage)
_tool_call: Final = msgspec.json.Decoder(McpToolCall)


async def serve(call: Call[Empty], raw: bytes) -> Reply | Stream:
    """One message and its answer; nothing is kept between two."""
    asked = call.headers.get(b"mcp-protocol-version", b"").decode("latin-1")
    if asked in revisions.NOT_OVER_HTTP:
        return Reply(revisions.unsupported(asked), status=ERROR_STATUS)
    body, refused = _read(raw)
    # Half a second of importing, once, beside the loop that everybody else waits for.
    library = _library() if _library.cache_info().currsize else await asyncio.to_thread(_library)
    if refused is None and _wants_progress(call, body):
        return await _stream(call, library.streamed(library.server, Inside(call, _never), **_request(call, body)))
    gone = asyncio.ensure_future(call.gone())

    async def until_gone() -> None:
        await asyncio.wait((gone,))

    try:
        yard = Inside(call, until_gone) if refused is None else Refusing(refused)
        return _reply(await library.exchange(library.server, yard, **_request(call, body), gone=until_gone))
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone


async def _stream(call: Call[Empty], streamed: "Streamed") -> Reply | Stream:
    """What is done for it ends with the stream, which the app closes when its reader goes."""
    try:
        answer = await streamed.started()
    except BaseException:
        await streamed.aclose()
        raise
    if answer is None:
        return Stream(streamed)
    await streamed.aclose()
    return _reply(answer)


async def _never() -> None:
    await asyncio.Event().wait()


def _request(call: Call[Empty], body: McpMessage) -> dict[str, Any]:
    return {"headers": _outer(call.headers), "body": _encode(body)}


def _reply(answer: "Answer") -> Reply:
    kind = dict(answer.headers).get(b"content-type", b"application/json").decode("latin-1")
    others = [(name, value) for name, value in answer.headers if name not in OWN_HEADERS]
    return Reply(answer.body, status=answer.status, headers=others, media_type=kind)


def _wants_progress(call: Call[Empty], body: McpMessage) -> bool:
    """Whether it calls a tool that takes its time, and can hear of its progress meanwhile."""
    if body.method != TOOL_CALL or call.scope["http_version"] == "1.0" or not isinstance(body.params, Raw):
        return False
    try:
        params = _tool_call.decode(body.params)
    except msgspec.ValidationError:
        return False
    is_told = params.name in REPORTING and params.meta.progress_token is not None
    return is_told and EVENTS in call.headers.get(b"accept", b"")


def _read(raw: bytes) -> tuple[McpMessage, RequestRefused | None]:
    """The message. What is wrong with a tool's arguments is the result of the tool: an agent sees nothing else."""
    try:
        body = _message.decode(raw)
    except msgspec.ValidationError as error:
        faults = faults_in(str(error), McpMessage)
        raise RequestRefused(Refusal.INVALID_INPUT, " ".join(map(sentence_of, faults)), errors=faults) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise plain_json.not_json() from None
    if body.method == revisions.INITIALIZE and isinstance(body.params, Raw):
        body.params = _offered(body.params)
    try:
        plain_json.check(raw, wraps=WRAPS)
        plain_json.check_names(raw, _shape())
    except RequestRefused as refused:
        if body.method != TOOL_CALL:
            raise
        return body, refused
    return body, None


def _offered(params: Raw) -> Raw:
    try:
        asked = msgspec.json.decode(params, type=dict[str, Any])
    except msgspec.ValidationError:
        # It is the library's to refuse.
        return params
    return Raw(_encode(revisions.offered(asked, revisions.OVER_HTTP)))


@cache
def _shape() -> Shape:
    """What the tools read of a message."""
    inner = {name: shape for tool in TOOLS for name, shape in shape_of(tool.takes).inner.items()}
    return Shape({"params": Shape({"arguments": Shape(inner)})})


class Library(NamedTuple):
    """What is made of the protocol's library."""

    server: "Server[Any]"
    exchange: Callable[..., Awaitable["Answer"]]
    streamed: "type[Streamed]"


@cache
def _library() -> Library:
    """Loaded when the first agent comes: it takes its time, and many a hub never sees one."""
    try:
        from taskyard.mcp.server import Streamed, build_server, exchange
    except ImportError as error:
        raise RequestRefused(
            Refusal.NOT_FOUND, "This hub was installed without MCP; install `taskyard[mcp]` and start it anew."
        ) from error
    return Library(build_server(version("taskyard")), exchange, Streamed)


def _outer(headers: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """As the library may see them: the body is read already, and the credential is none of its business."""
    hidden = (b"authorization", b"cookie", b"content-length", b"transfer-encoding")
    return [(name, value) for name, value in headers.items() if name not in hidden]


class Refusing:
    """The way for arguments that no call could be made with."""

    def __init__(self, refused: RequestRefused) -> None:
        self.is_of_a_task = True
        self._refused = refused

    async def ask(self, ask: Ask) -> Outcome:
        return problem(self._refused.code, self._refused.detail)


class Inside:
    """The way to this gateway for whoever is inside already: as the same caller, or by a task's token."""

    def __init__(self, call: Call[Empty], until_gone: Callable[[], Coroutine[None, None, None]]) -> None:
        self.is_of_a_task = call.principal.attempt is not None
        self._answer = call.door.answer
        self._headers = {name: value for name, value in call.headers.items() if name not in NOT_HANDED_ON}
        self._origin = {name: call.scope.get(name) for name in ("scheme", "client", "http_version")}
        self._until_gone = until_gone

    async def ask(self, ask: Ask) -> Outcome:
        headers = {**self._headers, **{name.encode(): value.encode() for name, value in ask.trace.items()}}
        if ask.token is not None:
            headers[b"authorization"] = b"Bearer " + ask.token.encode("latin-1", "replace")
        body = b"" if ask.body is None else _encode(ask.body)
        scope = {
            **self._origin,
            "type": "http",
            "method": ask.method,
            # As a server hands it on: taken out of the address, and no longer escaped.
            "path": unquote(ask.path),
            "raw_path": ask.path.encode(),
            "query_string": urlencode(_said(ask.query)).encode(),
            "headers": [*headers.items(), JSON],
        }
        reply = await self._answer(scope, self._receiver(body))
        assert not isinstance(reply, Stream), "no tool reads a stream"
        told = reply.value if isinstance(reply.value, bytes) else _encode(reply.value)
        said = msgspec.json.decode(told) if told else {}
        return Outcome(said) if reply.status < ERROR_STATUS else refusal(said)

    def _receiver(self, body: bytes) -> Receive:
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            if unread:
                return unread.pop()
            await self._until_gone()
            return {"type": "http.disconnect"}

        return receive


def _said(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in query.items()}

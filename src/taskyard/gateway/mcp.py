"""`/mcp`: the tools of `taskyard.mcp` for agents that speak HTTP, each call of one made here as its caller.

A tool asks this gateway as anybody would from outside, with the headers that came with the agent's own request. So it
passes the same order of checks, and nothing has to be allowed or bounded a second time.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlencode

import msgspec

from taskyard.gateway import plain_json
from taskyard.gateway.asgi import Receive
from taskyard.gateway.call import Call, Empty, Reply, RequestRefused, Stream
from taskyard.gateway.duplicates import Shape, shape_of
from taskyard.mcp.tools import TOOLS
from taskyard.mcp.yard import Ask, Outcome, problem, refusal
from taskyard.vocabulary import Refusal
from taskyard.wire.invalid import faults_in, sentence_of
from taskyard.wire.mcp import McpMessage

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

NOT_HANDED_ON: Final = frozenset({b"content-length", b"content-type", b"transfer-encoding", b"idempotency-key"})
"""Headers that are about the agent's own request."""
JSON: Final = (b"content-type", b"application/json")
OWN_HEADERS: Final = frozenset({b"content-type", b"content-length"})

TOOL_CALL: Final = "tools/call"
WRAPS: Final = 4
# What stands around a field of a tool's arguments: the message, its params, the arguments; in a batch one more.
ERROR_STATUS: Final = 400

_encode: Final = msgspec.json.Encoder().encode
_message: Final = msgspec.json.Decoder(McpMessage)


async def serve(call: Call[Empty], raw: bytes) -> Reply:
    """One message and its answer; nothing is kept between two."""
    body, refused = _read(raw)
    # Half a second of importing, once, beside the loop that everybody else waits for.
    server, exchange = _library() if _library.cache_info().currsize else await asyncio.to_thread(_library)
    gone = asyncio.ensure_future(call.gone())

    async def until_gone() -> None:
        await asyncio.wait((gone,))

    try:
        yard = Inside(call, until_gone) if refused is None else Refusing(refused)
        answer = await exchange(server, yard, headers=_outer(call.headers), body=_encode(body), gone=until_gone)
    finally:
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
    kind = dict(answer.headers).get(b"content-type", b"application/json").decode("latin-1")
    others = [(name, value) for name, value in answer.headers if name not in OWN_HEADERS]
    return Reply(answer.body, status=answer.status, headers=others, media_type=kind)


def _read(raw: bytes) -> tuple[McpMessage, RequestRefused | None]:
    """The message. What is wrong with a tool's arguments is the result of the tool: an agent sees nothing else."""
    try:
        body = _message.decode(raw)
    except msgspec.ValidationError as error:
        faults = faults_in(str(error), McpMessage)
        raise RequestRefused(Refusal.INVALID_INPUT, " ".join(map(sentence_of, faults)), errors=faults) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise plain_json.not_json() from None
    try:
        plain_json.check(raw, wraps=WRAPS)
        plain_json.check_names(raw, _shape())
    except RequestRefused as refused:
        if body.method != TOOL_CALL:
            raise
        return body, refused
    return body, None


@cache
def _shape() -> Shape:
    """What the tools read of a message."""
    inner = {name: shape for tool in TOOLS for name, shape in shape_of(tool.takes).inner.items()}
    return Shape({"params": Shape({"arguments": Shape(inner)})})


@cache
def _library() -> tuple["Server[Any]", Any]:
    """Loaded when the first agent comes: it takes its time, and many a hub never sees one."""
    try:
        from taskyard.mcp.server import build_server, exchange
    except ImportError as error:
        raise RequestRefused(
            Refusal.NOT_FOUND, "This hub was installed without MCP; install `taskyard[mcp]` and start it anew."
        ) from error
    return build_server(version("taskyard")), exchange


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
        headers = self._headers
        if ask.token is not None:
            headers = {**headers, b"authorization": b"Bearer " + ask.token.encode("latin-1", "replace")}
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

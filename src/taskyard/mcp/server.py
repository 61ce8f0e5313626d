"""The tools as a server of the official SDK, which speaks the protocol; and one exchange of it over HTTP.

A server has no state of its own: whatever an agent does is in the yard. Over HTTP every request therefore stands alone
(the protocol's stateless mode), any gateway can answer it, and nothing is left behind when it is answered.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Final

import msgspec
from mcp import MCPError, types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from taskyard.mcp.schemas import input_schema, output_schema
from taskyard.mcp.tools import BY_NAME, TOOLS, NoSuchTool, use
from taskyard.mcp.words import INSTRUCTIONS
from taskyard.mcp.yard import Outcome, Report, ToolCall, Yard, problem
from taskyard.wire import problems

YARD: Final = "taskyard.yard"
"""In the scope of a request: as whom it is done."""

log = logging.getLogger(__name__)
# It says of every request that it begins and ends, and of those it cannot read what was in them: arguments may be
# somebody's work, or a token.
logging.getLogger("mcp").setLevel(logging.CRITICAL)

EVENTS: Final = b"text/event-stream"
PIECES_MAX: Final = 16
"""Of a stream whose reader is slow: then the tool waits."""

Message = MutableMapping[str, Any]
Headers = list[tuple[bytes, bytes]]
_encode: Final = msgspec.json.Encoder().encode


def build_server(version: str, yard: Yard | None = None) -> Server[Any]:
    """For one agent (`yard` is its way to the hub), or for many, each of whose requests brings its own."""

    async def list_tools(_context: Any, _page: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        meta: Mapping[str, Any] = context.meta or {}
        report: Report | None = context.session.report_progress if "progress_token" in meta else None
        tool_call = ToolCall(yard or context.request.scope[YARD], meta, report)
        try:
            return _told(await use(call.name, call.arguments or {}, tool_call))
        except NoSuchTool as unknown:
            raise MCPError(types.INVALID_PARAMS, str(unknown)) from None
        except Exception:
            # The library would tell the agent whatever the fault says, and write down what it was called with.
            log.exception("a tool failed", extra={"tool": call.name if call.name in BY_NAME else ""})
            return _told(problem(problems.INTERNAL, "A fault of the server; its log says why."))

    return Server(
        "taskyard",
        version=version,
        title="Taskyard",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _told(outcome: Outcome) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=_encode(outcome.value).decode())],
        structured_content=outcome.value,
        is_error=outcome.is_error,
    )


_TOOLS: Final = [
    types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.takes),
        output_schema=output_schema(tool.answers),
        annotations=types.ToolAnnotations(
            read_only_hint=tool.reads_only, destructive_hint=tool.destroys, open_world_hint=False
        ),
    )
    for tool in TOOLS
]


class Answer(msgspec.Struct):
    status: int
    headers: Headers
    body: bytes


async def exchange(
    server: Server[Any],
    yard: Yard,
    *,
    headers: Iterable[tuple[bytes, bytes]],
    body: bytes,
    gone: Callable[[], Awaitable[None]],
) -> Answer:
    """Answer one POST, whole. Who asks and from where has been looked at, and the body is within its bounds."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await _serve(server, yard, headers=headers, body=body, gone=gone, send=send, streams=False)
    start = sent[0]
    return Answer(start["status"], list(start["headers"]), b"".join(part.get("body", b"") for part in sent[1:]))


async def _serve(
    server: Server[Any],
    yard: Yard,
    *,
    headers: Iterable[tuple[bytes, bytes]],
    body: bytes,
    gone: Callable[[], Awaitable[None]],
    send: Callable[[Message], Awaitable[None]],
    streams: bool,
) -> None:
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": list(headers),
        YARD: yard,
    }
    unread = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if unread:
            return unread.pop()
        await gone()
        return {"type": "http.disconnect"}

    manager = StreamableHTTPSessionManager(
        server, stateless=True, json_response=not streams, max_request_body_size=max(len(body), 1)
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)


class Streamed:
    """The answer to one POST as it is made: progress, then the result. It is to be closed, read or not."""

    def __init__(self, server: Server[Any], yard: Yard, *, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> None:
        self._sent: asyncio.Queue[Message] = asyncio.Queue(PIECES_MAX)
        serving = _serve(server, yard, headers=headers, body=body, gone=_never, send=self._sent.put, streams=True)
        self._serving = asyncio.create_task(serving)
        self._is_over = False

    async def started(self) -> Answer | None:
        """The whole answer if it is no stream, as with what is refused; None: read on."""
        start = await self._take()
        if dict(start["headers"]).get(b"content-type", b"").startswith(EVENTS):
            return None
        return Answer(start["status"], list(start["headers"]), b"".join([piece async for piece in self]))

    def __aiter__(self) -> "Streamed":
        return self

    async def __anext__(self) -> bytes:
        if self._is_over:
            raise StopAsyncIteration
        part = await self._take()
        self._is_over = not part.get("more_body", False)
        return bytes(part.get("body", b""))

    async def _take(self) -> Message:
        taking = asyncio.ensure_future(self._sent.get())
        try:
            await asyncio.wait((taking, self._serving), return_when=asyncio.FIRST_COMPLETED)
            if not taking.done() and self._sent.empty():
                self._serving.result()
                raise RuntimeError("the library ended without the end of its answer")
            return await taking
        finally:
            taking.cancel()

    async def aclose(self) -> None:
        self._serving.cancel()
        await asyncio.gather(self._serving, return_exceptions=True)


async def _never() -> None:
    """The reader of a stream is gone when the stream is closed, and with it all that is done for it."""
    await asyncio.Event().wait()

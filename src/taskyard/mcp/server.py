"""The tools as a server of the official SDK, which speaks the protocol; and one exchange of it over HTTP.

A server has no state of its own: whatever an agent does is in the yard. Over HTTP every request therefore stands alone
(the protocol's stateless mode), any gateway can answer it, and nothing is left behind when it is answered.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

import msgspec
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from taskyard.mcp.tools import BY_NAME, TOOLS, schema_of, use
from taskyard.mcp.words import INSTRUCTIONS
from taskyard.mcp.yard import Outcome, Yard, problem
from taskyard.wire import problems

YARD: Final = "taskyard.yard"
"""In the scope of a request: as whom it is done."""

log = logging.getLogger(__name__)
# It says of every request that it begins and ends, and of those it cannot read what was in them: arguments may be
# somebody's work, or a token.
logging.getLogger("mcp").setLevel(logging.CRITICAL)

Message = MutableMapping[str, Any]
Headers = list[tuple[bytes, bytes]]
_encode: Final = msgspec.json.Encoder().encode


def build_server(version: str, yard: Yard | None = None) -> Server[Any]:
    """For one agent (`yard` is its way to the hub), or for many, each of whose requests brings its own."""

    async def list_tools(_context: Any, _page: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=_TOOLS)

    async def call_tool(context: Any, call: types.CallToolRequestParams) -> types.CallToolResult:
        whose = yard or context.request.scope[YARD]
        try:
            return _told(await use(call.name, call.arguments or {}, whose))
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
        input_schema=schema_of(tool),
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
    """Answer one POST. Who asks and from where has been looked at, and the body is within its bounds."""
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": list(headers),
        YARD: yard,
    }
    unread = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        if unread:
            return unread.pop()
        await gone()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    # Answers come whole: a tool that takes its time is bounded, and a stream would have to be kept somewhere.
    manager = StreamableHTTPSessionManager(
        server, stateless=True, json_response=True, max_request_body_size=max(len(body), 1)
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    start = sent[0]
    return Answer(start["status"], list(start["headers"]), b"".join(part.get("body", b"") for part in sent[1:]))

"""The server over standard input and output, where the library leaves a line that it cannot read unanswered."""

from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCRequest
from pydantic import ValidationError

from taskyard.mcp.revisions import INITIALIZE, OVER_STDIO, offered

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectSendStream
    from mcp.server.lowlevel import Server

_NO_JSON: Final = "json_invalid"
"""How the library's own parser calls it."""


async def serve_lines(server: "Server[Any]", incoming: Any, outgoing: Any) -> None:
    """Serve one agent until it closes its end. The streams are those of the library's `stdio_server`."""
    passing, passed = anyio.create_memory_object_stream[SessionMessage | Exception]()
    async with anyio.create_task_group() as group:
        group.start_soon(_pass_on, incoming, passing, outgoing)
        await server.run(passed, outgoing, server.create_initialization_options())
        group.cancel_scope.cancel()


async def _pass_on(incoming: Any, passing: "MemoryObjectSendStream[SessionMessage | Exception]", outgoing: Any) -> None:
    async with incoming, passing:
        async for item in incoming:
            if isinstance(item, Exception):
                await outgoing.send(SessionMessage(_unreadable(item)))
            else:
                await passing.send(_asking_for_what_is_kept(item))


def _unreadable(error: Exception) -> JSONRPCError:
    """What JSON-RPC has a line answered with that is no JSON, or no message."""
    is_json = not (isinstance(error, ValidationError) and error.errors()[0]["type"] == _NO_JSON)
    told = (
        ErrorData(code=INVALID_REQUEST, message="This line is JSON, but no message of JSON-RPC 2.0.")
        if is_json
        else ErrorData(code=PARSE_ERROR, message="This line is not JSON.")
    )
    return JSONRPCError(jsonrpc="2.0", id=None, error=told)


def _asking_for_what_is_kept(item: SessionMessage) -> SessionMessage:
    message = item.message
    if isinstance(message, JSONRPCRequest) and message.method == INITIALIZE:
        params = offered(message.params, OVER_STDIO)
        item.message = message.model_copy(update={"params": params})
    return item

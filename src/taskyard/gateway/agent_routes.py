"""The routes of agents: by their own protocol. `routes.py` has the others."""

from typing import Any, Final

from taskyard.gateway import mcp
from taskyard.gateway.call import Empty
from taskyard.gateway.route import ANYONE_OR_TOKEN, Route
from taskyard.vocabulary import Refusal
from taskyard.wire.mcp import McpMessage

MCP_PATH: Final = "/mcp"

AGENT_ROUTES: Final[tuple[Route[Any, Any], ...]] = (
    Route(
        method="POST",
        path=MCP_PATH,
        policy=ANYONE_OR_TOKEN,
        handler=mcp.serve,
        summary="Tools for agents, by the Model Context Protocol (docs/mcp.md)",
        body=McpMessage,
        query=Empty,
        answer=dict[str, Any],
        is_batch=True,
        refusals=(Refusal.NOT_FOUND,),
        is_described=False,
    ),
)

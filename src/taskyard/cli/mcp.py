"""`taskyard mcp`: the tools for an agent on this machine, over standard input and output."""

import os
from typing import TYPE_CHECKING, Any, Final

import typer

from taskyard.cli.options import Yard, expanded
from taskyard.vocabulary import TOKEN_PREFIX

if TYPE_CHECKING:
    from taskyard.mcp.yard import Ask, Outcome
    from taskyard.sdk.async_client import AsyncClient
    from taskyard.sdk.errors import Refused
    from taskyard.sdk.request import Request

TOKEN_VARIABLE: Final = "TASKYARD_TASK_TOKEN"
"""In the environment of work that a daemon runs: then the agent is part of that task, and no more than that."""
HUB_UNREACHABLE: Final = "HUB_UNREACHABLE"


@expanded
def mcp(yard: Yard) -> None:
    """Serve an agent (Claude Code, Codex, …) by the Model Context Protocol, over standard input and output."""
    import asyncio

    try:
        import mcp  # noqa: F401
    except ImportError:
        raise typer.BadParameter("MCP is not installed here; install `taskyard[mcp]`") from None
    asyncio.run(_serve(yard))


async def _serve(yard: Yard) -> None:
    from importlib.metadata import version

    from mcp.server.stdio import stdio_server

    from taskyard.mcp.keeping import Keeping
    from taskyard.mcp.server import build_server
    from taskyard.sdk.async_client import AsyncClient

    key = yard.key or os.environ.get(TOKEN_VARIABLE)
    async with AsyncClient(yard.hub, key, data=yard.data, user=yard.user) as client:
        way = Keeping(Remote(client))
        server = build_server(version("taskyard"), way)
        try:
            async with stdio_server() as (incoming, outgoing):
                await server.run(incoming, outgoing, server.create_initialization_options())
        finally:
            await way.close()


class Remote:
    """The way to a hub over the network."""

    def __init__(self, client: "AsyncClient") -> None:
        self._client = client
        self.is_of_a_task = client.credentials.key.startswith(TOKEN_PREFIX)

    async def ask(self, ask: "Ask") -> "Outcome":
        from taskyard.mcp.yard import Outcome, problem
        from taskyard.sdk.errors import Refused, TaskyardError

        try:
            return Outcome(await self._client.call(_request(ask)))
        except Refused as refused:
            return Outcome(_told(refused), is_error=True)
        except TaskyardError as error:
            return problem(HUB_UNREACHABLE, str(error))


def _request(ask: "Ask") -> "Request[Any]":
    """Submissions get a key of their own, as from any client, so that they are repeated without harm."""
    from msgspec.structs import replace

    from taskyard.sdk import requests
    from taskyard.sdk.answers import TaskRecord
    from taskyard.sdk.request import API, Request, encode

    made: Request[Any]
    if ask.body is not None and ask.path == f"{API}/tasks":
        made = requests.submit_task(TaskRecord, ask.body)
    elif ask.body is not None and ask.path == f"{API}/tasks/batch":
        made = requests.submit_batch(TaskRecord, ask.body["tasks"], partial=ask.body.get("partial", False))
    else:
        made = Request(
            method=ask.method,
            path=ask.path,
            answer=TaskRecord,
            query=ask.query,
            headers={} if ask.body is None else {"Content-Type": "application/json"},
            body=None if ask.body is None else encode(ask.body),
            idempotent=ask.idempotent,
            wait_s=ask.wait_s,
        )
    token = {} if ask.token is None else {"Authorization": f"Bearer {ask.token}"}
    return replace(made, answer=Any, headers={**made.headers, **token})


def _told(refused: "Refused") -> dict[str, Any]:
    from msgspec import to_builtins

    said = {
        "code": refused.code,
        "detail": refused.detail,
        "errors": to_builtins(refused.errors),
        "kept": refused.kept,
        "retry_after": refused.retry_after,
        "backpressure": to_builtins(refused.backpressure),
    }
    return {name: value for name, value in said.items() if value}

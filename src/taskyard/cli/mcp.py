"""`taskyard mcp`: the tools for an agent on this machine, over standard input and output."""

import os
from typing import TYPE_CHECKING, Any, Final

import typer

from taskyard.cli.options import Yard, expanded
from taskyard.vocabulary import TOKEN_PREFIX, Refusal

if TYPE_CHECKING:
    from taskyard.mcp.yard import Ask, Outcome
    from taskyard.sdk.async_client import AsyncClient
    from taskyard.sdk.errors import Refused
    from taskyard.sdk.request import Request

TOKEN_VARIABLE: Final = "TASKYARD_TASK_TOKEN"
"""In the environment of work that a daemon runs: then the agent is part of that task, and no more than that."""
HUB_UNREACHABLE: Final = "HUB_UNREACHABLE"
KEY_UNKNOWN: Final = (
    "The hub does not know this key, or it has ended. Start `taskyard mcp` with a valid one: --key or TASKYARD_KEY, or "
    f"the {TOKEN_VARIABLE} of a task that runs."
)
NO_TASK: Final = "T-0"
"""There is none of this name: asked for it, a hub only says whether it knows who asks."""
GREETING_S: Final = 5.0


@expanded
def mcp(yard: Yard) -> None:
    """Serve an agent (Claude Code, Codex, …) by the Model Context Protocol, over standard input and output."""
    import asyncio

    if yard.json:
        raise typer.BadParameter("it speaks a protocol of its own; leave --json out")
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
    from taskyard.mcp.stdio import serve_lines
    from taskyard.sdk.async_client import AsyncClient

    key = yard.key or os.environ.get(TOKEN_VARIABLE)
    async with AsyncClient(yard.hub, key, data=yard.data, user=yard.user) as client:
        await _greet(client, names_user=yard.user is not None)
        way = Keeping(Remote(client))
        server = build_server(version("taskyard"), way)
        try:
            async with stdio_server() as (incoming, outgoing):
                await serve_lines(server, incoming, outgoing)
        finally:
            await way.close()


async def _greet(client: "AsyncClient", *, names_user: bool) -> None:
    """Whoever starts it learns now what would else be told to the agent alone, at each call. A hub may still come."""
    import asyncio

    from taskyard.sdk import requests
    from taskyard.sdk.answers import TaskRecord
    from taskyard.sdk.errors import HubUnreachable, Refused

    try:
        async with asyncio.timeout(GREETING_S):
            await client.call(requests.get_task(TaskRecord, NO_TASK))
    except Refused as refused:
        if refused.code == Refusal.UNAUTHENTICATED:
            raise type(refused)(code=refused.code, status=refused.status, detail=KEY_UNKNOWN) from None
        if names_user and refused.code in (Refusal.USER_NOT_FOUND, Refusal.FORBIDDEN):
            raise
    except (HubUnreachable, TimeoutError) as error:
        typer.echo(f"{str(error) or 'The hub does not answer.'} Calls of tools fail until it does.", err=True)


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
            told = _told(refused)
            if refused.code == Refusal.UNAUTHENTICATED and ask.token is None:
                told["detail"] = KEY_UNKNOWN
            return Outcome(told, is_error=True)
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
    return replace(made, answer=Any, headers={**made.headers, **ask.trace, **token})


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

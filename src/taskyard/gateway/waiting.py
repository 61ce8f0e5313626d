"""Waiting for a task to end, on behalf of a caller who may hang up."""

import asyncio
from typing import TypeVar

from taskyard.core.commands import BeginWait, EndWait
from taskyard.gateway.call import Call

Q = TypeVar("Q")


async def until_ended(call: Call[Q], task_id: str, wait_s: float) -> None:
    """Returns when the task has ended, the time is up, or nobody waits any more.

    With the token of its parent, the parent counts as waiting meanwhile: its sub-tasks may run in its place.
    """
    hub, parent = call.hub, call.principal.attempt
    wait = hub.mint()
    ended, gone = asyncio.ensure_future(hub.ended(task_id, wait_s)), asyncio.ensure_future(call.gone())
    if parent is not None:
        hub.tell(BeginWait(*parent, wait))
    try:
        await asyncio.wait((ended, gone), return_when=asyncio.FIRST_COMPLETED)
        if ended.done():
            ended.result()
    finally:
        if parent is not None:
            hub.tell(EndWait(parent[0], wait))
        ended.cancel()
        gone.cancel()
        await asyncio.gather(ended, gone, return_exceptions=True)

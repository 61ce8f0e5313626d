"""Many tasks at once, as both clients have them: how many there are, and the same act on each."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from taskyard.sdk.request import AsyncCalls, Calls, Request, get, given, send


class Counts(Struct, kw_only=True):
    """How many tasks there are, but for those in the archive."""

    by_status: dict[str, int] = {}
    total: int = 0


class Acted(Struct, kw_only=True):
    """What became of one task; of a preview, what would."""

    id: str
    """As it was named."""
    task_id: str | None = None
    ref: str | None = None
    ok: bool = False
    status: str | None = None
    priority: str | None = None
    """As it stands now, whatever was asked for."""
    code: str | None = None
    detail: str | None = None


class ManyActed(Struct, kw_only=True):
    preview: bool = False
    results: list[Acted] = []
    also: list[str] = []
    """Others that were cancelled with them."""
    counts: dict[str, int] = {}


# Requests.


def count_tasks() -> Request[Counts]:
    return get("/tasks/counts", Counts)


def act_on_many(action: str, tasks: Sequence[str], terms: dict[str, Any]) -> Request[ManyActed]:
    body = {"action": action, "ids": list(tasks), **given(**terms)}
    return send("POST", "/tasks/bulk", ManyActed, body, idempotent=bool(terms.get("preview")))


# The calls of each client.


class ManyCalls:
    def counts(self: Calls) -> Counts:
        """How many of one's tasks there are of each status."""
        return self.call(count_tasks())

    def act_on_many(self: Calls, action: str, tasks: Sequence[str], **terms: Any) -> ManyActed:
        """`cancel`, `retry`, `skip` or `reprioritise` up to 500 tasks, each by itself.

        `reason` for the first and the third, `priority` for the last; with `preview=True` nothing is changed.
        """
        return self.call(act_on_many(action, tasks, terms))


class AsyncManyCalls:
    async def counts(self: AsyncCalls) -> Counts:
        return await self.call(count_tasks())

    async def act_on_many(self: AsyncCalls, action: str, tasks: Sequence[str], **terms: Any) -> ManyActed:
        return await self.call(act_on_many(action, tasks, terms))

"""Inbound webhooks, as both clients have them: what is asked, what comes back, and the calls."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Required, TypedDict, Unpack

from msgspec import Struct

from taskyard.sdk.answers import Acknowledged
from taskyard.sdk.request import AsyncCalls, Calls, Request, get, given, segment, send


class HookRecord(Struct, kw_only=True, omit_defaults=True):
    id: str
    url: str = ""
    """Where deliveries go."""
    name: str = ""
    user_id: str | None = None
    provider: str = ""
    template: dict[str, Any] = {}
    max_priority: str | None = None
    events: list[str] = []
    """Those that become tasks; none: all do."""
    created_at: datetime | None = None
    previous_secret_until: datetime | None = None
    """After a rotation: how long the secret before is good as well."""
    deliveries: int = 0
    """Those that became tasks."""
    last_delivery_at: datetime | None = None
    secret: str | None = None
    """Shown once, in the answer that made it."""


class NewHook(TypedDict, total=False):
    """What a new hook is told, besides its name."""

    provider: Required[str]
    """`github`, `stripe`, `slack` or `generic`."""
    template: Required[Mapping[str, Any]]
    secret: str | None
    max_priority: str | None
    events: Sequence[str] | None


# Requests.


def list_hooks() -> Request[list[HookRecord]]:
    return get("/hooks", list[HookRecord])


def get_hook(hook_id: str) -> Request[HookRecord]:
    return get(_path(hook_id), HookRecord)


def add_hook(name: str, options: Mapping[str, Any]) -> Request[HookRecord]:
    """Not repeated: there would be two."""
    return send("POST", "/hooks", HookRecord, {"name": name, **given(**options)}, idempotent=False)


def change_hook(hook_id: str, changes: Mapping[str, Any]) -> Request[HookRecord]:
    """Here None has a meaning: a `max_priority` of null is removed."""
    return send("PATCH", _path(hook_id), HookRecord, changes, idempotent=True)


def rotate_hook(hook_id: str, *, secret: str | None, overlap: float | None) -> Request[HookRecord]:
    """Not repeated: a second rotation would end the secret that the first one kept."""
    body = given(secret=secret, overlap=overlap)
    return send("POST", f"{_path(hook_id)}/rotate", HookRecord, body, idempotent=False)


def delete_hook(hook_id: str) -> Request[Acknowledged]:
    """Not repeated: one that is gone is not found a second time."""
    return send("DELETE", _path(hook_id), Acknowledged, None, idempotent=False)


def _path(hook_id: str) -> str:
    return f"/hooks/{segment(hook_id)}"


# The calls of each client.


class HookCalls:
    def hooks(self: Calls) -> list[HookRecord]:
        """One's inbound webhooks, newest first, without their secrets."""
        return self.call(list_hooks())

    def hook(self: Calls, hook_id: str) -> HookRecord:
        return self.call(get_hook(hook_id))

    def add_hook(self: Calls, name: str, **options: Unpack[NewHook]) -> HookRecord:
        """Its `url` is for the provider, and its `secret`, which is shown here only, if the provider has none."""
        return self.call(add_hook(name, options))

    def change_hook(self: Calls, hook_id: str, **changes: Any) -> HookRecord:
        """`name`, `template`, `max_priority` or `events`."""
        return self.call(change_hook(hook_id, changes))

    def rotate_hook(
        self: Calls, hook_id: str, *, secret: str | None = None, overlap: float | None = None
    ) -> HookRecord:
        """Another secret, shown here only; the one until now is good for `overlap` more seconds."""
        return self.call(rotate_hook(hook_id, secret=secret, overlap=overlap))

    def delete_hook(self: Calls, hook_id: str) -> Acknowledged:
        return self.call(delete_hook(hook_id))


class AsyncHookCalls:
    """As `HookCalls`."""

    async def hooks(self: AsyncCalls) -> list[HookRecord]:
        return await self.call(list_hooks())

    async def hook(self: AsyncCalls, hook_id: str) -> HookRecord:
        return await self.call(get_hook(hook_id))

    async def add_hook(self: AsyncCalls, name: str, **options: Unpack[NewHook]) -> HookRecord:
        return await self.call(add_hook(name, options))

    async def change_hook(self: AsyncCalls, hook_id: str, **changes: Any) -> HookRecord:
        return await self.call(change_hook(hook_id, changes))

    async def rotate_hook(
        self: AsyncCalls, hook_id: str, *, secret: str | None = None, overlap: float | None = None
    ) -> HookRecord:
        return await self.call(rotate_hook(hook_id, secret=secret, overlap=overlap))

    async def delete_hook(self: AsyncCalls, hook_id: str) -> Acknowledged:
        return await self.call(delete_hook(hook_id))

"""Templates of tasks, as both clients have them: what is asked, what comes back, and the calls."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from taskyard.sdk.answers import Acknowledged
from taskyard.sdk.request import AsyncCalls, Calls, Request, get, given, segment, send
from taskyard.sdk.submission import wire_shape

Values = Mapping[str, str | int | float | bool]


class TemplateRecord(Struct, kw_only=True, omit_defaults=True):
    name: str
    user_id: str = ""
    task: dict[str, Any] = {}
    defaults: dict[str, str | int | float | bool] = {}
    """What is put in a place for which a submission sets nothing."""
    places: list[str] = []
    """The keys that can be set."""
    created_at: datetime | None = None
    changed_at: datetime | None = None


# Requests.


def list_templates() -> Request[list[TemplateRecord]]:
    return get("/templates", list[TemplateRecord])


def get_template(name: str) -> Request[TemplateRecord]:
    return get(_path(name), TemplateRecord)


def add_template(name: str, task: Mapping[str, Any], defaults: Values | None) -> Request[TemplateRecord]:
    """Not repeated: the name would be taken by what the first try made."""
    body = {"name": name, **_body(task, defaults)}
    return send("POST", "/templates", TemplateRecord, body, idempotent=False)


def put_template(name: str, task: Mapping[str, Any], defaults: Values | None) -> Request[TemplateRecord]:
    return send("PUT", _path(name), TemplateRecord, _body(task, defaults), idempotent=True)


def delete_template(name: str) -> Request[Acknowledged]:
    """Not repeated: one that is gone is not found a second time."""
    return send("DELETE", _path(name), Acknowledged, None, idempotent=False)


def _body(task: Mapping[str, Any], defaults: Values | None) -> dict[str, Any]:
    return {"task": wire_shape(task), **given(defaults=defaults)}


def _path(name: str) -> str:
    return f"/templates/{segment(name)}"


# The calls of each client.


class TemplateCalls:
    def templates(self: Calls) -> list[TemplateRecord]:
        """One's templates, by name."""
        return self.call(list_templates())

    def template(self: Calls, name: str) -> TemplateRecord:
        return self.call(get_template(name))

    def add_template(
        self: Calls, name: str, task: Mapping[str, Any], *, defaults: Values | None = None
    ) -> TemplateRecord:
        """`task` takes what `submit` takes, with `{{key}}` in its texts. A name that is taken is refused."""
        return self.call(add_template(name, task, defaults))

    def put_template(
        self: Calls, name: str, task: Mapping[str, Any], *, defaults: Values | None = None
    ) -> TemplateRecord:
        """As `add_template`; the one that has the name is changed."""
        return self.call(put_template(name, task, defaults))

    def delete_template(self: Calls, name: str) -> Acknowledged:
        return self.call(delete_template(name))


class AsyncTemplateCalls:
    """As `TemplateCalls`."""

    async def templates(self: AsyncCalls) -> list[TemplateRecord]:
        return await self.call(list_templates())

    async def template(self: AsyncCalls, name: str) -> TemplateRecord:
        return await self.call(get_template(name))

    async def add_template(
        self: AsyncCalls, name: str, task: Mapping[str, Any], *, defaults: Values | None = None
    ) -> TemplateRecord:
        return await self.call(add_template(name, task, defaults))

    async def put_template(
        self: AsyncCalls, name: str, task: Mapping[str, Any], *, defaults: Values | None = None
    ) -> TemplateRecord:
        return await self.call(put_template(name, task, defaults))

    async def delete_template(self: AsyncCalls, name: str) -> Acknowledged:
        return await self.call(delete_template(name))

"""Users, keys and plans, as both clients have them: what is asked, the calls."""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from taskyard.sdk.answers import Acknowledged, HeldOfUser
from taskyard.sdk.records import AuditEntry, KeyRecord, Limits, Me, PlanRecord, QueueStatus, SignInLink, UserRecord
from taskyard.sdk.request import API, PAGE, AsyncCalls, Calls, Request, get, given, segment, send

# Requests.


def get_me() -> Request[Me]:
    return get("/users/me", Me)


def list_users(*, usage: bool = False) -> Request[list[UserRecord]]:
    return get("/users", list[UserRecord], usage="true" if usage else None)


def list_held() -> Request[list[HeldOfUser]]:
    return get("/why/everybody", list[HeldOfUser])


def add_user(name: str, *, plan: str | None = None, overrides: Mapping[str, Any] | None = None) -> Request[UserRecord]:
    body = {"name": name, **given(plan=plan, overrides=overrides)}
    return send("POST", "/users", UserRecord, body, idempotent=False)


def change_user(user: str, changes: Mapping[str, Any]) -> Request[UserRecord]:
    """Here None has a meaning: `plan` null is no plan, an override that is null is removed."""
    return send("PATCH", f"/users/{segment(user)}", UserRecord, changes, idempotent=True)


def list_plans() -> Request[list[PlanRecord]]:
    return get("/plans", list[PlanRecord])


def get_plan(name: str) -> Request[PlanRecord]:
    return get(f"/plans/{segment(name)}", PlanRecord)


def get_limits() -> Request[Limits]:
    return get("/users/me/limits", Limits)


def queue_status() -> Request[QueueStatus]:
    return get("/tasks/queue-status", QueueStatus)


def list_keys(user: str) -> Request[list[KeyRecord]]:
    return get(f"/users/{segment(user)}/keys", list[KeyRecord])


def add_key(user: str, body: Mapping[str, Any]) -> Request[KeyRecord]:
    return send("POST", f"/users/{segment(user)}/keys", KeyRecord, body, idempotent=False)


def revoke_key(key_id: str) -> Request[Acknowledged]:
    return Request(method="DELETE", path=f"{API}/keys/{segment(key_id)}", answer=Acknowledged, idempotent=True)


def sign_in_link() -> Request[SignInLink]:
    # Asked twice, it makes two, and the one that nobody was told of ends by itself.
    return send("POST", "/session/link", SignInLink, {}, idempotent=True)


def list_audit() -> Request[list[AuditEntry]]:
    return get("/audit", list[AuditEntry], limit=PAGE)


# The calls of each client.


class PeopleCalls:
    def me(self: Calls) -> Me:
        """Whose key this is."""
        return self.call(get_me())

    def users(self: Calls, *, usage: bool = False) -> list[UserRecord]:
        """All of them; with `usage`, what each has running and waiting, and has used this month."""
        return self.call(list_users(usage=usage))

    def held(self: Calls) -> list[HeldOfUser]:
        """What holds back the most tasks of those who have most to wait for: for admins."""
        return self.call(list_held())

    def add_user(
        self: Calls, name: str, *, plan: str | None = None, overrides: Mapping[str, Any] | None = None
    ) -> UserRecord:
        return self.call(add_user(name, plan=plan, overrides=overrides))

    def change_user(self: Calls, user: str, **changes: Any) -> UserRecord:
        return self.call(change_user(user, changes))

    def plans(self: Calls) -> list[PlanRecord]:
        return self.call(list_plans())

    def plan(self: Calls, name: str) -> PlanRecord:
        return self.call(get_plan(name))

    def limits(self: Calls) -> Limits:
        """What one may have, and has used this month."""
        return self.call(get_limits())

    def queue_status(self: Calls) -> QueueStatus:
        """Whether one more task would start now, as far as it is a matter of one's plan."""
        return self.call(queue_status())

    def keys(self: Calls, user: str) -> list[KeyRecord]:
        return self.call(list_keys(user))

    def add_key(self: Calls, user: str, **terms: Any) -> KeyRecord:
        return self.call(add_key(user, terms))

    def revoke_key(self: Calls, key_id: str) -> Acknowledged:
        return self.call(revoke_key(key_id))

    def sign_in_link(self: Calls) -> SignInLink:
        """What signs a browser in at the dashboard, once: it is worth what this key is, and as secret."""
        return self.call(sign_in_link())

    def audit(self: Calls) -> Iterator[AuditEntry]:
        return self._pages(list_audit())


class AsyncPeopleCalls:
    """As `PeopleCalls`."""

    async def me(self: AsyncCalls) -> Me:
        return await self.call(get_me())

    async def users(self: AsyncCalls, *, usage: bool = False) -> list[UserRecord]:
        return await self.call(list_users(usage=usage))

    async def held(self: AsyncCalls) -> list[HeldOfUser]:
        return await self.call(list_held())

    async def add_user(
        self: AsyncCalls, name: str, *, plan: str | None = None, overrides: Mapping[str, Any] | None = None
    ) -> UserRecord:
        return await self.call(add_user(name, plan=plan, overrides=overrides))

    async def change_user(self: AsyncCalls, user: str, **changes: Any) -> UserRecord:
        return await self.call(change_user(user, changes))

    async def plans(self: AsyncCalls) -> list[PlanRecord]:
        return await self.call(list_plans())

    async def plan(self: AsyncCalls, name: str) -> PlanRecord:
        return await self.call(get_plan(name))

    async def limits(self: AsyncCalls) -> Limits:
        return await self.call(get_limits())

    async def queue_status(self: AsyncCalls) -> QueueStatus:
        return await self.call(queue_status())

    async def keys(self: AsyncCalls, user: str) -> list[KeyRecord]:
        return await self.call(list_keys(user))

    async def add_key(self: AsyncCalls, user: str, **terms: Any) -> KeyRecord:
        return await self.call(add_key(user, terms))

    async def revoke_key(self: AsyncCalls, key_id: str) -> Acknowledged:
        return await self.call(revoke_key(key_id))

    async def sign_in_link(self: AsyncCalls) -> SignInLink:
        return await self.call(sign_in_link())

    def audit(self: AsyncCalls) -> AsyncIterator[AuditEntry]:
        return self._pages(list_audit())

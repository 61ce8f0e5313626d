"""A gateway may be asked of a key or a user that it has not heard of yet: another one made it a moment ago."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import jwt
import pytest

from taskyard.core.settings import Settings
from taskyard.core.yard_commands import CreateKey
from taskyard.gateway import news
from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.auth import KEY_PREFIX, AuthSettings, hash_of
from taskyard.gateway.bearer import JwtSettings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.port import Unavailable
from taskyard.store.memory import MemoryStore
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import START_MS, GatewayHub, refusing

pytestmark = pytest.mark.anyio
KEY = f"{KEY_PREFIX}{'n' * 43}"
ME = "/api/v1/users/me"
SECRET = "a secret that is long enough for every algorithm that is tried here"


async def nothing(hub: GatewayHub) -> None:
    """Nobody did anything."""


class Late(GatewayHub):
    """Its directory lacks what others did, until it is made to catch up."""

    def __init__(self) -> None:
        super().__init__(Settings(), MemoryStore())
        self.asked = 0
        self.news: Callable[[GatewayHub], Awaitable[None]] = nothing

    async def caught_up(self) -> None:
        self.asked += 1
        await self.news(self)
        self.news = nothing


@pytest.fixture
async def hub() -> AsyncIterator[Late]:
    made = Late()
    await made.start()
    yield made
    await made.stop()
    made.close()


async def make_eve(hub: GatewayHub) -> None:
    """With the key of this test."""
    await hub.a_user("eve")
    await hub.decide(CreateKey("k_eve", "u_eve", "new", hash_of(KEY), (Scope.TASKS, Scope.DAEMON), actor="test"))


async def test_a_key_that_was_just_issued_opens(hub: Late, app: GatewayApp) -> None:
    hub.news = make_eve
    assert (await Client(app, KEY).get(ME)).json["name"] == "eve"
    assert (await Client(app, KEY).get(ME)).status == 200
    assert hub.asked == 1, "what is known is not asked for"


async def test_a_key_that_was_just_issued_lets_a_daemon_in(hub: Late, app: GatewayApp) -> None:
    hub.news = make_eve
    async with Client(app, KEY).socket() as connection:
        assert (await connection.next())["type"] == "websocket.accept"


async def test_a_key_that_was_just_issued_signs_a_browser_in(hub: Late, app: GatewayApp) -> None:
    hub.news = make_eve
    assert (await Client(app).post("/api/v1/session", {"key": KEY})).status == 204


async def test_a_session_of_a_key_that_was_just_issued_is_good(hub: Late, app: GatewayApp) -> None:
    # Given a browser that another gateway signed in
    hub.news = make_eve
    session = app.door.sign_in.for_key("k_eve")
    # When it comes here, then it is known
    assert (await Client(app).get(ME, headers={"cookie": f"taskyard_session={session}"})).json["name"] == "eve"


async def test_a_token_of_a_user_who_was_just_added_opens(hub: Late) -> None:
    settings = GatewaySettings(auth=AuthSettings(jwt=JwtSettings(algorithm="HS256", secret=SECRET)))
    claims = {"sub": "eve", "exp": START_MS // 1000 + 60, "scope": "tasks"}
    hub.news = make_eve
    client = Client(build_app(hub, settings), jwt.encode(claims, SECRET, algorithm="HS256"))
    assert (await client.get(ME)).json["name"] == "eve"


@pytest.mark.parametrize("path", ["/api/v1/users/eve/keys", "/api/v1/tasks?user=eve", "/api/v1/tasks?user=u_eve"])
async def test_an_admin_may_name_a_user_who_was_just_added(hub: Late, admin: Client, path: str) -> None:
    hub.news = make_eve
    assert (await admin.get(path)).status == 200


async def test_an_admin_may_revoke_a_key_that_was_just_issued(hub: Late, admin: Client) -> None:
    hub.news = make_eve
    assert (await admin.request("DELETE", "/api/v1/keys/k_eve")).status == 200


async def test_what_nobody_made_stays_unknown(hub: Late, app: GatewayApp, admin: Client) -> None:
    assert (await Client(app, KEY).get(ME)).status == 401
    assert (await admin.get("/api/v1/users/eve/keys")).json["code"] == "USER_NOT_FOUND"
    assert (await admin.request("DELETE", "/api/v1/keys/k_eve")).json["code"] == "KEY_NOT_FOUND"
    assert hub.asked == 3


async def test_who_is_no_admin_cannot_make_a_gateway_ask_by_naming_users(hub: Late, ann: Client) -> None:
    assert (await ann.get("/api/v1/tasks?user=eve")).json["code"] == "FORBIDDEN"
    assert hub.asked == 0


async def test_who_fails_too_often_cannot_make_a_gateway_ask(hub: Late, app: GatewayApp) -> None:
    allowed = AuthSettings().failures_per_minute
    answers = [(await Client(app, f"tyk_{number}").get(ME)).status for number in range(allowed + 5)]
    assert answers == [401] * allowed + [429] * 5
    assert hub.asked == allowed


async def test_whoever_failed_too_often_stays_so_though_an_earlier_try_is_answered_in_the_next_minute(
    hub: Late, app: GatewayApp
) -> None:
    # Given a minute in which an address failed too often, and a try of the minute before that was not answered yet
    allowed = AuthSettings().failures_per_minute

    async def next_minute(_: GatewayHub) -> None:
        hub.wall_ms += 60_000
        failures = app.door.authenticator._failures
        for _ in range(allowed):
            failures.note("10.0.0.1", hub.now_ms())

    hub.news = next_minute
    # When that one is refused, then the address still has none left
    assert (await Client(app, KEY).get(ME)).status == 401
    assert (await Client(app, KEY).get(ME)).status == 429


async def test_a_hub_that_has_stopped_is_not_waited_for(
    hub: Late, app: GatewayApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "TOLD_S", 0.01)
    hub.news = lambda _: asyncio.Event().wait()
    answer = await Client(app, KEY).get(ME)
    assert (answer.status, answer.json["code"]) == (503, "NO_LEADER")


@pytest.mark.parametrize("path", [ME, "/api/v1/daemons/connect"])
async def test_without_a_leader_nobody_is_called_unknown(hub: Late, app: GatewayApp, path: str) -> None:
    hub.news = refusing(Unavailable("NO_LEADER", 1))
    client = Client(app, KEY)
    if path == ME:
        answer: Any = await client.get(path)
        assert (answer.status, answer.json["code"]) == (503, "NO_LEADER")
        return
    async with client.socket() as connection:
        refused = await connection.next()
    assert refused["status"] == 503

"""Who gets in: every route with every kind of caller, and every kind of credential."""

import itertools
from typing import Any

import jwt
import pytest

from taskyard.core.yard_commands import RevokeKey
from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.bearer import JwtSettings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.route import Route, TokenUse
from taskyard.gateway.routes import ROUTES
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
SECRET = "a secret that is long enough for every algorithm that is tried here"


async def call(client: Client, route: Route[Any, Any], headers: dict[str, str] | None = None) -> Response:
    """The route with an id that does not exist and a body that it refuses."""
    raw = None if route.method == "GET" else b'{"no such field": 1}'
    return await client.request(route.method, route.path.replace("{id}", "none"), raw=raw, headers=headers)


def names(route: Route[Any, Any]) -> str:
    return f"{route.method} {route.path}"


# The stream of events never ends; its access has tests of its own.
ASKED = [route for route in ROUTES if route.media_type != "text/event-stream"]
SCOPES = [scopes for size in range(len(Scope) + 1) for scopes in itertools.combinations(Scope, size) if size in (1, 4)]


@pytest.mark.parametrize("key", [None, "", "tyk_" + "x" * 43, "tyt_none.1.AAAA", "a.b.c", "ü"])
async def test_nobody_gets_in_without_a_key(hub: GatewayHub, app: GatewayApp, key: str | None) -> None:
    app.adopt(GatewaySettings(auth=AuthSettings(failures_per_minute=len(ASKED))))
    for route in ASKED:
        response = await call(Client(app, key), route)
        if route.policy.signed:
            assert (response.status, response.json["code"]) == (401, "BAD_SIGNATURE")
        elif route.policy.keyed:
            # The key is in the body, which this one is not.
            assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")
        elif route.policy.public:
            assert response.status == 200
        else:
            assert (response.status, response.json["code"]) == (401, "UNAUTHENTICATED")
            assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/", "/queue", "/tasks/T-001", "/admin/users", "/dead-letters"])
async def test_the_dashboards_pages_are_open_to_all_and_hold_nothing_of_anybodys(app: GatewayApp, path: str) -> None:
    answers = [await Client(app, key).get(path) for key in (None, "", "tyk_" + "x" * 43)]
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert all("set-cookie" not in answer.headers for answer in answers)


@pytest.mark.parametrize("scopes", SCOPES, ids="+".join)
async def test_a_key_opens_what_its_scopes_say(hub: GatewayHub, app: GatewayApp, scopes: tuple[Scope, ...]) -> None:
    eve = Client(app, await hub.a_key(await hub.a_user("eve"), *scopes))
    for route in ASKED:
        response = await call(eve, route)
        is_open = route.policy.public or bool(route.policy.scopes & set(scopes))
        assert (response.status == 403) is not is_open, names(route)
        assert response.status < 500, names(route)


async def test_a_task_token_opens_its_callbacks_and_sub_tasks_only(hub: GatewayHub, ann: Client) -> None:
    task = (await ann.post(TASKS, {"input": "a"})).json
    # No attempt is current, so not even sub-tasks can be made.
    agent = Client(ann.app, hub.token_for(task["id"], 1))
    for route in (one for one in ASKED if not one.policy.public):
        response = await call(agent, route)
        assert (response.status == 403) is (route.policy.token is TokenUse.NONE), names(route)
        if route.policy.token is TokenUse.SUBTASKS:
            assert (response.status, response.json["code"]) == (409, "STALE_ATTEMPT"), names(route)


def test_every_unsafe_route_needs_a_key_or_a_signature() -> None:
    policies = [route.policy for route in ROUTES if route.method != "GET"]
    assert all(policy.signed or policy.keyed or not policy.public for policy in policies)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        (None, "This needs a key; send it as `Authorization: Bearer …`."),
        ("Basic YTpi", "This needs a key; send it as `Authorization: Bearer …`."),
        ("Bearer tyk_none", "This key is not known here, or has ended."),
    ],
)
async def test_how_to_send_a_key_is_said_to_who_sent_none(app: GatewayApp, header: str | None, said: str) -> None:
    headers = {} if header is None else {"authorization": header}
    response = await Client(app).get(TASKS, headers=headers)
    assert (response.status, response.json["detail"]) == (401, said)


async def test_an_expired_or_revoked_key_opens_nothing(hub: GatewayHub, app: GatewayApp) -> None:
    user = await hub.a_user("eve")
    expiring = await hub.a_key(user, Scope.TASKS, expires_at=START_MS + 1000)
    revoked = await hub.a_key(user, Scope.TASKS)
    assert (await Client(app, expiring).get(TASKS)).status == 200
    hub.wall_ms += 1000
    await hub.decide(RevokeKey(hub.key_named(revoked).id, actor="test"))
    assert (await Client(app, expiring).get(TASKS)).status == 401
    assert (await Client(app, revoked).get(TASKS)).status == 401


async def test_guessing_is_slowed_without_locking_out_whoever_has_a_key(
    hub: GatewayHub, app: GatewayApp, ann: Client
) -> None:
    guesses = [await Client(app, f"guess{number}").get(TASKS) for number in range(40)]
    assert [guess.status for guess in guesses] == [401] * 30 + [429] * 10
    assert 0 < int(guesses[-1].headers["retry-after"]) <= 60
    assert (await ann.get(TASKS)).status == 200
    hub.wall_ms += 60_000
    assert (await Client(app, "guess").get(TASKS)).status == 401


def a_token(**claims: Any) -> str:
    now = START_MS // 1000
    return jwt.encode({"sub": "ann", "iss": "i", "aud": "a", "exp": now + 60, **claims}, SECRET, algorithm="HS256")


async def test_a_web_token_is_its_subject(hub: GatewayHub) -> None:
    settings = JwtSettings(algorithm="HS256", secret=SECRET, issuer="i", audience="a")
    app = build_app(hub, GatewaySettings(auth=AuthSettings(jwt=settings)))
    await hub.a_user("ann")
    assert (await Client(app, a_token()).get("/api/v1/users/me")).json["scopes"] == ["tasks"]
    assert (await Client(app, a_token(scope="agent admin")).get("/api/v1/users/me")).json["scopes"] == ["agent"]
    now = START_MS // 1000
    for wrong in (
        a_token(sub="nobody"),
        a_token(iss="other"),
        a_token(aud="other"),
        a_token(exp=now - 60),
        a_token(nbf=now + 60),
        a_token(exp="soon"),
        a_token()[:-2] + "AA",
        jwt.encode({"sub": "ann", "iss": "i", "aud": "a"}, SECRET, algorithm="HS256"),
        jwt.encode({"sub": "ann", "iss": "i", "aud": "a", "exp": now + 60}, SECRET, algorithm="HS512"),
        jwt.encode({"sub": "ann", "iss": "i", "aud": "a", "exp": now + 60}, None, algorithm="none"),
    ):
        assert (await Client(app, wrong).get("/api/v1/users/me")).status == 401


async def test_a_cookie_alone_changes_nothing(hub: GatewayHub, app: GatewayApp) -> None:
    ticket = app.door.sign_in_link(user_id=await hub.a_user("ann"), base_url="")
    cookie = (await Client(app).get(ticket)).headers["set-cookie"].partition(";")[0]
    for method, path in (("POST", TASKS), ("DELETE", f"{TASKS}/T-001"), ("PATCH", f"{TASKS}/T-001")):
        response = await Client(app).request(method, path, {"input": "a"}, headers={"cookie": cookie})
        assert (response.status, response.json["code"]) == (403, "FORBIDDEN")
    headers = {"cookie": cookie, "X-Taskyard-Request": "1"}
    assert (await Client(app).post(TASKS, {"input": "a"}, headers=headers)).status == 201


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [
        ("localhost:8420", True),
        ("127.0.0.1", True),
        ("[::1]:8420", True),
        ("LOCALHOST", True),
        ("evil.example", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("10.0.0.1", False),
        ("", False),
    ],
)
async def test_a_request_meant_for_another_name_is_refused(ann: Client, host: str, is_ours: bool) -> None:
    assert (await ann.get(TASKS, headers={"host": host})).status == (200 if is_ours else 403)


@pytest.mark.parametrize(
    ("origin", "is_ours"),
    [
        (None, True),
        ("http://127.0.0.1:8420", True),
        ("https://127.0.0.1:8420", False),
        ("http://127.0.0.1", False),
        ("http://127.0.0.1:84200", False),
        ("http://127.0.0.1:8420.evil.example", False),
        ("http://evil.example", False),
        ("null", False),
        ("", False),
    ],
)
async def test_a_request_of_another_sites_page_is_refused(ann: Client, origin: str | None, is_ours: bool) -> None:
    headers = {} if origin is None else {"origin": origin}
    assert (await ann.post(TASKS, {"input": "a"}, headers=headers)).status == (201 if is_ours else 403)

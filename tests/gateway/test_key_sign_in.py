"""Signing a browser in with a key: the session is worth what the key is worth, for as long as it is."""

import pytest

from taskyard.core.yard_commands import RevokeKey
from taskyard.gateway import door
from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.sign_in import COOKIE, KEY_SESSION, KEY_TICKET, SESSION, TICKET
from taskyard.vocabulary import Level, Scope, SourceType
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
SESSION_PATH = "/api/v1/session"
ME = "/api/v1/users/me"
TASKS = "/api/v1/tasks"
SESSION_MS = AuthSettings().session_s * 1000
UNSAFE = {"X-Taskyard-Request": "1"}


async def sign_in(app: GatewayApp, key: str) -> Response:
    return await Client(app).post(SESSION_PATH, {"key": key})


def cookie_of(response: Response) -> dict[str, str]:
    """The header that a browser sends back."""
    return {"cookie": response.headers["set-cookie"].partition(";")[0]}


async def signed_in(app: GatewayApp, key: str) -> dict[str, str]:
    response = await sign_in(app, key)
    assert (response.status, response.body) == (204, b"")
    return cookie_of(response)


async def test_a_key_signs_a_browser_in_as_its_user_with_its_scopes(hub: GatewayHub, app: GatewayApp) -> None:
    cookie = await signed_in(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS))
    me = (await Client(app).get(ME, headers=cookie)).json
    assert (me["id"], me["scopes"]) == ("u_ann", ["tasks"])
    assert (await Client(app).get("/api/v1/users", headers=cookie)).status == 403


async def test_the_cookie_is_for_this_site_alone_and_for_no_script(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    behind_tls = build_app(hub, GatewaySettings(auth=AuthSettings(secure_cookie=True)))
    plain, secure = [(await sign_in(one, key)).headers["set-cookie"] for one in (app, behind_tls)]
    assert plain.partition("; ")[2] == f"Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_MS // 1000}"
    assert secure.partition("; ")[2] == plain.partition("; ")[2] + "; Secure"
    assert key not in plain


async def test_the_session_has_the_ceiling_and_the_sources_of_its_key(hub: GatewayHub, app: GatewayApp) -> None:
    user = await hub.a_user("ann")
    low = await signed_in(app, await hub.a_key(user, Scope.TASKS, max_priority=Level.LOW))
    made = await Client(app).post(TASKS, {"input": "a", "priority": "critical"}, headers=low | UNSAFE)
    assert (made.status, made.json["priority"]) == (201, "low")
    # And a key that may submit for agents alone submits nothing for a person
    narrow = await hub.a_key(user, Scope.TASKS, sources=(SourceType.AGENT,))
    body = {"input": "a", "source": {"type": "user"}}
    by_cookie = await Client(app).post(TASKS, body, headers=await signed_in(app, narrow) | UNSAFE)
    by_key = await Client(app, narrow).post(TASKS, body)
    assert (by_cookie.status, by_cookie.json["detail"]) == (by_key.status, by_key.json["detail"])
    assert by_cookie.status >= 400


async def test_a_revoked_key_ends_the_sessions_it_began(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    cookie = await signed_in(app, key)
    await hub.decide(RevokeKey(hub.key_named(key).id, actor="test"))
    assert (await Client(app).get(ME, headers=cookie)).status == 401
    assert (await sign_in(app, key)).status == 401


async def test_a_revoked_key_ends_the_event_streams_of_its_sessions(
    hub: GatewayHub, app: GatewayApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "REVIEW_S", 0.01)
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    cookie = await signed_in(app, key)
    async with Client(app).stream("/api/v1/events", headers=cookie) as stream:
        await stream.next()
        await hub.decide(RevokeKey(hub.key_named(key).id, actor="test"))
        await stream.ended()


async def test_a_session_ends_with_its_time_or_with_its_keys(hub: GatewayHub, app: GatewayApp) -> None:
    user = await hub.a_user("ann")
    lasting = await signed_in(app, await hub.a_key(user, Scope.TASKS))
    brief = await signed_in(app, await hub.a_key(user, Scope.TASKS, expires_at=START_MS + 1000))
    statuses = []
    for wall_ms in (START_MS + 999, START_MS + 1000, START_MS + SESSION_MS - 1, START_MS + SESSION_MS):
        hub.wall_ms = wall_ms
        statuses.append([(await Client(app).get(ME, headers=one)).status for one in (brief, lasting)])
    assert statuses == [[200, 200], [401, 200], [401, 200], [401, 401]]


async def test_a_wrong_key_signs_nobody_in_and_counts_as_a_guess(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    by_body = [await sign_in(app, f"tyk_{number}") for number in range(15)]
    by_header = [await Client(app, f"tyk_{number}").get(ME) for number in range(15)]
    assert {guess.status for guess in by_body + by_header} == {401}
    assert all("set-cookie" not in guess.headers for guess in by_body)
    # When this address has guessed too often, then it is slowed wherever it guesses, and a good key still works
    over = await sign_in(app, "tyk_one_more")
    assert (over.status, over.json["code"]) == (429, "RATE_LIMITED")
    assert 0 < int(over.headers["retry-after"]) <= 60
    assert (await Client(app, "tyk_one_more").get(ME)).status == 429
    assert (await sign_in(app, key)).status == 204


@pytest.mark.parametrize("body", [{}, {"key": ""}, {"key": 1}, {"key": "x" * 256}, {"key": "a", "user": "b"}])
async def test_what_is_no_key_is_refused_with_a_word_about_it(app: GatewayApp, body: dict[str, object]) -> None:
    response = await Client(app).post(SESSION_PATH, body)
    assert (response.status, response.json["code"]) == (422, "INVALID_INPUT")


async def test_no_other_sites_page_signs_a_browser_in(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("eve"), Scope.TASKS)
    response = await Client(app).post(SESSION_PATH, {"key": key}, headers={"origin": "http://evil.example"})
    assert (response.status, "set-cookie" in response.headers) == (403, False)


async def test_signing_out_has_the_browser_forget_its_cookie(hub: GatewayHub, app: GatewayApp) -> None:
    cookie = await signed_in(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS))
    assert (await Client(app).request("DELETE", SESSION_PATH, headers=cookie)).status == 403
    response = await Client(app).request("DELETE", SESSION_PATH, headers=cookie | UNSAFE)
    assert (response.status, response.body) == (204, b"")
    assert response.headers["set-cookie"] == f"{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"


async def test_a_keys_session_is_taken_for_nothing_else(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS)
    session = (await signed_in(app, key))["cookie"].removeprefix(f"{COOKIE}=")
    text = hub.unseal(KEY_SESSION, session)
    assert text is not None
    unknown = text.replace(hub.key_named(key).id, "k_none")
    for wrong in (session[:-1], hub.seal(SESSION, text), hub.seal(KEY_SESSION, unknown), hub.seal("elsewhere", text)):
        assert (await Client(app).get(ME, headers={"cookie": f"{COOKIE}={wrong}"})).status == 401
    assert (await Client(app).get(f"/?ticket={session}")).status == 401


# By a link that a key's holder asked for.


async def a_link(app: GatewayApp, key: str) -> str:
    made = await Client(app, key).post(f"{SESSION_PATH}/link", {})
    assert made.status == 201
    return str(made.json["path"])


async def test_who_has_a_key_gets_a_link_that_signs_a_browser_in_once(hub: GatewayHub, app: GatewayApp) -> None:
    key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS, max_priority=Level.LOW)
    made = await Client(app, key).post(f"{SESSION_PATH}/link", {})
    assert made.json["expires_at"] == "2027-01-15T08:10:00Z"
    assert key not in made.body.decode()
    # When the link is followed twice
    came, again = [await Client(app).get(made.json["path"]) for _ in range(2)]
    assert (came.status, came.headers["location"], again.status) == (303, "/", 401)
    # Then who came first has a session that is worth what the key is
    cookie = cookie_of(came)
    assert (await Client(app).get(ME, headers=cookie)).json["scopes"] == ["tasks"]
    task = await Client(app).post(TASKS, {"input": "a", "priority": "critical"}, headers=cookie | UNSAFE)
    assert task.json["priority"] == "low"
    # And it ends with the key
    await hub.decide(RevokeKey(hub.key_named(key).id, actor="test"))
    assert (await Client(app).get(ME, headers=cookie)).status == 401


async def test_a_link_is_worth_nothing_without_its_key_after_its_time_and_under_another_leader(
    hub: GatewayHub, app: GatewayApp
) -> None:
    user = await hub.a_user("ann")
    key, revoked = await hub.a_key(user, Scope.TASKS), await hub.a_key(user, Scope.TASKS)
    orphan, late, older = await a_link(app, revoked), await a_link(app, key), await a_link(app, key)
    await hub.decide(RevokeKey(hub.key_named(revoked).id, actor="test"))
    assert (await Client(app).get(ME, headers=cookie_of(await Client(app).get(orphan)))).status == 401
    await hub.lead_moves()
    assert (await Client(app).get(older)).status == 401
    hub.wall_ms += AuthSettings().ticket_s * 1000
    assert (await Client(app).get(late)).status == 401


async def test_a_session_makes_no_links_or_it_would_never_end(hub: GatewayHub, app: GatewayApp) -> None:
    user = await hub.a_user("ann")
    by_key = await signed_in(app, await hub.a_key(user, Scope.TASKS))
    by_link = cookie_of(await Client(app).get(app.door.sign_in_link(user_id=user, base_url="")))
    for cookie in (by_key, by_link):
        refused = await Client(app).post(f"{SESSION_PATH}/link", {}, headers=cookie | UNSAFE)
        assert (refused.status, refused.json["detail"]) == (403, "A sign-in link is made with a key, not in a session.")


async def test_a_keys_link_is_no_session_and_no_owners_link(hub: GatewayHub, app: GatewayApp) -> None:
    ticket = (await a_link(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS))).partition("=")[2]
    assert (await Client(app).get(ME, headers={"cookie": f"{COOKIE}={ticket}"})).status == 401
    text = hub.unseal(KEY_TICKET, ticket)
    assert text is not None
    assert (await Client(app).get(f"/?ticket={hub.seal(TICKET, text)}")).status == 401


async def test_the_link_that_a_hub_prints_for_a_key_it_was_given_is_worth_that_key(
    hub: GatewayHub, app: GatewayApp
) -> None:
    record = hub.key_named(await hub.a_key(await hub.a_user("ann"), Scope.ADMIN))
    cookie = cookie_of(await Client(app).get(app.door.sign_in_link_for_key(record.id, base_url="")))
    assert (await Client(app).get(ME, headers=cookie)).json["scopes"] == ["admin"]
    await hub.decide(RevokeKey(record.id, actor="test"))
    assert (await Client(app).get(ME, headers=cookie)).status == 401

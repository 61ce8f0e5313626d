"""Signing in by a link; hubs of one yard are in tests/hub/test_sign_in.py."""

import asyncio

import pytest

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.port import Unavailable
from taskyard.gateway.sign_in import COOKIE, SESSION, TICKET_CHARS_MAX
from taskyard.hub.tokens import Tokens
from taskyard.vocabulary import Refusal
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import GatewayHub, refusing

pytestmark = pytest.mark.anyio
ME = "/api/v1/users/me"
TICKET_MS = AuthSettings().ticket_s * 1000
SESSION_MS = AuthSettings().session_s * 1000


def a_link(app: GatewayApp, user_id: str) -> str:
    return app.door.sign_in_link(user_id=user_id, base_url="")


async def follow(app: GatewayApp, link: str) -> Response:
    return await Client(app).get(link)


async def signed_in(app: GatewayApp, user_id: str) -> str:
    """The cookie's value."""
    response = await follow(app, a_link(app, user_id))
    assert response.status == 303
    return response.headers["set-cookie"].partition(";")[0].removeprefix(f"{COOKIE}=")


async def status_with(app: GatewayApp, session: str) -> int:
    return (await Client(app).get(ME, headers={"cookie": f"{COOKIE}={session}"})).status


async def test_of_many_who_follow_a_link_at_once_one_gets_in(hub: GatewayHub, app: GatewayApp) -> None:
    link = a_link(app, await hub.a_user("ann"))
    came = await asyncio.gather(*(follow(app, link) for _ in range(10)))
    assert sorted(response.status for response in came) == [303] + [401] * 9


async def test_a_link_that_meets_the_next_leader_on_its_way_is_over(
    hub: GatewayHub, app: GatewayApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, redeem = a_link(app, await hub.a_user("ann")), hub.redeem

    async def redeem_later(ticket_id: str, expires_at: int) -> bool:
        await hub.lead_moves()
        return await redeem(ticket_id, expires_at)

    monkeypatch.setattr(hub, "redeem", redeem_later)
    assert (await follow(app, link)).status == 401


async def test_a_link_that_nobody_could_look_at_is_not_used_up(
    hub: GatewayHub, app: GatewayApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = a_link(app, await hub.a_user("ann"))
    with monkeypatch.context() as patch:
        patch.setattr(hub, "redeem", refusing(Unavailable(Refusal.STORE_UNAVAILABLE, 1)))
        assert (await follow(app, link)).status == 503
    assert (await follow(app, link)).status == 303


async def test_links_and_sessions_end_with_their_time(hub: GatewayHub, app: GatewayApp) -> None:
    user_id = await hub.a_user("ann")
    in_time, late = a_link(app, user_id), a_link(app, user_id)
    session = await signed_in(app, user_id)
    hub.wall_ms += TICKET_MS - 1
    assert (await follow(app, in_time)).status == 303
    hub.wall_ms += 1
    assert (await follow(app, late)).status == 401
    hub.wall_ms += SESSION_MS - TICKET_MS - 1
    assert await status_with(app, session) == 200
    hub.wall_ms += 1
    assert await status_with(app, session) == 401


async def test_a_session_is_worth_nothing_without_its_user(app: GatewayApp) -> None:
    assert await status_with(app, await signed_in(app, "u_nobody")) == 401


async def test_a_session_that_was_touched_cut_or_made_elsewhere_is_none(hub: GatewayHub, app: GatewayApp) -> None:
    user_id = await hub.a_user("ann")
    session = await signed_in(app, user_id)
    text = hub.unseal(SESSION, session)
    assert text is not None
    content, _, mac = session.partition(".")
    richer, _, _ = hub.seal("elsewhere", text.replace("u_ann", "u_root")).partition(".")
    ticket = a_link(app, user_id).partition("=")[2]
    for wrong in (
        "",
        content,
        session[:-1],
        session[1:],
        session + "A",
        f"{richer}.{mac}",
        ticket,
        hub.token_for("01970000-0000-7000-8000-000000000001", 1),
        hub.seal("elsewhere", text),
        Tokens(b"1" * 32).seal(SESSION, text),
        "\xfc" * 43,
        "." * 4000,
    ):
        assert await status_with(app, wrong) == 401, wrong
    assert await status_with(app, session) == 200


async def test_a_session_of_a_hub_that_knows_more_scopes_is_none_here(hub: GatewayHub, app: GatewayApp) -> None:
    await hub.a_user("ann")
    ends = hub.wall_ms + 1000
    assert await status_with(app, hub.seal(SESSION, f'["s","u_ann",["tasks"],{ends},"new"]')) == 200
    assert await status_with(app, hub.seal(SESSION, f'["s","u_ann",["tasks","new"],{ends}]')) == 401


async def test_what_is_no_link_of_ours_signs_nobody_in(hub: GatewayHub, app: GatewayApp) -> None:
    user_id = await hub.a_user("ann")
    session, link = await signed_in(app, user_id), a_link(app, user_id)
    for wrong in ("/?ticket=", f"/?ticket={session}", link[:-1], link + "A", "/?ticket=ü."):
        response = await follow(app, wrong)
        assert (response.status, "set-cookie" in response.headers) == (401, False), wrong
    assert (await follow(app, "/?ticket=" + "x" * (TICKET_CHARS_MAX + 1))).status == 422
    assert (await follow(app, link)).status == 303

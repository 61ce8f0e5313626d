"""Users, keys, audit, health and the pages beside the API."""

import pytest

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.openapi import refusals_of
from taskyard.gateway.routes import ROUTES
from taskyard.gateway.views import HubView
from taskyard.vocabulary import Refusal
from tests.support.gateway_client import Client
from tests.support.gateway_hub import START_MS, GatewayHub

pytestmark = pytest.mark.anyio
USERS = "/api/v1/users"


async def test_a_user_is_made_changed_and_listed(admin: Client) -> None:
    body = {"name": "carl", "plan": "pro", "overrides": {"max_pending": 7}}
    made = await admin.post(USERS, body)
    assert made.status == 201
    user = made.json
    assert (user["name"], user["plan"], user["overrides"]) == ("carl", "pro", {"max_pending": 7})
    changed = await admin.request(
        "PATCH", f"{USERS}/{user['id']}", {"plan": None, "overrides": {"max_pending": None, "monthly_agent_hours": 2.5}}
    )
    assert (changed.json["plan"], changed.json["overrides"]) == (None, {"monthly_agent_hours": 2.5})
    assert [one["name"] for one in (await admin.get(USERS)).json].count("carl") == 1
    again = await admin.post(USERS, {"name": "carl"})
    assert (again.status, again.json["code"]) == (409, "NAME_TAKEN")


async def test_a_key_is_shown_once_works_and_can_be_revoked(app: GatewayApp, admin: Client) -> None:
    user = (await admin.post(USERS, {"name": "carl"})).json
    issued = (await admin.post(f"{USERS}/{user['id']}/keys", {"name": "laptop", "scopes": ["tasks"]})).json
    assert issued["key"].startswith("tyk_")
    assert len(issued["key"]) == 47
    carl = Client(app, issued["key"])
    assert (await carl.get(f"{USERS}/me")).json == {
        "id": user["id"],
        "name": "carl",
        "plan": None,
        "scopes": ["tasks"],
        "profile": "local",
    }
    (listed,) = (await admin.get(f"{USERS}/{user['id']}/keys")).json
    assert (listed["id"], listed["revoked_at"]) == (issued["id"], None)
    assert "key" not in listed
    assert (await admin.request("DELETE", f"/api/v1/keys/{issued['id']}")).json == {"ok": True}
    assert (await carl.get(f"{USERS}/me")).status == 401


async def test_what_is_not_there_is_named(admin: Client) -> None:
    assert (await admin.request("PATCH", f"{USERS}/none", {})).json["code"] == "USER_NOT_FOUND"
    assert (await admin.request("DELETE", "/api/v1/keys/none")).json["code"] == "KEY_NOT_FOUND"
    bad = await admin.post(f"{USERS}/none/keys", {"name": "x", "scopes": []})
    assert (bad.status, bad.json["errors"][0]["path"]) == (422, "scopes")


async def test_the_audit_says_who_did_what(admin: Client, hub: GatewayHub) -> None:
    user = (await admin.post(USERS, {"name": "carl"})).json
    await admin.request("PATCH", f"{USERS}/{user['id']}", {"plan": "pro"})
    records = (await admin.get(f"/api/v1/audit?subject={user['id']}")).json
    assert [record["action"] for record in records] == ["user.change", "user.create"]
    assert admin.key is not None
    assert records[0]["actor"] == f"key:{hub.key_named(admin.key).id}"
    page = await admin.get("/api/v1/audit?limit=1")
    assert 'rel="next"' in page.headers["link"]
    following = page.headers["link"].partition("<")[2].partition(">")[0]
    assert (await admin.get(following)).json != page.json


async def test_health_and_readiness(hub: GatewayHub, app: GatewayApp) -> None:
    anyone = Client(app)
    assert (await anyone.get("/healthz")).json == {"status": "ok"}
    assert (await anyone.get("/readyz")).json == {"status": "ready"}
    hub.is_prepared = False
    assert (await anyone.get("/healthz")).status == 200
    assert (await anyone.get("/readyz")).status == 503


async def test_the_document_has_every_route_and_every_refusal(ann: Client) -> None:
    document = (await ann.get("/api/openapi.json")).json
    for route in (one for one in ROUTES if one.is_described):
        operation = document["paths"][route.path][route.method.lower()]
        assert str(route.status) in operation["responses"]
        assert (operation["security"] == []) is route.policy.public
    assert document["components"]["schemas"]["Submission"]["properties"]["type"]["maxLength"] == 255


def test_every_refusal_of_the_table_is_documented() -> None:
    said = {refusal for route in ROUTES for refusal in refusals_of(route)}
    # Of all addresses, not of one route.
    elsewhere = {Refusal.NOT_FOUND, Refusal.METHOD_NOT_ALLOWED, Refusal.NO_LEADER}
    assert said | elsewhere == set(Refusal)


async def test_the_docs_page_needs_nothing_from_elsewhere(ann: Client) -> None:
    page = (await ann.get("/api/docs")).body.decode()
    assert "GET /api/v1/tasks/{id}" in page
    for word in ("<script", "http://", "https://", "@import", "url("):
        assert word not in page


async def test_the_hubs_of_the_yard_are_listed_with_who_leads(admin: Client, hub: GatewayHub) -> None:
    async def members() -> list[HubView]:
        return [
            HubView("h_there", "http://there", leader=False, epoch=1, since=START_MS, lag_ms=90_000),
            HubView("h_here", "http://here", leader=True, epoch=1, since=START_MS, lag_ms=250),
        ]

    hub.lead.members = members
    assert (await admin.get("/api/v1/hubs")).json == [
        {
            "id": "h_there",
            "address": "http://there",
            "leader": False,
            "epoch": 1,
            "since": "2027-01-15T08:00:00Z",
            "lag_s": 90.0,
        },
        {
            "id": "h_here",
            "address": "http://here",
            "leader": True,
            "epoch": 1,
            "since": "2027-01-15T08:00:00Z",
            "lag_s": 0.25,
        },
    ]


async def test_a_list_of_users_has_what_each_uses_if_that_is_asked_for(ann: Client, admin: Client) -> None:
    await ann.post("/api/v1/tasks", {"input": "a"})
    for user in (await admin.get("/api/v1/users")).json:
        assert user["usage"] is None
    listed = {user["name"]: user["usage"] for user in (await admin.get("/api/v1/users?usage=true")).json}
    assert listed["ann"] == (await ann.get("/api/v1/tasks/queue-status")).json
    assert (listed["ann"]["pending"], listed["root"]["pending"]) == (1, 0)

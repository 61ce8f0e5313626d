"""Inbound webhooks over HTTP: their owners' calls, and deliveries."""

import logging
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from taskyard.core.commands import CancelTask
from taskyard.core.daemon_commands import JoinDaemon
from taskyard.core.settings import Hooks, Limits, Rate, Settings
from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.port import Unavailable
from taskyard.gateway.rest.hooks import UNTIMELY, UNTRUSTED
from taskyard.hub.observe import Log, Records
from taskyard.vocabulary import HookProvider, Level, Profile, Scope, SourceType
from tests.gateway.test_signatures import SLACK_BODY
from tests.support import hook_sender
from tests.support.gateway_client import Client, Response
from tests.support.gateway_hub import START_MS, GatewayHub, refusing

pytestmark = pytest.mark.anyio
HOOKS = "/api/v1/hooks"
TASKS = "/api/v1/tasks"
NOW_S = START_MS // 1000
TEMPLATE = {"input": "PR {{payload.title}}", "title": "{{event}}"}
NEW: dict[str, Any] = {"name": "prs", "provider": "github", "template": TEMPLATE}
every = pytest.mark.parametrize("provider", HookProvider)


class Lines:
    """What the log would have, one line each."""

    def __init__(self) -> None:
        self.written: list[dict[str, Any]] = []

    def write(self, lines: bytes) -> None:
        self.written += [msgspec.json.decode(line) for line in lines.splitlines()]


@pytest.fixture
def lines() -> Iterator[Lines]:
    sink, root = Lines(), logging.getLogger()
    handler = Records(Log(sink))
    root.addHandler(handler)
    yield sink
    root.removeHandler(handler)


def signed(hook: dict[str, Any], body: bytes, *, at_s: int = NOW_S, **how: Any) -> dict[str, str]:
    """The headers that the hook's provider would send with this body."""
    return hook_sender.signed(hook["provider"], hook["secret"], body, at_s=at_s, **how)


def a_body(delivery: str = "d-1", **more: object) -> bytes:
    """With an id where Stripe and Slack have theirs."""
    return msgspec.json.encode({"id": delivery, "event_id": delivery, "type": "t", "title": "Fix it", **more})


async def a_hook(owner: Client, **fields: Any) -> dict[str, Any]:
    others = (await owner.get(HOOKS)).json
    made = await owner.post(HOOKS, {**NEW, "name": f"prs{len(others) or ''}", **fields})
    assert made.status == 201, made.json
    hook: dict[str, Any] = made.json
    return hook


async def deliver(
    app: GatewayApp, hook: dict[str, Any], body: bytes | None = None, headers: dict[str, str] | None = None, **how: Any
) -> Response:
    body = a_body(how.get("delivery", "d-1")) if body is None else body
    sent = signed(hook, body, **how) if headers is None else headers
    return await Client(app).request("POST", f"{HOOKS}/{hook['id']}", raw=body, headers=sent)


async def made(owner: Client) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = (await owner.get(TASKS)).json
    return tasks


# --- setting one up ----------------------------------------------------------------------------------------


async def test_a_hook_is_made_and_its_secret_shown_once(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, max_priority="high")
    secret = hook.pop("secret")
    assert len(secret) == 43
    assert hook == {
        "id": hook["id"],
        "url": f"http://127.0.0.1:8420{HOOKS}/{hook['id']}",
        "name": "prs",
        "user_id": "u_ann",
        "provider": "github",
        "template": TEMPLATE,
        "max_priority": "high",
        "events": [],
        "created_at": "2027-01-15T08:00:00Z",
        "previous_secret_until": None,
        "deliveries": 0,
        "last_delivery_at": None,
    }
    assert (await ann.get(HOOKS)).json == [hook]
    assert (await ann.get(f"{HOOKS}/{hook['id']}")).json == hook
    tls = build_app(app.door.hub, GatewaySettings(auth=AuthSettings(secure_cookie=True)))
    assert (await Client(tls, ann.key).get(HOOKS)).json[0]["url"].startswith("https://127.0.0.1:8420/")


async def test_no_two_hooks_of_one_user_have_one_name(ann: Client, bob: Client) -> None:
    await a_hook(ann)
    await a_hook(bob)
    refused = await ann.post(HOOKS, NEW)
    assert (refused.status, refused.json["code"]) == (409, "NAME_TAKEN")
    assert refused.json["detail"] == "You have a hook prs already; choose another name."
    other = await a_hook(ann, name="other")
    assert (await ann.request("PATCH", f"{HOOKS}/{other['id']}", {"name": "prs"})).status == 409
    assert [hook["name"] for hook in (await ann.get(HOOKS)).json] == ["other", "prs"]


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"template": {}}, "template.input"),
        ({"template": {"input": "a", "context": []}}, "template.context"),
        ({"template": {"input": "a", "source": {"type": "user"}}}, "template.source"),
        ({"template": {"input": "a", "type": "{{event}}"}}, "template.type"),
        ({"template": {"input": "a", "queue": "q-{{payload.a"}}, "template.queue"),
        ({"events": ["push", "a b"]}, "events[1]"),
        ({"provider": "generic", "secret": "whsec_%%%"}, "secret"),
    ],
)
async def test_a_hook_that_could_make_no_task_is_refused(ann: Client, fields: dict[str, Any], path: str) -> None:
    refused = await ann.post(HOOKS, {**NEW, **fields})
    assert (refused.status, refused.json["code"]) == (422, "INVALID_INPUT")
    assert [error["path"] for error in refused.json["errors"]] == [path]
    assert (await ann.get(HOOKS)).json == []


async def test_a_template_that_is_too_large_for_a_task_is_refused(ann: Client) -> None:
    refused = await ann.post(HOOKS, {**NEW, "template": {"input": "x" * (256 * 1024 + 1)}})
    assert (refused.status, refused.json["errors"][0]["path"]) == (413, "template.input")


@pytest.mark.parametrize("settings", [Settings(hooks=Hooks(per_user_max=1))])
async def test_a_user_may_have_so_many(ann: Client) -> None:
    await a_hook(ann)
    refused = await ann.post(HOOKS, NEW)
    assert (refused.status, refused.json["code"]) == (400, "TOO_MANY_HOOKS")


async def test_a_hook_is_changed_and_what_is_not_named_stays(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, max_priority="low")
    changed = await ann.request("PATCH", f"{HOOKS}/{hook['id']}", {"template": {"input": "Look at {{delivery}}"}})
    assert (changed.status, changed.json["template"], changed.json["max_priority"]) == (
        200,
        {"input": "Look at {{delivery}}"},
        "low",
    )
    assert "secret" not in changed.json
    freed = await ann.request("PATCH", f"{HOOKS}/{hook['id']}", {"max_priority": None, "name": "other"})
    assert (freed.json["max_priority"], freed.json["name"]) == (None, "other")
    await deliver(app, hook)
    assert [task["input"] for task in await made(ann)] == ["Look at d-1"]
    bad = await ann.request("PATCH", f"{HOOKS}/{hook['id']}", {"template": {"input": "a", "context": 1}})
    assert bad.status == 422


async def test_a_hook_that_is_gone_takes_nothing_more(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann)
    assert (await deliver(app, hook)).status == 202
    assert (await ann.request("DELETE", f"{HOOKS}/{hook['id']}")).json == {"ok": True}
    assert (await deliver(app, hook, delivery="d-2")).status == 401
    assert (await ann.get(HOOKS)).json == []
    assert len(await made(ann)) == 1
    assert (await ann.request("DELETE", f"{HOOKS}/{hook['id']}")).json["code"] == "HOOK_NOT_FOUND"


async def test_hooks_are_ones_own_unless_an_admin_asks(ann: Client, bob: Client, admin: Client) -> None:
    hook = await a_hook(ann)
    path = f"{HOOKS}/{hook['id']}"
    assert (await bob.get(HOOKS)).json == []
    for method, address, body in (
        ("GET", path, None),
        ("PATCH", path, {"name": "mine"}),
        ("POST", f"{path}/rotate", {}),
        ("DELETE", path, None),
    ):
        foreign = await bob.request(method, address, body)
        unknown = await bob.request(method, address.replace(hook["id"], "wh_none"), body)
        assert (foreign.status, foreign.body) == (404, unknown.body)
        assert (await bob.request(method, f"{address}?user=ann", body)).status == 403
    assert [one["id"] for one in (await admin.get(f"{HOOKS}?user=ann")).json] == [hook["id"]]
    assert [one["id"] for one in (await admin.get(f"{HOOKS}?user=*")).json] == [hook["id"]]
    assert (await admin.request("PATCH", f"{path}?user=ann", {"name": "x"})).json["name"] == "x"
    assert (await ann.get(path)).json["name"] == "x"


async def test_a_key_gives_a_hook_no_more_than_it_has(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    modest = Client(app, await hub.a_key("u_ann", Scope.TASKS, max_priority=Level.NORMAL))
    hook = await a_hook(modest, max_priority="critical", template={"input": "a", "priority": "critical"})
    assert hook["max_priority"] == "normal"
    await deliver(app, hook)
    assert [task["priority"] for task in await made(ann)] == ["normal"]
    other = await a_hook(ann)
    for method, path in (("PATCH", f"{HOOKS}/{other['id']}"), ("POST", f"{HOOKS}/{other['id']}/rotate")):
        assert (await modest.request(method, path, {})).json["code"] == "FORBIDDEN"
    bound = Client(app, await hub.a_key("u_ann", Scope.TASKS, sources=(SourceType.USER,)))
    for method, path, body in (
        ("POST", HOOKS, NEW),
        ("PATCH", f"{HOOKS}/{hook['id']}", {}),
        ("POST", f"{HOOKS}/{hook['id']}/rotate", {}),
    ):
        assert (await bound.request(method, path, body)).json["code"] == "FORBIDDEN"


# --- deliveries --------------------------------------------------------------------------------------------


@every
async def test_a_delivery_becomes_a_task_of_the_owners(
    app: GatewayApp, ann: Client, bob: Client, provider: str
) -> None:
    hook = await a_hook(ann, provider=provider)
    answer = await deliver(app, hook)
    (task,) = await made(ann)
    assert (answer.status, answer.json) == (202, {"task_id": task["id"], "deduplicated": False})
    assert (task["input"], task["user_id"], task["type"]) == ("PR Fix it", "u_ann", "general")
    assert task["source"] == {"type": "webhook", "id": hook["id"], "channel": provider}
    event = "push" if provider == "github" else "t"
    assert task["metadata"] == {"hook": hook["id"], "event": event, "delivery": "d-1"}
    assert task["title"] == event
    assert await made(bob) == []


async def test_a_delivery_that_comes_again_is_the_same_task(app: GatewayApp, ann: Client) -> None:
    # Given a delivery that was taken
    hook = await a_hook(ann)
    first = (await deliver(app, hook)).json

    # When it comes again, later, with other words inside, and after its hook was changed
    app.door.hub.wall_ms += 100_000  # type: ignore[attr-defined]
    await ann.request("PATCH", f"{HOOKS}/{hook['id']}", {"template": {"input": "other"}})
    again = await deliver(app, hook, a_body(pending_webhooks=0, title="changed"), at_s=NOW_S + 100)

    # Then there is one task, and it is told which
    assert (again.status, again.json) == (202, {"task_id": first["task_id"], "deduplicated": True})
    assert [task["input"] for task in await made(ann)] == ["PR Fix it"]
    assert (await deliver(app, hook, delivery="d-2")).json["deduplicated"] is False


async def test_what_was_cancelled_is_not_begun_anew_by_its_delivery(
    hub: GatewayHub, app: GatewayApp, ann: Client
) -> None:
    hook = await a_hook(ann)
    task_id = (await deliver(app, hook)).json["task_id"]
    await hub.decide(CancelTask("u_ann", task_id))
    await hub.decide(JoinDaemon(1, "u_ann", "d_1", "boot", "mac"))
    assert (await deliver(app, hook)).json == {"task_id": task_id, "deduplicated": True}
    await hub.lead_moves()
    assert (await deliver(app, hook)).json == {"task_id": task_id, "deduplicated": True}


async def test_an_owner_sees_how_many_came_and_when_the_last_did(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann)
    for delivery in ("d-1", "d-2", "d-2"):
        hub.wall_ms += 1000
        await deliver(app, hook, delivery=delivery)
    await deliver(app, hook, b"altered", signed(hook, a_body()))
    shown = (await ann.get(f"{HOOKS}/{hook['id']}")).json
    assert (shown["deliveries"], shown["last_delivery_at"]) == (2, "2027-01-15T08:00:02Z")


# --- what is refused: one line in the log, no task ---------------------------------------------------------


async def refused_once(answer: Response, owner: Client, lines: Lines, hook_id: str | None) -> dict[str, Any]:
    """The problem that was answered; there is one line about it, without anything that was sent, and no task."""
    problem: dict[str, Any] = answer.json
    assert await made(owner) == []
    (line,) = lines.written
    assert (line["level"], line["data"].get("hook_id")) == ("warning", hook_id)
    assert line["data"]["message"].startswith("a delivery was refused: ")
    assert "Fix it" not in str(line)
    lines.written.clear()
    return problem


@every
async def test_an_altered_body_a_wrong_secret_or_no_signature_is_refused(
    app: GatewayApp, ann: Client, lines: Lines, provider: str
) -> None:
    hook, other = await a_hook(ann, provider=provider), await a_hook(ann, provider=provider)
    right = signed(hook, a_body())
    alien = {**hook, "secret": other["secret"]}
    attempts = [(a_body(title="Evil"), right), (a_body(), signed(alien, a_body())), (a_body(), {})]
    for name in right:
        if not name.startswith("x-github-"):
            attempts.append((a_body(), {key: value for key, value in right.items() if key != name}))
    for body, headers in attempts:
        answer = await deliver(app, hook, body, headers)
        problem = await refused_once(answer, ann, lines, hook["id"])
        assert (answer.status, problem["code"], problem["detail"]) == (401, "BAD_SIGNATURE", UNTRUSTED)


@pytest.mark.parametrize("settings", [Settings(hooks=Hooks(old_s_max=10, ahead_s_max=0))])
async def test_the_window_is_as_it_is_configured(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, provider="slack")
    answers = [await deliver(app, hook, at_s=NOW_S + at_s, delivery=str(at_s)) for at_s in (-11, -10, 0, 1)]
    assert [answer.status for answer in answers] == [401, 202, 202, 401]
    assert (answers[0].json["code"], answers[0].json["detail"]) == ("BAD_SIGNATURE", UNTIMELY)


async def test_an_unknown_hook_looks_like_a_bad_signature(app: GatewayApp, ann: Client, lines: Lines) -> None:
    hook = await a_hook(ann)
    for hook_id in ("wh_none", "x" * 500, "größe", "'; drop", "*"):
        unknown = await deliver(app, {**hook, "id": hook_id})
        await refused_once(unknown, ann, lines, None)
        bad = await deliver(app, hook, headers={})
        await refused_once(bad, ann, lines, hook["id"])
        assert (unknown.status, unknown.body, unknown.headers) == (bad.status, bad.body, bad.headers)


async def test_a_header_that_comes_twice_is_refused(app: GatewayApp, ann: Client, lines: Lines) -> None:
    hook, body = await a_hook(ann), a_body()
    headers = signed(hook, body)
    for name, value, status in (
        ("X-Hub-Signature-256", "sha256=0", 401),
        ("X-Hub-Signature-256", headers["x-hub-signature-256"], 401),
        ("X-GitHub-Delivery", "d-2", 422),
    ):
        answer = await deliver(app, hook, body, {name: value, **headers})
        assert (answer.status, await made(ann)) == (status, [])


async def test_what_was_signed_and_cannot_be_read_is_refused(app: GatewayApp, ann: Client, lines: Lines) -> None:
    hook = await a_hook(ann)
    answer = await deliver(app, hook, b"Hello, World!")
    problem = await refused_once(answer, ann, lines, hook["id"])
    assert (answer.status, problem["code"]) == (422, "INVALID_INPUT")


async def test_a_body_that_is_too_large_is_refused_before_anything_else(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann)
    for hook_id in (hook["id"], "wh_none"):
        answer = await deliver(app, {**hook, "id": hook_id}, b"x" * (4 * 1024 * 1024 + 1), {})
        assert (answer.status, answer.json["code"]) == (413, "TOO_LARGE")
        announced = await deliver(app, {**hook, "id": hook_id}, b"", {"content-length": "99999999"})
        assert announced.status == 413


async def test_the_log_does_not_grow_with_every_stranger(app: GatewayApp, ann: Client, lines: Lines) -> None:
    for number in range(100):
        await deliver(app, {"id": f"wh_none{number}"}, b"", {})
    assert len(lines.written) == 10
    app.door.hub.wall_ms += 60_000  # type: ignore[attr-defined]
    await deliver(app, {"id": "wh_none"}, b"", {})
    assert len(lines.written) == 11
    assert lines.written[-1]["data"]["untold"] == 90


async def test_no_secret_is_in_any_line_or_answer(hub: GatewayHub, app: GatewayApp, ann: Client, lines: Lines) -> None:
    hook = await a_hook(ann)
    await deliver(app, hook)
    await deliver(app, hook, b"altered", signed(hook, a_body()))
    rotated = (await ann.post(f"{HOOKS}/{hook['id']}/rotate", {})).json
    answers = [await ann.get(path) for path in (HOOKS, f"{HOOKS}/{hook['id']}", TASKS)]
    answers.append(await ann.request("PATCH", f"{HOOKS}/{hook['id']}", {"name": "x"}))
    answers.append(await Client(app, await hub.a_key("u_ann", Scope.ADMIN)).get("/api/v1/audit"))
    for secret in (hook["secret"], rotated["secret"]):
        assert not [answer for answer in answers if secret.encode() in answer.body]
        assert secret not in str(lines.written)


# --- rotation ----------------------------------------------------------------------------------------------


async def test_while_a_secret_is_replaced_both_are_good(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, provider="slack")
    rotated = await ann.post(f"{HOOKS}/{hook['id']}/rotate", {"overlap": 3600})
    assert rotated.status == 200
    new = rotated.json
    assert new["secret"] != hook["secret"]
    assert new["previous_secret_until"] == "2027-01-15T09:00:00Z"
    assert [(await deliver(app, each, delivery=str(n))).status for n, each in enumerate((hook, new))] == [202, 202]
    hub.wall_ms += 3_600_000
    at_s = NOW_S + 3600
    answers = [await deliver(app, each, delivery=f"late {n}", at_s=at_s) for n, each in enumerate((hook, new))]
    assert [answer.status for answer in answers] == [401, 202]
    assert (await ann.get(HOOKS)).json[0]["previous_secret_until"] is None


async def test_a_secret_that_the_provider_made_is_put_in_by_a_rotation(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, provider="stripe")
    given = await ann.post(f"{HOOKS}/{hook['id']}/rotate", {"secret": "whsec_from_stripe", "overlap": 0})
    assert given.json["secret"] == "whsec_from_stripe"
    assert [(await deliver(app, each)).status for each in (hook, given.json)] == [401, 202]
    standard = await a_hook(ann, provider="generic")
    refused = await ann.post(f"{HOOKS}/{standard['id']}/rotate", {"secret": "whsec_?"})
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "secret")
    assert (await ann.post(f"{HOOKS}/{hook['id']}/rotate", {"overlap": -1})).status == 422


# --- greetings ---------------------------------------------------------------------------------------------


async def test_slack_is_given_its_challenge_back_if_it_signed(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, provider="slack")
    body = b'{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}'
    answer = await deliver(app, hook, body)
    assert (answer.status, answer.json) == (200, {"challenge": "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"})
    assert (await deliver(app, hook, body, {})).status == 401
    assert await made(ann) == []


async def test_a_slash_command_of_slack_and_nothing_else_is_answered_with_an_empty_body(
    app: GatewayApp, ann: Client
) -> None:
    # Slack shows the body to the person who typed the command.
    hook = await a_hook(ann, provider="slack")
    silent = await a_hook(ann, provider="slack", events=["/other"])
    for to, tasks in ((hook, 1), (hook, 1), (silent, 1)):
        headers = {**signed(to, SLACK_BODY), "content-type": "application/x-www-form-urlencoded"}
        answer = await deliver(app, to, SLACK_BODY, headers)
        assert (answer.status, answer.body, len(await made(ann))) == (200, b"", tasks)
        assert answer.headers["content-type"] == "text/plain"
    # A button, and a command's words in JSON or from another provider, are no such commands.
    button = b"payload=" + quote('{"type":"block_actions","trigger_id":"1.2","command":"/x"}').encode()
    headers = {**signed(hook, button), "content-type": "application/x-www-form-urlencoded"}
    assert (await deliver(app, hook, button, headers)).json["task_id"] is not None
    for provider in ("slack", "generic"):
        other = await a_hook(ann, provider=provider)
        answer = await deliver(app, other, b'{"command":"/x","trigger_id":"1.3"}')
        assert (answer.status, answer.json["deduplicated"]) == (202, False)


@pytest.mark.parametrize(
    "settings", [Settings(limits=Limits(rate={SourceType.WEBHOOK: Rate(per_minute=1, per_hour=10)}))]
)
async def test_a_slash_command_that_is_refused_is_no_success(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, provider="slack")
    answers = []
    for trigger in (b"1.1", b"1.2"):
        body = SLACK_BODY + b"&trigger_id=" + trigger
        headers = {**signed(hook, body), "content-type": "application/x-www-form-urlencoded"}
        answers.append(await deliver(app, hook, body, headers))
    assert [answer.status for answer in answers] == [200, 429]


async def test_an_event_that_a_hook_does_not_take_is_answered_and_makes_no_task(app: GatewayApp, ann: Client) -> None:
    hook = await a_hook(ann, events=["push", "pull_request.opened", "push"])
    assert hook["events"] == ["push", "pull_request.opened"]
    closed, opened = (a_body(action, action=action) for action in ("closed", "opened"))
    left_out = await deliver(app, hook, closed, event="pull_request")
    assert (left_out.status, left_out.json) == (202, {"task_id": None, "deduplicated": False})
    assert (await deliver(app, hook, opened, event="pull_request")).json["task_id"] is not None
    everything = await ann.request("PATCH", f"{HOOKS}/{hook['id']}", {"events": []})
    assert everything.json["events"] == []
    assert (await deliver(app, hook, closed, event="pull_request", delivery="d-2")).json["task_id"] is not None
    assert (await ann.post(HOOKS, {**NEW, "events": [""]})).status == 422


# --- rules -------------------------------------------------------------------------------------------------


async def test_words_of_a_delivery_lift_a_task_only_where_its_owner_says_so_and_never_over_the_hooks_ceiling(
    app: GatewayApp, ann: Client
) -> None:
    body, mapped = a_body(context={"event_type": "security"}, priority="critical"), {"event_type": "{{event}}"}
    expected: dict[str, dict[str, Any]] = {
        "normal": {},
        "critical": {"context": mapped},
        "high": {"context": mapped},
        "low": {"priority": "low"},
    }
    for level, more in expected.items():
        ceiling = {"max_priority": "high"} if level == "high" else {}
        hook = await a_hook(ann, template={**TEMPLATE, **more}, **ceiling)
        answer = await deliver(app, hook, body, event="security_advisory")
        task = (await ann.get(f"{TASKS}/{answer.json['task_id']}")).json
        assert task["priority"] == level


ONE_A_MINUTE = Limits(rate={SourceType.WEBHOOK: Rate(per_minute=1, per_hour=10)})


@pytest.mark.parametrize("settings", [Settings(limits=ONE_A_MINUTE, profile=Profile.SERVICE)])
async def test_what_the_hub_does_not_take_is_refused_as_any_submission(
    hub: GatewayHub, app: GatewayApp, ann: Client, lines: Lines
) -> None:
    # Given a hub that takes one task of a webhook a minute
    hook = await a_hook(ann)
    assert (await deliver(app, hook)).status == 202

    # When another delivery comes, then it is to come again later, and the log tells why
    answer = await deliver(app, hook, delivery="d-2")
    assert (answer.status, answer.json["code"]) == (429, "RATE_LIMITED")
    assert int(answer.headers["retry-after"]) > 0
    (line,) = lines.written
    assert (line["data"]["hook_id"], line["data"]["code"]) == (hook["id"], "RATE_LIMITED")

    # And the one that was taken is still known
    assert (await deliver(app, hook)).json["deduplicated"] is True
    hub.wall_ms += 60_000
    assert (await deliver(app, hook, delivery="d-2")).status == 202


async def test_a_hub_that_cannot_answer_says_so_and_nothing_is_lost(
    hub: GatewayHub, app: GatewayApp, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = await a_hook(ann)
    for question in ("receiver", "ask"):
        with monkeypatch.context() as patch:
            patch.setattr(hub, question, refusing(Unavailable("STORE_UNAVAILABLE", 1)))
            assert (await deliver(app, hook)).status == 503
    assert (await deliver(app, hook)).json["deduplicated"] is False

"""Inbound webhooks by either client."""

from datetime import UTC, datetime

from tests.sdk.conftest import Driver
from tests.support.http_stub import Reply, StubHub

HOOK = {
    "id": "wh_1",
    "url": "http://hub/api/v1/hooks/wh_1",
    "name": "prs",
    "user_id": "u_ann",
    "provider": "github",
    "template": {"input": "PR {{payload.title}}"},
    "max_priority": "high",
    "created_at": "2026-01-02T03:04:05Z",
    "previous_secret_until": None,
}


def test_a_hook_is_made_with_what_was_named_and_its_secret_is_there(hub: StubHub, driver: Driver) -> None:
    hub.on("POST", "hooks", Reply(status=201, body={**HOOK, "secret": "s"}))
    made = driver.do(driver.client.add_hook("prs", provider="github", template={"input": "a"}))
    assert (made.id, made.secret, made.created_at) == ("wh_1", "s", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    more = {"secret": "x", "max_priority": "low", "events": ["push"]}
    driver.do(driver.client.add_hook("prs", provider="slack", template={"input": "a"}, **more))
    first, second = (call.body for call in hub.asked("POST", "hooks"))
    assert first == {"name": "prs", "provider": "github", "template": {"input": "a"}}
    assert second == {**first, "provider": "slack", **more}


def test_hooks_are_listed_and_shown_without_a_secret(hub: StubHub, driver: Driver) -> None:
    hub.on("GET", "hooks", Reply(body=[HOOK]))
    hub.on("GET", "hooks/wh_1", Reply(body=HOOK))
    assert [(one.name, one.secret) for one in driver.do(driver.client.hooks())] == [("prs", None)]
    assert driver.do(driver.client.hook("wh_1")).template == {"input": "PR {{payload.title}}"}


def test_a_hook_is_changed_rotated_and_removed(hub: StubHub, driver: Driver) -> None:
    hub.on("PATCH", "hooks/wh_1", Reply(body=HOOK))
    hub.on("POST", "hooks/wh_1/rotate", Reply(body={**HOOK, "secret": "t"}))
    hub.on("DELETE", "hooks/wh_1", Reply(body={"ok": True}))
    driver.do(driver.client.change_hook("wh_1", max_priority=None))
    assert driver.do(driver.client.rotate_hook("wh_1", overlap=0)).secret == "t"
    driver.do(driver.client.rotate_hook("wh_1", secret="mine"))
    assert driver.do(driver.client.delete_hook("wh_1")).ok
    assert [call.body for call in hub.calls] == [{"max_priority": None}, {"overlap": 0}, {"secret": "mine"}, None]

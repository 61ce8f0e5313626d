"""What intake refuses, as a caller reads it; and how it stands with the line."""

import pytest

from taskyard.core.settings import Depth, Limits, Rate, Settings
from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Profile, Scope, SourceType
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS, BATCH, BACKPRESSURE = "/api/v1/tasks", "/api/v1/tasks/batch", "/api/v1/backpressure"
LIMITS = Limits(
    rate={SourceType.PROACTIVE: Rate(per_minute=50, per_hour=500, burst=4)},
    user_queue_depth=Depth(warning=2, critical=4),
)
LOW, ENGINES = {"input": "a", "priority": "low"}, {"input": "a", "source": {"type": "proactive"}}


@pytest.fixture
def settings() -> Settings:
    return Settings(limits=LIMITS, profile=Profile.SERVICE)


async def fill(caller: Client, count: int) -> None:
    answer = await caller.post(BATCH, {"tasks": [{"input": "a"} for _ in range(count)]})
    assert answer.status == 201


async def test_a_rate_that_is_exceeded_says_exactly_when_to_come_again(hub: GatewayHub, ann: Client) -> None:
    for _ in range(4):
        assert (await ann.post(TASKS, ENGINES)).status == 201
    refused = await ann.post(TASKS, ENGINES)
    assert (refused.status, refused.headers["retry-after"]) == (429, "2")
    body = refused.json
    assert (body["code"], body["retry_after"], body["status"]) == ("RATE_LIMITED", 1.2, 429)
    assert body["backpressure"]["queue_depth"] == 4
    hub.wall_ms += 1199
    assert (await ann.post(TASKS, ENGINES)).status == 429


async def test_at_critical_low_work_is_refused_with_how_it_stands(ann: Client, bob: Client) -> None:
    await fill(ann, 4)
    refused = await ann.post(TASKS, LOW)
    assert (refused.status, refused.headers["retry-after"]) == (503, "30")
    body = refused.json
    assert (body["code"], body["retry_after"]) == ("BACKPRESSURE", 30.0)
    assert body["backpressure"] == (await ann.get(BACKPRESSURE)).json
    assert (await ann.post(TASKS, ENGINES)).status == 429
    assert (await ann.post(TASKS, {"input": "a"})).status == 201
    assert (await bob.post(TASKS, LOW)).status == 201


async def test_of_a_partial_batch_what_is_refused_is_named(ann: Client) -> None:
    await fill(ann, 4)
    answer = await ann.post(BATCH, {"tasks": [LOW, {"input": "b"}, ENGINES], "partial": True})
    assert answer.status == 201
    assert [task["input"] for task in answer.json["tasks"]] == ["b"]
    assert [(one["index"], one["status"], one["code"]) for one in answer.json["rejected"]] == [
        (0, 503, "BACKPRESSURE"),
        (2, 429, "RATE_LIMITED"),
    ]


async def test_how_it_stands_is_told_to_whoever_asks(ann: Client, bob: Client) -> None:
    nothing = {"estimated_wait_time": None, "recommendations": []}
    assert (await ann.get(BACKPRESSURE)).json == {
        "type": "backpressure",
        "level": "normal",
        "scope": "user",
        "queue_depth": 0,
        **nothing,
    }
    await fill(ann, 2)
    answer = (await ann.get(BACKPRESSURE)).json
    assert (answer["level"], answer["queue_depth"]) == ("warning", 2)
    assert answer["recommendations"]
    assert (await bob.get(BACKPRESSURE)).json["level"] == "normal"


async def test_an_admin_may_ask_for_another(ann: Client, bob: Client, admin: Client) -> None:
    await fill(ann, 4)
    assert (await admin.get(f"{BACKPRESSURE}?user=ann")).json["level"] == "critical"
    assert (await bob.get(f"{BACKPRESSURE}?user=ann")).status == 403


async def test_a_daemon_is_told_the_same(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    async with Client(app, await hub.a_key("u_ann", Scope.DAEMON)).daemon(types=["none"]) as daemon:
        await fill(ann, 4)
        assert await daemon.hear() == [(await ann.get(BACKPRESSURE)).json]

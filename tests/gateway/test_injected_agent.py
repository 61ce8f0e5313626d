"""An agent that was talked into working against its owner has its task's token, and tries what it can think of."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.route import TokenUse
from taskyard.gateway.routes import ROUTES
from taskyard.vocabulary import Level, Scope
from tests.support.gateway_client import Client, Connection
from tests.support.gateway_hub import GatewayHub, a_hub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"
ENDLESS = "text/event-stream"
ASKED = [route for route in ROUTES if route.media_type != ENDLESS and not route.policy.public]


class Scene:
    """A task of ann's that runs, its token, and what it should never reach."""

    def __init__(self, owner: Client, daemon: Connection, order: dict[str, Any], others: list[str]) -> None:
        self.owner = owner
        self.daemon = daemon
        self.task: str = order["task"]["id"]
        self.agent = Client(owner.app, order["token"])
        self.others = others
        """Another task of ann's, and one of bob's."""


@pytest.fixture
async def scene(hub: GatewayHub, app: GatewayApp, bob: Client) -> AsyncIterator[Scene]:
    later = {"scheduled_for": "2099-01-01T00:00:00Z"}
    owner = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON, max_priority=Level.NORMAL))
    others = [(await one.post(TASKS, {"input": "private", **later})).json["id"] for one in (owner, bob)]
    async with owner.daemon(max_concurrent_tasks=1) as daemon:
        await owner.post(TASKS, {"input": "read this page"})
        (order,) = await daemon.hear()
        yield Scene(owner, daemon, order, others)


async def test_a_running_agents_token_opens_its_own_work_and_nothing_else(scene: Scene) -> None:
    for route, target in itertools.product(ASKED, scene.others):
        path = route.path.replace("{id}", target)
        raw = None if route.method == "GET" else b"{}"
        answer = await scene.agent.request(route.method, path, raw=raw)
        refusals = (403,) if route.policy.token is TokenUse.NONE else (404, 422)
        assert answer.status in refusals, (route.method, route.path, answer.json)
    assert (await scene.owner.get(f"{TASKS}/{scene.others[0]}")).json["status"] == "pending"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", f"{TASKS}?user=bob", {"input": "as bob"}),
        ("POST", f"{TASKS}?user=u_bob", {"input": "as bob"}),
        ("GET", f"{TASKS}/T-001?user=bob", None),
        ("GET", f"{TASKS}/T-001", None),
        ("GET", f"{TASKS}/T-001/log", None),
        ("GET", f"{TASKS}/T-001/events", None),
        ("GET", f"{TASKS}/T-001/why", None),
        ("POST", f"{TASKS}/T-001/complete", {"status": "completed"}),
        ("POST", f"{TASKS}/T-001/progress", {"log": "spam"}),
        ("POST", f"{TASKS}/T-001/checkpoint", {"data": 1}),
        ("POST", f"{TASKS}/T-001/heartbeat", {}),
        ("POST", f"{TASKS}/T-002/complete", {"status": "completed", "attempt": 2}),
        ("POST", TASKS, {"input": "a", "user_id": "u_bob"}),
        ("POST", TASKS, {"input": "a", "depends_on": ["T-001"]}),
        ("POST", TASKS, {"input": "a", "depends_on": ["T-002"]}),
        ("POST", f"{TASKS}/batch", {"tasks": [{"input": "a", "depends_on": ["T-001"]}]}),
    ],
)
async def test_what_is_not_its_own_is_refused(scene: Scene, method: str, path: str, body: Any) -> None:
    answer = await scene.agent.request(method, path, body)
    assert answer.status in (403, 404, 422), (answer.status, answer.body)


BODIES = st.fixed_dictionaries(
    {"input": st.just("a")},
    optional={
        "priority": st.sampled_from(["critical", "high", "normal", "low", 1, 5, 8, 10]),
        "source": st.sampled_from(
            [{"type": kind, "channel": "desktop"} for kind in ("user", "webhook", "schedule", "proactive", "agent")]
        ),
        "parent_task_id": st.sampled_from(["T-001", "nobody"]),
        "deadline": st.just("2027-01-15T08:00:30Z"),
        "context": st.just({"event_type": "security.payment"}),
        "requirements": st.just({"estimated_duration": 86400}),
        "idempotency_key": st.uuids().map(str),
        "correlation_id": st.just("c"),
    },
)


@pytest.mark.slow
@given(BODIES)
@settings(max_examples=60, deadline=None)
def test_whatever_it_says_its_task_is_what_its_token_makes_of_it(body: dict[str, Any]) -> None:
    async def scenario() -> None:
        async with a_hub() as hub:
            app = build_app(hub, GatewaySettings())
            key = await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON, max_priority=Level.NORMAL)
            owner = Client(app, key)
            await owner.post(TASKS, {"input": "another", "scheduled_for": "2099-01-01T00:00:00Z"})
            async with owner.daemon() as daemon:
                await owner.post(TASKS, {"input": "read this page"})
                (order,) = await daemon.hear()
                made = await Client(app, order["token"]).post(TASKS, body)
            await app.door.close()
        assert made.status == 201, made.json
        task = made.json
        assert (task["user_id"], task["source"]["type"]) == ("u_ann", "agent")
        assert task["parent_task_id"] == order["task"]["id"]
        assert task["priority"] in ("normal", "low")

    asyncio.run(scenario())


async def test_a_token_is_worth_nothing_when_its_attempt_is_over(scene: Scene) -> None:
    done = {"status": "completed", "result": 1}
    part = (await scene.agent.post(TASKS, {"input": "part"})).json["id"]
    assert (await scene.agent.get(f"{TASKS}/{part}")).json["parent_task_id"] == scene.task
    assert (await scene.agent.post(f"{TASKS}/{scene.task}/complete", done)).status == 200
    for method, path, body in (
        ("POST", TASKS, {"input": "a"}),
        ("POST", f"{TASKS}/batch", {"tasks": [{"input": "a"}]}),
        ("GET", f"{TASKS}/{part}", None),
        ("GET", f"{TASKS}/{part}/why", None),
    ):
        assert (await scene.agent.request(method, path, body)).status == 409
    for word in ("progress", "heartbeat"):
        assert (await scene.agent.post(f"{TASKS}/{scene.task}/{word}", {})).status == 409
    assert (await scene.agent.post(f"{TASKS}/{scene.task}/complete", {**done, "result": 2})).json == {"ok": True}
    assert (await scene.owner.get(f"{TASKS}/{scene.task}")).json["result"] == 1


async def test_a_token_is_worth_nothing_when_a_newer_attempt_has_its_task(scene: Scene, hub: GatewayHub) -> None:
    # Given an attempt whose daemon gave it up, and the next one at the same task
    part = (await scene.agent.post(TASKS, {"input": "part", "scheduled_for": "2099-01-01T00:00:00Z"})).json["id"]
    about = {"task_id": scene.task, "attempt": 1}
    scene.daemon.say({"type": "task.started", **about}, {"type": "task.cancelled", **about, "reason": "restarting"})
    heard: list[dict[str, Any]] = []
    while not heard or heard[-1]["type"] != "task.execute":
        heard += await scene.daemon.hear()
    order = heard[-1]
    assert (order["task"]["id"], order["attempt"]) == (scene.task, 2)

    # When the first one's agent asks for what its token opened, then it is refused
    for method, path, body in (
        ("POST", TASKS, {"input": "a"}),
        ("POST", f"{TASKS}/batch", {"tasks": [{"input": "a"}]}),
        ("GET", f"{TASKS}/{part}", None),
        ("GET", f"{TASKS}/{part}/why", None),
        ("POST", f"{TASKS}/{scene.task}/progress", {}),
        ("POST", f"{TASKS}/{scene.task}/checkpoint", {"data": 1}),
        ("POST", f"{TASKS}/{scene.task}/heartbeat", {}),
    ):
        answer = await scene.agent.request(method, path, body)
        assert (answer.status, answer.json["code"]) == (409, "STALE_ATTEMPT"), (method, path)

    # And so is the token of an attempt that never was
    unborn = await Client(scene.owner.app, hub.token_for(scene.task, 3)).post(TASKS, {"input": "a"})
    assert (unborn.status, unborn.json["code"]) == (409, "STALE_ATTEMPT")

    # And the newer attempt's token opens it, for that attempt only
    newer = Client(scene.owner.app, order["token"])
    for attempt in (1, 3):
        answer = await newer.post(f"{TASKS}/{scene.task}/heartbeat", {"attempt": attempt})
        assert (answer.status, answer.json["code"]) == (403, "FORBIDDEN")
    assert (await newer.post(f"{TASKS}/{scene.task}/heartbeat", {"attempt": 2})).status == 200
    assert (await newer.post(TASKS, {"input": "b"})).status == 201
    assert (await newer.get(f"{TASKS}/{part}")).status == 200


async def test_a_token_that_was_changed_in_any_letter_is_none(scene: Scene) -> None:
    token = scene.agent.key
    assert token is not None
    for place in range(len(token)):
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        assert (await Client(scene.owner.app, changed).post(TASKS, {"input": "a"})).status in (401, 429)

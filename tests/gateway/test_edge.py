"""The numbers at the edge: those of the types unless others are configured, and then the others, at once."""

from typing import Any

import msgspec
import pytest

from taskyard.core.settings import Limits, Retry, Settings, Sizes
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.edge import Edge
from taskyard.gateway.routes import ROUTES
from taskyard.gateway.server import GatewayServer
from taskyard.vocabulary import Scope
from taskyard.wire.fields import CHECKPOINT_BYTES_MAX, RESULT_BYTES_MAX
from taskyard.wire.frames import FRAME_BYTES_MAX
from taskyard.wire.submission import SIZES, Execution
from tests.support.gateway_client import HELLO, Client, Connection
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


async def configure(hub: GatewayHub, **sizes: int) -> None:
    await hub.adopt(Settings(limits=Limits(size=Sizes(**sizes), rate={})))


# --- the built-in numbers ----------------------------------------------------------------------------------


def test_the_types_carry_the_numbers_of_the_settings() -> None:
    """What is written on a type and what is a default of the settings is the same number, or a type would differ."""
    edge = Edge(Settings())
    for route in ROUTES:
        # Bytes are handed on as they came: they have no fields.
        assert route.body is bytes or edge.type_of(route.body) is route.body
        assert edge.type_of(route.query) is route.query
    assert edge.field_sizes == SIZES
    assert (edge.size.result, edge.size.checkpoint, edge.size.frame) == (
        RESULT_BYTES_MAX,
        CHECKPOINT_BYTES_MAX,
        FRAME_BYTES_MAX,
    )


# --- others ------------------------------------------------------------------------------------------------

Case = tuple[str, dict[str, int], dict[str, Any], dict[str, Any]]
"""What the refusal names, what is configured, what is then taken, and what is not."""
BOUNDS: list[Case] = [
    ("input", {"input": 10}, {"input": "x" * 10}, {"input": "x" * 11}),
    ("context", {"context": 10}, {"context": {"a": 1234}}, {"context": {"a": 123456}}),
    ("payload", {"payload": 10}, {"payload": {"a": 1234}}, {"payload": {"a": 123456}}),
    ("metadata", {"field": 10}, {"metadata": {"a": 1234}}, {"metadata": {"a": 123456}}),
    ("title", {"field": 10}, {"title": "x" * 10}, {"title": "x" * 11}),
    ("constraints", {"field": 10}, {"constraints": ["xxxxx"] * 2}, {"constraints": ["xxxxxx"] * 2}),
    ("type", {"name": 40}, {"type": "x" * 40}, {"type": "x" * 41}),
    ("capabilities", {"capabilities": 1}, {}, {"requirements": {"capabilities": ["a", "b"]}}),
    ("depends_on", {"dependencies": 1}, {}, {"depends_on": ["T-001", "T-002"]}),
    ("2 levels", {"depth": 2}, {"context": {"a": {}}}, {"context": {"a": {"b": {}}}}),
]


@pytest.mark.parametrize("case", BOUNDS, ids=[one[0] for one in BOUNDS])
async def test_a_smaller_bound_holds_from_the_next_request_on(hub: GatewayHub, ann: Client, case: Case) -> None:
    name, sizes, good, bad = case
    await ann.post(TASKS, {"input": "a"})
    await ann.post(TASKS, {"input": "a"})
    assert (await ann.post(TASKS, {"input": "a", **bad})).status == 201
    await configure(hub, **sizes)
    assert (await ann.post(TASKS, {"input": "a", **good})).status == 201
    refused = await ann.post(TASKS, {"input": "a", **bad})
    assert refused.status in (413, 422)
    assert name in refused.json["detail"]


@pytest.mark.parametrize(
    ("sizes", "body"),
    [
        ({"name": 300}, {"type": "x" * 300}),
        ({"input": 600_000}, {"input": "x" * 600_000}),
        ({"field": 100_000}, {"title": "x" * 100_000}),
        ({"capabilities": 60}, {"requirements": {"capabilities": [f"c{n}" for n in range(60)]}}),
        ({"name": 300}, {"source": {"type": "user", "id": "x" * 300}, "execution": {"exclusive": "x" * 300}}),
        ({"depth": 200}, {"context": {"a": msgspec.json.decode(b"[" * 198 + b"]" * 198)}}),
    ],
)
async def test_a_larger_bound_lets_more_in(
    hub: GatewayHub, ann: Client, sizes: dict[str, int], body: dict[str, Any]
) -> None:
    assert (await ann.post(TASKS, {"input": "a", **body})).status in (413, 422)
    await configure(hub, **sizes)
    assert (await ann.post(TASKS, {"input": "a", **body})).status == 201
    await hub.adopt(Settings())
    assert (await ann.get(f"{TASKS}/T-001")).status == 200, "what was taken in is read whatever holds later"


async def test_a_batch_has_as_many_tasks_as_it_may(hub: GatewayHub, ann: Client) -> None:
    await configure(hub, batch=2, name=40)
    assert (await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}] * 3})).status == 422
    tasks = [{"input": "a"}, {"input": "a", "type": "x" * 41}]
    answer = await ann.post(f"{TASKS}/batch", {"tasks": tasks, "partial": True})
    assert (len(answer.json["tasks"]), [one["index"] for one in answer.json["rejected"]]) == (1, [1])


async def test_a_page_is_as_long_as_it_may_be(hub: GatewayHub, ann: Client) -> None:
    await configure(hub, page=3, page_default=2)
    for _ in range(4):
        await ann.post(TASKS, {"input": "a"})
    assert len((await ann.get(TASKS)).json) == 2
    assert len((await ann.get(f"{TASKS}?limit=3")).json) == 3
    assert (await ann.get(f"{TASKS}?limit=4")).status == 422


async def test_a_request_has_as_many_bytes_as_it_may(hub: GatewayHub, ann: Client) -> None:
    await configure(hub, request=2000)
    for path in (TASKS, f"{TASKS}/batch"):
        assert (await ann.post(path, raw=b" " * 2001)).status == 413
    await configure(hub, frame=5_000_000, request=6_000_000)
    assert (await ann.post(TASKS, raw=b'{"input":"a"}' + b" " * 4_900_000)).status == 201
    assert (await ann.post(TASKS, raw=b'{"input":"a"}' + b" " * 5_000_000)).status == 413
    body = b'{"tasks":[{"input":"a"}]}'
    assert (await ann.post(f"{TASKS}/batch", raw=body + b" " * 5_900_000)).status == 201
    assert (await ann.post(f"{TASKS}/batch", raw=body + b" " * 6_000_000)).status == 413


async def test_names_in_the_head_and_in_the_address_are_bounded_alike(hub: GatewayHub, ann: Client) -> None:
    await configure(hub, name=40)
    assert (await ann.post(TASKS, {"input": "a"}, headers={"idempotency-key": "x" * 41})).status == 422
    assert (await ann.get(f"{TASKS}/{'x' * 41}")).status == 404


async def test_the_document_shows_the_bounds_of_the_moment(hub: GatewayHub, ann: Client) -> None:
    def type_bound(document: Any) -> int:
        bound: int = document["components"]["schemas"]["Submission"]["properties"]["type"]["maxLength"]
        return bound

    assert type_bound((await ann.get("/api/openapi.json")).json) == 255
    await configure(hub, name=300)
    assert type_bound((await ann.get("/api/openapi.json")).json) == 300
    assert (await ann.get("/api/docs")).status == 200


# --- how a task is run that does not say -------------------------------------------------------------------


async def test_a_task_that_does_not_say_is_run_as_configured_and_stays_so(hub: GatewayHub, ann: Client) -> None:
    await hub.adopt(Settings(retry=Retry(timeout_s=60, max_attempts=7, delay_s=1), limits=Limits(rate={})))
    silent = (await ann.post(TASKS, {"input": "a"})).json["execution"]
    assert (silent["timeout"], silent["max_attempts"], silent["retry_delay"]) == (60, 7, 1)
    half = (await ann.post(TASKS, {"input": "a", "execution": {"timeout": 300, "exclusive": "x"}})).json["execution"]
    assert (half["timeout"], half["max_attempts"], half["exclusive"]) == (300, 7, "x")
    terms = [task.terms for task in hub.state.tasks.values()]
    assert [(term.timeout_ms, term.max_attempts, term.retry_delay_ms) for term in terms] == [
        (60_000, 7, 1000),
        (300_000, 7, 1000),
    ]
    await hub.adopt(Settings())
    assert (await ann.get(f"{TASKS}/T-001")).json["execution"] == silent
    assert (await ann.get(f"{TASKS}/T-002")).json["execution"] == half


def test_with_the_built_in_numbers_nothing_is_spelled_out() -> None:
    said = Execution(timeout=5)
    assert Edge(Settings()).execution(said) is said
    assert Edge(Settings()).execution(None) is None


# --- daemons -----------------------------------------------------------------------------------------------


async def test_a_daemon_that_is_there_meets_the_bounds_of_the_moment(hub: GatewayHub, app: GatewayApp) -> None:
    owner = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    async with owner.socket() as daemon:
        task_id = await a_running_task(owner, daemon)
        await configure(hub, result=100, field=100, checkpoint=2_000_000)
        about = {"task_id": task_id, "attempt": 1}
        daemon.say({"type": "task.checkpoint", **about, "data": "x" * 1_500_000})
        daemon.say({"type": "task.completed", **about, "result": "x" * 200, "summary": "x" * 200})
        assert [one["type"] for one in await daemon.hear()] == ["ack"]
    task = (await owner.get(f"{TASKS}/{task_id}")).json
    assert (task["result"]["truncated"], task["result"]["bytes"], len(task["result"]["head"])) == (True, 202, 100)
    assert task["result_summary"].endswith("… (cut)")
    assert len(task["result_summary"].encode()) <= 100


async def test_a_daemon_that_goes_by_larger_bounds_than_its_hub_is_not_hung_up_on(
    hub: GatewayHub, app: GatewayApp
) -> None:
    owner = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    async with owner.socket() as daemon:
        task_id = await a_running_task(owner, daemon)
        await configure(hub, checkpoint=100, frame=65_536)
        about = {"task_id": task_id, "attempt": 1}
        daemon.say({"type": "task.checkpoint", **about, "data": "x" * 100_000})
        daemon.say({"type": "task.completed", **about, "result": 1})
        assert [one["type"] for one in await daemon.hear()] == ["ack"]
    task = (await owner.get(f"{TASKS}/{task_id}")).json
    assert (task["status"], task.get("checkpoint")) == ("completed", None)


async def a_running_task(owner: Client, daemon: Connection) -> str:
    assert (await daemon.next())["type"] == "websocket.accept"
    daemon.say(HELLO)
    await daemon.hear()
    await owner.post(TASKS, {"input": "a"})
    (message,) = await daemon.hear()
    task_id: str = message["task"]["id"]
    about = {"task_id": task_id, "attempt": 1}
    daemon.say({"type": "task.accepted", **about}, {"type": "task.started", **about})
    return task_id


async def test_callbacks_meet_them_too(hub: GatewayHub, app: GatewayApp) -> None:
    owner = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    async with owner.socket() as daemon:
        task_id = await a_running_task(owner, daemon)
        await configure(hub, result=100, checkpoint=100)
        told = f"{TASKS}/{task_id}"
        assert (await owner.post(f"{told}/checkpoint", {"attempt": 1, "data": "x" * 100})).status == 413
        done = {"attempt": 1, "status": "completed", "result": "x" * 100}
        assert (await owner.post(f"{told}/complete", done)).status == 413


@pytest.mark.parametrize(
    ("sizes", "is_handed_on"),
    [({}, True), ({"context_input_result": 10}, False), ({"context_input": 10}, False)],
)
async def test_results_are_handed_on_up_to_their_bounds(
    hub: GatewayHub, app: GatewayApp, sizes: dict[str, int], is_handed_on: bool
) -> None:
    await configure(hub, **sizes)
    owner = Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))
    async with owner.socket() as daemon:
        task_id = await a_running_task(owner, daemon)
        await owner.post(TASKS, {"input": "b", "depends_on": ["T-001"]})
        daemon.say({"type": "task.completed", "task_id": task_id, "attempt": 1, "result": "x" * 20})
        heard = await daemon.hear()
        while not any(one["type"] == "task.execute" for one in heard):
            heard += await daemon.hear()
        (entry,) = next(one["context_input"] for one in heard if one["type"] == "task.execute")
    assert ("result" in entry and entry["result"] is not None) is is_handed_on
    (shown,) = (await owner.get(f"{TASKS}/T-002")).json["context_input"]
    assert ("note" not in shown) is is_handed_on


# --- what is not the core's --------------------------------------------------------------------------------


async def test_hosts_origins_and_limits_on_guessing_change_without_a_restart(hub: GatewayHub, ann: Client) -> None:
    server = GatewayServer(ann.app)
    foreign = {"host": "tasks.example.com"}
    assert (await ann.get(TASKS, headers=foreign)).status == 403
    server.adopt(GatewaySettings(hosts=("tasks.example.com",), auth=AuthSettings(failures_per_minute=1)))
    assert (await ann.get(TASKS, headers=foreign)).status == 200
    guesser = Client(ann.app, "tyk_" + "x" * 43)
    assert [(await guesser.get(TASKS)).status for _ in range(2)] == [401, 429]


async def test_a_session_keeps_the_time_it_was_given_and_a_new_one_gets_the_new(
    hub: GatewayHub, app: GatewayApp
) -> None:
    user_id, sign_in, scopes = await hub.a_user("ann"), app.door.sign_in, frozenset({Scope.TASKS})
    old = sign_in.ticket(user_id=user_id, scopes=scopes)
    app.adopt(GatewaySettings(auth=AuthSettings(ticket_s=1, session_s=5)))
    new = sign_in.ticket(user_id=user_id, scopes=scopes)
    hub.wall_ms += 2000
    assert await sign_in.exchange(new) is None
    session = await sign_in.exchange(old)
    assert session is not None
    hub.wall_ms += 4999
    assert sign_in.session(session) is not None
    hub.wall_ms += 1
    assert sign_in.session(session) is None

"""Sizes at the edge: constants, and settings, which hold from the next request on."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from taskyard.core.settings import ExecutionRules, Limits, Retry, Settings, Sizes, TypeRules
from taskyard.gateway.app import GatewayApp
from taskyard.gateway.auth import AuthSettings
from taskyard.gateway.door import GatewaySettings
from taskyard.gateway.server import GatewayServer
from taskyard.vocabulary import Scope
from taskyard.wire.fields import BATCH_TASKS_MAX, CHECKPOINT_BYTES_MAX, INPUT_BYTES_MAX, RESULT_BYTES_MAX
from taskyard.wire.frames import FRAME_BYTES_MAX
from tests.support.gateway_client import Client, Connection
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
TASKS = "/api/v1/tasks"


async def configure(hub: GatewayHub, **sizes: int) -> None:
    await hub.adopt(Settings(limits=Limits(size=Sizes(**sizes), rate={})))


# --- constants ---------------------------------------------------------------------------------------------


def test_what_daemons_and_importers_go_by_are_the_defaults_of_the_settings() -> None:
    size = Sizes()
    assert (size.input, size.result) == (INPUT_BYTES_MAX, RESULT_BYTES_MAX)
    assert (size.frame, size.batch) == (FRAME_BYTES_MAX, BATCH_TASKS_MAX)


def nested(levels: int) -> Any:
    return msgspec.json.decode(b"[" * levels + b"]" * levels)


@pytest.mark.parametrize(
    ("field", "most", "body_of"),
    [
        ("type", 255, lambda n: {"type": "x" * n}),
        ("title", 64 * 1024, lambda n: {"title": "x" * n}),
        ("constraints", 64 * 1024, lambda n: {"constraints": ["x", "x" * (n - 1)]}),
        ("metadata", 64 * 1024, lambda n: {"metadata": {"a": "x" * (n - len('{"a":""}'))}}),
        ("context", 256 * 1024, lambda n: {"context": {"a": "x" * (n - len('{"a":""}'))}}),
        ("payload", 256 * 1024, lambda n: {"payload": {"a": "x" * (n - len('{"a":""}'))}}),
        ("requirements.capabilities", 50, lambda n: {"requirements": {"capabilities": [f"c{k}" for k in range(n)]}}),
        ("64 levels", 64, lambda n: {"context": {"a": nested(n - 1)}}),
    ],
)
async def test_a_field_has_as_much_as_it_may_and_no_more(
    ann: Client, field: str, most: int, body_of: Callable[[int], dict[str, Any]]
) -> None:
    assert (await ann.post(TASKS, {"input": "a", **body_of(most)})).status == 201
    refused = await ann.post(TASKS, {"input": "a", **body_of(most + 1)})
    assert refused.status in (413, 422)
    assert field in refused.json["detail"]


async def test_a_task_waits_for_as_many_as_it_may(ann: Client) -> None:
    await ann.post(TASKS, {"input": "a"})
    assert (await ann.post(TASKS, {"input": "a", "depends_on": ["T-001"] * 100})).status == 201
    refused = await ann.post(TASKS, {"input": "a", "depends_on": ["T-001"] * 101})
    assert (refused.status, refused.json["errors"][0]["path"]) == (422, "depends_on")


async def test_a_page_is_as_long_as_it_may_be(hub: GatewayHub, ann: Client) -> None:
    await configure(hub)
    await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}] * 50})
    await ann.request("DELETE", f"{TASKS}/T-001")
    await ann.post(TASKS, {"input": "a"})
    assert len((await ann.get(TASKS)).json) == 50
    assert len((await ann.get(f"{TASKS}?limit=500")).json) == 51
    assert (await ann.get(f"{TASKS}?limit=501")).status == 422


async def test_names_in_the_head_and_in_the_address_are_bounded_alike(ann: Client) -> None:
    assert (await ann.post(TASKS, {"input": "a"}, headers={"idempotency-key": "x" * 256})).status == 422
    assert (await ann.get(f"{TASKS}/{'x' * 256}")).status == 404


# --- settings ----------------------------------------------------------------------------------------------


async def test_a_smaller_input_holds_from_the_next_request_on(hub: GatewayHub, ann: Client) -> None:
    assert (await ann.post(TASKS, {"input": "é" * 6})).status == 201
    await configure(hub, input=10)
    assert (await ann.post(TASKS, {"input": "é" * 5})).status == 201
    for name in ("input", "description"):
        refused = (await ann.post(TASKS, {name: "é" * 6})).json
        assert (refused["status"], refused["code"]) == (413, "TOO_LARGE")
        assert refused["errors"] == [{"path": name, "message": "is 12 bytes; at most 10 are possible"}]


async def test_a_larger_input_is_read_whatever_holds_later(hub: GatewayHub, ann: Client) -> None:
    body = {"input": "x" * 600_000}
    assert (await ann.post(TASKS, body)).status == 413
    await configure(hub, input=600_000)
    assert (await ann.post(TASKS, body)).status == 201
    await hub.adopt(Settings())
    assert (await ann.get(f"{TASKS}/T-001")).json["input"] == body["input"]


@pytest.mark.parametrize("bad", [{"input": "a"}, {"input": "a", "type": "x" * 256}])
async def test_a_batch_has_as_many_tasks_as_it_may(hub: GatewayHub, ann: Client, bad: dict[str, str]) -> None:
    await configure(hub, batch=2)
    for is_partial in (False, True):
        body = {"tasks": [{"input": "a"}, {"input": "a"}, bad], "partial": is_partial}
        refused = (await ann.post(f"{TASKS}/batch", body)).json
        assert (refused["status"], refused["code"]) == (422, "INVALID_INPUT")
    assert refused["errors"] == [{"path": "tasks", "message": "should have at most 2 entries"}]
    answer = await ann.post(f"{TASKS}/batch", {"tasks": [{"input": "a"}, bad], "partial": True})
    assert len(answer.json["tasks"]) + len(answer.json["rejected"]) == 2


async def test_a_piece_of_an_import_has_as_many(hub: GatewayHub, ann: Client) -> None:
    await configure(hub, batch=1)
    piece = {"origin": "there", "tasks": [{"id": name, "input": "a"} for name in "ab"]}
    refused = (await ann.post("/api/v1/import", piece)).json
    assert (refused["status"], [one["path"] for one in refused["errors"]]) == (422, ["tasks"])


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


@pytest.mark.parametrize(("type", "is_required"), [("audit", True), ("chore", False), ("general", True)])
async def test_a_decision_report_is_required_by_type_or_of_all(
    hub: GatewayHub, ann: Client, type: str, is_required: bool
) -> None:
    types = {"audit": TypeRules(require_decision_report=True), "chore": TypeRules(require_decision_report=False)}
    await hub.adopt(Settings(execution=ExecutionRules(require_decision_report=True), types=types))
    shown = (await ann.post(TASKS, {"input": "a", "type": type})).json
    assert shown["execution"]["require_decision_report"] is is_required
    (task,) = hub.state.tasks.values()
    assert task.terms.decision_report is is_required
    # What a submission requires, no setting takes away.
    asked = {"input": "b", "type": type, "execution": {"require_decision_report": True}}
    assert (await ann.post(TASKS, asked)).json["execution"]["require_decision_report"] is True


async def test_of_one_type_alone_a_decision_report_is_required(hub: GatewayHub, ann: Client) -> None:
    await hub.adopt(Settings(types={"audit": TypeRules(require_decision_report=True)}))
    for type, is_required in (("audit", True), ("general", False)):
        shown = (await ann.post(TASKS, {"input": "a", "type": type})).json
        assert shown["execution"]["require_decision_report"] is is_required


# --- daemons -----------------------------------------------------------------------------------------------


async def test_a_daemon_that_is_there_meets_the_bounds_of_the_moment(hub: GatewayHub, owner: Client) -> None:
    async with owner.daemon() as daemon:
        task_id = await a_running_task(owner, daemon)
        await configure(hub, result=100)
        about = {"task_id": task_id, "attempt": 1}
        daemon.say({"type": "task.completed", **about, "result": "x" * 200, "summary": "x" * 70_000})
        assert [one["type"] for one in await daemon.hear()] == ["ack"]
    task = (await owner.get(f"{TASKS}/{task_id}")).json
    assert (task["result"]["truncated"], task["result"]["bytes"], len(task["result"]["head"])) == (True, 202, 100)
    assert task["result_summary"].endswith("… (cut)")
    assert len(task["result_summary"].encode()) <= 64 * 1024


async def a_running_task(owner: Client, daemon: Connection) -> str:
    await owner.post(TASKS, {"input": "a"})
    (message,) = await daemon.hear()
    task_id: str = message["task"]["id"]
    about = {"task_id": task_id, "attempt": 1}
    daemon.say({"type": "task.accepted", **about}, {"type": "task.started", **about})
    return task_id


async def test_callbacks_meet_them_too(hub: GatewayHub, owner: Client) -> None:
    async with owner.daemon() as daemon:
        task_id = await a_running_task(owner, daemon)
        await configure(hub, result=100)
        told = f"{TASKS}/{task_id}"
        checkpoint = await owner.post(f"{told}/checkpoint", {"attempt": 1, "data": "x" * CHECKPOINT_BYTES_MAX})
        done = await owner.post(f"{told}/complete", {"attempt": 1, "status": "completed", "result": "x" * 100})
    assert [(one.status, one.json["errors"][0]["path"]) for one in (checkpoint, done)] == [
        (413, "data"),
        (413, "result"),
    ]


@pytest.mark.parametrize(("length", "is_handed_on"), [(64 * 1024, True), (64 * 1024 + 1, False)])
async def test_a_result_is_handed_on_if_it_is_short_enough(owner: Client, length: int, is_handed_on: bool) -> None:
    async with owner.daemon() as daemon:
        task_id = await a_running_task(owner, daemon)
        await owner.post(TASKS, {"input": "b", "depends_on": ["T-001"]})
        result = "x" * (length - len('""'))
        daemon.say({"type": "task.completed", "task_id": task_id, "attempt": 1, "result": result})
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

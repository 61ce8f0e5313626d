"""`GET /api/v1/metrics` and `GET /metrics`: the same figures, for admins only."""

from math import inf
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from taskyard.gateway.app import GatewayApp
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub

pytestmark = pytest.mark.anyio
JSON, PROMETHEUS, TASKS = "/api/v1/metrics", "/metrics", "/api/v1/tasks"
NAMES = {
    "queue_depth_total",
    "queue_depth_by_priority",
    "queue_depth_by_source",
    "queue_depth_by_queue",
    "tasks_enqueued_per_minute",
    "tasks_completed_per_minute",
    "tasks_failed_per_minute",
    "avg_queue_wait_time_ms",
    "p50_queue_wait_time_ms",
    "p99_queue_wait_time_ms",
    "avg_execution_time_ms",
    "p50_execution_time_ms",
    "p99_execution_time_ms",
    "daemons_online",
    "daemons_busy",
    "total_daemon_capacity",
    "used_daemon_capacity",
    "retry_rate",
    "failure_rate",
    "timeout_rate",
}


async def scraped(client: Client, **headers: str) -> dict[str, Metric]:
    response = await client.get(PROMETHEUS, headers=headers)
    assert (response.status, response.headers["content-type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    families = list(parse_text(response.body.decode()))
    assert len({family.name for family in families}) == len(families), "each name is described once"
    assert all(family.documentation and family.type != "unknown" for family in families)
    return {family.name: family for family in families}


def values_of(family: Metric) -> dict[tuple[str, ...], float]:
    return {tuple(sample.labels.values()): sample.value for sample in family.samples}


@pytest.fixture
async def worked(hub: GatewayHub, app: GatewayApp, ann: Client) -> None:
    """One task is completed, one failed for good, three wait."""
    worker = Client(app, hub.a_key("u_ann", Scope.DAEMON))
    async with worker.socket() as daemon:
        await daemon.next()
        daemon.say({"type": "hello", "protocol": 1, "boot_id": "b", "name": "mac-1", "max_concurrent_tasks": 1})
        await daemon.hear()
        for end in ({"type": "task.completed"}, {"type": "task.failed", "error": {"code": "INVALID_INPUT"}}):
            await ann.post(TASKS, {"input": "go"})
            (execute,) = await daemon.hear()
            about = {"task_id": execute["task"]["id"], "attempt": 1}
            daemon.say({"type": "task.started", **about})
            daemon.say({"type": "heartbeat", "running": [about]})
            await daemon.hear()
            hub.wall_ms += 2000
            daemon.say({**end, **about})
            await daemon.hear()
    for priority in ("high", "high", "low"):
        await ann.post(TASKS, {"input": "go", "priority": priority, "type": "wait"})


@pytest.mark.usefixtures("worked")
async def test_the_figures_have_the_names_that_clients_know(admin: Client) -> None:
    shown = (await admin.get(JSON)).json
    assert shown.keys() >= NAMES
    assert shown["queue_depth_total"] == 3
    assert shown["queue_depth_by_priority"] == {"critical": 0, "high": 2, "normal": 0, "low": 1}
    assert shown["queue_depth_by_source"]["user"] == 3
    assert shown["queue_depth_by_queue"] == {"default": 3}
    assert shown["tasks_enqueued_per_minute"] == 5
    assert (shown["tasks_completed_per_minute"], shown["tasks_failed_per_minute"]) == (1, 1)
    assert shown["avg_execution_time_ms"] == 2000
    assert shown["failure_rate"] == 0.5


@pytest.mark.usefixtures("worked")
async def test_prometheus_reads_the_same_figures_in_base_units(admin: Client) -> None:
    families = await scraped(admin)
    depth = {(s.labels["queue"], s.labels["priority"]): s.value for s in families["taskyard_queue_depth"].samples}
    assert depth == {("default", "high"): 2, ("default", "low"): 1}
    assert values_of(families["taskyard_tasks_waiting"]) == {(): 3}
    assert values_of(families["taskyard_tasks_enqueued"]) == {(): 5}
    assert values_of(families["taskyard_tasks_completed"]) == {(): 1}
    assert values_of(families["taskyard_tasks_failed"]) == {(): 1}
    assert values_of(families["taskyard_attempts_ended"]) == {("completed",): 1, ("failed",): 1}
    assert values_of(families["taskyard_events"])["task.created",] == 5
    assert values_of(families["taskyard_backpressure_level"]) == {(): 0}
    assert values_of(families["taskyard_daemons"])["offline",] == 1


@pytest.mark.usefixtures("worked")
async def test_a_histogram_is_whole(admin: Client) -> None:
    families = await scraped(admin)
    times = families["taskyard_execution_seconds"]
    buckets = [(float(s.labels["le"]), s.value) for s in times.samples if s.name.endswith("_bucket")]
    other = {s.name.removeprefix("taskyard_execution_seconds_"): s.value for s in times.samples if not s.labels}
    assert times.type == "histogram"
    assert buckets == sorted(buckets)
    assert [number for _, number in buckets] == sorted(number for _, number in buckets)
    assert buckets[-1] == (inf, 2)
    assert dict(buckets)[1.0] == 0
    assert dict(buckets)[2.5] == 2
    assert other == {"count": 2, "sum": 4.0}


async def test_requests_are_counted_by_their_route(
    hub: GatewayHub, app: GatewayApp, admin: Client, ann: Client
) -> None:
    await ann.post(TASKS, {"input": "go"})
    await ann.post(TASKS, {"input": 1})
    await ann.get(f"{TASKS}/T-001")
    await ann.get(f"{TASKS}/T-999")
    await ann.get("/nowhere")
    await Client(app).get(TASKS)
    requests = (await scraped(admin))["taskyard_http_requests"]
    counted = {(s.labels["method"], s.labels["route"], s.labels["status"]): s.value for s in requests.samples}
    assert counted == {
        ("POST", TASKS, "2xx"): 1,
        ("POST", TASKS, "4xx"): 1,
        ("GET", f"{TASKS}/{{id}}", "2xx"): 1,
        ("GET", f"{TASKS}/{{id}}", "4xx"): 1,
        ("", "", "4xx"): 1,
        ("GET", TASKS, "4xx"): 1,
    }


async def test_a_label_is_escaped(hub: GatewayHub, admin: Client, ann: Client) -> None:
    name = 'a "queue" \\ of its own'
    put = await admin.request("PUT", "/api/v1/queues/" + name, {"models": ["m"]})
    assert put.status == 200
    assert (await ann.post(TASKS, {"input": "go", "queue": name})).status == 201
    depth = (await scraped(admin))["taskyard_queue_depth"]
    assert [sample.labels["queue"] for sample in depth.samples] == [name]


async def test_whoever_asks_for_open_metrics_gets_them(admin: Client) -> None:
    accept = "application/openmetrics-text; version=1.0.0"
    response = await admin.get(PROMETHEUS, headers={"accept": accept})
    assert response.headers["content-type"].startswith("application/openmetrics-text")
    assert response.body.endswith(b"# EOF\n")
    assert {family.name for family in parse_open_metrics(response.body.decode())} >= {"taskyard_tasks_completed"}


@pytest.mark.parametrize("path", [JSON, PROMETHEUS])
async def test_the_figures_of_all_are_for_admins(app: GatewayApp, ann: Client, path: str) -> None:
    answers: list[Any] = [await Client(app).get(path), await ann.get(path)]
    assert [answer.status for answer in answers] == [401, 403]
    assert answers[1].json["detail"] == "This needs a key with the scope admin."

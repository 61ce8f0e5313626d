"""`GET /api/v1/metrics` and `GET /metrics`: the same figures, for admins only."""

from math import inf
from typing import Any

import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open_metrics
from prometheus_client.parser import text_string_to_metric_families as parse_text

from taskyard.gateway.app import GatewayApp
from taskyard.gateway.samples import Sample, encode_sample
from taskyard.store.port import Figures
from taskyard.vocabulary import Level, Scope
from taskyard.wire.fields import instant_of
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
    worker = Client(app, await hub.a_key("u_ann", Scope.DAEMON))
    async with worker.daemon(max_concurrent_tasks=1) as daemon:
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


# --- how it did ---

HISTORY = "/api/v1/metrics/history"
MINUTE_MS, HOUR_MS = 60_000, 3_600_000


def has(hub: GatewayHub, step_s: int, ago_ms: int, **fields: Any) -> int:
    """A sample of some time ago; when it began."""
    at = (hub.wall_ms - ago_ms) // (step_s * 1000) * step_s * 1000
    hub.store.keep_figures([Figures(step_s, at, encode_sample(Sample(**fields)))], kept={})
    return at


async def test_a_yard_that_has_just_begun_has_no_past(admin: Client) -> None:
    answer = (await admin.get(HISTORY)).json
    assert (answer["step_s"], answer["points"]) == (60, [])


async def test_an_hour_is_shown_by_the_minute_and_a_gap_is_left_out(hub: GatewayHub, admin: Client) -> None:
    has(hub, 60, 61 * MINUTE_MS, running=9)
    first = has(hub, 60, 59 * MINUTE_MS, running=2, enqueued=5, depth={Level.HIGH: 3}, waits={0: 1, 30: 9})
    last = has(hub, 60, MINUTE_MS, running=1, slots=4, slots_used=1, daemons_online=2)
    answer = (await admin.get(f"{HISTORY}?range=hour")).json
    points = answer["points"]
    assert [point["at"] for point in points] == [
        instant_of(at).isoformat().replace("+00:00", "Z") for at in (first, last)
    ]
    assert answer["from"] < points[0]["at"]
    assert points[0]["depth"] == {"critical": 0, "high": 3, "normal": 0, "low": 0}
    assert (points[0]["running"], points[0]["enqueued"], points[0]["completed"]) == (2, 5, 0)
    assert 800 < points[0]["wait_p50_ms"] < 1250
    assert points[0]["execution_p50_ms"] is None
    assert (points[1]["slots"], points[1]["slots_used"], points[1]["daemons_online"]) == (4, 1, 2)
    assert points[1]["wait_p99_ms"] is None


async def test_a_day_is_shown_by_five_minutes_which_add_up(hub: GatewayHub, admin: Client) -> None:
    hub.wall_ms -= hub.wall_ms % HOUR_MS
    for minute in (1, 2, 3):
        has(hub, 60, minute * MINUTE_MS, enqueued=10, failed=1, running=minute, waits={minute: 1})
    answer = (await admin.get(f"{HISTORY}?range=day")).json
    [point] = answer["points"]
    assert answer["step_s"] == 300
    assert (point["enqueued"], point["failed"], point["running"]) == (30, 3, 2)
    assert point["wait_p50_ms"] is not None


@pytest.mark.parametrize(("range", "hours"), [("week", 7 * 24), ("month", 31 * 24)])
async def test_weeks_and_months_are_shown_by_the_hour(hub: GatewayHub, admin: Client, range: str, hours: int) -> None:
    has(hub, 60, MINUTE_MS, running=5)
    for ago in (0, 1, hours, hours + 1):
        has(hub, 3600, ago * HOUR_MS, completed=ago)
    answer = (await admin.get(f"{HISTORY}?range={range}")).json
    assert answer["step_s"] == 3600
    assert [point["completed"] for point in answer["points"]] == [hours, 1, 0]


async def test_the_past_is_for_admins_and_known_ranges(ann: Client, admin: Client) -> None:
    assert (await ann.get(HISTORY)).status == 403
    wrong = await admin.get(f"{HISTORY}?range=year")
    assert (wrong.status, wrong.json["errors"][0]["path"]) == (422, "range")

"""Metrics and traces of a real hub with real daemons: what is counted is what was done."""

import json
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.collector import Collector, a_collector
from tests.support.live import LONG_LEASES, LiveHub, LiveYard, wait_online, wait_until
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.slow
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TASKS = 20


@pytest.fixture
def collector() -> Iterator[Collector]:
    with a_collector() as made:
        yield made


def asked(hub: LiveHub, path: str, body: object = None, **headers: str) -> bytes:
    raw = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(hub.url + path, raw, {"authorization": f"Bearer {hub.key}", **headers})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return bytes(answer.read())


def counted(hub: LiveHub) -> dict[str, float]:
    families = text_string_to_metric_families(asked(hub, "/metrics").decode())
    return {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}


def test_what_was_done_is_what_is_counted(yard: LiveYard) -> None:
    hub = yard.hub(options=())
    with hub.client() as client:
        wait_online(client, 1)
        for number in range(TASKS):
            client.submit(f"task {number}", type="echo")
        wait_until(lambda: counted(hub)["taskyard_tasks_completed_total"] == TASKS, within_s=50, what="all done")
    numbers, shown = counted(hub), json.loads(asked(hub, "/api/v1/metrics"))
    assert numbers["taskyard_tasks_enqueued_total"] == TASKS
    assert numbers["taskyard_tasks_failed_total"] == 0
    assert numbers["taskyard_queue_wait_seconds_count"] == TASKS
    assert numbers["taskyard_execution_seconds_count"] == TASKS
    assert numbers["taskyard_commit_seconds_count"] > 0
    assert numbers["process_resident_memory_bytes"] > 0
    assert shown["tasks_completed_per_minute"] == TASKS
    assert (shown["queue_depth_total"], shown["tasks_running"]) == (0, 0)
    assert (shown["daemons_online"], shown["used_daemon_capacity"]) == (1, 0)


def test_a_trace_goes_from_the_caller_through_the_hub_to_the_work(yard: LiveYard, collector: Collector) -> None:
    hub = yard.hub(settings=f'{LONG_LEASES}\n[telemetry]\notlp_endpoint = "{collector.url}"\n')
    with WireClient("127.0.0.1", hub.port, hub.key, timeout_s=20) as daemon:
        daemon.hello(name="d1", types=["traced"])
        body = {"input": "go", "type": "traced"}
        asked(hub, "/api/v1/tasks", body, traceparent=f"00-{TRACE}-{CALLER}-01")
        execute = daemon.receive("task.execute")
        this = {"task_id": execute["task"]["id"], "attempt": execute["attempt"]}
        daemon.send({"type": "task.completed", **this, "result": "done"})
        daemon.receive("ack")
    hub.process.terminate()
    spans = {span.name: span for span in collector.spans}
    assert spans.keys() == {"task traced", "waiting", "attempt"}
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert spans["task traced"].parent_span_id.hex() == CALLER
    assert execute["task"]["traceparent"] == f"00-{TRACE}-{spans['attempt'].span_id.hex()}-01"

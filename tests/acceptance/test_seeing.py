"""Metrics and traces of a real hub with real daemons: what is counted is what was done."""

import json
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.support.collector import Collector, a_collector
from tests.support.live import LONG_LEASES, LiveHub, LiveYard
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.slow
TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


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


def test_a_trace_goes_from_the_caller_through_the_hub_to_the_work_which_is_counted(
    yard: LiveYard, collector: Collector
) -> None:
    hub = yard.hub(settings=f'{LONG_LEASES}\n[telemetry]\notlp_endpoint = "{collector.url}"\n')
    with WireClient("127.0.0.1", hub.port, hub.key, timeout_s=20) as daemon:
        daemon.hello(name="d1", types=["traced"])
        body = {"input": "go", "type": "traced"}
        asked(hub, "/api/v1/tasks", body, traceparent=f"00-{TRACE}-{CALLER}-01")
        execute = daemon.receive("task.execute")
        this = {"task_id": execute["task"]["id"], "attempt": execute["attempt"]}
        daemon.send({"type": "task.completed", **this, "result": "done"})
        daemon.receive("ack")
    numbers = counted(hub)
    assert (numbers["taskyard_tasks_enqueued_total"], numbers["taskyard_tasks_completed_total"]) == (1, 1)
    assert numbers["taskyard_commit_seconds_count"] > 0
    hub.process.terminate()
    spans = {span.name: span for span in collector.spans}
    assert spans.keys() == {"task traced", "waiting", "attempt"}
    assert {span.trace_id.hex() for span in spans.values()} == {TRACE}
    assert spans["task traced"].parent_span_id.hex() == CALLER
    assert execute["task"]["traceparent"] == f"00-{TRACE}-{spans['attempt'].span_id.hex()}-01"

"""Spans as a collector receives them."""

import io
import time
from collections.abc import Iterator

import pytest

from taskyard.hub.observe import Log
from taskyard.hub.otlp import Otlp, traces_url
from taskyard.hub.traces import ENDPOINTS, Span, open_traces
from tests.support.collector import Collector, a_collector

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ROOT = Span(
    name="task echo",
    trace_id=TRACE,
    span_id="00000000000000aa",
    parent_id=CALLER,
    started_at=1_800_000_000_000,
    ended_at=1_800_000_002_500,
    state="a=b,c=d",
    attributes={"taskyard.task.ref": "T-001"},
)
FAILED = Span(
    name="attempt",
    trace_id=TRACE,
    span_id="00000000000000bb",
    parent_id=ROOT.span_id,
    started_at=1_800_000_000_000,
    ended_at=1_800_000_001_000,
    attributes={"taskyard.attempt.number": 1},
    error="BOOM",
)


@pytest.fixture
def collector() -> Iterator[Collector]:
    with a_collector() as made:
        yield made


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ENDPOINTS, "OTEL_SERVICE_NAME", "OTEL_BSP_MAX_QUEUE_SIZE"):
        monkeypatch.delenv(name, raising=False)


def test_a_span_arrives_as_it_was(collector: Collector) -> None:
    sender = Otlp(collector.url)
    sender.send([ROOT, FAILED])
    sender.close()
    root, failed = collector.spans
    assert collector.paths == ["/v1/traces"]
    assert (root.name, root.trace_id.hex(), root.span_id.hex()) == ("task echo", TRACE, ROOT.span_id)
    assert root.parent_span_id.hex() == CALLER
    assert (root.trace_state, failed.trace_state) == ("a=b,c=d", "")
    assert root.end_time_unix_nano - root.start_time_unix_nano == 2_500_000_000
    assert [(each.key, each.value.string_value) for each in root.attributes] == [("taskyard.task.ref", "T-001")]
    assert root.status.code == root.status.STATUS_CODE_UNSET
    assert failed.parent_span_id == root.span_id
    assert (failed.status.code, failed.status.message) == (failed.status.STATUS_CODE_ERROR, "BOOM")
    assert {each.key for each in failed.attributes} == {"taskyard.attempt.number", "error.type"}


def test_the_service_is_named_taskyard_unless_the_environment_says_otherwise(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("taskyard", "night shift"):
        sender = Otlp(collector.url)
        sender.send([ROOT])
        sender.close()
        named = {each.key: each.value.string_value for each in collector.resources[-1].resource.attributes}
        assert named["service.name"] == name
        monkeypatch.setenv("OTEL_SERVICE_NAME", "night shift")


def test_the_environment_can_say_where(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "512")
    opened = open_traces(None, Log(io.BytesIO()))
    opened.close()


@pytest.mark.slow
def test_a_collector_that_is_not_there_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Given a queue that is full with a hundred, and a collector that would be waited for
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "100")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "100")
    sender = Otlp("http://127.0.0.1:1")

    # When a thousand times as many are sent, then what does not fit is dropped: batch by batch it would take far longer
    began = time.monotonic()
    sender.send([ROOT] * 100_000)
    assert time.monotonic() - began < 300
    sender.close()


@pytest.mark.parametrize(
    "endpoint", ["http://collector:4318", "http://collector:4318/", "http://collector:4318/v1/traces"]
)
def test_traces_go_to_their_own_path(endpoint: str) -> None:
    assert traces_url(endpoint) == "http://collector:4318/v1/traces"

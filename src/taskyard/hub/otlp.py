"""Spans as OpenTelemetry sends them. Imported only where traces are configured: see `traces.py`.

What the SDK would measure is known already, so its tracer is left out: its records are made here, and its processor
sends them on a thread of its own, in batches, from a queue that is bounded and drops what does not fit. How (headers,
compression, timeouts, batches) is said by the usual variables `OTEL_EXPORTER_OTLP_…` and `OTEL_BSP_…`.
"""

import os
import threading
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, TraceState
from opentelemetry.trace.status import Status, StatusCode

from taskyard.hub.traces import Span

QUEUE_MAX: Final = 16_384
# A commit can end thousands of tasks with three spans each; the library's own 2,048 would lose most of them.
CLOSE_S: Final = 3.0
_PATH: Final = "/v1/traces"
_NS_PER_MS: Final = 1_000_000
_SCOPE: Final = InstrumentationScope("taskyard")


class Otlp:
    def __init__(self, endpoint: str | None) -> None:
        """`endpoint` None: as the environment says."""
        exporter = OTLPSpanExporter() if endpoint is None else OTLPSpanExporter(endpoint=traces_url(endpoint))
        is_said = "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ
        self._processor = BatchSpanProcessor(exporter, max_queue_size=None if is_said else QUEUE_MAX)
        named = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": "taskyard"}
        self._resource = Resource.create(named)

    def send(self, spans: list[Span]) -> None:
        for span in spans:
            self._processor.on_end(self._readable(span))

    def close(self) -> None:
        """On a daemon thread: a collector that does not answer must not keep the process alive."""
        closing = threading.Thread(target=self._processor.shutdown, daemon=True)
        closing.start()
        closing.join(CLOSE_S)

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span, span.span_id, is_remote=False),
            parent=None if span.parent_id is None else _context(span, span.parent_id, is_remote=True),
            resource=self._resource,
            attributes=dict(span.attributes) if span.error is None else {**span.attributes, "error.type": span.error},
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.UNSET) if span.error is None else Status(StatusCode.ERROR, span.error),
            start_time=span.started_at * _NS_PER_MS,
            end_time=span.ended_at * _NS_PER_MS,
            instrumentation_scope=_SCOPE,
        )


def traces_url(endpoint: str) -> str:
    """Where a collector takes traces, under the address that was given for everything."""
    return endpoint if endpoint.endswith(_PATH) else endpoint.rstrip("/") + _PATH


def _context(span: Span, span_id: str, *, is_remote: bool) -> SpanContext:
    state = TraceState.from_header([] if span.state is None else [span.state])
    return SpanContext(int(span.trace_id, 16), int(span_id, 16), is_remote, TraceFlags(TraceFlags.SAMPLED), state)

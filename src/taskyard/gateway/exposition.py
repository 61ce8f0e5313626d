"""The hub's figures as Prometheus reads them: base units, one name per thing, labels for what it is divided by.

The library writes the text, which is what is easily got wrong; its own counters and histograms are not used: they take
a lock and a microsecond or two for each value, and the hub counts by the batch. Its global registry stays out of it.
"""

from collections.abc import Iterable, Mapping
from math import inf
from typing import Final

from msgspec import Struct
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from taskyard.gateway.figures import Distribution, Figures, Requests
from taskyard.vocabulary import EventName, Pressure

Values = Mapping[tuple[str, ...], int]
"""By the values of their labels."""

S_PER_MS: Final = 0.001
LEVELS: Final = tuple(Pressure)

_process: Final = ProcessCollector(registry=None)


class Own(Struct, frozen=True, kw_only=True):
    """What the hub that is asked counts by itself, whether one leads or not."""

    malformed: int = 0
    """Requests that broke the rules of HTTP."""
    damaged: int = 0
    """Damaged records that it met."""
    missing_commits: int = 0
    """Above 0 they keep every hub from leading."""


def exposition(figures: Figures | None, requests: Requests, own: Own, *, accept: str) -> tuple[bytes, str]:
    """The text and its media type: OpenMetrics for whoever asks for it, else the format 0.0.4.

    `requests` are those that the hub that is asked has answered, and the process is its own, too. Without `figures` it
    has only that and its `own` counts to tell.
    """
    encode, media_type = choose_encoder(accept)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collected([*_families(figures, requests, own)]))
    registry.register(_process)
    return encode(registry), media_type


class _Collected:
    """Families that are already there, as a registry wants to be given them."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def describe(self) -> Iterable[Metric]:
        """Without this it would ask for all of them twice."""
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._families


def _families(figures: Figures | None, requests: Requests, own: Own) -> Iterable[Metric]:
    if figures is not None:
        yield from _tasks(figures)
        yield from _fleet(figures)
        yield from _times(figures)
    yield _counter("damaged_records", "Damaged records of the past that were met.", (), {(): own.damaged})
    lacks = "Commits that were seen and this database lacks; above 0 no hub leads until a person decides."
    yield _single("missing_commits", lacks, own.missing_commits)
    yield _counter(
        "http_requests",
        "Answered requests; a route that does not exist is empty.",
        ("method", "route", "status"),
        {(method, route, f"{hundreds}xx"): times for (method, route, hundreds), times in requests.items()},
    )
    help = "Requests that broke the rules of HTTP; they are counted here and have no line in the log."
    yield _counter("http_malformed_requests", help, (), {(): own.malformed})


def _times(figures: Figures) -> Iterable[Metric]:
    yield _histogram("commit_tasks", "Rows of tasks in one commit.", figures.commit_rows)
    yield _histogram("commit_seconds", "How long the store took for one commit.", figures.commit_ms, S_PER_MS)
    lag = "How late the event loop called whoever asked to be called, looked at once a second."
    yield _histogram("event_loop_lag_seconds", lag, figures.loop_lag_ms, S_PER_MS)


def _tasks(figures: Figures) -> Iterable[Metric]:
    events = figures.events
    yield _gauge(
        "queue_depth",
        "Tasks that are ready and wait for a daemon.",
        ("queue", "priority", "source"),
        {(queue, level.value, source.value): size for (queue, level, source), size in figures.depth.items()},
    )
    yield _single("tasks_waiting", "The same, all together.", sum(figures.depth.values()))
    yield _single("tasks_running", "Attempts that daemons are at.", figures.running)
    for name, event, help in (
        ("tasks_enqueued", EventName.TASK_CREATED, "Tasks that were submitted."),
        ("tasks_completed", EventName.TASK_COMPLETED, "Tasks that were completed."),
        ("tasks_failed", EventName.TASK_PERMANENTLY_FAILED, "Tasks that failed for good."),
        ("task_retries", EventName.TASK_RETRYING, "Attempts that were followed by another try."),
    ):
        yield _counter(name, help, (), {(): events.get(event, 0)})
    yield _counter("events", "Events by name.", ("event",), {(str(name),): n for name, n in events.items()})
    ended: Values = {(outcome,): times for outcome, times in figures.attempts.items()}
    yield _counter("attempts_ended", "Attempts that had begun, by how they ended.", ("outcome",), ended)
    wait = "From becoming ready until a daemon was chosen."
    yield _histogram("queue_wait_seconds", wait, figures.wait_ms, S_PER_MS)
    run = "From the start of an attempt to its end."
    yield _histogram("execution_seconds", run, figures.execution_ms, S_PER_MS)


def _fleet(figures: Figures) -> Iterable[Metric]:
    daemons: Values = {(status.value,): number for status, number in figures.daemons.items()}
    yield _gauge("daemons", "Known daemons; a busy one has no free slot.", ("status",), daemons)
    yield _single(
        "daemon_slots",
        "Slots of the daemons that are connected, and of agents that pull and have a task.",
        figures.slots,
    )
    yield _single("daemon_slots_used", "Of those, taken.", figures.slots_used)
    breakers: Values = {(state.value,): number for state, number in figures.breakers.items()}
    yield _gauge("breakers", "Breakers that count failures or hold tasks back.", ("state",), breakers)
    level = LEVELS.index(figures.pressure)
    yield _single("backpressure_level", "0 normal, 1 warning, 2 critical: of the hub as a whole.", level)


def _single(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(f"taskyard_{name}", help, value=value)


def _gauge(name: str, help: str, labels: tuple[str, ...], values: Values) -> Metric:
    family = GaugeMetricFamily(f"taskyard_{name}", help, labels=labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def _counter(name: str, help: str, labels: tuple[str, ...], values: Values) -> Metric:
    family = CounterMetricFamily(f"taskyard_{name}", help, labels=labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def _histogram(name: str, help: str, sizes: Distribution, scale: float = 1.0) -> Metric:
    family = HistogramMetricFamily(f"taskyard_{name}", help)
    buckets = [("+Inf" if bound == inf else f"{bound * scale:.6g}", float(n)) for bound, n in sizes.buckets]
    family.add_metric([], buckets, sizes.total * scale)
    return family

"""How the hub does, for a page and for a collector. The figures are everybody's, so both are for admins."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from taskyard.gateway.call import Call, Empty, Reply
from taskyard.gateway.exposition import Own, exposition
from taskyard.gateway.figures import Figures
from taskyard.gateway.quantiles import DURATIONS_MS, quantile
from taskyard.gateway.samples import Sample, decode_sample, merged
from taskyard.vocabulary import BreakerState, DaemonStatus, EventName, Level, SourceType
from taskyard.wire.fields import instant_of
from taskyard.wire.metrics import HOUR_S, MINUTE_S, HistoryAnswer, HistoryPoint, MetricsAnswer, Range

RATE_DIGITS: Final = 4
"""A rate of one in ten thousand is the smallest that is told from none."""


class Span(Struct, frozen=True):
    length_s: int
    kept_s: int
    """How long the samples are that it is made of."""
    step_s: int
    """How long those are that are shown."""


SPANS: Final[Mapping[Range, Span]] = {
    "hour": Span(HOUR_S, kept_s=MINUTE_S, step_s=MINUTE_S),
    "day": Span(24 * HOUR_S, kept_s=MINUTE_S, step_s=5 * MINUTE_S),
    "week": Span(7 * 24 * HOUR_S, kept_s=HOUR_S, step_s=HOUR_S),
    "month": Span(31 * 24 * HOUR_S, kept_s=HOUR_S, step_s=HOUR_S),
}


class HistoryQuery(Struct, forbid_unknown_fields=True):
    range: Range = "hour"


async def show(call: Call[Empty], _body: Empty) -> Reply:
    return Reply(answer_of(await call.hub.figures()))


async def history(call: Call[HistoryQuery], _body: Empty) -> Reply:
    span = SPANS[call.query.range]
    step_ms = span.step_s * 1000
    since = call.hub.now_ms() // step_ms * step_ms - span.length_s * 1000
    found = await call.hub.read(lambda reader: reader.figures(step_s=span.kept_s, since=since))
    steps: dict[int, list[Sample]] = {}
    for one in found:
        steps.setdefault(one.at - one.at % step_ms, []).append(decode_sample(one.record))
    points = [_point(at, merged(samples)) for at, samples in steps.items()]
    return Reply(HistoryAnswer(step_s=span.step_s, from_=instant_of(since), points=points))


def _point(at: int, sample: Sample) -> HistoryPoint:
    return HistoryPoint(
        at=instant_of(at),
        depth={level: sample.depth.get(level, 0) for level in Level},
        running=sample.running,
        enqueued=sample.enqueued,
        completed=sample.completed,
        failed=sample.failed,
        wait_p50_ms=_quantile(sample.waits, 0.5),
        wait_p99_ms=_quantile(sample.waits, 0.99),
        execution_p50_ms=_quantile(sample.runs, 0.5),
        execution_p99_ms=_quantile(sample.runs, 0.99),
        slots=sample.slots,
        slots_used=sample.slots_used,
        daemons_online=sample.daemons_online,
    )


def _quantile(counted: Mapping[int, int], part: float) -> float | None:
    return quantile(DURATIONS_MS, counted, part) if counted else None


async def expose(call: Call[Empty], _body: Empty) -> Reply:
    accept = call.headers.get(b"accept", b"").decode("latin-1")
    door, missing = call.door, call.hub.missing
    # If commits are missing no hub leads, so none has figures.
    figures = await call.hub.figures() if missing is None else None
    commits = 0 if missing is None else missing.lack.commits
    own = Own(malformed=door.malformed, damaged=call.hub.damage.count, missing_commits=commits)
    text, media_type = exposition(figures, door.requests, own, accept=accept)
    return Reply(text, media_type=media_type)


def answer_of(figures: Figures) -> MetricsAnswer:
    levels, sources, queues = _depths(figures)
    minute, lately, daemons = figures.events_per_minute, figures.attempts_lately, figures.daemons
    ended, wait, run = sum(lately.values()), figures.wait_ms.lately, figures.execution_ms.lately
    commit, lag, timeouts = figures.commit_ms.lately, figures.loop_lag_ms.lately, _of(lately, "timeout")
    return MetricsAnswer(
        queue_depth_total=levels.total(),
        queue_depth_by_priority={level: levels[level] for level in Level},
        queue_depth_by_source={source: sources[source] for source in SourceType},
        queue_depth_by_queue=dict(queues),
        tasks_running=figures.running,
        tasks_enqueued_per_minute=_of(minute, EventName.TASK_CREATED),
        tasks_completed_per_minute=_of(minute, EventName.TASK_COMPLETED),
        tasks_failed_per_minute=_of(minute, EventName.TASK_PERMANENTLY_FAILED),
        avg_queue_wait_time_ms=wait.mean,
        p50_queue_wait_time_ms=wait.p50,
        p99_queue_wait_time_ms=wait.p99,
        avg_execution_time_ms=run.mean,
        p50_execution_time_ms=run.p50,
        p99_execution_time_ms=run.p99,
        daemons_online=sum(daemons.values()) - daemons[DaemonStatus.OFFLINE],
        daemons_busy=daemons[DaemonStatus.BUSY],
        total_daemon_capacity=figures.slots,
        used_daemon_capacity=figures.slots_used,
        retry_rate=_rate(_of(figures.events_lately, EventName.TASK_RETRYING), ended),
        failure_rate=_rate(_of(lately, "failed") + timeouts, ended),
        timeout_rate=_rate(timeouts, ended),
        breakers_open=figures.breakers[BreakerState.OPEN],
        breakers_half_open=figures.breakers[BreakerState.HALF_OPEN],
        backpressure_level=figures.pressure,
        avg_commit_rows=figures.commit_rows.lately.mean,
        avg_commit_time_ms=commit.mean,
        p50_commit_time_ms=commit.p50,
        p99_commit_time_ms=commit.p99,
        avg_event_loop_lag_ms=lag.mean,
        p99_event_loop_lag_ms=lag.p99,
    )


def _depths(figures: Figures) -> tuple[Counter[Level], Counter[SourceType], Counter[str]]:
    """How many wait, by each of what they are counted by."""
    levels: Counter[Level] = Counter()
    sources: Counter[SourceType] = Counter()
    queues: Counter[str] = Counter()
    for (queue, level, source), size in figures.depth.items():
        levels[level] += size
        sources[source] += size
        queues[queue] += size
    return levels, sources, queues


def _of(counts: Mapping[str, int], name: str) -> int:
    return counts.get(name, 0)


def _rate(times: int, of: int) -> float:
    return round(times / of, RATE_DIGITS) if of else 0.0

"""The figures of the week that `demo_past.py` tells of: what the hub would have written down, minute by minute.

They are counted from the same tasks that are imported, so that what the charts draw is what the lists show.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from taskyard.gateway.quantiles import DURATIONS_MS
from taskyard.gateway.samples import Sample, encode_sample, merged
from taskyard.store.port import Figures
from taskyard.store.sqlite.engine import SqliteStore
from taskyard.vocabulary import Level
from taskyard.wire.metrics import HOUR_S, MINUTE_S

MINUTE_MS: Final = MINUTE_S * 1000
HOUR_MS: Final = HOUR_S * 1000
DAY_MS: Final = 24 * HOUR_MS


def write_past(data: Path, tasks: Iterable[Mapping[str, Any]], *, slots: int, daemons: int) -> None:
    """Into the store of a yard whose hub does not run."""
    minutes = dict(_minutes(tasks, slots=slots, daemons=daemons))
    last = max(minutes)
    hours: dict[int, list[Sample]] = defaultdict(list)
    for at, sample in minutes.items():
        hours[at - at % HOUR_MS].append(sample)
    written = [
        *(Figures(MINUTE_S, at, encode_sample(sample)) for at, sample in minutes.items() if at > last - DAY_MS),
        *(Figures(HOUR_S, at, encode_sample(merged(samples))) for at, samples in hours.items()),
    ]
    with SqliteStore(data / "taskyard.db", new_cluster_id="c_demo") as store:
        store.keep_figures(written, kept={MINUTE_S: (last - DAY_MS, last), HOUR_S: (min(hours), last)})


def _minutes(tasks: Iterable[Mapping[str, Any]], *, slots: int, daemons: int) -> Iterator[tuple[int, Sample]]:
    enqueued, completed, failed, running = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    depth: dict[int, Counter[Level]] = defaultdict(Counter)
    waits: dict[int, Counter[int]] = defaultdict(Counter)
    runs: dict[int, Counter[int]] = defaultdict(Counter)
    for task in tasks:
        created, started, ended = (_ms(task[name]) for name in ("created_at", "started_at", "completed_at"))
        enqueued[_minute(created)] += 1
        waits[_minute(started)][bisect_left(DURATIONS_MS, started - created)] += 1
        runs[_minute(ended)][bisect_left(DURATIONS_MS, ended - started)] += 1
        (failed if task["status"] == "permanently_failed" else completed)[_minute(ended)] += 1
        for at in range(_minute(created), _minute(started), MINUTE_MS):
            depth[at][Level(task.get("priority", "normal"))] += 1
        for at in range(_minute(started), _minute(ended), MINUTE_MS):
            running[at] += 1
    for at in range(min(enqueued), max(completed) + 1, MINUTE_MS):
        yield (
            at,
            Sample(
                depth=dict(depth[at]),
                running=running[at],
                enqueued=enqueued[at],
                completed=completed[at],
                failed=failed[at],
                waits=dict(waits[at]),
                runs=dict(runs[at]),
                slots=slots,
                slots_used=min(running[at], slots),
                daemons_online=daemons,
            ),
        )


def _ms(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def _minute(at: int) -> int:
    return at - at % MINUTE_MS

"""What somebody costs who keeps an old view of the database open while a hub works.

Two hubs on two databases of one server, with the same stream of tasks at the same time, each task carrying when it
left; somebody keeps a view of one of the two for five minutes. A view keeps only its own database from being tidied, so
the other shows what the machine did in the same minute. Nothing of it is a young hub's: every variant of a commit has
been planned, answers are forgotten as fast as they come, and the disk has what was written before.
"""

import asyncio
import statistics
from collections.abc import Iterator
from typing import NamedTuple

import psycopg

from bench.load import submit_paced
from bench.yard import BenchYard, a_yard, rest
from taskyard.store.port import REQUESTS_KEPT_MS

PER_S = 250
STRETCH_S = 60
HELD_STRETCHES = 5

AGED = """
INSERT INTO taskyard.request
SELECT 'aged ' || n, 0, extract(epoch FROM clock_timestamp()) * 1000 - %(kept_ms)s + n * 1000 / %(per_s)s, '', 0
FROM generate_series(1, %(kept_ms)s / 1000 * %(per_s)s) AS n
"""
# Answers as a hub has them that worked at this rate for as long as they are kept.


class Stretch(NamedTuple):
    when: str
    p99_ms: float
    """Of the hub whose database somebody looks at."""
    other_p99_ms: float


def beside_a_snapshot(url: str, other_url: str) -> Iterator[Stretch]:
    with a_yard(database=url) as yard, a_yard(database=other_url) as other:
        yards = (yard, other)
        for each in yards:
            each.daemons(1, 64)
        _p99_ms(*yards)
        for place in (url, other_url):
            with psycopg.connect(place, autocommit=True) as operator:
                operator.execute(AGED, {"kept_ms": REQUESTS_KEPT_MS, "per_s": PER_S})
        rest(url)
        yield Stretch("before", *_p99_ms(*yards))
        with psycopg.connect(url) as held:
            held.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            held.execute("SELECT count(*) FROM taskyard.task")
            for minute in range(1, HELD_STRETCHES + 1):
                yield Stretch(f"beside a snapshot, minute {minute}", *_p99_ms(*yards))
        yield Stretch("after it", *_p99_ms(*yards))


def _p99_ms(*yards: BenchYard) -> list[float]:
    tasks = STRETCH_S * PER_S

    async def submit() -> None:
        await asyncio.gather(*(submit_paced(yard.address, tasks, PER_S) for yard in yards))

    for yard in yards:
        yard.forget_runs()
    asyncio.run(submit())
    runs = [yard.wait_for_runs(tasks) for yard in yards]
    return [statistics.quantiles([started - left for started, left in each], n=100)[98] * 1000 for each in runs]

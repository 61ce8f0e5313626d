"""`make bench`: the figures of `bench/README.md`, each also as a ratio within the same run.

    python -m bench [--quick] [--json FILE] [--only NAME,NAME] [--postgres]

Real sockets, separate processes, durable settings; one measurement at a time. Nothing else should run meanwhile.
"""

import argparse
import asyncio
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.ceiling import measure, measure_postgres
from bench.load import submit_as_crowd, submit_batched, submit_paced, submit_singly
from bench.policy import decision_costs
from bench.processes import run_programs
from bench.snapshot import beside_a_snapshot
from bench.yard import BenchYard, a_database, a_yard, rest
from tests.support.postgres import cluster

Figures = dict[str, float]


ROUNDS = 3
WINDOW = (2_000, 20_000)
# Starts that are timed, by a yard that is nearly empty at their end and by one with a backlog. Fewer would last a tenth
# of a second, and tell of how four processes begin.


class Bench:
    """One run: its sizes, and what it found."""

    def __init__(self, *, quick: bool, on_postgres: bool) -> None:
        self.on_postgres = on_postgres
        self.drained = 10_000 if quick else 60_000
        self.backlog = 20_000 if quick else 200_000
        self.programs = 1_000 if quick else 20_000
        self.figures: Figures = {}

    @contextmanager
    def yard(self, settings: str = "") -> Iterator[BenchYard]:
        """On a disk that has had its rest."""
        with ExitStack() as stack:
            database = stack.enter_context(a_database()) if self.on_postgres else None
            rest(database)
            yield stack.enter_context(a_yard(settings, database=database))

    def note(self, name: str, value: float, unit: str) -> None:
        self.figures[name] = value
        sys.stdout.write(f"{name:<46} {value:>12,.2f} {unit}\n")
        sys.stdout.flush()


def ceiling(bench: Bench) -> None:
    for size in (64, 256):
        bench.note(f"bare SQLite, same rows, commits of {size}", _bare(bench, size, on_postgres=False), "tasks/s")


def ceiling_postgres(bench: Bench) -> None:
    for size in (50, 500):
        bench.note(f"bare PostgreSQL, same rows, commits of {size}", _bare(bench, size, on_postgres=True), "tasks/s")


def _bare(bench: Bench, size: int, *, on_postgres: bool) -> float:
    """The better of two: what the store does if nothing comes in between."""
    rest(cluster().url() if on_postgres else None)
    once = measure_postgres if on_postgres else measure
    return max(once(min(bench.drained, 400 * size), size) for _ in range(2))


def submission(bench: Bench) -> None:
    with bench.yard() as yard:
        tasks = bench.drained // 500 * 500
        bench.note("submit, batches of 500", asyncio.run(submit_batched(yard.address, tasks)), "tasks/s")
        single = asyncio.run(submit_singly(yard.address, bench.drained // 4, 50))
        bench.note("submit, one by one, 50 connections", single, "tasks/s")
        bench.note("submit, one by one, 1 connection", asyncio.run(submit_singly(yard.address, 2000, 1)), "tasks/s")


def drain(bench: Bench) -> None:
    for daemons, slots in ((1, 64), (4, 64), (4, 256), (20, 5)):
        with bench.yard() as yard:
            drained = _drain(yard, bench.drained, daemons, slots)
        bench.note(f"drain, {daemons} daemons of {slots}", drained.rate, "tasks/s")
        bench.note(f"hub CPU per task, {daemons} daemons of {slots}", drained.cpu_us, "µs")
        bench.note("  tasks in a commit", drained.per_commit, "")
        if (daemons, slots) == (4, 64):
            bare = _bare(bench, round(drained.per_commit), on_postgres=bench.on_postgres)
            bench.note("  bare store, same rows, commits of as many", bare, "tasks/s")
            bench.note("drain as a share of the bare store", drained.rate / bare, "")


class Drained(NamedTuple):
    rate: float
    cpu_us: float
    per_commit: float


def _drain(yard: BenchYard, tasks: int, daemons: int, slots: int) -> Drained:
    tasks = tasks // 500 * 500
    asyncio.run(submit_batched(yard.address, tasks))
    yard.daemons_together(daemons, slots)
    cpu, commits = yard.cpu_s(), yard.commits()
    runs = yard.wait_for_runs(tasks)
    assert len(runs) == tasks, f"{len(runs)} runs of {tasks} tasks"
    cpu_us = (yard.cpu_s() - cpu) / tasks * 1e6
    return Drained((tasks - 1) / (runs[-1][0] - runs[0][0]), cpu_us, tasks / (yard.commits() - commits))


def latency(bench: Bench) -> None:
    with bench.yard() as yard:
        yard.daemons(1, 64)
        asyncio.run(submit_paced(yard.address, 20, 50))
        yard.wait_for_runs(20)
        for name, load in (("idle", 0.0), ("half-loaded", 0.5)):
            yard.forget_runs()
            waits = asyncio.run(_latencies(yard, bench, load))
            bench.note(f"submit to start, {name} hub, p50", statistics.median(waits) * 1000, "ms")
            bench.note(f"submit to start, {name} hub, p99", statistics.quantiles(waits, n=100)[98] * 1000, "ms")


async def _latencies(yard: BenchYard, bench: Bench, load: float) -> list[float]:
    """300 tasks at 50 a second, beside a background of `load` times the rate of single submissions."""
    background = 0
    noise: asyncio.Task[None] | None = None
    if load:
        per_s = load * bench.figures.get("submit, one by one, 50 connections", 2000.0)
        background = round(per_s * 6)
        noise = asyncio.create_task(submit_paced(yard.address, background, per_s, timed=False))
    await submit_paced(yard.address, 300, 50)
    if noise is not None:
        await noise
    runs = await asyncio.to_thread(yard.wait_for_runs, 300 + background)
    return [started - submitted for started, submitted in runs if submitted]


def snapshot(bench: Bench) -> None:
    """What somebody costs who keeps an old view of the database open: p99 by the minute, against a hub beside it."""
    with a_database() as url, a_database() as other_url:
        for when, p99_ms, other_p99_ms in beside_a_snapshot(url, other_url):
            bench.note(f"p99, {when}", p99_ms, "ms")
            bench.note("  of a hub beside it, without one", other_p99_ms, "ms")
            bench.note(f"  as a ratio, {when}", p99_ms / other_p99_ms, "")


def backlog(bench: Bench) -> None:
    """The same stretch of a drain with very many waiting and down to none, in turn; memory and restart on the way."""
    with bench.yard() as deep:
        asyncio.run(submit_batched(deep.address, 1000))
        before = deep.rss_bytes()
        asyncio.run(submit_batched(deep.address, bench.backlog))
        bench.note("memory per waiting task", (deep.rss_bytes() - before) / bench.backlog, "bytes")
        pairs = []
        for _ in range(ROUNDS):
            with bench.yard() as shallow:
                asyncio.run(submit_batched(shallow.address, WINDOW[1]))
                pairs.append((_rate_of_a_window(deep), _rate_of_a_window(shallow)))
        many, few = (statistics.median(rates) for rates in zip(*pairs, strict=True))
        bench.note(f"drain with {bench.backlog:,} waiting", many, "tasks/s")
        bench.note(f"drain of the last {WINDOW[1]:,}", few, "tasks/s")
        bench.note("the same as a ratio", statistics.median(deep / shallow for deep, shallow in pairs), "")
        deep.kill()
        bench.note(f"restart with {bench.backlog:,} waiting", deep.up(), "s")
        bench.note("memory per waiting task after a restart", deep.rss_bytes() / bench.backlog, "bytes (whole process)")


def _rate_of_a_window(yard: BenchYard) -> float:
    """Starts per second once all four daemons are at work."""
    yard.forget_runs()
    yard.daemons(4, 64)
    begin, end = WINDOW
    runs = yard.wait_for_runs(end)[begin:end]
    yard.send_daemons_home()
    return (len(runs) - 1) / (runs[-1][0] - runs[0][0])


NO_LIMIT = """
[limits]
running_total = 100000
running_per_user = 100000
[limits.running_per_source]
user = 100000
[limits.rate.user]
per_minute = 100000000
per_hour = 1000000000
[limits.rate.hub]
per_minute = 100000000
per_hour = 1000000000
[limits.queue_depth]
warning = 10000000
critical = 20000000
[limits.user_queue_depth]
warning = 10000000
critical = 20000000
"""
EVERY_LIMIT = """
profile = "service"
[limits]
running_total = 100000
[limits.rate.user]
per_minute = 100000000
per_hour = 1000000000
[limits.rate.hub]
per_minute = 100000000
per_hour = 1000000000
[limits.queue_depth]
warning = 10000000
critical = 20000000
[limits.user_queue_depth]
warning = 10000000
critical = 20000000
[queues.cloud]
models = ["cloud/a", "cloud/b"]
max_concurrent = 128
[queues.local]
models = ["local/c"]
max_concurrent = 64
[breakers.overrides.noop]
failure_threshold = 3
"""
MODELS = (None, "cloud/a", "cloud/b", "local/c")
USERS = 100


def policy(bench: Bench) -> None:
    """Drain under every limit, plan, queue and breaker, against the same users and against one, under none."""
    tasks = bench.drained // 2 // 1000 * 1000
    rounds = [_drains(bench, tasks) for _ in range(ROUNDS)]
    alone, crowd, limited = (statistics.median(rates) for rates in zip(*rounds, strict=True))
    bench.note("drain of one user's tasks under no limit", alone, "tasks/s")
    bench.note(f"drain of {USERS} users' tasks under no limit", crowd, "tasks/s")
    bench.note(f"drain of {USERS} users' tasks under every limit", limited, "tasks/s")
    bench.note("every limit against none, the same users", statistics.median(c / b for _, b, c in rounds), "")
    bench.note("every limit against none, one user", statistics.median(c / a for a, _, c in rounds), "")
    decided = {
        size: decision_costs(*size)
        for size in ((10_000, 100), (1_000_000 if bench.drained > 10_000 else 100_000, 10_000))
    }
    (few, many) = decided.values()
    for (waiting, users), cost in decided.items():
        bench.note(f"a decision, {waiting:,} of {users:,} users", cost.decision_us, "µs")
    bench.note("the same as a ratio", many.decision_us / few.decision_us, "")
    bench.note("bytes per waiting task of a crowd", many.bytes_per_task, "bytes")
    bench.note("why, of a task in that backlog", many.why_ms, "ms")


def _drains(bench: Bench, tasks: int) -> tuple[float, float, float]:
    """One after the other: one user and many under no limit, many under every one."""
    with bench.yard() as yard:
        asyncio.run(submit_batched(yard.address, tasks))
        alone = _rate_of_a_drain(yard, tasks)
    with bench.yard(NO_LIMIT) as yard:
        asyncio.run(submit_as_crowd(yard.address, tasks, USERS, plan=None))
        crowd = _rate_of_a_drain(yard, tasks, "shared")
    with bench.yard(EVERY_LIMIT) as yard:
        asyncio.run(submit_as_crowd(yard.address, tasks, USERS, models=MODELS, plan="enterprise"))
        return alone, crowd, _rate_of_a_drain(yard, tasks, "shared")


def _rate_of_a_drain(yard: BenchYard, tasks: int, *options: str) -> float:
    yard.daemons_together(4, 64, *options)
    runs = yard.wait_for_runs(tasks)
    return (len(runs) - 1) / (runs[-1][0] - runs[0][0])


def processes(bench: Bench) -> None:
    with bench.yard() as yard:
        rate, growth = run_programs(yard, bench.programs)
        bench.note("programs, 1 daemon of 8", rate, "processes/s")
        bench.note("memory of the daemon per program", growth, "bytes")


PARTS: dict[str, Callable[[Bench], None]] = {
    "ceiling": ceiling,
    "ceiling-postgres": ceiling_postgres,
    "submission": submission,
    "drain": drain,
    "latency": latency,
    "backlog": backlog,
    "policy": policy,
    "processes": processes,
    "snapshot": snapshot,
}
LONG = ("snapshot",)
"""Run only if named."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("--quick", action="store_true", help="a tenth of the work; the figures are rough")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--only", help="of: " + ", ".join(PARTS))
    parser.add_argument("--postgres", action="store_true", help="every yard on PostgreSQL, a server of our own")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [part for part in PARTS if part not in LONG]
    if unknown := [name for name in names if name not in PARTS]:
        parser.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    bench = Bench(quick=options.quick, on_postgres=options.postgres)
    sys.stdout.write(f"Python {platform.python_version()}, of {sys.base_prefix}\n")
    begun = time.perf_counter()
    for name in names:
        PARTS[name](bench)
    sys.stdout.write(f"took {time.perf_counter() - begun:.0f} s\n")
    if options.json:
        Path(options.json).write_text(json.dumps(bench.figures, indent=2) + "\n")


main()

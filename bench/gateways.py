"""The same work answered by the hub itself, by one gateway and by two.

All three yards are up at once and are given work in turn, a second or less at a time: so they meet the same noise.
"""

import asyncio
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from bench.load import Line, submit_batched, submit_singly
from bench.yard import BenchYard, a_yard

GATEWAYS = (0, 1, 2)
LINES = (50, 200)
# So few that mostly the disk is waited for, and so many that it is not.
QUEUE = "/api/v1/queues/default"

Figure = tuple[str, float, str]


def compare(*, bursts: int, singles: int, drained: int) -> Iterator[Figure]:
    with ExitStack() as stack:
        yards = {count: stack.enter_context(a_yard(gateways=count)) for count in GATEWAYS}
        for lines in LINES:
            yield from _submissions(yards, bursts, singles, lines)
        # What was submitted so far goes first, and is not counted.
        for yard in yards.values():
            yard.daemons(4, 64)
            yard.wait_for_runs(len(LINES) * (bursts + 1) * singles)
        yield from _ratios("drain, 4 daemons of 64", _in_turn(yards, bursts, lambda yard: _drain(yard, drained)))


def _submissions(yards: dict[int, BenchYard], bursts: int, tasks: int, lines: int) -> Iterator[Figure]:
    def submit(yard: BenchYard) -> float:
        return asyncio.run(submit_singly(yard.address, tasks, lines))

    # The first is not counted: it makes the connections' paths warm.
    _in_turn(yards, 1, submit)
    before = {count: (yard.cpu_s(), yard.gateways_cpu_s()) for count, yard in yards.items()}
    yield from _ratios(f"submit by {lines} connections", _in_turn(yards, bursts, submit))
    for count, yard in yards.items():
        hub_s, gateways_s = before[count]
        hub_us, gateways_us = (
            (now_s - then_s) / bursts / tasks * 1e6
            for now_s, then_s in ((yard.cpu_s(), hub_s), (yard.gateways_cpu_s(), gateways_s))
        )
        yield f"by {lines}: CPU of the hub, {count} gateways", hub_us, "µs a task"
        yield f"by {lines}: CPU of the gateways, {count} gateways", gateways_us, "µs a task"


def _in_turn(yards: dict[int, BenchYard], bursts: int, burst: Callable[[BenchYard], float]) -> dict[int, list[float]]:
    rates: dict[int, list[float]] = {count: [] for count in yards}
    for _ in range(bursts):
        for count, yard in yards.items():
            rates[count].append(burst(yard))
    return rates


def _drain(yard: BenchYard, tasks: int) -> float:
    """They are submitted to a queue that stands still; then it is let go."""
    yard.forget_runs()
    asyncio.run(_post(yard, "pause"))
    asyncio.run(submit_batched(yard.address, tasks))
    asyncio.run(_post(yard, "resume"))
    runs = yard.wait_for_runs(tasks)
    return (len(runs) - 1) / (runs[-1][0] - runs[0][0])


async def _post(yard: BenchYard, what: str) -> None:
    line = await Line(*yard.address).open()
    await line.post(f"{QUEUE}/{what}", b"{}")
    line.close()


def _ratios(name: str, rates: dict[int, list[float]]) -> Iterator[Figure]:
    """The median and the best of each; and the median of what each was against none, burst by burst."""
    for count, some in rates.items():
        yield f"{name}, {count} gateways", statistics.median(some), f"tasks/s, at best {max(some):,.0f}"
    for count in GATEWAYS[1:]:
        ratios = sorted(some / none for some, none in zip(rates[count], rates[0], strict=True))
        quarter = len(ratios) // 4
        middle = f"half of them {ratios[quarter]:.2f} to {ratios[-quarter - 1]:.2f}"
        yield f"{name}, {count} gateways against none", statistics.median(ratios), middle

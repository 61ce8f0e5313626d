"""A page before a yard with 100,000 tasks and 500 events a second: `python -m tests.dashboard.load --seconds 600`.

While work comes and goes, somebody looks at the queue, and then as long at the overview, scrolls and moves on; with
`--at-once`, at both in windows of their own, which halves the time and tells as much of memory, but less of speed. No
task of a page's main thread may take longer than a person notices, and its memory must not grow. Both are asked of the
browser itself: long tasks by its observer, the heap by its protocol after a forced collection.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from taskyard.sdk.client import Client
from taskyard.wire.imports import Import
from tests.dashboard.browser import DESKTOP, Complaints, launch
from tests.dashboard.pages import visit
from tests.dashboard.yard import SETTINGS, Yard
from tests.support.live import live_yard

TASKS: Final = 100_000
OPEN: Final = 20_000
"""So many of them wait for a machine that nobody has."""
PIECE: Final = 1_000
AT_A_TIME: Final = 2
EVENTS_PER_S: Final = 500
EVENTS_PER_TASK: Final = 5
"""Created, queued, scheduled, started, completed."""
BATCHES_PER_S: Final = 5
BACKLOG_S_MAX: Final = 2
"""Were the daemon slower than what comes in, there would be fewer events than are counted."""

LONG_TASK_MS_MAX: Final = 200
WARM_UP_S: Final = 3.0
SAMPLE_S: Final = 5.0
HEAP_GROWTH_MAX: Final = 1.15
HEAP_SLACK_BYTES: Final = 4_000_000
"""What caches of a page that has just been opened may still take."""
STEADY_S: Final = 300.0
"""After so long nothing is new to a page any more: from there on its heap is flat, or it leaks."""
HEAP_BYTES_PER_MINUTE_MAX: Final = 100_000
"""A collection leaves now more, now less; this much of a slope is told from that by five minutes."""
MINUTE_S: Final = 60.0

PATHS: Final = ("/queue", "/")
ROUNDS: Final = tuple((path,) for path in PATHS)
"""One after the other, so that each has the machine for itself."""

UNLIMITED: Final = """
[limits.rate.proactive]
per_minute = 1000000
per_hour = 10000000
burst = 100000
"""
WATCH: Final = """
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longTasks.push(Math.round(task.duration));
  }).observe({ type: "longtask", buffered: true });
"""


class Heap(NamedTuple):
    """What was left of it by a collection."""

    at_s: float
    size_bytes: int


class Seen(NamedTuple):
    """What the browser told."""

    path: str
    long_tasks_ms: Sequence[int]
    heap: Sequence[Heap]
    complaints: Sequence[str]

    @property
    def wrong(self) -> Iterator[str]:
        if (longest := max(self.long_tasks_ms, default=0)) > LONG_TASK_MS_MAX:
            yield f"{self.path}: a task of the main thread took {longest} ms, {LONG_TASK_MS_MAX} are allowed"
        third = max(1, len(self.heap) // 3)
        before, after = median_bytes(self.heap[:third]), median_bytes(self.heap[-third:])
        if after > before * HEAP_GROWTH_MAX + HEAP_SLACK_BYTES:
            yield f"{self.path}: the heap grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB"
        if (growth := self.growth_bytes_per_minute) is not None and growth > HEAP_BYTES_PER_MINUTE_MAX:
            yield f"{self.path}: the heap still grows by {growth / 1e3:.0f} kB a minute"
        yield from (f"{self.path}: {complaint}" for complaint in self.complaints)

    @property
    def growth_bytes_per_minute(self) -> float | None:
        """Once the page is steady; None if it was not looked at for so long."""
        steady = [one for one in self.heap if one.at_s >= STEADY_S]
        if len(steady) < 2 or steady[-1].at_s - steady[0].at_s < MINUTE_S:
            return None
        return statistics.linear_regression(*zip(*steady, strict=True)).slope * MINUTE_S

    @property
    def minutes_bytes(self) -> list[float]:
        """In the median of each minute."""
        minutes = itertools.groupby(self.heap, key=lambda one: one.at_s // MINUTE_S)
        return [median_bytes(list(heap)) for _, heap in minutes]

    def __str__(self) -> str:
        heap = " ".join(f"{size / 1e6:.2f}" for size in self.minutes_bytes)
        growth = self.growth_bytes_per_minute
        steady = "" if growth is None else f", after {STEADY_S:.0f} s by {growth / 1e3:+.1f} kB a minute"
        slowest = sorted(self.long_tasks_ms)[-3:]
        tasks = f"{len(self.long_tasks_ms)} tasks over 50 ms, longest {slowest} ms"
        return f"{self.path}: {tasks}; heap minute by minute {heap} MB{steady}"


def median_bytes(heap: Sequence[Heap]) -> float:
    return statistics.median(one.size_bytes for one in heap)


class Traffic:
    """Hands in work at an even pace, on a thread of its own, until it is told to stop."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.tasks = 0
        self.seconds = 0.0

    def __enter__(self) -> "Traffic":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def events_per_s(self) -> float:
        return self.tasks * EVENTS_PER_TASK / self.seconds

    def _run(self) -> None:
        size = EVENTS_PER_S // EVENTS_PER_TASK // BATCHES_PER_S
        began = time.monotonic()
        for number in itertools.count(1):
            batch: list[Any] = [
                {"input": "Go.", "title": f"Live {number}/{one}", "type": "noop"} for one in range(size)
            ]
            self._client.submit_batch(batch)
            self.tasks += size
            self.seconds = time.monotonic() - began
            if self._stop.wait(max(0.0, number / BATCHES_PER_S - self.seconds)):
                return


def carried(number: int, now: datetime) -> dict[str, Any]:
    """One of the many: most had ended, some still wait."""
    at = (now - timedelta(seconds=4 * (TASKS - number))).isoformat()
    task = {"id": f"t{number}", "title": f"Task {number} of many", "input": "Go.", "type": "support", "created_at": at}
    if number >= TASKS - OPEN:
        return {**task, "requirements": {"capabilities": ["nobody-has-this"]}}
    ended = {"scheduled_at": at, "started_at": at, "completed_at": at, "status": "completed", "result": "ok"}
    return {**task, **ended, "attempts": [{"daemon": "d", "status": "success", "started_at": at, "ended_at": at}]}


def fill(yard: Yard, tasks: int) -> None:
    """One piece is made ready while the hub takes in the one before it."""
    now = datetime.now(UTC)
    with yard.hub.client(timeout_s=60) as client, ThreadPoolExecutor(AT_A_TIME) as pool:

        def bring(first: int) -> None:
            piece = {"origin": "load", "tasks": [carried(first + number, now) for number in range(PIECE)]}
            client.import_piece(msgspec.json.decode(msgspec.json.encode(piece), type=Import))

        list(pool.map(bring, range(TASKS - tasks, TASKS, PIECE)))


def heap_of(protocol: CDPSession) -> int:
    protocol.send("HeapProfiler.collectGarbage")
    metrics = protocol.send("Performance.getMetrics")["metrics"]
    return int(next(metric["value"] for metric in metrics if metric["name"] == "JSHeapUsedSize"))


class Window:
    """A page that somebody looks at, and what the browser has told of it."""

    def __init__(self, page: Page, path: str) -> None:
        self._page = page
        self._path = path
        self._complaints = Complaints(page)
        self._long_tasks_ms: list[int] = []
        self._heap: list[Heap] = []
        page.add_init_script(WATCH)
        visit(page, path)
        self._protocol = page.context.new_cdp_session(page)
        self._protocol.send("Performance.enable")

    @property
    def seen(self) -> Seen:
        return Seen(self._path, self._long_tasks_ms, self._heap, list(self._complaints.heard))

    def scroll(self, way: int) -> None:
        self._page.mouse.move(700, 500)
        self._page.mouse.wheel(0, way)

    def sample(self, began_s: float) -> None:
        # Before the collection, which stands in the way itself and is none of the page's doing.
        self._long_tasks_ms += self._page.evaluate("() => window.longTasks.splice(0)")
        self._heap.append(Heap(time.monotonic() - began_s, heap_of(self._protocol)))

    def forget_long_tasks(self) -> None:
        self._page.evaluate("() => { window.longTasks.length = 0; }")


def watch(pages: Mapping[str, Page], seconds: float) -> list[Seen]:
    """Look at these pages at once for so long, as a person would; they are named by their paths."""
    windows = [Window(page, path) for path, page in pages.items()]
    clock = next(iter(pages.values()))
    clock.wait_for_timeout(WARM_UP_S * 1000)
    for window in windows:
        window.forget_long_tasks()
    began_s = time.monotonic()
    while time.monotonic() - began_s < seconds:
        for way in (600, 600, -1200):
            for window in windows:
                window.scroll(way)
            clock.wait_for_timeout(SAMPLE_S / 3 * 1000)
        for window in windows:
            window.sample(began_s)
        clock.wait_for_timeout(100)
        for window in windows:
            window.forget_long_tasks()
    return [window.seen for window in windows]


def signed_in(browser: Browser, yard: Yard) -> Page:
    """In a window of its own, whose memory is nobody else's."""
    context = browser.new_context(base_url=yard.url, viewport=DESKTOP)
    yard.sign_in(context)
    return context.new_page()


def run(
    directory: Path, browser: Browser, *, seconds: float, rounds: Sequence[Sequence[str]] = ROUNDS, tasks: int = TASKS
) -> tuple[list[Seen], float]:
    """What was seen of the pages of each round, for so long each, and how many events a second there were."""
    with live_yard(directory) as live:
        yard = Yard(live, settings=SETTINGS + UNLIMITED)
        try:
            fill(yard, tasks)
            yard.crew(slots=50)
            seen: list[Seen] = []
            with Traffic(yard.hub.client(timeout_s=30)) as traffic:
                for paths in rounds:
                    pages = {path: signed_in(browser, yard) for path in paths}
                    seen += watch(pages, seconds)
                    for page in pages.values():
                        page.context.close()
                backlog = sum(1 for _ in yard.client.tasks(type="noop", status="queued"))
            assert backlog < BACKLOG_S_MAX * EVENTS_PER_S / EVENTS_PER_TASK, f"{backlog} tasks were left behind"
            return seen, traffic.events_per_s
        finally:
            yard.end()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.load")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each page")
    parser.add_argument("--page", dest="paths", action="append", choices=PATHS, help="only this one; may be repeated")
    parser.add_argument("--at-once", action="store_true", help="look at all of them in the same time")
    parser.add_argument("--tasks", type=int, default=TASKS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = launch(playwright)
        paths = asked.paths or PATHS
        rounds = [paths] if asked.at_once else [[path] for path in paths]
        seen, events_per_s = run(Path(directory), browser, seconds=asked.seconds, rounds=rounds, tasks=asked.tasks)
        browser.close()
    print(f"{asked.tasks:,} tasks, {events_per_s:.0f} events a second")
    for page in seen:
        print(page)
    wrong = [sentence for page in seen for sentence in page.wrong]
    for sentence in wrong:
        print(f"wrong: {sentence}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

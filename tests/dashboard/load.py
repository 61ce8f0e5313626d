"""A page before a yard with 100,000 tasks and 500 events a second: `python -m tests.dashboard.load --seconds 600`.

While work comes and goes, somebody looks at the queue and the overview, scrolls and moves on. No task of the page's
main thread may take longer than a person notices, and its memory must not grow. Both are asked of the browser itself:
long tasks by its observer, the heap by its protocol after a forced collection.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
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


class Seen(NamedTuple):
    """What the browser told."""

    path: str
    long_tasks_ms: Sequence[int]
    heap_bytes: Sequence[int]
    complaints: Sequence[str]

    @property
    def wrong(self) -> Iterator[str]:
        if (longest := max(self.long_tasks_ms, default=0)) > LONG_TASK_MS_MAX:
            yield f"{self.path}: a task of the main thread took {longest} ms, {LONG_TASK_MS_MAX} are allowed"
        third = max(1, len(self.heap_bytes) // 3)
        before, after = statistics.median(self.heap_bytes[:third]), statistics.median(self.heap_bytes[-third:])
        if after > before * HEAP_GROWTH_MAX + HEAP_SLACK_BYTES:
            yield f"{self.path}: the heap grew from {before / 1e6:.1f} to {after / 1e6:.1f} MB"
        yield from (f"{self.path}: {complaint}" for complaint in self.complaints)

    def __str__(self) -> str:
        heap = " ".join(f"{size / 1e6:.1f}" for size in self.heap_bytes)
        slowest = sorted(self.long_tasks_ms)[-3:]
        return f"{self.path}: {len(self.long_tasks_ms)} tasks over 50 ms, longest {slowest} ms; heap {heap} MB"


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
    now = datetime.now(UTC)
    with yard.hub.client(timeout_s=60) as client:
        for first in range(TASKS - tasks, TASKS, PIECE):
            piece = {"origin": "load", "tasks": [carried(first + number, now) for number in range(PIECE)]}
            client.import_piece(msgspec.json.decode(msgspec.json.encode(piece), type=Import))


def heap_of(protocol: CDPSession) -> int:
    protocol.send("HeapProfiler.collectGarbage")
    metrics = protocol.send("Performance.getMetrics")["metrics"]
    return int(next(metric["value"] for metric in metrics if metric["name"] == "JSHeapUsedSize"))


def watch(page: Page, path: str, seconds: float) -> Seen:
    """Look at a page for so long, as a person would."""
    complaints = Complaints(page)
    page.add_init_script(WATCH)
    visit(page, path)
    protocol = page.context.new_cdp_session(page)
    protocol.send("Performance.enable")
    page.wait_for_timeout(WARM_UP_S * 1000)
    page.evaluate("() => { window.longTasks.length = 0; }")
    heap, long_tasks = [], []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for way in (600, 600, -1200):
            page.mouse.move(700, 500)
            page.mouse.wheel(0, way)
            page.wait_for_timeout(SAMPLE_S / 3 * 1000)
        # Before the collection, which stands in the way itself and is none of the page's doing.
        long_tasks += page.evaluate("() => window.longTasks.splice(0)")
        heap.append(heap_of(protocol))
        page.wait_for_timeout(100)
        page.evaluate("() => { window.longTasks.length = 0; }")
    return Seen(path, long_tasks, heap, list(complaints.heard))


def run(directory: Path, browser: Browser, *, seconds: float, tasks: int = TASKS) -> tuple[list[Seen], float]:
    """What was seen of each page, half of the time each, and how many events a second there were."""
    with live_yard(directory) as live:
        yard = Yard(live, settings=SETTINGS + UNLIMITED)
        try:
            fill(yard, tasks)
            yard.crew(slots=50)
            context = browser.new_context(base_url=yard.url, viewport=DESKTOP)
            yard.sign_in(context)
            with Traffic(yard.hub.client(timeout_s=30)) as traffic:
                seen = [watch(context.new_page(), path, seconds / 2) for path in ("/queue", "/")]
                backlog = sum(1 for _ in yard.client.tasks(type="noop", status="queued"))
            assert backlog < BACKLOG_S_MAX * EVENTS_PER_S / EVENTS_PER_TASK, f"{backlog} tasks were left behind"
            context.close()
            return seen, traffic.events_per_s
        finally:
            yard.end()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.dashboard.load")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--tasks", type=int, default=TASKS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as playwright:
        browser = launch(playwright)
        seen, events_per_s = run(Path(directory), browser, seconds=asked.seconds, tasks=asked.tasks)
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

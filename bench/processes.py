"""Tasks that are programs, through a real hub and a real daemon: how many a second, and what stays in memory."""

import asyncio
import subprocess
import sys
import time

import psutil  # type: ignore[import-untyped]

from bench.load import submit_batched
from bench.yard import BenchYard
from taskyard.sdk.client import Client

BATCH = 500
SLOTS = 8
# Four for each core: a program mostly waits to be started, read and buried.
LOOK_S = 0.1
WAIT_S = 1_800.0
SETTLED = 0.25
"""The share of tasks after which a daemon has everything it needs: what it grows by then is not a leak."""


def run_programs(yard: BenchYard, tasks: int) -> tuple[float, float]:
    """Processes a second, and bytes that the daemon's memory grew for each of the later tasks."""
    tasks = tasks // BATCH * BATCH
    asyncio.run(submit_batched(yard.address, tasks, size=BATCH))
    place = ["--data", str(yard.data), "--name", "programs", "--slots", str(SLOTS)]
    command = [sys.executable, "-m", "taskyard.cli", "daemon", *place, "--run", "/bin/cat"]
    daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        with Client(f"http://127.0.0.1:{yard.port}", yard.key) as client:
            wait_for(client, tasks, 1)
            begun, first = time.perf_counter(), left_of(client)
            wait_for(client, tasks, int(tasks * SETTLED))
            before, settled = rss_bytes(daemon.pid), tasks - left_of(client)
            wait_for(client, tasks, tasks)
            seconds = time.perf_counter() - begun
            growth = (rss_bytes(daemon.pid) - before) / (tasks - settled)
            return first / seconds, growth
    finally:
        daemon.terminate()
        daemon.wait(60)


def left_of(client: Client) -> int:
    """Tasks that have not ended."""
    overview = client.overview()
    return overview.running + overview.waiting


def wait_for(client: Client, tasks: int, done: int) -> None:
    deadline = time.monotonic() + WAIT_S
    while tasks - left_of(client) < done:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{done} of {tasks} tasks")
        time.sleep(LOOK_S)


def rss_bytes(pid: int) -> int:
    return int(psutil.Process(pid).memory_info().rss)

"""Hub and daemon processes for a benchmark, in a directory of their own, on loopback."""

import contextlib
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg

from tests.support.postgres import cluster

WAIT_S = 120.0
RUN = struct.Struct("<2d")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class BenchYard:
    """One hub, any number of `bench.worker` processes."""

    def __init__(self, directory: Path, *, database: str | None = None) -> None:
        self.directory = directory
        self._database = database
        self.port = free_port()
        self.data = directory / "data"
        self.starts = directory / "starts"
        self.starts.mkdir(parents=True, exist_ok=True)
        self._hub: subprocess.Popen[bytes] | None = None
        self._workers: list[subprocess.Popen[bytes]] = []

    def up(self) -> float:
        """Start the hub; seconds until it is ready."""
        begun = time.perf_counter()
        place = ("--data", str(self.data), "--port", str(self.port))
        shape = ["--no-daemon"]
        if self._database is not None:
            shape += ["--database", self._database]
        command = [sys.executable, "-m", "taskyard.cli", "up", *shape, *place]
        self._hub = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _until(self.is_ready, "the hub to be ready")
        return time.perf_counter() - begun

    def is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=1) as answer:
                return bool(answer.status == 200) and (self.data / "credentials.json").exists()
        except (urllib.error.URLError, OSError):
            assert self._hub is not None
            if self._hub.poll() is not None:
                raise RuntimeError(f"the hub ended with {self._hub.returncode}") from None
            return False

    @property
    def key(self) -> str:
        return str(json.loads((self.data / "credentials.json").read_text())["key"])

    @property
    def address(self) -> tuple[str, int, str]:
        return "127.0.0.1", self.port, self.key

    @property
    def process(self) -> psutil.Process:
        """The hub's."""
        assert self._hub is not None
        return psutil.Process(self._hub.pid)

    def rss_bytes(self) -> int:
        return int(self.process.memory_info().rss)

    def cpu_s(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def kill(self) -> None:
        assert self._hub is not None
        self._hub.kill()
        self._hub.wait()

    def daemons(self, count: int, slots: int, *options: str) -> None:
        for number in range(count):
            arguments = [
                f"http://127.0.0.1:{self.port}",
                self.key,
                f"w{number}",
                str(slots),
                str(self.starts),
                *options,
            ]
            self._workers.append(subprocess.Popen([sys.executable, "-m", "bench.worker", *arguments]))

    def daemons_together(self, count: int, slots: int, *options: str) -> None:
        """As `daemons`; nothing starts before the last of them is there, as in a yard whose daemons have long been."""
        queues = [queue["name"] for queue in self._ask("GET", "/queues")]
        for queue in queues:
            self._ask("POST", f"/queues/{queue}/pause")
        self.daemons(count, slots, *options)
        _until(lambda: self._connected() >= count, f"{count} daemons to connect")
        for queue in queues:
            self._ask("POST", f"/queues/{queue}/resume")

    def _connected(self) -> int:
        return sum(daemon["status"] == "online" for daemon in self._ask("GET", "/daemons"))

    def commits(self) -> int:
        """How many the hub has made since it was started."""
        found = re.search(rb"^taskyard_commit_tasks_count ([0-9.]+)$", self._read("GET", "/metrics"), re.MULTILINE)
        assert found is not None, "the hub counts its commits"
        return round(float(found[1]))

    def _ask(self, method: str, path: str) -> list[dict[str, str]]:
        return json.loads(self._read(method, f"/api/v1{path}"))  # type: ignore[no-any-return]

    def _read(self, method: str, path: str) -> bytes:
        address = f"http://127.0.0.1:{self.port}{path}"
        head = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        request = urllib.request.Request(address, method=method, headers=head, data=b"{}" if method == "POST" else None)
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return bytes(answer.read())

    def send_daemons_home(self) -> None:
        """They finish what they have: a killed one would make its tasks suspect."""
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            worker.wait(20)
        self._workers.clear()

    def stop_daemons(self) -> None:
        for worker in self._workers:
            worker.kill()
            worker.wait()
        self._workers.clear()

    def runs(self) -> list[tuple[float, float]]:
        """(started, submitted) of every run so far, oldest first."""
        found: list[tuple[float, float]] = []
        for path in self.starts.glob("*.starts"):
            raw = path.read_bytes()
            found += (
                (started, submitted) for started, submitted in RUN.iter_unpack(raw[: len(raw) // RUN.size * RUN.size])
            )
        return sorted(found)

    def forget_runs(self) -> None:
        for path in self.starts.glob("*.starts"):
            os.truncate(path, 0)

    def wait_for_runs(self, count: int) -> list[tuple[float, float]]:
        def has_all() -> bool:
            return sum(path.stat().st_size // RUN.size for path in self.starts.glob("*.starts")) >= count

        _until(has_all, f"{count} tasks to have run")
        return self.runs()

    def down(self) -> None:
        self.stop_daemons()
        if self._hub is not None and self._hub.poll() is None:
            self._hub.send_signal(signal.SIGTERM)
            try:
                self._hub.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


@contextlib.contextmanager
def a_database() -> Iterator[str]:
    """The URL of one that nobody has used. It is gone afterwards: the server would tidy it up while the next one is
    measured, which took a fifth of that one's rate."""
    name = cluster().new_database()
    try:
        yield cluster().url(name)
    finally:
        cluster().administer(f"DROP DATABASE {name} WITH (FORCE)")


@contextlib.contextmanager
def a_yard(settings: str = "", *, database: str | None = None) -> Iterator[BenchYard]:
    """On SQLite, or on a PostgreSQL database that nobody has used."""
    with tempfile.TemporaryDirectory(prefix="taskyard-bench-") as directory:
        yard = BenchYard(Path(directory), database=database)
        if settings:
            yard.data.mkdir()
            (yard.data / "taskyard.toml").write_text(settings)
        try:
            yard.up()
            yield yard
        finally:
            yard.down()


def rest(database: str | None = None) -> None:
    """Until the disk has what was written before. The kernel gets to it half a minute later by itself, and whatever is
    measured then waits for it: commits took 20 to 130 ms after drains that had left 350 MB."""
    if database is not None:
        with psycopg.connect(database, autocommit=True) as operator:
            operator.execute("CHECKPOINT")
    os.sync()


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.perf_counter() + WAIT_S
    while not condition():
        if time.perf_counter() > deadline:
            raise TimeoutError(f"waited {WAIT_S:.0f} s for {what}")
        time.sleep(0.02)

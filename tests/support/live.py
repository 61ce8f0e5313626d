"""Hubs and daemons as real processes, on free ports of the loopback address, in a directory of the test's own.

Each process leads a group of its own and is ended by its number when the yard closes, whatever the test did to it.
Nothing here sleeps for a fixed time: `wait_until` looks again and again until its deadline.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol, TypeVar

import psutil  # type: ignore[import-untyped]
import pytest

from taskyard.sdk.client import Client
from taskyard.sdk.retry import NEVER, RetryPolicy
from tests.support.engines import Engine
from tests.support.ports import free_port
from tests.support.postgres import new_yard

T = TypeVar("T")

ROOT: Final = Path(__file__).resolve().parents[2]
LOOK_S: Final = 0.02
START_S: Final = 60.0
STOP_S: Final = 30.0
ANSWER_S: Final = 10.0
"""On a busy machine a hub that is well may need seconds."""

LONG_LEASES: Final = """\
[lease]
heartbeat_s = 0.4
lease_s = 20
accept_s = 20
start_s = 30
cancel_grace_s = 10
"""
"""Where no lease may end: a busy machine can keep anybody waiting for some seconds."""

STUBBORN: Final = RetryPolicy(attempts_max=200, delay_s=0.05, delay_s_max=0.3)
"""For a client that goes on while hubs are killed."""


class TooLate(AssertionError):
    """What was waited for did not happen in time."""


def wait_until(condition: Callable[[], T | None], *, within_s: float, what: str, every_s: float = LOOK_S) -> T:
    """The first answer that counts as true. Raises `TooLate`."""
    until = time.monotonic() + within_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= until:
            raise TooLate(f"not within {within_s:g} s: {what}")
        time.sleep(every_s)


def environment(**more: str) -> dict[str, str]:
    """This process's environment, without what would lead a child to somebody else's hub."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TASKYARD_")}
    return {**kept, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", **more}


class Process:
    """A child with a group of its own, its output in a file, and signals by name."""

    def __init__(self, command: Sequence[str], *, output: Path, env: Mapping[str, str]) -> None:
        self.output = output
        with output.open("ab") as file:
            self._child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd=ROOT, env=env, start_new_session=True
            )
        self._is_paused = False

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        return self._child.poll()

    @property
    def said(self) -> str:
        return self.output.read_text(errors="replace")

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._child.kill()
        self._child.wait(STOP_S)

    def pause(self) -> None:
        self._child.send_signal(signal.SIGSTOP)
        self._is_paused = True

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)
        self._is_paused = False

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        self._child.terminate()
        return self._child.wait(STOP_S)

    def wait(self, within_s: float = STOP_S) -> int:
        return self._child.wait(within_s)

    def end(self) -> None:
        """Gone, one way or another."""
        if self._child.poll() is not None:
            return
        if self._is_paused:
            self.kill()
            return
        self._child.terminate()
        try:
            self._child.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()


class Door(Protocol):
    """Where a yard is entered: one hub, or any of several."""

    @property
    def url(self) -> str: ...

    @property
    def key(self) -> str: ...

    def client(self, *, retry: RetryPolicy = NEVER, key: str | None = None, timeout_s: float = 10.0) -> Client: ...


class LiveHub:
    """`taskyard up` on one port and one directory, as often as it is killed."""

    def __init__(
        self,
        data: Path,
        *,
        port: int,
        command: Sequence[str],
        database: str | None = None,
        fellows: "Sequence[LiveHub]" = (),
    ) -> None:
        self.data = data
        self.port = port
        self.database = database
        """Its URL; None: a file in the data directory."""
        self.fellows = list(fellows)
        """The other hubs of its yard, of which one may have made the admin key."""
        self.url = f"http://127.0.0.1:{port}"
        self._command = command
        self.process: Process

    def start(self, *options: str, wait: bool = True) -> None:
        self.process = Process([*self._command, *options], output=self.data.with_suffix(".out"), env=environment())
        if wait:
            self.wait_ready()

    def wait_ready(self) -> None:
        wait_until(self.is_ready, within_s=START_S, what="a hub that answers /readyz")

    def is_ready(self) -> bool:
        if self.process.exit_code is not None:
            raise AssertionError(f"the hub left with {self.process.exit_code}: {self.process.said[-2000:]}")
        return get_status(f"{self.url}/readyz") == 200 and self._credentials is not None

    def kill(self) -> None:
        self.process.kill()

    def restart(self) -> None:
        self.kill()
        self.start()

    @property
    def seen_data(self) -> Path:
        """The data directory as this process sees it, also if the hub has it on a file system of its own."""
        if self.data.joinpath("credentials.json").exists():
            return self.data
        return Path("/proc", str(self.process.pid), "root", *self.data.parts[1:])

    @property
    def _credentials(self) -> Path | None:
        """Those of the yard's admin: this hub's, or another one's that made the key."""
        started = (hub for hub in (self, *self.fellows) if hasattr(hub, "process"))
        return next((file for hub in started if (file := hub.seen_data / "credentials.json").exists()), None)

    @property
    def key(self) -> str:
        file = self._credentials
        assert file is not None, "no hub of this yard has made an admin key"
        return str(json.loads(file.read_text())["key"])

    def client(self, *, retry: RetryPolicy = NEVER, key: str | None = None, timeout_s: float = 10.0) -> Client:
        """Asks once unless told otherwise, so that a test sees each answer."""
        return Client(self.url, key or self.key, retry=retry, patience=retry, timeout_s=timeout_s)


class LiveDaemon:
    """A process of `tests.support.fleet`, as often as it is killed. Its journal stays."""

    def __init__(self, hub: Door, directory: Path, name: str, slots: int) -> None:
        self._hub = hub
        self._directory = directory
        self.name = name
        self.slots = slots
        self.journal = directory / f"{name}.journal"
        self.process: Process

    def start(self) -> None:
        command = [
            *(sys.executable, "-m", "tests.support.fleet", "--name", self.name, "--slots", str(self.slots)),
            *("--data", str(self._directory / self.name), "--journal", str(self.journal)),
        ]
        env = environment(TASKYARD_HUB=self._hub.url, TASKYARD_KEY=self._hub.key)
        self.process = Process(command, output=self._directory / f"{self.name}.out", env=env)

    def sockets_to(self, hub: LiveHub) -> set[int]:
        """Its connections to this hub, by the ports that they have here: a new one has another port."""
        connections = psutil.Process(self.process.pid).net_connections("tcp")
        established = (one for one in connections if one.status == psutil.CONN_ESTABLISHED)
        return {one.laddr.port for one in established if one.raddr.port == hub.port}


class LiveYard:
    """Makes processes and ends them. On PostgreSQL each hub has a database of its own, unless one is named."""

    def __init__(self, directory: Path, engine: Engine = Engine.SQLITE) -> None:
        self.directory = directory
        self.engine = engine
        self.hubs: list[LiveHub] = []
        self.daemons: list[LiveDaemon] = []

    def hub(
        self,
        name: str = "yard",
        *,
        settings: str = LONG_LEASES,
        options: Sequence[str] = ("--no-daemon",),
        prefix: Sequence[str] = (),
        database: str | None = None,
        port: int | None = None,
        fellows: Sequence[LiveHub] = (),
        start: bool = True,
    ) -> LiveHub:
        """`fellows`: hubs that had this yard elsewhere. Those on the same database are known."""
        data, port = self.directory / name, port or free_port()
        if database is None and self.engine is Engine.POSTGRES:
            database = new_yard()
        data.mkdir(exist_ok=True)
        config = self.directory / f"{name}.toml"
        config.write_text(settings)
        command = [
            *(*prefix, sys.executable, "-m", "taskyard.cli", "up", "--data", str(data), "--config", str(config)),
            *("--port", str(port), *options),
            *(("--database", database) if database else ()),
        ]
        known = [hub for hub in self.hubs if database is not None and hub.database == database]
        hub = LiveHub(data, port=port, command=command, database=database, fellows=(*known, *fellows))
        for other in known:
            other.fellows.append(hub)
        self.hubs.append(hub)
        if start:
            hub.start()
        return hub

    def daemon(self, hub: Door, name: str = "d1", *, slots: int = 4) -> LiveDaemon:
        daemon = LiveDaemon(hub, self.directory, name, slots)
        self.daemons.append(daemon)
        daemon.start()
        return daemon

    def close(self) -> None:
        for party in (*self.daemons, *self.hubs):
            if hasattr(party, "process"):
                party.process.end()


@contextlib.contextmanager
def live_yard(directory: Path, engine: Engine = Engine.SQLITE) -> Iterator[LiveYard]:
    yard = LiveYard(directory, engine)
    try:
        yield yard
    finally:
        yard.close()


def get_status(url: str) -> int | None:
    """The status of a GET; None if nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code
    except OSError:
        return None


def wait_online(client: Client, count: int) -> None:
    """Until so many daemons are there."""
    wait_until(
        lambda: sum(daemon.status in ("online", "busy") for daemon in client.daemons()) >= count,
        within_s=START_S,
        what=f"{count} daemons online",
    )


class Said(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str


def taskyard(*arguments: str, prefix: Sequence[str] = (), within_s: float = START_S, **env: str) -> Said:
    """Run one command of the command line as a process of its own."""
    command = [*prefix, sys.executable, "-m", "taskyard.cli", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(COLUMNS="200", **env), capture_output=True, timeout=within_s, check=False
    )
    return Said(done.returncode, done.stdout.decode(), done.stderr.decode())


def mounted(directory: Path, *, options: str) -> list[str]:
    """What to put before a command so that it sees this directory on a small or read-only file system of its own.

    The mount lives in a namespace that ends with the command: nothing is left behind, and root is not needed where the
    kernel lets users have namespaces. Elsewhere the test is skipped, but never in CI.
    """
    mount = f'mount {options} "$0" && exec "$@"'
    prefix = ["unshare", "--map-root-user", "--mount", "sh", "-c", mount, str(directory)]
    try:
        works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        works = False
    if not works:
        assert "CI" not in os.environ, "this machine can mount nothing, so that the test shows nothing"
        pytest.skip("no mount namespaces here")
    return prefix

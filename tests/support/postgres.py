"""A PostgreSQL of the tests' own: a cluster in a temporary directory, started when first asked for.

It is as durable as one in production, so that what the tests see of it is true. The server refuses to run as root;
where the tests do, it runs as somebody without rights. A test gets a database of its own, copied from a migrated one.
"""

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path

import psycopg

from taskyard.store.postgres import migrate

START_S = 60
TEMPLATE = "yard_template"


def binary(name: str) -> str:
    """Debian keeps the server's programs off the path."""
    found = shutil.which(name) or next(
        (str(path) for path in sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True)), None
    )
    assert found is not None, (
        f"{name} is missing: `make test` installs PostgreSQL, or install it and put it on the path"
    )
    return found


def _user_of_the_server() -> str | None:
    """As whom the server runs; None: as ourselves."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Cluster:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = _free_port()
        self._data = directory / "data"
        self._user = _user_of_the_server()
        self._numbers = count(1)
        if self._user is not None:
            shutil.chown(directory, self._user)

    def _run(self, *command: str, check: bool = True) -> None:
        switch: Sequence[str] = ()
        if self._user is not None:
            switch = (
                "setpriv",
                f"--reuid={self._user}",
                f"--regid={pwd.getpwnam(self._user).pw_gid}",
                "--clear-groups",
            )
        subprocess.run([*switch, *command], check=check, stdout=subprocess.DEVNULL, cwd=self.directory)

    def make(self) -> None:
        self._run(
            *(binary("initdb"), "--pgdata", str(self._data), "--username", "yard", "--auth", "trust"),
            *("--no-locale", "--encoding", "UTF8", "--no-instructions"),
        )
        settings = {
            "port": self.port,
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": f"'{self.directory}'",
            "shared_buffers": "256MB",
            "max_wal_size": "2GB",
            "max_connections": 200,
        }
        lines = [f"{name} = {value}\n" for name, value in settings.items()]
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(lines)

    def start(self) -> None:
        log = str(self.directory / "log")
        self._run(
            binary("pg_ctl"), "--pgdata", str(self._data), "--log", log, "--wait", f"--timeout={START_S}", "start"
        )

    def stop(self, mode: str = "immediate") -> None:
        self._run(binary("pg_ctl"), "--pgdata", str(self._data), "--mode", mode, "--wait", "stop", check=False)

    @property
    def pid(self) -> int:
        """Of the server's first process."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def url(self, database: str = "postgres", *, port: int | None = None) -> str:
        return f"postgresql://yard@127.0.0.1:{port or self.port}/{database}"

    def administer(self, statement: str) -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self, *, template: str = TEMPLATE) -> str:
        """The name of a database that nobody has used."""
        name = f"yard_{next(self._numbers)}"
        self.administer(f'CREATE DATABASE {name} TEMPLATE "{template}"')
        return name

    def terminate(self, database: str, purpose: str) -> int:
        """End the connections of one purpose as an operator would; how many there were."""
        asked = f"datname = '{database}' AND application_name = 'taskyard {purpose}'"
        return len(self.administer(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {asked}"))


@cache
def cluster() -> Cluster:
    """The one of this process; it ends with it."""
    directory = Path(tempfile.mkdtemp(prefix="yard-pg-"))
    directory.chmod(0o755)
    made = Cluster(directory)
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            made.stop()
            shutil.rmtree(directory, ignore_errors=True)

    atexit.register(end)
    made.make()
    made.start()
    made.administer(f"CREATE DATABASE {TEMPLATE}")
    migrate(made.url(TEMPLATE))
    return made


def new_yard() -> str:
    """The URL of a migrated database that nobody has opened."""
    return cluster().url(cluster().new_database())


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)

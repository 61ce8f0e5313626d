"""A PostgreSQL of the tests' own: a cluster in a temporary directory, started when first asked for.

It is as durable as one in production, so that what the tests see of it is true. The server refuses to run as root;
where the tests do, it runs as a user without rights. A test gets a database of its own, copied from a migrated one.
Such a copy is eight megabytes of writing: a test that changes no more than rows is lent one that others had before it.
`make test` starts one cluster and lends it to all its processes; a test that stops its server makes one of its own.
"""

import atexit
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final

import psutil  # type: ignore[import-untyped]
import psycopg

from taskyard.store.postgres import migrate
from tests.support.ports import free_port

START_S = 60
LOOKS_MAX = 2_000
TEMPLATE = "yard_template"
LENT = "TESTS_POSTGRES"
"""Where the cluster lies that this process was lent, and its port."""
FILLED = ("identity", "lease", "log_start")
"""The tables in which the migrations leave a row."""
GUARDED = "guarded"
"""A user who needs the password `open sesame`."""
BARRED = "barred"
"""A user who is let in nowhere."""


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


class Cluster:
    def __init__(self, directory: Path, *, port: int | None = None) -> None:
        """`port` is that of a server which runs already."""
        self.directory = directory
        self.port = port or free_port()
        self._data = directory / "data"
        self._user = _user_of_the_server()
        self.prefix: Sequence[str] = ()
        """What the server's own command is put behind, from its next start on."""
        self._numbers = count(1)
        self._lent: list[str] = []
        self._spare: list[str] = []
        self._first_rows: dict[str, bytes] = {}
        self._process: subprocess.Popen[bytes] | None = None
        if self._user is not None and port is None:
            shutil.chown(directory, self._user)

    def _command(self, *command: str) -> list[str]:
        """As somebody else where we are root, and no longer than we live."""
        switch = ["setpriv", "--pdeathsig", "QUIT"]
        if self._user is not None:
            group = pwd.getpwnam(self._user).pw_gid
            switch += [f"--reuid={self._user}", f"--regid={group}", "--clear-groups"]
        return [*switch, *command]

    def make(self) -> None:
        made = (binary("initdb"), "--pgdata", str(self._data), "--username", "yard", "--auth", "trust")
        more = ("--no-locale", "--encoding", "UTF8")
        subprocess.run(self._command(*made, *more), check=True, stdout=subprocess.DEVNULL, cwd=self.directory)
        settings = {
            "port": self.port,
            "listen_addresses": "'127.0.0.1'",
            "unix_socket_directories": f"'{self.directory}'",
            "shared_buffers": "256MB",
            "max_wal_size": "2GB",
            "max_connections": 400,
            "password_encryption": "'scram-sha-256'",
        }
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        # One who has to give a password, one who may not come, and all others, who need none.
        rules = self._data / "pg_hba.conf"
        own = f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\nhost all {BARRED} 127.0.0.1/32 reject\n"
        rules.write_text(own + rules.read_text())

    def start(self, *, wait: bool = True) -> None:
        command = [*self.prefix, *self._command(binary("postgres"), "-D", str(self._data))]
        with (self.directory / "log").open("a") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory)
        until = time.monotonic() + START_S
        while wait and not self._answers():
            assert self._process.poll() is None, f"the server did not start: {(self.directory / 'log').read_text()}"
            assert time.monotonic() < until, "the server did not start in time"
            time.sleep(0.02)

    def fill(self) -> None:
        """What every cluster has: the user with a password, and the migrated database that others are copied from."""
        self.administer(f"CREATE ROLE {GUARDED} LOGIN PASSWORD 'open sesame'")
        self.administer(f"CREATE DATABASE {TEMPLATE}")
        migrate(self.url(TEMPLATE))

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _answers(self) -> bool:
        try:
            self.administer("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """At once, as if the machine had died (SIGQUIT); or after ending every session (SIGINT)."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(START_S)

    def kill(self) -> None:
        """Every process at once, as a machine does that loses its power."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.kill()
        assert self._process is not None
        self._process.wait(START_S)

    def pause(self) -> None:
        """Stop every process where it is; `resume` lets them go on."""
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.suspend()

    def resume(self) -> None:
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.resume()

    def _processes(self) -> list[psutil.Process]:
        """The server's own, and those that it forked."""
        assert self._process is not None
        first = psutil.Process(self._process.pid)
        return [first, *first.children(recursive=True)]

    def seen(self, path: Path) -> Path:
        """A path of ours as the server sees it, which may have file systems of its own."""
        assert self._process is not None
        return Path("/proc", str(self._process.pid), "root", *path.parts[1:])

    def url(self, database: str = "postgres", *, port: int | None = None) -> str:
        return f"postgresql://yard@127.0.0.1:{port or self.port}/{database}"

    def administer(self, statement: str, *, database: str = "postgres") -> list[tuple[object, ...]]:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self, *, template: str = TEMPLATE) -> str:
        """The name of a database that nobody has used."""
        name = f"yard_{os.getpid()}_{next(self._numbers)}"
        self.administer(f'CREATE DATABASE {name} TEMPLATE "{template}"')
        return name

    def lend_database(self) -> str:
        """One without any rows but those of the migrations, until `take_back`."""
        name = self._spare.pop() if self._spare else self.new_database()
        self._lent.append(name)
        if not self._first_rows:
            with psycopg.connect(self.url(name)) as connection:
                for table in FILLED:
                    with connection.cursor().copy(f"COPY taskyard.{table} TO STDOUT".encode()) as rows:
                        self._first_rows[table] = b"".join(map(bytes, rows))
        return name

    def take_back(self) -> None:
        """What was lent is as new again; or not lent any more, where somebody is still at it."""
        while self._lent:
            name = self._lent.pop()
            try:
                self._empty(name)
            except psycopg.Error:
                continue
            self._spare.append(name)

    def _empty(self, database: str) -> None:
        tables = "relnamespace = 'taskyard'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition"
        with psycopg.connect(self.url(database)) as connection:
            connection.execute("SET search_path = taskyard; SET lock_timeout = '2s'")
            found = connection.execute(f"SELECT relname FROM pg_class WHERE {tables}".encode()).fetchall()
            deletions = [f"DELETE FROM {name}" for (name,) in found if name != "migration"]
            connection.execute("; ".join(deletions).encode())
            for table, rows in self._first_rows.items():
                with connection.cursor().copy(f"COPY {table} FROM STDIN".encode()) as copy:
                    copy.write(rows)

    def until_waiting(self, database: str, sessions: int) -> None:
        """Until so many sessions of this database wait for a lock. Each look gives them time."""
        waiting = f"datname = '{database}' AND wait_event_type = 'Lock'"
        for _ in range(LOOKS_MAX):
            found = self.administer(f"SELECT count(*) FROM pg_stat_activity, pg_sleep(0.01) WHERE {waiting}")
            if found == [(sessions,)]:
                return
        raise AssertionError(f"{sessions} sessions should wait for a lock")

    def terminate(self, database: str, purpose: str) -> int:
        """End the connections of one purpose as an operator would; how many there were."""
        asked = f"datname = '{database}' AND application_name = 'taskyard {purpose}'"
        ended = [pid for (pid,) in self.administer(f"SELECT pid FROM pg_stat_activity WHERE {asked}")]
        there = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity, pg_sleep(0.01) WHERE pid = ANY ('{%s}')"
        for _ in range(LOOKS_MAX):
            if not self.administer(there % ",".join(map(str, ended))):
                return len(ended)
        raise AssertionError(f"the connections of the {purpose} should end")


@contextmanager
def a_cluster() -> Iterator[Cluster]:
    """One that its user may stop and start, migrated like the others."""
    directory = Path(tempfile.mkdtemp(prefix="yard-pg-"))
    directory.chmod(0o755)
    made = Cluster(directory)
    try:
        made.make()
        made.start()
        made.fill()
        yield made
        made.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


_until_exit: Final = ExitStack()
atexit.register(_until_exit.close)


@cache
def cluster() -> Cluster:
    """The one that was lent to this process, or its own, which ends with it."""
    if lent := os.environ.get(LENT):
        directory, _, port = lent.rpartition(":")
        return Cluster(Path(directory), port=int(port))
    return _until_exit.enter_context(a_cluster())


@contextmanager
def lent_cluster() -> Iterator[None]:
    """One for all processes that are started meanwhile."""
    with a_cluster() as made:
        # Its workers would visit hundreds of databases that no test uses any more.
        made.administer("ALTER SYSTEM SET autovacuum = off")
        made.administer("SELECT pg_reload_conf()")
        os.environ[LENT] = f"{made.directory}:{made.port}"
        try:
            yield
        finally:
            del os.environ[LENT]


def new_yard() -> str:
    """The URL of a migrated database that nobody has opened."""
    return cluster().url(cluster().new_database())


def lent_yard() -> str:
    """The URL of one that is lent."""
    return cluster().url(cluster().lend_database())


def take_back() -> None:
    if cluster.cache_info().currsize:
        cluster().take_back()

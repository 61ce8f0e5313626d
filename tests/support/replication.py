"""Two PostgreSQL servers of a test's own, of which one follows the other by streaming replication.

Either can be stopped, killed and promoted; what was the primary can come back as the standby. While the pair is
synchronous, a commit of a session with `synchronous_commit` `on` waits for the standby, also without end.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeVar

import psutil  # type: ignore[import-untyped]

from tests.support.live import wait_until
from tests.support.postgres import Cluster, binary

T = TypeVar("T")

NAMES: Final = ("a", "b")
WITHIN_S: Final = 60.0
LOOK_S: Final = 0.01
WAITS: Final = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
DROP_SLOT: Final = "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '{}'"


class Server(Cluster):
    """One of a pair. `name` is its name as a standby, and that of the slot it reads from."""

    def __init__(self, directory: Path, name: str) -> None:
        super().__init__(directory)
        self.name = name

    def configure(self, **settings: str) -> None:
        """From the next start on, or at once with `reload`."""
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def reload(self, setting: str, value: str) -> None:
        """Have this setting, and return when every process of the server does as it says."""
        self.configure(**{setting: value})
        self.administer("SELECT pg_reload_conf()")
        _until(lambda: self.administer(f"SHOW {setting}") == [(value,)], what=f"{setting} = {value}")
        # Whether commits wait for a standby is decided by the checkpointer, which was told before new sessions were.
        self.administer("CHECKPOINT")

    def follow(self, primary: "Server") -> None:
        """Begin anew as a copy of the other server, whatever this one was, and as its standby."""
        if self.is_running:
            self.stop()
        shutil.rmtree(self._data, ignore_errors=True)
        primary.administer(DROP_SLOT.format(self.name))
        source = f"host=127.0.0.1 port={primary.port} user=yard application_name={self.name}"
        copy = (binary("pg_basebackup"), "-D", str(self._data), "-d", source, "-c", "fast", "--no-sync")
        stream = ("-R", "-X", "stream", "-C", "-S", self.name)
        subprocess.run(self._command(*copy, *stream), check=True, capture_output=True, cwd=self.directory)
        self.configure(
            port=str(self.port),
            unix_socket_directories=str(self.directory),
            # A standby that finds nothing to read yet would look again after five seconds.
            wal_retrieve_retry_interval="100ms",
            # It would sync every file of the copy before it starts: seconds on a busy disk.
            fsync="off",
        )
        self.start()
        self.reload("fsync", "on")

    @property
    def receiver(self) -> "psutil.Process | None":
        """The process that receives what the primary writes."""
        assert self._process is not None
        children = psutil.Process(self._process.pid).children()
        return next((child for child in children if "walreceiver" in " ".join(child.cmdline())), None)


class Pair:
    """Made by `a_pair`. `primary` and `standby` change places when the standby is promoted."""

    def __init__(self, primary: Server, standby: Server) -> None:
        self.primary = primary
        self.standby = standby
        self._both = (primary, standby)
        self._paused: list[psutil.Process] = []

    def url(self, database: str = "postgres") -> str:
        """Of both servers, in an order that stays: leads to the one that can be written."""
        places = ",".join(f"127.0.0.1:{server.port}" for server in self._both)
        return f"postgresql://yard@{places}/{database}?target_session_attrs=read-write"

    def new_database(self) -> str:
        """The name of a migrated database without any rows, on both servers."""
        name = self.primary.new_database()
        self.until_caught_up()
        return name

    # --- replication ---

    def replicate(self, *, synchronously: bool) -> None:
        """Whether commits wait for the standby from now on: on the primary, and on the other once it is promoted."""
        names = ", ".join(NAMES) if synchronously else ""
        self.standby.configure(synchronous_standby_names=names)
        self.primary.reload("synchronous_standby_names", names)

    def pause(self) -> None:
        """The standby takes nothing any more, and its connection stays: commits wait for it until `resume`."""
        receiver = _until(lambda: self.standby.receiver, what="a standby that receives")
        receiver.suspend()
        self._paused.append(receiver)

    def resume(self) -> None:
        while self._paused:
            receiver = self._paused.pop()
            if receiver.is_running():
                receiver.resume()

    def until_streaming(self) -> None:
        streams = f"SELECT 1 FROM pg_stat_replication WHERE application_name = '{self.standby.name}'"
        _until(lambda: self.primary.administer(f"{streams} AND state = 'streaming'"), what="a standby that streams")

    def until_caught_up(self) -> None:
        """The standby shows all that the primary has written so far."""
        [(written,)] = self.primary.administer("SELECT pg_current_wal_lsn()")
        replayed = f"SELECT 1 WHERE pg_last_wal_replay_lsn() >= '{written}'"
        _until(lambda: self.standby.administer(replayed), what="a standby that has caught up")

    # --- commits that wait for the standby ---

    def waiting(self) -> list[int]:
        """The server's processes whose commit waits for the standby at this moment."""
        return [int(str(pid)) for (pid,) in self.primary.administer(WAITS)]

    def until_waiting(self, sessions: int = 1) -> list[int]:
        """Until at least so many do."""
        return _until(
            lambda: found if len(found := self.waiting()) >= sessions else None,
            what=f"{sessions} commits that wait for the standby",
        )

    def until_none_waits(self) -> None:
        _until(lambda: not self.waiting(), what="no commit that waits for the standby")

    def cancel_waits(self) -> int:
        """As an operator does by `pg_cancel_backend`: the commits count here and may be missing on the standby. How
        many there were."""
        return len(self.primary.administer(f"SELECT pg_cancel_backend(pid) FROM ({WAITS}) AS waits"))

    def end_waiting(self) -> int:
        """The same by `pg_terminate_backend`: their clients lose the connection and are told nothing."""
        return len(self.primary.administer(f"SELECT pg_terminate_backend(pid) FROM ({WAITS}) AS waits"))

    # --- failover ---

    def promote(self) -> None:
        """The standby takes writes from now on, as `primary`. The other one goes on, or stays dead, as `standby`: stop
        it first, or have it follow by `rejoin`. What a paused standby was sent and has not taken is lost, unless the
        primary is there to send it again."""
        for receiver in self._paused:
            # Before it goes on: what lies in its socket is not read then.
            receiver.terminate()
        self.resume()
        assert self.standby.administer("SELECT pg_promote(true, 60)") == [(True,)]
        self.primary, self.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """What is `standby` begins anew as a copy of the primary and follows it, whatever it was before."""
        self.standby.follow(self.primary)
        self.until_streaming()

    def stop(self) -> None:
        self.resume()
        for server in self._both:
            if server.is_running:
                server.stop()


@contextmanager
def a_pair(*, synchronous: bool = True) -> Iterator[Pair]:
    """Two servers that run, migrated like all others of the tests."""
    with ExitStack() as stack:
        servers = []
        for name in NAMES:
            directory = Path(tempfile.mkdtemp(prefix="yard-pg-"))
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            directory.chmod(0o755)
            servers.append(Server(directory, name))
        pair = Pair(*servers)
        stack.callback(pair.stop)
        pair.primary.make()
        pair.primary.start()
        pair.primary.fill()
        pair.rejoin()
        pair.replicate(synchronously=synchronous)
        yield pair


def _until(condition: Callable[[], T | None], *, what: str) -> T:
    return wait_until(condition, within_s=WITHIN_S, what=what, every_s=LOOK_S)

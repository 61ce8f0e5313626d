"""Two PostgreSQL servers under Patroni and etcd, which decide about the primary themselves.

Both programs have to be installed and on the path; Debian has them in `patroni` and `etcd-server`.
"""

import json
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil  # type: ignore[import-untyped]

from tests.support.failover import WiredPair, Wires
from tests.support.live import wait_until
from tests.support.ports import free_port
from tests.support.postgres import binary
from tests.support.replication import NAMES, Pair, Server

PATIENCE_S: Final = 120.0
"""A failover waits until the primary's lease in etcd, `ttl`, is over."""
LOOK_S: Final = 0.1
DCS: Final[dict[str, Any]] = {"ttl": 20, "loop_wait": 3, "retry_timeout": 5, "maximum_lag_on_failover": 1 << 40}
PARAMETERS: Final = {"max_connections": 200, "shared_buffers": "64MB", "wal_log_hints": "on", "wal_keep_size": "512MB"}
TRUSTED: Final = ["local all all trust", "host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
STREAMS: Final = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"


class Node(Server):
    """A server, and the Patroni that starts, stops, promotes and rewinds it."""

    def __init__(self, directory: Path, name: str) -> None:
        super().__init__(directory, name)
        self._rest = f"127.0.0.1:{free_port()}"
        self._file = directory / "patroni.json"

    def be_told(self, wires: Wires, *, is_synchronous: bool) -> None:
        """Write what Patroni reads as YAML, of which JSON is a part."""
        [etcd] = wires.others
        postgresql = {"use_pg_rewind": True, "parameters": PARAMETERS}
        told = {
            "scope": "yard",
            "name": self.name,
            "restapi": {"listen": self._rest, "connect_address": self._rest},
            # As a proxy: else it would ask etcd for its address, and go past the wire.
            "etcd3": {"hosts": [f"127.0.0.1:{etcd.port}"], "use_proxies": True},
            "bootstrap": {
                "dcs": {**DCS, "synchronous_mode": is_synchronous, "postgresql": postgresql},
                "initdb": [{"encoding": "UTF8"}, {"auth": "trust"}, "no-locale"],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{wires.feed.port}",
                "data_dir": str(self._data),
                "bin_dir": str(Path(binary("postgres")).resolve().parent),
                "authentication": {each: {"username": "yard"} for each in ("superuser", "replication", "rewind")},
                "pg_hba": TRUSTED,
                "pgpass": str(self.directory / "pgpass"),
                "parameters": {"unix_socket_directories": str(self.directory)},
            },
        }
        self._file.write_text(json.dumps(told))

    def start(self, *, wait: bool = False) -> None:
        assert not wait, "its server begins when Patroni has found out who leads"
        program = shutil.which("patroni")
        assert program is not None, "patroni is missing: install it, with etcd"
        with (self.directory / "log").open("a") as log:
            command = self._command(program, str(self._file))
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.directory)

    def _processes(self) -> list[psutil.Process]:
        """Also the server's, which outlives its Patroni."""
        with suppress(OSError, ValueError, psutil.NoSuchProcess):
            first = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
            return [*super()._processes(), first, *first.children(recursive=True)]
        return super()._processes()

    def said(self) -> dict[str, Any]:
        """What Patroni says of its server; nothing, if it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self._rest}/patroni", timeout=5) as answer:
                said: dict[str, Any] = json.loads(answer.read())
        except (OSError, ValueError):
            return {}
        return said

    @property
    def is_primary(self) -> bool:
        said = self.said()
        return said.get("state") == "running" and said.get("role") in ("master", "primary")

    def hand_over(self, other: str) -> None:
        body = json.dumps({"leader": self.name, "candidate": other}).encode()
        with urllib.request.urlopen(f"http://{self._rest}/switchover", body, timeout=PATIENCE_S) as answer:
            answer.read()


class PatroniPair(WiredPair):
    def __init__(self, nodes: tuple[Node, Node], stack: ExitStack, etcd: int, *, is_synchronous: bool) -> None:
        super().__init__(Pair(*nodes), stack, etcd, is_synchronous=is_synchronous)
        for node in nodes:
            node.be_told(self._wires[node], is_synchronous=is_synchronous)

    def begin(self) -> None:
        self._node(self.primary).start()
        self._until_leads(self.primary)
        self.primary.fill()
        self.rejoin()

    def switch_over(self) -> None:
        self._node(self.primary).hand_over(self.standby.name)

    def promote(self) -> None:
        """Patroni does, once it takes the primary for dead."""
        self._until_leads(self.standby)
        self._pair.primary, self._pair.standby = self.standby, self.primary

    def rejoin(self) -> None:
        """Patroni is started again if it was killed, and makes what is left of the old primary a standby."""
        self.reconnect()
        if not self.standby.is_running:
            self.standby.start()
        wait_until(self._is_followed, within_s=PATIENCE_S, what="a standby that may be promoted", every_s=LOOK_S)

    def _is_followed(self) -> bool:
        """Patroni promotes a standby only if it has noted that commits wait for it, a while after they do."""
        is_noted = not self._is_synchronous or self._node(self.standby).said().get("sync_standby") is True
        return is_noted and bool(self.primary.administer(STREAMS))

    def _until_leads(self, server: Server) -> None:
        node = self._node(server)
        wait_until(lambda: node.is_primary, within_s=PATIENCE_S, what=f"{node.name} as the primary", every_s=LOOK_S)

    def _node(self, server: Server) -> Node:
        assert isinstance(server, Node)
        return server


@contextmanager
def an_etcd() -> Iterator[int]:
    """The port of one."""
    program = shutil.which("etcd")
    assert program is not None, "etcd is missing: install it, with patroni"
    port, peers = free_port(), f"http://127.0.0.1:{free_port()}"
    clients = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="yard-etcd-") as directory:
        options = {
            "data-dir": f"{directory}/data",
            "listen-client-urls": clients,
            "advertise-client-urls": clients,
            "listen-peer-urls": peers,
            "initial-advertise-peer-urls": peers,
            "initial-cluster": f"default={peers}",
        }
        named = (f"--{name}={value}" for name, value in options.items())
        command = ["setpriv", "--pdeathsig", "KILL", program, *named]
        with Path(directory, "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                yield port
            finally:
                process.kill()
                process.wait()


@contextmanager
def a_patroni_pair(*, is_synchronous: bool) -> Iterator[WiredPair]:
    with ExitStack() as stack:
        etcd = stack.enter_context(an_etcd())
        nodes = []
        for name in NAMES:
            directory = Path(tempfile.mkdtemp(prefix="yard-pg-"))
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            directory.chmod(0o755)
            nodes.append(Node(directory, name))
        first, second = nodes
        pair = PatroniPair((first, second), stack, etcd, is_synchronous=is_synchronous)
        for node in nodes:
            stack.callback(_end, node)
        pair.begin()
        yield pair


def _end(node: Node) -> None:
    if node.is_running:
        node.kill()


def is_installed() -> bool:
    return shutil.which("patroni") is not None and shutil.which("etcd") is not None

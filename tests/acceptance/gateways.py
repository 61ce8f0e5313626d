"""One hub with gateways, and faults done to these as well as to the hub and its daemons."""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.acceptance.faults import INNOCENCE, Report, Yard, suffer
from tests.acceptance.history import Kind
from tests.support.engines import Engine
from tests.support.live import GATEWAYS, SHORT_LEASES, live_yard, wait_until

BACK_S: Final = 60.0
STOPPED_S: Final = (0.2, 4.0)
# Shorter and longer than the 2 s lease of these yards.


class GatewaysYard(Yard):
    def one(self) -> int:
        """A gateway to hit, once all are there and there is work."""
        wait_until(lambda: len(self._started()) == GATEWAYS, within_s=BACK_S, what="all gateways")
        self.await_work(None)
        return self.rng.choice(self.hub.gateways)

    def _started(self) -> list[int]:
        """The process ids of those that take connections by now."""
        lines = (self.hub.data / "hub.log").read_bytes().splitlines()
        pids = [json.loads(line)["data"]["pid"] for line in lines if b'"gateway.started"' in line]
        return [pid for pid in self.hub.gateways if pid in pids]

    def kill_gateway(self) -> int:
        pid, began = self.one(), time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        self.note(Kind.GATEWAY_KILL, pid, began)
        time.sleep(self.rng.uniform(0.1, 0.8))
        return 1

    def stop_gateway(self) -> int:
        """Its daemons are cut off for as long, so what they have may be begun anew elsewhere."""
        pid, began = self.one(), time.monotonic_ns()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.rng.uniform(*STOPPED_S))
        os.kill(pid, signal.SIGCONT)
        for daemon in self.daemons:
            self.note(Kind.GATEWAY_STOP, daemon.process.pid, began)
        time.sleep(self.rng.uniform(0.1, 0.5))
        return 1


KINDS: Final[Mapping[Kind, Callable[[GatewaysYard], int]]] = {
    Kind.HUB_KILL: GatewaysYard.kill_hub,
    Kind.HUB_STOP: GatewaysYard.stop_hub,
    Kind.DAEMON_KILL: GatewaysYard.kill_daemon,
    Kind.DAEMON_STOP: GatewaysYard.stop_daemons,
    Kind.GATEWAY_KILL: GatewaysYard.kill_gateway,
    Kind.GATEWAY_STOP: GatewaysYard.stop_gateway,
}


def run_gateways(
    directory: Path,
    planned: Mapping[Kind, int],
    *,
    seed: int,
    engine: Engine = Engine.SQLITE,
    until: float | None = None,
) -> Report:
    """So many faults of each of these kinds, on one hub with gateways."""
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with live_yard(directory, engine, gateways=GATEWAYS) as live:
        yard = GatewaysYard(live, live.hub(settings=SHORT_LEASES + INNOCENCE), seed=seed)
        history = suffer(yard, {kind: (faults, KINDS[kind]) for kind, faults in planned.items()}, until=until)
        name = f"{next(iter(planned))} of gateways" if len(planned) == 1 else "all kinds with gateways"
        name += " on PostgreSQL" if engine is Engine.POSTGRES else ""
        return Report(name, history, yard.load.errors, time.monotonic() - began)

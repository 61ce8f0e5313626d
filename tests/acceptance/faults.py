"""Faults done to a yard of real processes under load, one kind at a time or all together, and the history they leave.

The faults fall at random moments while there is work to be hit; whether they did is judged afterwards from the
journals, and a run in which they mostly did not is a failed run.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Final, TypeVar

from taskyard.sdk.client import Client
from taskyard.vocabulary import ENDED
from tests.acceptance.history import (
    NS,
    RULES,
    Fault,
    History,
    Kind,
    Rule,
    in_flight,
    lost_results,
    read_journals,
    violations,
)
from tests.acceptance.load import JournalTail, Load
from tests.support.engines import Engine
from tests.support.live import (
    LOOK_S,
    STUBBORN,
    Door,
    LiveDaemon,
    LiveHub,
    LiveYard,
    TooLate,
    live_yard,
    wait_online,
    wait_until,
)
from tests.support.postgres import Cluster, a_cluster

Y = TypeVar("Y", bound="Yard")

DAEMONS, SLOTS = 3, 5
WORK_S: Final = 30.0
DRAIN_S: Final = 90.0
LEASE_S: Final = 2.0
SERVER_LEASE_S: Final = 8.0
"""Longer than a database server is away and its hub takes to lead again."""
STOPPED_LEASES: Final = (1.3, 2.0)
"""How long a daemon is stopped, in leases: longer than the hub waits, which is 1.2 leases."""
HUB_STOPPED_S: Final = (0.2, 3.2)
"""Also a server."""
OPEN_S: Final = 10.0
WRITERS: Final = "SELECT pid FROM pg_stat_activity WHERE application_name = 'taskyard writer'"
# A task that daemons do not survive is put aside after a few deaths. Here it is never the task.
INNOCENCE: Final = "[suspects]\ndeaths_max = 1000\n"


def settings(lease_s: float) -> str:
    """A lease with room is for tests that share the machine; short ones make more of the soak's time."""
    leases = f"heartbeat_s = 0.4\nlease_s = {lease_s:g}\naccept_s = {lease_s:g}\nstart_s = {2 * lease_s:g}\n"
    return f"[lease]\n{leases}cancel_grace_s = 2\n{INNOCENCE}"


class Yard:
    """A hub, some daemons and a load; and how to hurt them."""

    def __init__(
        self,
        live: LiveYard,
        hub: LiveHub,
        *,
        seed: int,
        lease_s: float = LEASE_S,
        server: Cluster | None = None,
        door: Door | None = None,
        daemons_at: Sequence[Door] = (),
    ) -> None:
        """`server` is the database server, if it may be hurt; `door` is where daemons and clients come in, if not by
        this hub alone; `daemons_at`, where daemons do, one after another, if not by the same as clients."""
        self.rng = random.Random(seed)
        self.server = server
        self.lease_s = lease_s
        self.hub = hub
        self.door = door or hub
        doors = cycle(daemons_at or (self.door,))
        self.daemons = [live.daemon(next(doors), f"d{n}", slots=SLOTS) for n in range(1, DAEMONS + 1)]
        self.faults: list[Fault] = []
        self.tail = JournalTail([daemon.journal for daemon in self.daemons])
        self.load = Load(self.door, self.tail, seed=seed)

    def begin(self) -> None:
        with self.door.client(retry=STUBBORN) as client:
            wait_online(client, DAEMONS)
        self.load.start()
        self.await_work(None)

    def await_work(self, pid: int | None) -> None:
        """Until there is work to hit, at no particular moment of it."""
        time.sleep(self.rng.uniform(0.0, 0.15))
        wait_until(lambda: self.tail.works(pid), within_s=WORK_S, what="work to be hit", every_s=0.003)

    def note(self, kind: Kind, pid: int, began: int, deaf_s: float = 0.0) -> None:
        self.faults.append(Fault(kind, pid, began, time.monotonic_ns(), deaf_s))

    # --- the kinds -----------------------------------------------------------------------------------------

    def kill_hub(self) -> int:
        self.await_work(None)
        pid, began = self.hub.process.pid, time.monotonic_ns()
        self.hub.kill()
        time.sleep(self.rng.choice((0.0, 0.0, 0.3)))
        self.hub.start()
        self.note(Kind.HUB_KILL, pid, began)
        time.sleep(self.rng.uniform(0.1, 0.8))
        return 1

    def stop_hub(self) -> int:
        self.await_work(None)
        pid, began = self.hub.process.pid, time.monotonic_ns()
        self.hub.process.pause()
        time.sleep(self.rng.uniform(*HUB_STOPPED_S))
        self.hub.process.resume()
        self.note(Kind.HUB_STOP, pid, began)
        time.sleep(self.rng.uniform(0.1, 0.5))
        return 1

    def kill_daemon(self) -> int:
        daemon = self.rng.choice(self.daemons)
        pid = daemon.process.pid
        self.await_work(pid)
        began = time.monotonic_ns()
        daemon.process.kill()
        self.tail.read()
        self.tail.forget(pid)
        time.sleep(self.rng.choice((0.0, 0.0, 0.5)))
        daemon.start()
        self.note(Kind.DAEMON_KILL, pid, began)
        time.sleep(self.rng.uniform(0.2, 0.8))
        return 1

    def stop_daemons(self, count: int = 2) -> int:
        """Several at a time, one after another, so that a fleet of three is down to one."""
        stopped: list[tuple[LiveDaemon, int]] = []
        for daemon in self.rng.sample(self.daemons, count):
            self.await_work(daemon.process.pid)
            stopped.append((daemon, time.monotonic_ns()))
            daemon.process.pause()
        time.sleep(self.lease_s * self.rng.uniform(*STOPPED_LEASES))
        for daemon, began in stopped:
            daemon.process.resume()
            self.note(Kind.DAEMON_STOP, daemon.process.pid, began)
            time.sleep(self.rng.uniform(0.0, 0.1))
        return len(stopped)

    def restart_hub(self) -> int:
        """It is asked to go, and started again."""
        self.await_work(None)
        pid, began = self.hub.process.pid, time.monotonic_ns()
        assert self.hub.process.terminate() == 0, self.hub.process.said[-2000:]
        self.hub.start()
        self.note(Kind.HUB_RESTART, pid, began)
        return 1

    def restart_daemon(self) -> int:
        """It is asked to go: it ends what it runs, and takes nothing new."""
        daemon = self.rng.choice(self.daemons)
        pid = daemon.process.pid
        self.await_work(pid)
        began = time.monotonic_ns()
        assert daemon.process.terminate() == 0, daemon.process.said[-2000:]
        daemon.start()
        self.note(Kind.DAEMON_RESTART, pid, began)
        return 1

    def kill_server(self) -> int:
        """All of it, or the process that has the hub's commits: then the server ends the others and recovers."""
        self.await_work(None)
        began = time.monotonic_ns()
        writers = self.rng.random() < 0.5 and self.server.administer(WRITERS)
        if writers:
            os.kill(int(str(writers[0][0])), signal.SIGKILL)
        else:
            self.server.kill()
            self.server.start()
        self._await_server(Kind.SERVER_KILL, began)
        return 1

    def stop_server(self) -> int:
        self.await_work(None)
        began = time.monotonic_ns()
        self.server.pause()
        time.sleep(self.rng.uniform(*HUB_STOPPED_S))
        self.server.resume()
        self._await_server(Kind.SERVER_STOP, began)
        return 1

    def restart_server(self) -> int:
        """As an upgrade does: it ends every session first."""
        self.await_work(None)
        began = time.monotonic_ns()
        self.server.stop(signal.SIGINT)
        self.server.start()
        self._await_server(Kind.SERVER_RESTART, began)
        return 1

    def _await_server(self, kind: Kind, began: int) -> None:
        """Until the hub can write again: it is as deaf as if it had been hurt itself."""
        wait_until(self.hub.is_ready, within_s=WORK_S, what="a hub that can write again")
        self.note(kind, self.hub.process.pid, began)

    # --- afterwards ----------------------------------------------------------------------------------------

    def finish(self) -> History:
        """Stop the load, let everything drain, and gather what everybody knows."""
        self.load.stop()
        with self.door.client(retry=STUBBORN) as client:
            # What does not come about in time is named by the rules.
            _settle(lambda: self._drained(client), within_s=DRAIN_S, every_s=0.2)
            wait_online(client, DAEMONS)
            history = self._history(client)
            _settle(lambda: not self._open(client), within_s=OPEN_S)
            history.left_open = self._open(client)
            _settle(lambda: self._owes_nothing(client, history), within_s=DRAIN_S, every_s=0.5)
            _settle(lambda: not self._unread(history), within_s=DRAIN_S)
        self.load.finish()
        history.streamed = tuple(self.load.streamed)
        return history

    def _drained(self, client: Client) -> bool:
        return all(task.status in ENDED for task in client.tasks(type="record"))

    def _open(self, client: Client) -> list[str]:
        """What the hub still counts, by its own figures."""
        held = [f"{daemon.name} holds {one.task}" for daemon in client.daemons() for one in daemon.running]
        figures = client.metrics()
        counted = {"waiting": figures.queue_depth_total, "running": figures.tasks_running}
        return [*held, *(f"{number} {what}" for what, number in counted.items() if number)]

    def _history(self, client: Client) -> History:
        ids = [task.id for task in client.tasks(type="record")]
        return History(
            runs=read_journals(daemon.journal for daemon in self.daemons),
            faults=self.faults,
            wake_ns=round(self.lease_s * NS / 4),
            acknowledged=self.load.acknowledged,
            tasks={task_id: client.task(task_id) for task_id in ids},
            events={task_id: [(e.id or "", e.event) for e in client.task_events(task_id)] for task_id in ids},
        )

    def _owes_nothing(self, client: Client, history: History) -> bool:
        """Late results arrive a moment after the task ended by another attempt; look again at those only."""
        late = {line.split()[0] for line in lost_results(history)}
        history.tasks = {**history.tasks, **{task_id: client.task(task_id) for task_id in late}}
        return not lost_results(history)

    def _unread(self, history: History) -> bool:
        """Whether the reader of the stream has yet to come to the newest event that is known."""
        newest = max(place for events in history.events.values() for place in (_place(e[0]) for e in events))
        streamed = self.load.streamed
        return not streamed or _place(streamed[-1][0]) < newest


def _settle(is_so: Callable[[], bool], *, within_s: float, every_s: float = LOOK_S) -> None:
    with suppress(TooLate):
        wait_until(is_so, within_s=within_s, what="the end of it all", every_s=every_s)


def _place(place: str) -> tuple[int, ...]:
    return tuple(map(int, place.split("-")))


KINDS: Final[Mapping[Kind, Callable[[Yard], int]]] = {
    Kind.HUB_KILL: Yard.kill_hub,
    Kind.DAEMON_KILL: Yard.kill_daemon,
    Kind.DAEMON_STOP: Yard.stop_daemons,
    Kind.HUB_STOP: Yard.stop_hub,
    Kind.HUB_RESTART: Yard.restart_hub,
    Kind.DAEMON_RESTART: Yard.restart_daemon,
}
SERVER_KINDS: Final[Mapping[Kind, Callable[[Yard], int]]] = {
    Kind.SERVER_KILL: Yard.kill_server,
    Kind.SERVER_STOP: Yard.stop_server,
    Kind.SERVER_RESTART: Yard.restart_server,
}
"""Of PostgreSQL only, and of a server that nobody else uses."""


@dataclass
class Report:
    """The figures of a run."""

    name: str
    history: History
    errors: list[str]
    took_s: float
    more: Mapping[str, list[str]] = field(default_factory=dict)
    """What other rules found broken, by their names."""
    note: str = ""
    """What else was measured."""
    rules: Mapping[str, Rule] = field(default_factory=lambda: RULES)

    @property
    def broken(self) -> dict[str, list[str]]:
        found = {**violations(self.history, self.rules), **self.more, "errors of clients": self.errors}
        return {rule: broken for rule, broken in found.items() if broken}

    def figures(self) -> dict[str, str]:
        history = self.history
        hit = sum(in_flight(history, fault) > 0 for fault in history.faults)
        attempts = sum(len(task.attempts) for task in history.tasks.values())
        return {
            "run": self.name,
            "faults": str(len(history.faults)),
            "hit work": f"{100 * hit / max(1, len(history.faults)):.0f} %",
            "tasks": str(len(history.acknowledged)),
            "starts": str(len(history.runs)),
            "attempts": str(attempts),
            "late": str(sum(a.late_result is not None for t in history.tasks.values() for a in t.attempts)),
            "events": str(len(history.streamed)),
            "broken": str(sum(map(len, self.broken.values()))),
            "s": f"{self.took_s:.0f}",
        }


def run(
    directory: Path,
    planned: Mapping[Kind, int],
    *,
    seed: int,
    engine: Engine = Engine.SQLITE,
    lease_s: float = LEASE_S,
    until: float | None = None,
) -> Report:
    """So many faults of each of these kinds, in random order, or fewer if the time is up."""
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with ExitStack() as stack:
        server = stack.enter_context(a_cluster()) if planned.keys() & SERVER_KINDS.keys() else None
        database = server.url(server.new_database()) if server else None
        live = stack.enter_context(live_yard(directory, engine))
        hub = live.hub(settings=settings(lease_s), database=database)
        yard = Yard(live, hub, seed=seed, lease_s=lease_s, server=server)
        kinds = {**KINDS, **SERVER_KINDS}
        history = suffer(yard, {kind: (faults, kinds[kind]) for kind, faults in planned.items()}, until=until)
        name = next(iter(planned)) if len(planned) == 1 else "all kinds"
        name += " on PostgreSQL" if engine is Engine.POSTGRES else ""
        return Report(name, history, yard.load.errors, time.monotonic() - began)


def suffer(yard: Y, planned: Mapping[Kind, tuple[int, Callable[[Y], int]]], *, until: float | None = None) -> History:
    """So many of each, in random order, while there is work; then let it end."""
    yard.begin()
    left = {kind: faults for kind, (faults, _) in planned.items() if faults > 0}
    while left and (until is None or time.monotonic() < until):
        kind = yard.rng.choice(sorted(left))
        left[kind] -= planned[kind][1](yard)
        left = {kind: count for kind, count in left.items() if count > 0}
    return yard.finish()


def table(reports: Sequence[Report]) -> str:
    rows = [report.figures() for report in reports]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
    lines = [{name: name for name in rows[0]}, *rows]
    return "\n".join("  ".join(f"{row[name]:<{widths[name]}}" for name in widths).rstrip() for row in lines)

"""Three hubs of one yard on a database of their own, and faults done to whichever leads, to the database, and to what
they say to each other.

Every hub reaches the database over a wire of its own that can be cut. What is judged is the history (`history.py`), the
log in the database, and how long it took until every hub that was left accepted a new task.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import count, pairwise
from pathlib import Path
from typing import Final

from taskyard.sdk.client import Client
from taskyard.sdk.errors import HubUnreachable, TaskyardError, Unavailable
from taskyard.sdk.retry import NEVER, PROMPT, RetryPolicy
from tests.acceptance.faults import Report, Yard, settings, suffer
from tests.acceptance.history import Fault, History, Kind
from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_until
from tests.support.pg_proxy import Loss, Proxy, a_proxy
from tests.support.postgres import Cluster, a_cluster

CLOCKS_H: Final = (0, -1, 1)
"""Each hub's clock: right, an hour late, an hour early. It may change nothing."""
LEASE_S: Final = 1.5
"""Of the leader."""
LEADS_S: Final = 30.0
PAUSED_S: Final = (1.0, 2.5)
"""How long a leader is stopped after the end of its lease."""
SERVER_AWAY_S: Final = (0.0, 1.5)
PURPOSES: Final = ("writer", "lock", "lease", "reader")
NESTERS, DEPTH, NEST_S = 2, 3, 60.0
AROUND_S: Final = 0.5
# Before and after a hand-over, requests that must not fail either.

DEAF_S_MAX: Final[Mapping[Kind, float]] = {
    Kind.LEADER_KILL: 5.0,
    Kind.LEADER_STOP: LEASE_S + 2.0,
    Kind.LEADER_CUT: LEASE_S + 2.0,
    Kind.SESSIONS_END: 5.0,
    Kind.HAND_OVER: 5.0,
}
"""From the beginning of a fault until every hub that was left accepts a new task."""


def with_clock(hours: int) -> list[str]:
    """What to put before a command so that its calendar is wrong."""
    return [sys.executable, "-m", "tests.support.shifted", str(hours)] if hours else []


class LiveHubs:
    """Several hubs as one door: each who comes begins at another of them, and knows them all."""

    def __init__(self, hubs: Sequence[LiveHub]) -> None:
        self._hubs = hubs
        self._turns = count()

    @property
    def url(self) -> str:
        first = next(self._turns) % len(self._hubs)
        return ",".join(hub.url for hub in (*self._hubs[first:], *self._hubs[:first]))

    @property
    def key(self) -> str:
        return self._hubs[0].key

    def client(self, *, retry: RetryPolicy = NEVER, key: str | None = None, timeout_s: float = 10.0) -> Client:
        return Client(self.url, key or self.key, retry=retry, patience=retry, timeout_s=timeout_s)


class HubsYard(Yard):
    """Three hubs, the daemons and the load of every fault test, and how to hurt whoever leads."""

    def __init__(
        self, live: LiveYard, server: Cluster, wires: Sequence[Proxy], *, seed: int, lead_s: float = LEASE_S
    ) -> None:
        self.server = server
        self.lead_s = lead_s
        # What daemons are given must outlast the time in which nobody can lead: a server that is away, then a takeover.
        lease_s = SERVER_AWAY_S[1] + 4 * lead_s + 0.5
        self.database = server.new_database()
        self.wires = wires
        self.hubs = [
            live.hub(
                f"hub{number}",
                settings=f"{settings(lease_s)}[cluster]\nlease_s = {lead_s:g}\n",
                database=server.url(self.database, port=wire.port),
                prefix=with_clock(hours),
                start=False,
            )
            for number, (wire, hours) in enumerate(zip(wires, CLOCKS_H, strict=True), 1)
        ]
        for hub in self.hubs:
            hub.start(wait=False)
        for hub in self.hubs:
            hub.wait_ready()
        super().__init__(live, self.hubs[0], seed=seed, lease_s=lease_s, door=LiveHubs(self.hubs))
        self.refused: list[str] = []
        """Requests that failed though nothing but a hand-over happened."""
        self.nested = 0
        self.unnested: list[str] = []
        """Tasks that waited for sub-tasks of their own, and did not get what they waited for."""
        self._over = threading.Event()
        self._nesters = [threading.Thread(target=self._nest, daemon=True) for _ in range(NESTERS)]

    def begin(self) -> None:
        super().begin()
        for thread in self._nesters:
            thread.start()

    def finish(self) -> History:
        self._over.set()
        for thread in self._nesters:
            thread.join(NEST_S)
        return super().finish()

    def _nest(self) -> None:
        """One after another: a task whose parent waits for it, whose parent waits for it."""
        with self.door.client(retry=STUBBORN) as client:
            while not self._over.is_set():
                try:
                    task = client.submit("deep", type="nest", payload={"depth": DEPTH}).wait(timeout=NEST_S)
                except TaskyardError as error:
                    self.unnested.append(f"{type(error).__name__}: {error}")
                    continue
                self.nested += 1
                if task.result != DEPTH:
                    self.unnested.append(f"{task.id} is {task.status}, with {task.result!r}")

    # --- who leads -----------------------------------------------------------------------------------------

    def look(self, question: str) -> list[tuple[object, ...]]:
        return self.server.administer(question, database=self.database)

    def leader(self) -> int:
        """Which of the hubs leads, once one does and all are there."""
        for hub in self.hubs:
            hub.wait_ready()
        names = {(hub.data / "hub.id").read_text().strip(): number for number, hub in enumerate(self.hubs)}

        def find() -> int | None:
            rows = self.look("SELECT holder FROM taskyard.lease WHERE until > clock_timestamp()")
            found = names.get(str(rows[0][0])) if rows else None
            return None if found is None else found + 1

        return wait_until(find, within_s=LEADS_S, what="a hub that leads") - 1

    def strike(self) -> tuple[int, LiveHub, list[LiveHub]]:
        """Whom to hurt, while there is work: the leader's number, the leader, and the others."""
        number = self.leader()
        self.await_work(None)
        return number, self.hubs[number], [hub for hub in self.hubs if hub is not self.hubs[number]]

    def deaf_s(self, began_ns: int, hubs: Sequence[LiveHub]) -> float:
        """How long it took until each of these accepted a task that was submitted after the fault."""
        took: list[float] = []

        def submit(hub: LiveHub) -> None:
            with hub.client(key=self.door.key) as client:
                # Without the pause that a refusal asks for: it is the hub that is measured.
                wait_until(lambda: _is_accepted(client), within_s=LEADS_S, what="a new task", every_s=0.05)
            took.append((time.monotonic_ns() - began_ns) / 1e9)

        threads = [threading.Thread(target=submit, args=(hub,), daemon=True) for hub in hubs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(LEADS_S)
        assert len(took) == len(hubs), f"no new task was accepted within {LEADS_S:g} s"
        return max(took)

    # --- the kinds -----------------------------------------------------------------------------------------

    def kill_leader(self) -> int:
        _, leader, others = self.strike()
        pid, began = leader.process.pid, time.monotonic_ns()
        leader.kill()
        deaf_s = self.deaf_s(began, others)
        self.note(Kind.LEADER_KILL, pid, began, deaf_s)
        leader.start(wait=False)
        return 1

    def stop_leader(self) -> int:
        """For longer than its lease; it goes on as if nothing had happened."""
        _, leader, others = self.strike()
        pid, began = leader.process.pid, time.monotonic_ns()
        leader.process.pause()
        stopped_until = time.monotonic() + self.lead_s + self.rng.uniform(*PAUSED_S)
        deaf_s = self.deaf_s(began, others)
        time.sleep(max(0.0, stopped_until - time.monotonic()))
        leader.process.resume()
        self.note(Kind.LEADER_STOP, pid, began, deaf_s)
        return 1

    def cut_leader(self) -> int:
        """From the database: its connections are closed and no new one is taken, or nothing passes over them."""
        number, leader, others = self.strike()
        wire, began = self.wires[number], time.monotonic_ns()
        if self.rng.random() < 0.5:
            wire.close_to_new(True)
            wire.cut()
        else:
            wire.lose(Loss.EVERYTHING)
        deaf_s = self.deaf_s(began, others)
        wire.lose(Loss.NOTHING)
        wire.close_to_new(False)
        wire.cut()
        self.deaf_s(began, [leader])
        self.note(Kind.LEADER_CUT, leader.process.pid, began, deaf_s)
        return 1

    def end_sessions(self) -> int:
        """As an operator would: those of one purpose, or all."""
        _, leader, others = self.strike()
        purposes = self.rng.choice([*((purpose,) for purpose in PURPOSES), PURPOSES])
        began = time.monotonic_ns()
        for purpose in purposes:
            self.server.terminate(self.database, purpose)
        deaf_s = self.deaf_s(began, [leader, *others])
        self.note(Kind.SESSIONS_END, leader.process.pid, began, deaf_s)
        return 1

    def hand_over(self) -> int:
        """The leader is asked to go. Meanwhile requests to the others, and of who knows all three, must not fail."""
        _, leader, others = self.strike()
        pid = leader.process.pid
        with self.asking(others), ThreadPoolExecutor(1) as beside:
            time.sleep(AROUND_S)
            began = time.monotonic_ns()
            leaving = beside.submit(leader.process.terminate)
            deaf_s = self.deaf_s(began, others)
            assert leaving.result() == 0, leader.process.said[-2000:]
            time.sleep(AROUND_S)
        self.note(Kind.HAND_OVER, pid, began, deaf_s)
        leader.start(wait=False)
        return 1

    @contextmanager
    def asking(self, hubs: Sequence[LiveHub]) -> Iterator[None]:
        """Requests one after another: of each of these hubs without a second try, and of all as a client does."""
        over = threading.Event()

        def ask(make: Callable[[], Client]) -> None:
            with make() as client:
                while not over.is_set():
                    try:
                        client.submit("during a hand-over", type="noop")
                    except TaskyardError as error:
                        self.refused.append(f"{type(error).__name__}: {error}")

        key = self.door.key
        callers = [lambda hub=hub: hub.client(key=key) for hub in hubs]
        callers.append(lambda: self.door.client(retry=PROMPT))
        threads = [threading.Thread(target=ask, args=(caller,), daemon=True) for caller in callers]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(LEADS_S)

    def kill_server(self) -> int:
        _, leader, _ = self.strike()
        began = time.monotonic_ns()
        self.server.stop(signal.SIGQUIT)
        time.sleep(self.rng.uniform(*SERVER_AWAY_S))
        self.server.start()
        back = time.monotonic_ns()
        after_s = self.deaf_s(back, self.hubs)
        self.note(Kind.SERVER_KILL, leader.process.pid, began, after_s)
        return 1

    def lose_answer(self) -> int:
        """To a commit: it happened and nobody says so, or it never arrived."""
        number, leader, _ = self.strike()
        wire, began = self.wires[number], time.monotonic_ns()
        lost = wire.lost
        wire.lose(self.rng.choice((Loss.ANSWER, Loss.ANSWER, Loss.REQUEST)), purpose="writer")
        wait_until(lambda: wire.lost > lost, within_s=LEADS_S, what="a commit whose answer is lost", every_s=0.001)
        deaf_s = self.deaf_s(began, self.hubs)
        self.note(Kind.ANSWER_LOST, leader.process.pid, began, deaf_s)
        return 1

    # --- afterwards ----------------------------------------------------------------------------------------

    def broken_log(self) -> list[str]:
        """Every place of the log is of one epoch, and epochs never go back."""
        rows = self.look(
            "SELECT seq, epoch, before FROM (SELECT seq, epoch, lag(epoch) OVER (ORDER BY seq) AS before, "
            "lag(seq) OVER (ORDER BY seq) AS last FROM taskyard.commit_log) AS log "
            "WHERE epoch < before OR seq <> last + 1 LIMIT 10"
        )
        twice = self.look("SELECT seq FROM taskyard.commit_log GROUP BY seq HAVING count(*) > 1 LIMIT 10")
        streamed: dict[int, set[int]] = {}
        for place, _ in self.load.streamed:
            epoch, seq, _ = map(int, place.split("-"))
            streamed.setdefault(seq, set()).add(epoch)
        return [
            *(f"commit {seq} is of epoch {epoch}, after {before}" for seq, epoch, before in rows),
            *(f"commit {seq} is there twice" for (seq,) in twice),
            *(
                f"commit {seq} was told of epochs {sorted(epochs)}"
                for seq, epochs in streamed.items()
                if len(epochs) > 1
            ),
        ]

    def out_of_line(self) -> list[str]:
        """Who submits one task after another finds them in that order, whichever hub led, by whatever clock."""
        by_submitter: dict[str, list[str]] = {}
        for asked in self.load.acknowledged:
            by_submitter.setdefault(asked.key.rpartition("-")[0], []).append(asked.task)
        return [
            f"{later} was submitted after {earlier}, and stands before it"
            for ids in by_submitter.values()
            for earlier, later in pairwise(ids)
            if later < earlier
        ]

    @property
    def epochs(self) -> int:
        return int(str(self.look("SELECT count(DISTINCT epoch) FROM taskyard.commit_log")[0][0]))

    def died(self) -> list[str]:
        """Hubs that nobody ended."""
        return [
            f"{hub.data.name} left with {hub.process.exit_code}: {hub.process.said[-500:]}"
            for hub in self.hubs
            if hub.process.exit_code is not None
        ]


def _is_accepted(client: Client) -> bool:
    try:
        client.submit("after the fault", type="noop")
    except (HubUnreachable, Unavailable):
        return False
    return True


KINDS: Final[Mapping[Kind, Callable[[HubsYard], int]]] = {
    Kind.LEADER_KILL: HubsYard.kill_leader,
    Kind.LEADER_STOP: HubsYard.stop_leader,
    Kind.LEADER_CUT: HubsYard.cut_leader,
    Kind.SESSIONS_END: HubsYard.end_sessions,
    Kind.HAND_OVER: HubsYard.hand_over,
    Kind.SERVER_KILL: HubsYard.kill_server,
    Kind.ANSWER_LOST: HubsYard.lose_answer,
}

CHANGES_LEADER: Final = (Kind.LEADER_KILL, Kind.LEADER_STOP, Kind.LEADER_CUT, Kind.HAND_OVER)


def slow_takeovers(faults: Sequence[Fault]) -> list[str]:
    return [
        f"{fault.kind}: {fault.deaf_s:.1f} s until a new task was accepted, where {DEAF_S_MAX[fault.kind]:g} s may be"
        for fault in faults
        if fault.deaf_s > DEAF_S_MAX.get(fault.kind, LEADS_S)
    ]


def run_hubs(
    directory: Path,
    planned: Mapping[Kind, int],
    *,
    seed: int,
    name: str,
    lead_s: float = LEASE_S,
    is_timed: bool = True,
    until: float | None = None,
) -> Report:
    """So many faults of each of these kinds, on three hubs and a database server of their own.

    `is_timed` has a takeover that is slow count as a fault, which on a busy machine it is not.
    """
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with ExitStack() as stack:
        server = stack.enter_context(a_cluster())
        wires = [stack.enter_context(a_proxy(server.port)) for _ in CLOCKS_H]
        yard = HubsYard(stack.enter_context(live_yard(directory)), server, wires, seed=seed, lead_s=lead_s)
        history = suffer(yard, {kind: (faults, KINDS[kind]) for kind, faults in planned.items()}, until=until)
        leaders = sum(fault.kind in CHANGES_LEADER for fault in history.faults)
        more = {
            "log": yard.broken_log(),
            "requests failed during a hand-over": yard.refused,
            "slow takeovers": slow_takeovers(history.faults) if is_timed else [],
            "waits in vain": yard.unnested if yard.nested else ["nobody waited for a sub-task"],
            "tasks out of line": yard.out_of_line(),
            "hubs that died": yard.died(),
            "leaders that stayed": [] if yard.epochs > leaders else [f"{yard.epochs} epochs, {leaders} faults"],
        }
        note = takeovers(history.faults)
        return Report(name, history, yard.load.errors, time.monotonic() - began, more, note)


def takeovers(faults: Sequence[Fault]) -> str:
    """For each kind how many there were, and how long until a new task was accepted: the median and the longest."""
    told = []
    for kind in KINDS:
        took = sorted(fault.deaf_s for fault in faults if fault.kind is kind)
        if took:
            told.append(f"{len(took)} {kind}: {took[len(took) // 2]:.2f} s, {took[-1]:.2f} s at most")
    return "; ".join(told)

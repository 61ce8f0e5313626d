"""Three hubs of one yard on a database server of their own, and faults done to whichever leads, to the database, and to
what they say to each other.

Every hub reaches the database over a wire of its own that can be cut, and has a clock of its own.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from taskyard.sdk.client import Client
from taskyard.sdk.errors import TaskyardError
from taskyard.sdk.retry import PROMPT
from taskyard.vocabulary import Refusal
from tests.acceptance.faults import Report, settings, suffer
from tests.acceptance.history import History, Kind
from tests.acceptance.hubs import LEADS_S, LEASE_S, HubsYard, slow_takeovers, takeovers
from tests.support.live import STUBBORN, LiveHub, LiveYard, live_yard, wait_until
from tests.support.pg_proxy import Loss, Proxy, a_proxy
from tests.support.postgres import Cluster, a_cluster

CLOCKS_H: Final = (0, -1, 1)
"""Each hub's clock: right, an hour late, an hour early. It may change nothing."""
PAUSED_S: Final = (1.0, 2.5)
"""How long a leader is stopped after the end of its lease."""
SERVER_AWAY_S: Final = (0.0, 1.5)
PURPOSES: Final = ("writer", "lock", "lease", "reader")
NESTERS, DEPTH, NEST_S = 2, 3, 60.0
AROUND_S: Final = 0.5
# Before and after a hand-over, requests that must not fail either.


def with_clock(hours: int) -> list[str]:
    """What to put before a command so that its calendar is wrong."""
    return [sys.executable, "-m", "tests.support.shifted", str(hours)] if hours else []


class ThreeHubs(HubsYard):
    def __init__(
        self, live: LiveYard, server: Cluster, wires: Sequence[Proxy], *, seed: int, lead_s: float = LEASE_S
    ) -> None:
        self.lead_s = lead_s
        # What daemons are given must outlast the time in which nobody can lead: a server that is away, then a takeover.
        lease_s = SERVER_AWAY_S[1] + 4 * lead_s + 0.5
        database = server.new_database()
        self.wires = wires
        hubs = [
            live.hub(
                f"hub{number}",
                settings=f"{settings(lease_s)}[cluster]\nlease_s = {lead_s:g}\n",
                database=server.url(database, port=wire.port),
                prefix=with_clock(hours),
                start=False,
            )
            for number, (wire, hours) in enumerate(zip(wires, CLOCKS_H, strict=True), 1)
        ]
        super().__init__(live, server, database, hubs, seed=seed, lease_s=lease_s)
        self.refused: list[str] = []
        """Requests that failed though nothing but a hand-over happened."""
        self.leaderless: list[str] = []
        """Those of them that waited for a leader for as long as a request does: the machine may have been too slow."""
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

    # --- the kinds -----------------------------------------------------------------------------------------

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
                        is_leaderless = getattr(error, "code", None) == Refusal.NO_LEADER
                        failed = self.leaderless if is_leaderless else self.refused
                        failed.append(f"{type(error).__name__}: {error}")

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


KINDS: Final[Mapping[Kind, Callable[[ThreeHubs], int]]] = {
    Kind.LEADER_KILL: ThreeHubs.kill_leader,
    Kind.LEADER_STOP: ThreeHubs.stop_leader,
    Kind.LEADER_CUT: ThreeHubs.cut_leader,
    Kind.SESSIONS_END: ThreeHubs.end_sessions,
    Kind.HAND_OVER: ThreeHubs.hand_over,
    Kind.SERVER_KILL: ThreeHubs.kill_server,
    Kind.ANSWER_LOST: ThreeHubs.lose_answer,
}


def run_three_hubs(
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
        yard = ThreeHubs(stack.enter_context(live_yard(directory)), server, wires, seed=seed, lead_s=lead_s)
        history = suffer(yard, {kind: (faults, KINDS[kind]) for kind, faults in planned.items()}, until=until)
        more = {
            **yard.broken(),
            "requests failed during a hand-over": yard.refused + (yard.leaderless if is_timed else []),
            "slow takeovers": slow_takeovers(history.faults) if is_timed else [],
            "waits in vain": yard.unnested if yard.nested else ["nobody waited for a sub-task"],
        }
        note = takeovers(history.faults)
        return Report(name, history, yard.load.errors, time.monotonic() - began, more, note)

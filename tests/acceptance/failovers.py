"""PostgreSQL fails over under load, again and again: `python -m tests.acceptance.failovers --failovers 40`.

A yard has three hubs, daemons and submitters, and a database of two servers of which one follows the other. In every
second failover two of the three hubs die too, and come back with empty directories, as containers do. What is judged
is the history (`history.py`). With synchronous replication nothing acknowledged may be missing. With asynchronous
replication commits are lost on purpose: the yard has to stop and say so until a person accepts the loss, or
(`on_rewind = "accept"`) to say so and go on. No ref may name two tasks, whatever was lost.
"""

import argparse
import json
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from enum import StrEnum
from itertools import cycle, islice, product
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from taskyard.sdk.client import Client
from taskyard.vocabulary import EPOCHS_PER_ERA
from tests.acceptance.faults import Report, settings, table
from tests.acceptance.history import RULES, History, Kind, Rule
from tests.acceptance.hubs import HubsYard, is_accepted, takeovers
from tests.acceptance.load import Load
from tests.acceptance.soak import keep, tell
from tests.support.failover import WiredPair, a_wired_pair
from tests.support.live import LiveHub, LiveYard, TooLate, get_status, live_yard, wait_until
from tests.support.patroni import a_patroni_pair, is_installed

T = TypeVar("T")

DAEMON_LEASE_S: Final = 40.0
"""Longer than any failover takes, so that none of it excuses a second start."""
SETTLE_S: Final = 60.0
CANCELS: Final = 3
AHEAD: Final = 5
"""So many tasks are acknowledged that the standby never hears of."""
TEMPTED: Final = 100
"""So many are acknowledged while the old primary can be reached again, and can be written."""
REPLACED: Final = 2
PER_YARD: Final = 10
COMMAND: Final = "--accept-rewind"
"""A report names it: it is what a person has to say."""


class Mode(StrEnum):
    SYNCHRONOUS = "synchronous"
    STOP = "asynchronous"
    ACCEPT = "asynchronous, accepted"


class Failover(NamedTuple):
    kind: Kind
    replaces: bool = False
    """Whether two of the three hubs come back with empty directories."""


class Before(NamedTuple):
    """What a loss is told by afterwards."""

    era: int
    rewinds: int


SYNCHRONOUS_KINDS: Final = (Kind.PRIMARY_KILL, Kind.WAIT_CANCEL, Kind.PRIMARY_CUT, Kind.SWITCHOVER)
ASYNCHRONOUS_KINDS: Final = (Kind.PRIMARY_KILL, Kind.PRIMARY_CUT, Kind.SWITCHOVER)
LOSSY: Final = (Kind.PRIMARY_KILL, Kind.PRIMARY_CUT)

LOSSY_RULES: Final[Mapping[str, Rule]] = {
    name: RULES[name]
    for name in (
        "acknowledged tasks lost",
        "keys with other than one task",
        "refs given twice",
        "left open",
        "runs that proved nothing",
    )
}
"""After a loss a task may be begun again that had been begun or had ended: what the database forgot happens again."""


class FailoverYard(HubsYard):
    def __init__(self, live: LiveYard, pair: WiredPair, mode: Mode, *, seed: int) -> None:
        database = pair.primary.new_database()
        accepts = '[cluster]\non_rewind = "accept"\n' if mode is Mode.ACCEPT else ""
        hubs = [
            live.hub(name, settings=settings(DAEMON_LEASE_S) + accepts, database=pair.url(database), start=False)
            for name in ("hub1", "hub2", "hub3")
        ]
        self.pair = pair
        self.mode = mode
        self.is_followed = True
        """Whether the primary has a standby; after a failover it has none until the next one needs it."""
        self.lost: dict[str, str] = {}
        """Tasks that were acknowledged and that the promoted server lacks, with the failover that lost them."""
        self.reported: set[str] = set()
        """Those of them that the hubs spoke of."""
        self.wrong: list[str] = []
        super().__init__(live, pair.primary, database, hubs, seed=seed, lease_s=DAEMON_LEASE_S)
        if mode is not Mode.SYNCHRONOUS:
            # A task cannot wait for one that was lost.
            self.load = Load(self.door, self.tail, seed=seed, dependencies=False)

    # --- a failover ----------------------------------------------------------------------------------------

    def fail_over(self, failover: Failover) -> None:
        if not self.is_followed:
            self.pair.rejoin()
        self.is_followed = False
        _, leader, _ = self.strike()
        pid, began = leader.process.pid, time.monotonic_ns()
        replaced = self.rng.sample(self.hubs, REPLACED) if failover.replaces else []
        kept = [hub for hub in self.hubs if hub not in replaced]
        if self.mode is not Mode.SYNCHRONOUS and failover.kind in LOSSY:
            self._run_ahead()
        before = Before(self._era(), self._rewinds())
        BLOWS[failover.kind](self)
        for hub in (leader, *kept):
            # When this is answered, it has heard of what was told before it.
            get_status(f"{hub.url}/healthz")
        for hub in replaced:
            hub.kill()
            shutil.rmtree(hub.data)
            hub.data.mkdir()
        acknowledged = [asked.task for asked in self.load.acknowledged]
        self.pair.promote()
        self.server = self.pair.primary
        for hub in replaced:
            hub.start(wait=False)
        self._answer_for_losses(self._missing(acknowledged), failover.kind, replaced or kept, before)
        self._until_accepting()
        deaf_s = (time.monotonic_ns() - began) / 1e9
        if failover.kind is Kind.PRIMARY_CUT:
            self._tempt()
        self.note(failover.kind, pid, began, deaf_s)

    def _run_ahead(self) -> None:
        """Tasks are acknowledged that the standby does not hear of."""
        self.pair.stall()
        enough = len(self.load.acknowledged) + AHEAD
        wait_until(lambda: len(self.load.acknowledged) >= enough, within_s=SETTLE_S, what="tasks ahead of the standby")

    def kill_primary(self) -> None:
        self.pair.kill_primary()

    def cut_primary(self) -> None:
        self.pair.cut_primary(is_silent=self.rng.random() < 0.5)

    def switch_over(self) -> None:
        self.pair.switch_over()

    def cancel_waits(self) -> None:
        """Of commits that wait for a standby which hears nothing; then the primary dies, with what only it has."""
        self.pair.stall()
        for _ in range(CANCELS):
            waiting = wait_until(self.pair.waiting, within_s=SETTLE_S, what="a commit that waits for the standby")
            self.pair.cancel(waiting, ends_session=self.rng.random() < 0.5)
        self.pair.kill_primary()

    def _tempt(self) -> None:
        """The old primary lives, can be reached again and can be written; a hub is started, which dials anew. What is
        acknowledged has to be in the new one."""
        self.pair.reconnect()
        leader = self.hubs[self.leader()]
        hub = self.rng.choice([hub for hub in self.hubs if hub is not leader])
        hub.kill()
        hub.start(wait=False)
        enough = len(self.load.acknowledged) + TEMPTED
        wait_until(lambda: len(self.load.acknowledged) >= enough, within_s=SETTLE_S, what="tasks after the failover")

    # --- hubs ----------------------------------------------------------------------------------------------

    def await_hubs(self) -> None:
        self._until_accepting()

    def _until_accepting(self) -> None:
        """Until every hub has accepted a new task."""
        waiting = list(self.hubs)

        def look() -> bool:
            waiting[:] = [hub for hub in waiting if not self._accepts(hub)]
            return not waiting

        self._wait(look, "every hub accepts a new task")

    def _accepts(self, hub: LiveHub) -> bool:
        with hub.client(key=self.door.key) as client:
            return is_accepted(client)

    def _tend(self) -> None:
        """Start hubs again that left, as what runs containers does."""
        for hub in self.hubs:
            if hub.process.exit_code is not None:
                if self.mode is Mode.SYNCHRONOUS:
                    self.wrong.append(f"{hub.data.name} left with {hub.process.exit_code}: {hub.process.said[-300:]}")
                hub.start(wait=False)

    def _era(self) -> int:
        return int(str(self.look("SELECT max(epoch) FROM taskyard.commit_log")[0][0])) // EPOCHS_PER_ERA

    # --- losses --------------------------------------------------------------------------------------------

    def _missing(self, acknowledged: Sequence[str]) -> list[str]:
        there = self.look("SELECT id FROM taskyard.task UNION ALL SELECT id FROM taskyard.history")
        return sorted({*acknowledged} - {str(id) for (id,) in there} - self.lost.keys())

    def _answer_for_losses(self, missing: Sequence[str], kind: Kind, hubs: Sequence[LiveHub], before: Before) -> None:
        """A person accepts the loss at one of these hubs, once the yard has said that there is one.

        Not at the only one that remembers: while that is away, an empty one may lead.
        """
        if not missing or self.mode is Mode.SYNCHRONOUS:
            return
        self.lost |= dict.fromkeys(missing, str(kind))
        # Nobody will see them end.
        self.tail.ended |= {*missing}
        if not self._is_noticed(before):
            self.wrong.append(f"{kind}: {len(missing)} tasks are gone, and hubs went on without a word")
            return
        if self.mode is Mode.STOP and self._era() == before.era:
            accepts = self.rng.choice(hubs)
            accepts.kill()
            accepts.start(COMMAND, wait=False)
        self._wait(lambda: self._era() > before.era, "a new era")
        self._wait(lambda: self._rewinds() > before.rewinds, "a word about it in the audit")
        self.reported |= {*missing}

    def _is_noticed(self, before: Before) -> bool:
        """Whether the hubs name the command, or begin a new era where they may, before they acknowledge anything."""
        acknowledged = len(self.load.acknowledged)

        def look() -> str | None:
            if self._era() > before.era if self.mode is Mode.ACCEPT else self._names_command():
                return "noticed"
            return "went on" if len(self.load.acknowledged) > acknowledged else None

        return self._wait(look, "hubs that speak of a loss, or go on") == "noticed" or self._era() > before.era

    def _names_command(self) -> bool:
        return any(COMMAND in _read(f"{hub.url}/readyz") for hub in self.hubs)

    def _rewinds(self) -> int:
        """How many the audit tells of, by whichever hub answers."""
        for hub in self.hubs:
            told = json.loads(_read(f"{hub.url}/api/v1/audit?limit=500", key=self.door.key) or "{}")
            if isinstance(told, list):
                return sum("rewind.accepted" in json.dumps(line) for line in told)
        return 0

    def _wait(self, condition: Callable[[], T | None], what: str) -> T:
        """While hubs that leave are started again."""

        def look() -> T | None:
            self._tend()
            return condition()

        return wait_until(look, within_s=SETTLE_S, what=what, every_s=0.05)

    # --- afterwards ----------------------------------------------------------------------------------------

    def _history(self, client: Client) -> History:
        history = super()._history(client)
        history.reported = frozenset(self.reported)
        history.runs = [run for run in history.runs if run.task not in self.lost]
        return history

    def _owes_nothing(self, client: Client, history: History) -> bool:
        return bool(self.lost) or super()._owes_nothing(client, history)

    def _unread(self, history: History) -> bool:
        return not self.lost and super()._unread(history)


def _read(url: str, *, key: str | None = None) -> str:
    """The body of an answer, whatever its status; nothing, if nobody answers."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return str(answer.read(), "utf-8")
    except urllib.error.HTTPError as refused:
        with refused:
            return str(refused.read(), "utf-8")
    except OSError:
        return ""


BLOWS: Final[Mapping[Kind, Callable[[FailoverYard], None]]] = {
    Kind.PRIMARY_KILL: FailoverYard.kill_primary,
    Kind.PRIMARY_CUT: FailoverYard.cut_primary,
    Kind.SWITCHOVER: FailoverYard.switch_over,
    Kind.WAIT_CANCEL: FailoverYard.cancel_waits,
}


def run_failovers(
    directory: Path,
    planned: Sequence[Failover],
    *,
    mode: Mode,
    seed: int,
    make: Callable[..., AbstractContextManager[WiredPair]] = a_wired_pair,
    until: float | None = None,
) -> Report:
    """These failovers, one after another, of one yard; or fewer, if the time is up."""
    directory.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    with make(is_synchronous=mode is Mode.SYNCHRONOUS) as pair, live_yard(directory) as live:
        yard = FailoverYard(live, pair, mode, seed=seed)
        yard.begin()
        for failover in planned:
            if until is not None and time.monotonic() > until:
                break
            try:
                yard.fail_over(failover)
            except TooLate as error:
                yard.wrong.append(f"{failover.kind}: {error}")
                break
        history = yard.finish()
        found = yard.broken() if mode is Mode.SYNCHRONOUS else {"hubs that died": yard.died()}
        found["failovers that went wrong"] = yard.wrong
        note = f"{takeovers(history.faults)}; {len(yard.lost)} tasks lost, {len(yard.reported)} of them reported"
        rules = RULES if mode is Mode.SYNCHRONOUS else LOSSY_RULES
        took_s = time.monotonic() - began
        # Where commits may be lost, a client that is told so has been told what it should be.
        errors = [each for each in yard.load.errors if mode is Mode.SYNCHRONOUS or COMMAND not in each]
        return Report(f"failovers, {mode}", history, errors, took_s, found, note, rules)


class Part(NamedTuple):
    """What is done to one yard."""

    mode: Mode
    failovers: list[Failover]
    make: Callable[..., AbstractContextManager[WiredPair]] = a_wired_pair

    @property
    def name(self) -> str:
        return f"failovers, {self.mode}" + (", by Patroni" if self.make is a_patroni_pair else "")


def plan(failovers: int, by_patroni: int) -> Iterator[Part]:
    """A quarter of those without Patroni asynchronous; half of each kind with hubs that are replaced."""
    lossy = failovers // 4
    yield from parts(Mode.SYNCHRONOUS, SYNCHRONOUS_KINDS, failovers - lossy)
    yield from parts(Mode.STOP, ASYNCHRONOUS_KINDS, lossy - lossy // 2)
    yield from parts(Mode.ACCEPT, ASYNCHRONOUS_KINDS, lossy // 2)
    yield from parts(Mode.SYNCHRONOUS, SYNCHRONOUS_KINDS, by_patroni, a_patroni_pair)


def parts(
    mode: Mode,
    kinds: Sequence[Kind],
    number: int,
    make: Callable[..., AbstractContextManager[WiredPair]] = a_wired_pair,
) -> Iterator[Part]:
    each = cycle(Failover(kind, replaces) for kind, replaces in product(kinds, (True, False)))
    left = islice(each, number)
    while part := list(islice(left, PER_YARD)):
        yield Part(mode, part, make)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.failovers")
    parser.add_argument("--failovers", type=int, default=40, help="with plain streaming replication")
    parser.add_argument("--patroni", type=int, default=0, help="with Patroni and etcd, if both are installed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=3600.0)
    parser.add_argument("--only", type=Mode, choices=[*Mode], help="one kind of replication")
    asked = parser.parse_args(arguments)
    until = time.monotonic() + asked.budget_s
    if asked.patroni and not is_installed():
        print(f"Patroni or etcd is missing, so that {asked.patroni} failovers are left out.")
        asked.patroni = 0
    reports: list[Report] = []
    for number, part in enumerate(plan(asked.failovers, asked.patroni)):
        if asked.only in (None, part.mode):
            with tempfile.TemporaryDirectory(prefix="taskyard-failovers-") as directory:
                reports.append(run_part(part, Path(directory, "yard"), seed=asked.seed + number, until=until))
            tell(reports[-1])
    print(f"\n{table(reports)}")
    keep(reports)
    return 1 if any(report.broken for report in reports) else 0


def run_part(part: Part, directory: Path, *, seed: int, until: float) -> Report:
    report = run_failovers(directory, part.failovers, mode=part.mode, seed=seed, make=part.make, until=until)
    report.name = part.name
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

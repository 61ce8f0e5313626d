"""`python -m tests.acceptance.soak --faults N --budget-s S`: so many faults of each kind, then all kinds together,
on each engine; what can be done to three hubs on one database; and the death of the leader of two hubs on one machine.

Prints a line for each run, adds the figures to `docs/soak.md`, and fails if any rule of `history.py` was broken, or if
the time was too short for even one fault of a kind.
"""

import argparse
import datetime
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from tests.acceptance.faults import KINDS, SERVER_KINDS, SERVER_LEASE_S, Report, run, table
from tests.acceptance.history import Kind
from tests.acceptance.three_hubs import run_three_hubs
from tests.acceptance.two_hubs import run_two_hubs
from tests.support.engines import Engine
from tests.support.live import ROOT

PAGE: Final = ROOT / "docs" / "soak.md"
PER_YARD_MAX: Final = 50
# Faults on one yard: a history of more is slow to judge, and a fresh start is worth testing too.
HEAD: Final = """\
# Soak runs

What `make soak` found with real processes: hubs and daemons killed and stopped under load, leases of 2 s. Each line is
one run. *Hit work* is how many of the faults fell while an attempt was under way; *broken* counts every violation of
the rules in `tests/acceptance/history.py`; *accepted again*, of several hubs, is how long it took until every hub that
was left accepted a new task, in the median and at most. Newest last; `python -m tests.acceptance.soak` adds to it.

| date | commit | faults | number | hit work | tasks | attempts | late results | broken | seconds | accepted again |
|---|---|---|---|---|---|---|---|---|---|---|
"""


LEADER_FAULTS: Final = {
    Kind.LEADER_KILL: 15,
    Kind.LEADER_STOP: 15,
    Kind.LEADER_CUT: 15,
    Kind.SESSIONS_END: 15,
    Kind.HAND_OVER: 5,
}
DATABASE_FAULTS: Final = {Kind.SERVER_KILL: 20, Kind.ANSWER_LOST: 100}
# Of three hubs, in a run of a hundred faults of every other kind.
HUBS_YARDS: Final = 2
LEDGER_S: Final = 300.0


class Step(Protocol):
    """Faults on a yard of their own."""

    def __call__(self, directory: Path, *, seed: int, until: float) -> Report: ...


def alone(faults: int, engine: Engine) -> list[Step]:
    """Each kind by itself, then all together."""
    shares = [min(PER_YARD_MAX, faults - done) for done in range(0, faults, PER_YARD_MAX)]
    each = [partial(run, planned={kind: share}, engine=engine) for kind in KINDS for share in shares]
    return [*each, partial(run, planned=dict.fromkeys(KINDS, max(1, faults // 10)), engine=engine)]


def ledger(directory: Path, *, seed: int, until: float) -> Report:
    """Five minutes of everything at once: hub, daemons and PostgreSQL killed, stopped and asked to go."""
    kinds = dict.fromkeys((*KINDS, *SERVER_KINDS), PER_YARD_MAX)
    until = min(until, time.monotonic() + LEDGER_S)
    return run(directory, kinds, seed=seed, engine=Engine.POSTGRES, lease_s=SERVER_LEASE_S, until=until)


def three_hubs(faults: int) -> list[Step]:
    def step(planned: Mapping[Kind, int], name: str) -> Step:
        shares = {kind: max(1, round(number * faults / 100 / HUBS_YARDS)) for kind, number in planned.items()}
        return partial(run_three_hubs, planned=shares, name=name)

    leaders = step(LEADER_FAULTS, "three hubs, of their leader")
    database = step(DATABASE_FAULTS, "three hubs, of their database")
    return [*[leaders] * HUBS_YARDS, *[database] * HUBS_YARDS]


def plan(faults: int) -> dict[str, list[Step]]:
    return {
        "sqlite": alone(faults, Engine.SQLITE),
        "postgres": alone(faults, Engine.POSTGRES),
        "ledger": [ledger],
        "hubs": three_hubs(faults),
        "two-hubs": [partial(run_two_hubs, kills=max(1, faults // 5))],
    }


def runs(steps: Sequence[Step], budget_s: float, seed: int) -> Iterator[Report]:
    """Each run may take its even share of the time that is left."""
    until = time.monotonic() + budget_s
    for number, step in enumerate(steps):
        ends = time.monotonic() + (until - time.monotonic()) / (len(steps) - number)
        with tempfile.TemporaryDirectory(prefix="taskyard-soak-") as directory:
            yield step(Path(directory, "yard"), seed=seed + number, until=ends)


def tell(report: Report) -> None:
    print(table([report]), report.note, sep="\n", flush=True)
    for rule, broken in report.broken.items():
        print(f"  {rule}: {len(broken)}", *broken[:10], sep="\n    ", flush=True)


def keep(reports: Sequence[Report]) -> None:
    """A line in the page for each run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    names = ("run", "faults", "hit work", "tasks", "attempts", "late", "broken", "s")
    rows = [(today, commit, *(report.figures()[name] for name in names), report.note) for report in reports]
    if not PAGE.exists():
        PAGE.write_text(HEAD)
    with PAGE.open("a") as page:
        page.writelines(f"| {' | '.join(row)} |\n" for row in rows)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.soak")
    parser.add_argument("--faults", type=int, default=100, help="of each kind")
    parser.add_argument("--budget-s", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[*plan(1)], help="one part of it")
    asked = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Also in the background, where a shell has it ignored: whoever ends this ends what it started.
        signal.signal(number, signal.default_int_handler)
    reports: list[Report] = []
    parts = plan(asked.faults)
    steps = parts[asked.only] if asked.only else [step for part in parts.values() for step in part]
    for report in runs(steps, asked.budget_s, asked.seed):
        reports.append(report)
        tell(report)
    print(f"\n{table(reports)}")
    keep(reports)
    return 1 if any(report.broken for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

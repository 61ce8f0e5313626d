"""`python -m tests.acceptance.soak --faults N --budget-s S`: so many faults of each kind, then all kinds together,
on each engine; and all kinds on a hub with gateways.

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
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.acceptance.faults import KINDS, Report, run, table
from tests.acceptance.gateways import KINDS as GATEWAY_KINDS
from tests.acceptance.gateways import run_gateways
from tests.acceptance.history import Kind
from tests.support.engines import Engine
from tests.support.live import ROOT

PAGE: Final = ROOT / "docs" / "soak.md"
PER_YARD_MAX: Final = 50
# Faults on one yard: a history of more is slow to judge, and a fresh start is worth testing too.
HEAD: Final = """\
# Soak runs

What `make soak` found with real processes: hubs and daemons killed and stopped under load, leases of 2 s. Each line is
one run. *Hit work* is how many of the faults fell while an attempt was under way; *broken* counts every violation
of the rules in `tests/acceptance/history.py`. Newest last; `python -m tests.acceptance.soak` adds to it.

| date | commit | faults | number | hit work | tasks | attempts | late results | broken | seconds |
|---|---|---|---|---|---|---|---|---|---|
"""


class Step(NamedTuple):
    """So many faults of each of these kinds, on a yard of their own."""

    engine: Engine
    kinds: Sequence[Kind]
    faults: int


def plan(faults: int, engine: Engine) -> list[Step]:
    shares = [min(PER_YARD_MAX, faults - done) for done in range(0, faults, PER_YARD_MAX)]
    alone = [Step(engine, [kind], share) for kind in KINDS for share in shares]
    return [*alone, Step(engine, list(KINDS), max(1, faults // 10))]


def runs(faults: int, budget_s: float, seed: int) -> Iterator[Report]:
    """Each run may take its even share of the time that is left."""
    until = time.monotonic() + budget_s
    gateways = Step(Engine.GATEWAYS, list(GATEWAY_KINDS), max(1, faults // 10))
    steps = [*plan(faults, Engine.SQLITE), *plan(faults, Engine.POSTGRES), gateways]
    for number, (engine, kinds, share) in enumerate(steps):
        ends = time.monotonic() + (until - time.monotonic()) / (len(steps) - number)
        with tempfile.TemporaryDirectory(prefix="taskyard-soak-") as directory:
            place, one = Path(directory, "yard"), seed + number
            if engine is Engine.GATEWAYS:
                yield run_gateways(place, dict.fromkeys(kinds, share), seed=one, until=ends)
            else:
                yield run(place, kinds, faults=share, seed=one, engine=engine, until=ends)


def keep(reports: Sequence[Report]) -> None:
    """A line in the page for each run."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    names = ("run", "faults", "hit work", "tasks", "attempts", "late", "broken", "s")
    lines = [" | ".join((today, commit, *(report.figures()[name] for name in names))) for report in reports]
    if not PAGE.exists():
        PAGE.write_text(HEAD)
    with PAGE.open("a") as page:
        page.writelines(f"| {line} |\n" for line in lines)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.soak")
    parser.add_argument("--faults", type=int, default=100, help="of each kind")
    parser.add_argument("--budget-s", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Also in the background, where a shell has it ignored: whoever ends this ends what it started.
        signal.signal(number, signal.default_int_handler)
    reports: list[Report] = []
    for report in runs(asked.faults, asked.budget_s, asked.seed):
        reports.append(report)
        print(table([report]), flush=True)
        for rule, broken in report.broken.items():
            print(f"  {rule}: {len(broken)}", *broken[:10], sep="\n    ")
    print(f"\n{table(reports)}")
    keep(reports)
    return 1 if any(report.broken for report in reports) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the whole test suite again and again, every second round beside busy loops, and list what failed.

A test that fails by luck costs days. This finds it: on a machine with much else to do, every wait takes its longest.
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from tools.run_tests import Outcome
from tools.sections import ROOT


class Times(msgspec.Struct):
    """What `tools.run_tests` writes of a round."""

    seconds: float
    sections: list[Outcome]


class Round(NamedTuple):
    number: int
    is_busy: bool
    failures: list[str]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.steady", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--first", type=int, default=1, help="the number of the first round; even ones are busy")
    asked = parser.parse_args(arguments)
    rounds = [run_round(number) for number in range(asked.first, asked.first + asked.rounds)]
    failures = Counter(name for one in rounds for name in one.failures)
    for name, times in failures.most_common():
        when = [f"{one.number}{' (busy)' if one.is_busy else ''}" for one in rounds if name in one.failures]
        print(f"{name} failed {times} times: in round {', '.join(when)}")
    print(f"{asked.rounds} rounds, {failures.total()} failures")
    return 1 if failures else 0


def run_round(number: int) -> Round:
    is_busy = number % 2 == 0
    print(f"\n== round {number}{', beside busy loops on all cores' if is_busy else ''}", flush=True)
    with tempfile.TemporaryDirectory() as directory, busy_loops((os.cpu_count() or 1) if is_busy else 0):
        written = Path(directory, "times.json")
        command = [sys.executable, "-m", "tools.run_tests", f"--times={written}"]
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
        if not written.exists():
            return Round(number, is_busy, [f"the round itself, which ended with {code}"])
        times = msgspec.json.decode(written.read_bytes(), type=Times)
    failures = [name for section in times.sections for name in section.failures]
    failures += [section.name for section in times.sections if not section.is_green and not section.failures]
    return Round(number, is_busy, failures)


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    loops = [multiprocessing.Process(target=compute, daemon=True) for _ in range(count)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def compute() -> None:
    """Compute until killed."""
    while True:
        sum(range(10_000))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

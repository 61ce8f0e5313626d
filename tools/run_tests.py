"""Runs the tests in sections, then the coverage gates, then says in one line how it went.

A section is a directory of `tests/`, in a process of its own: a leaked thread, an open socket or a patched
module cannot reach the next one, and one that fails does not hide what the others would say. Directories
are found, not listed, so that a new one cannot be forgotten.

Those that ask no clock but their own run beside the others, one by one, and say what they have to say when they are
done: the smallest machine that this is for has two cores. One that mostly waits is run in parts beside each other.

Coverage is measured where a module's own tests run. The simulator, the acceptance tests and the seeds visit
most lines too, but proving nothing about them; they are also the ones that tracing would slow down most.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

ROOT: Final = Path(__file__).resolve().parent.parent

# Cheapest first, so that a mistake shows early. What is not named here runs last.
COVERED: Final = ("core", "wire", "chat", "store", "hub", "gateway", "daemon", "sdk", "cli")
UNCOVERED: Final = ("seeds", "simulation", "acceptance", "dashboard")
# `make check` runs tidy; support has no tests of its own.
ELSEWHERE: Final = frozenset({"tidy", "support"})

# Pure, or in time that they make themselves, or patient: a busy machine cannot make them fail. About half of the time.
BESIDE: Final = ("core", "wire", "chat", "gateway", "sdk", "cli", "seeds", "simulation")

# What is asked of pytest beyond the directory, in steps; the parts of a step run beside each other. What is measured is
# measured alone.
STEPS: Final[Mapping[str, Sequence[Sequence[Sequence[str]]]]] = {
    "dashboard": (
        [["-m", "measured"]],
        [["-m", "not measured", "--part=1/2"], ["-m", "not measured", "--part=2/2"]],
    ),
    "acceptance": ([["--part=1/2"], ["--part=2/2"]],),
}

# Patterns of files, and the least percentage of lines and branches that the covered sections must visit.
GATES: Final[Mapping[str, tuple[int, Sequence[str]]]] = {
    "core and words": (100, ("src/taskyard/core/*", "src/taskyard/vocabulary/*")),
    "wire": (100, ("src/taskyard/wire/*",)),
    "chat": (100, ("src/taskyard/chat/*",)),
    "store": (90, ("src/taskyard/store/*",)),
    "shells": (90, tuple(f"src/taskyard/{name}/*" for name in ("hub", "gateway", "mcp", "daemon", "sdk", "cli"))),
}

NOTHING_COLLECTED: Final = 5  # pytest's exit status; in `make quick` a section may have slow tests only


def sections(*, quick: bool) -> Iterator[str]:
    """The directories that have tests, in the order to run them."""
    found = {path.parent.relative_to(ROOT / "tests").parts[0] for path in ROOT.glob("tests/*/**/test_*.py")}
    found -= ELSEWHERE
    known = [name for name in (*COVERED, *UNCOVERED) if name in found]
    unknown = sorted(found - set(known))
    yield from (name for name in (*known, *unknown) if not quick or name in COVERED)


class Run(NamedTuple):
    """One section's."""

    name: str
    passed: bool
    tally: Counter[str]


def run_section(name: str, *, quick: bool, directory: Path, beside: bool) -> Iterator[Run]:
    """Run one section, in as many parts as it has; what is run beside another is told in one piece."""
    for step, parts in enumerate(STEPS.get(name, [[[]]])):

        def run(number: int, step: int = step, parts: Sequence[Sequence[str]] = parts) -> Run:
            report = directory / f"{name}-{step}-{number}.xml"
            command = command_for(name, parts[number], quick=quick, report=report)
            returned = run_loudly(name, command) if not beside and len(parts) == 1 else run_quietly(name, command)
            return Run(name, returned == 0 or (quick and returned == NOTHING_COLLECTED), count(report))

        with ThreadPoolExecutor(len(parts)) as pool:
            yield from pool.map(run, range(len(parts)))


def command_for(name: str, part: Sequence[str], *, quick: bool, report: Path) -> list[str]:
    pytest = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.support.parts",
        f"tests/{name}",
        *part,
        f"--junit-xml={report}",
        "-o",
        "junit_logging=no",
    ]
    if quick:
        pytest += ["-m", "not slow"]
    tracer = ["-m", "coverage", "run", "--parallel-mode"] if name in COVERED and not quick else []
    return [sys.executable, *tracer, *pytest]


def run_loudly(name: str, command: Sequence[str]) -> int:
    print(f"\n== {name}", flush=True)
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def run_quietly(name: str, command: Sequence[str]) -> int:
    done = subprocess.run(command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"\n== {name} (beside the others)\n{done.stdout}", flush=True)
    return done.returncode


def run_sections(*, quick: bool, directory: Path) -> list[Run]:
    names = list(sections(quick=quick))

    def lane(mine: Iterable[str], *, beside: bool) -> list[Run]:
        return [run for name in mine for run in run_section(name, quick=quick, directory=directory, beside=beside)]

    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(lane, [name for name in names if name in BESIDE], beside=True)
        alone = lane([name for name in names if name not in BESIDE and name not in STEPS], beside=False)
        # In parts it takes both cores, and what measures wants them for itself: these wait for the others.
        return alone + others.result() + lane([name for name in names if name in STEPS], beside=False)


def count(report: Path) -> Counter[str]:
    """How many tests of a section passed, failed and were skipped; one failed if it died before it told."""
    if not report.exists():
        return Counter(failed=1)
    total: Counter[str] = Counter()
    for suite in ElementTree.parse(report).getroot().iter("testsuite"):
        tests, failures, errors, skipped = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "errors", "skipped")
        )
        total["failed"] += failures + errors
        total["skipped"] += skipped
        total["passed"] += tests - failures - errors - skipped
    return total


def gates_hold() -> bool:
    """Whether every package is covered as far as it must be; says what is missing."""
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, check=True)
    held = True
    for name, (least, patterns) in GATES.items():
        print(f"\n== coverage of {name}: at least {least} %", flush=True)
        report = [*coverage, "report", f"--fail-under={least}", f"--include={','.join(patterns)}"]
        held &= subprocess.run(report, cwd=ROOT, check=False).returncode == 0
    return held


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.run_tests", description="Run the tests in sections.")
    parser.add_argument("--quick", action="store_true", help="leave out slow tests, slow sections and coverage")
    quick: bool = parser.parse_args(arguments).quick

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        os.environ["COVERAGE_FILE"] = str(Path(directory, "coverage"))
        runs = run_sections(quick=quick, directory=Path(directory))
        failed = list(dict.fromkeys(run.name for run in runs if not run.passed))
        if not quick and not gates_hold():
            failed.append("coverage")
    tally = sum((run.tally for run in runs), Counter[str]())

    if failed:
        print(f"\nfailed: {', '.join(failed)}")
    words = ", ".join(f"{tally[word]} {word}" for word in ("passed", "failed", "skipped"))
    print(f"\n{words} in {time.monotonic() - began:.0f}s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the tests section by section, then the coverage gates, and say in the last line how it went.

A section is a directory of `tests/`, in processes of its own: a leaked thread, an open socket or a patched module
cannot reach the next one. Its processes share its modules (`tests/support/parts.py`): two where tests compute, more
where they wait. Coverage is measured only where a package's own tests run, and only of that package: other tests visit
most lines too without proving anything about them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

import msgspec
from msgspec import Struct, field

from tests.support.postgres import lent_cluster
from tools.sections import CORES, GATES, ROOT, TESTS, Section, budgets, sections

TIMES: Final = ROOT / "build" / "times.json"
SLOWEST: Final = 10
QUICK_SECTIONS: Final = 3
"""So many of the quick sections run side by side."""
NOTHING_COLLECTED: Final = 5
"""pytest's exit status; a process may find that the others have claimed all modules."""


class Outcome(Struct):
    """How a section went."""

    name: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    tests: dict[str, float] = field(default_factory=dict)
    """Seconds of each test."""
    failures: list[str] = field(default_factory=list)
    is_green: bool = True


class Run(Struct):
    """What a process of a section left."""

    process: subprocess.Popen[bytes]
    output: Path
    report: Path


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.run_tests", description="Run the tests in sections.")
    parser.add_argument("--quick", action="store_true", help="leave out slow tests, slow sections and coverage")
    parser.add_argument("--only", metavar="PART", help="a part of tests/: acceptance, core/test_why.py, …::test_name")
    parser.add_argument("--times", type=Path, default=TIMES, help="where to write what each section took")
    asked = parser.parse_args(arguments)
    if asked.only:
        return run_part(asked.only)
    chosen = [section for section in sections() if section.is_quick or not asked.quick]
    directory = Path(tempfile.mkdtemp(prefix="taskyard-"))
    began = time.monotonic()
    with lent_cluster():
        outcomes = [*run_all(chosen, directory, quick=asked.quick)]
    outcomes += [] if asked.quick else [told(check_coverage(directory))]
    seconds = time.monotonic() - began
    if all(outcome.is_green for outcome in outcomes):
        shutil.rmtree(directory, ignore_errors=True)
    return close(outcomes, seconds, None if asked.quick else asked.times)


def run_part(part: str) -> int:
    """Run some tests as pytest does; only what they print is different from `pytest tests/PART`."""
    if not (TESTS / part.partition("::")[0]).exists():
        print(f"There is no tests/{part.partition('::')[0]}. Name a directory or a file of tests/.", file=sys.stderr)
        return 2
    began = time.monotonic()
    directory = Path(tempfile.mkdtemp(prefix="taskyard-"))
    report = directory / "report.xml"
    command = [*pytest_command(f"tests/{part}", directory / "tests", report)]
    with lent_cluster():
        code = subprocess.run(command, cwd=ROOT, check=False).returncode
    outcome = Outcome(part)
    read_report(outcome, report)
    outcome.is_green = code == 0
    if outcome.is_green:
        shutil.rmtree(directory, ignore_errors=True)
    return close([outcome], time.monotonic() - began, None)


def run_all(chosen: Sequence[Section], directory: Path, *, quick: bool) -> Iterator[Outcome]:
    """One section after another; of the quick ones several side by side, longest first: each is short of work soon."""
    if quick:
        allowed = budgets()
        chosen = sorted(chosen, key=lambda section: -allowed.get(section.name, 0))
    with ThreadPoolExecutor(QUICK_SECTIONS if quick else 1) as pool:
        running = [pool.submit(run, section, directory, quick=quick) for section in chosen]
        for ended in as_completed(running):
            yield told(ended.result())


def run(section: Section, directory: Path, *, quick: bool) -> Outcome:
    """Run a section in all its processes, side by side."""
    outcome = Outcome(section.name)
    began = time.monotonic()
    # What each process collects anew would take longer than its share of the quick tests.
    processes = max(1, section.processes // CORES) if quick else section.processes
    with ExitStack() as stack:
        runs = [start(section, number, directory, stack, quick=quick) for number in range(processes)]
        codes, used = zip(*(wait(run.process) for run in runs), strict=True)
    outcome.seconds, outcome.cpu_s = time.monotonic() - began, sum(used)
    for one, code in zip(runs, codes, strict=True):
        is_green = code == 0 or (code == NOTHING_COLLECTED and not section.command)
        outcome.is_green &= is_green
        if section.command:
            outcome.failed += not is_green
        else:
            read_report(outcome, one.report, died=not is_green)
        if not is_green:
            print(f"\n== {section.name}\n{one.output.read_text(errors='replace')}", flush=True)
    return outcome


def wait(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """Its exit code, and the seconds of CPU that it and its children used."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def start(section: Section, number: int, directory: Path, stack: ExitStack, *, quick: bool) -> Run:
    base = directory / f"{section.name}-{number}"
    output, report = base.with_suffix(".out"), base.with_suffix(".xml")
    if section.command:
        command = [sys.executable if word == "python" else word for word in section.command]
    else:
        claims = directory / f"{section.name}-claims"
        claims.mkdir(exist_ok=True)
        command = pytest_command(f"tests/{section.name}", base, report, f"--claims={claims}")
        if quick:
            command += ["-m", "not slow and not soak"]
        elif section.measured:
            tracer = ["-m", "coverage", "run", "--parallel-mode", f"--source={section.sources}"]
            command = [sys.executable, *tracer, *command[1:]]
    env = {**os.environ, "COVERAGE_FILE": str(directory / "coverage")}
    file = stack.enter_context(output.open("wb"))
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    return Run(process, output, report)


def pytest_command(path: str, base: Path, report: Path, *more: str) -> list[str]:
    """The logs of what failed stay below `base`."""
    plugins = ["-p", "tests.support.parts", "-p", "tests.support.hints"]
    kept = [f"--basetemp={base}", "-o", "tmp_path_retention_policy=failed"]
    told_ = [f"--junit-xml={report}", "-o", "junit_logging=no", "-o", "junit_duration_report=total"]
    return [sys.executable, "-m", "pytest", "-q", *plugins, *kept, *told_, path, *more]


def read_report(outcome: Outcome, report: Path, *, died: bool = False) -> None:
    """Add what a process of pytest reports; one that left no report counts as a failed test."""
    if not report.exists():
        outcome.failed += died
        return
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.get('classname', '').removeprefix('tests.').replace('.', '/')}.py::{case.get('name')}"
        bad = case.find("failure") is not None or case.find("error") is not None
        seconds = float(case.get("time", "0"))
        outcome.tests[name] = outcome.tests.get(name, 0.0) + seconds
        if bad:
            outcome.failed += 1
            outcome.failures.append(name)
        elif case.find("skipped") is not None:
            outcome.skipped += 1
        else:
            outcome.passed += 1


def told(outcome: Outcome) -> Outcome:
    """Print a section's line as it ends."""
    figures = f"{outcome.passed:6} passed {outcome.failed:4} failed {outcome.skipped:4} skipped"
    verdict = "" if outcome.is_green else "   FAILED"
    print(f"{outcome.name:<12}{figures}  {outcome.seconds:6.1f} s  {outcome.cpu_s:6.1f} s of CPU{verdict}", flush=True)
    return outcome


def check_coverage(directory: Path) -> Outcome:
    """Whether every package is visited by its own section as far as it must be."""
    outcome = Outcome("coverage")
    began, before = time.monotonic(), os.times()
    env = {**os.environ, "COVERAGE_FILE": str(directory / "coverage")}
    coverage = [sys.executable, "-m", "coverage"]
    subprocess.run([*coverage, "combine", "--quiet"], cwd=ROOT, env=env, check=True)
    for name, (least, packages) in GATES.items():
        patterns = ",".join(f"src/taskyard/{package}/*" for package in packages)
        command = [*coverage, "report", f"--fail-under={least}", f"--include={patterns}"]
        done = subprocess.run(command, cwd=ROOT, env=env, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"\n== coverage of {name}: at least {least} %\n{done.stdout}{done.stderr}", flush=True)
            outcome.is_green = False
            outcome.failed += 1
    outcome.seconds, after = time.monotonic() - began, os.times()
    outcome.cpu_s = after.children_user + after.children_system - before.children_user - before.children_system
    return outcome


def close(outcomes: Sequence[Outcome], seconds: float, times: Path | None) -> int:
    """Say what took long and what failed; the last line is the verdict."""
    if times is not None:
        times.parent.mkdir(parents=True, exist_ok=True)
        times.write_bytes(msgspec.json.format(msgspec.json.encode({"seconds": seconds, "sections": outcomes})))
        for line in over_budget(outcomes):
            print(line)
    tests = Counter({name: took for outcome in outcomes for name, took in outcome.tests.items()})
    if len(tests) > SLOWEST:
        print("\nThe slowest tests:")
        for name, took in tests.most_common(SLOWEST):
            print(f"  {took:6.1f} s  {name}")
    cpu_s = sum(outcome.cpu_s for outcome in outcomes)
    print(f"\n{seconds:.0f} s in all" + (f", {cpu_s / 60:.1f} minutes of CPU" if cpu_s else ""))
    if failed := [outcome.name for outcome in outcomes if not outcome.is_green]:
        print(f"failed: {', '.join(failed)}")
    words = ("passed", "failed", "skipped")
    print(", ".join(f"{sum(getattr(outcome, word) for outcome in outcomes)} {word}" for word in words))
    return 1 if failed else 0


def over_budget(outcomes: Sequence[Outcome]) -> Iterator[str]:
    allowed = budgets()
    for outcome in outcomes:
        if outcome.seconds > allowed.get(outcome.name, 0):
            took, may = f"{outcome.seconds:.0f} s", allowed.get(outcome.name, 0)
            yield f"{outcome.name} took {took}; tests/README.md allows it {may} s: make its tests faster, or fewer."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

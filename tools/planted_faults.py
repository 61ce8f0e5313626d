"""Plant each fault of `tests/planted_faults.toml` in a copy of the source, and see that the tests named beside it fail.

A suite that passes says little until it is known what makes it fail. Each fault is one edit of one rule; the tests that
catch it belong to the section that owns the rule. `--at REV` plants the faults in an earlier commit, so that a change
of the tests can be compared before and after.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from tests.support.postgres import lent_cluster
from tools.sections import ROOT

LIST: Final = ROOT / "tests" / "planted_faults.toml"
COPIED: Final = ("src", "tests", "tools", "examples", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
SECONDS_MAX: Final = 600


class Fault(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    area: str
    file: str
    """Below `src/taskyard`."""
    old: str
    new: str
    tests: str
    """Below `tests`: a file or a directory of the section that owns the rule, and after `::` one test of it."""


def faults() -> list[Fault]:
    return msgspec.convert(tomllib.loads(LIST.read_text())["fault"], list[Fault])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.planted_faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--at", metavar="REV", help="plant them in this commit instead of the working tree")
    parser.add_argument("--only", metavar="TEXT", default="", help="faults whose area or name contains this")
    asked = parser.parse_args(arguments)
    chosen = [fault for fault in faults() if asked.only in f"{fault.area} {fault.name}"]
    with tempfile.TemporaryDirectory(prefix="taskyard-") as name, lent_cluster():
        tree = copy_of(asked.at, Path(name))
        missed = [fault for fault in chosen if not is_caught(fault, tree)]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} planted faults caught")
    return 1 if missed else 0


def copy_of(rev: str | None, directory: Path) -> Path:
    if rev is not None:
        content = subprocess.run(["git", "archive", rev, *COPIED], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(directory, filter="data")
        return directory
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, directory / name)
    return directory


def is_caught(fault: Fault, tree: Path) -> bool:
    """Plant it, run its tests, and take it out again."""
    path = tree / "src" / "taskyard" / fault.file
    text = path.read_text()
    if text.count(fault.old) != 1:
        return tell(fault, "cannot be planted: its line is not there exactly once", is_caught=False)
    path.write_text(text.replace(fault.old, fault.new))
    try:
        output = run_tests(fault.tests, tree)
    finally:
        path.write_text(text)
    if " failed" in output or " error" in output:
        first = next((line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))), "")
        return tell(fault, first.partition("::")[2].partition(" - ")[0], is_caught=True)
    return tell(fault, output.splitlines()[-1] if output else "no answer", is_caught=False)


def tell(fault: Fault, detail: str, *, is_caught: bool) -> bool:
    verdict = "caught" if is_caught else "MISSED"
    print(f"{verdict}  {fault.area:<9} {fault.name}  [tests/{fault.tests}] {detail}", flush=True)
    return is_caught


def run_tests(tests: str, tree: Path) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{tests}"]
    env = {**os.environ, "PYTHONPATH": f"{tree}{os.pathsep}{tree / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=env, check=False, capture_output=True, text=True, timeout=SECONDS_MAX
        )
    except subprocess.TimeoutExpired:
        return "1 failed: the tests hung"
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Many lives, each from one seed: each keeps every promise while it is hurt, and finishes everything when it is not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.simulation.life import STEPS, Report, live

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parents[1]
FRESH: Final = range(1_001, 1_041)
STEPS_MIN: Final = 125_000
HASH_SEEDS: Final = range(2)


def remembered_seeds() -> list[int]:
    lines = (HERE / "seeds.txt").read_text().splitlines()
    return [int(line.split()[0]) for line in lines if line and not line.startswith("#")]


def lived(seed: int) -> Report:
    report = live(seed)
    assert report.error is None, f"make sim SEED={seed}\n{report.error}"
    return report


@pytest.mark.slow
@pytest.mark.parametrize("seed", remembered_seeds())
def test_a_seed_that_once_failed_does_not_again(seed: int) -> None:
    lived(seed)


@pytest.mark.slow
def test_no_life_breaks_a_promise_and_every_one_drains() -> None:
    """One test for all: what counts is also how much was lived."""
    reports = [lived(seed) for seed in FRESH]
    assert sum(report.steps for report in reports) >= STEPS_MIN
    assert all(report.steps >= STEPS for report in reports)
    assert sum(report.completions for report in reports) > 50 * len(FRESH)
    assert sum(report.hits for report in reports) > 5 * len(FRESH)


@pytest.mark.slow
def test_one_seed_is_one_life_whatever_the_hashes() -> None:
    command = [sys.executable, "-m", "tests.simulation", "--seed", "7", "--steps", "1500"]
    said = set()
    for hash_seed in HASH_SEEDS:
        environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
        said.add(run.stdout)
    assert len(said) == 1, said
    assert "digest " in said.pop()


def test_another_seed_is_another_life() -> None:
    assert live(7, steps=500).digest != live(8, steps=500).digest

"""The simulator's eye test: every planted mistake is seen, and without it the same seeds see nothing."""

from typing import Final

import pytest

from tests.simulation.faults import Faults
from tests.simulation.life import live
from tests.simulation.mutants import MORE, MUTANTS, Mutant

SOON: Final = (103, 111, 175)
"""Lives in which every mistake shows today: they are lived first."""
LIVES: Final = [*SOON, *(seed for seed in range(101, 221) if seed not in SOON)]
"""Some mistakes show in one life of fifty only, and in which ones moves with whatever people do in them."""


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [*MUTANTS, *MORE], ids=lambda mutant: mutant.__name__)
def test_a_planted_mistake_is_seen(mutant: Mutant) -> None:
    for seed in LIVES:
        with mutant():
            report = live(seed, faults=Faults.everything())
        if report.error is not None:
            return
    pytest.fail(f"{mutant.__name__} survived {len(LIVES)} lives: a checker is missing")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [*SOON, *(pytest.param(seed, marks=pytest.mark.soak) for seed in LIVES[len(SOON) :])])
def test_without_a_mistake_the_same_seeds_see_nothing(seed: int) -> None:
    report = live(seed, faults=Faults.everything())
    assert report.error is None, report.error


def test_the_list_of_mistakes_is_the_contract() -> None:
    assert len({mutant.__name__ for mutant in MUTANTS}) == 18

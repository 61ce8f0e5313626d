"""One log of commands, one state: whichever engine is below the core.

A simulated hub lives, with crashes, failed commits and lost answers, and what it was told is recorded. Played again
over each engine, it says the same, and now and then everything that can be read from the store is compared.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from taskyard.core.changes import Batch
from taskyard.core.effects import Effect
from tests.simulation import mirror
from tests.simulation.command_log import CommandLog, Loaded, log_of_a_life, with_asides
from tests.simulation.world import World
from tests.support.digest import digests_of
from tests.support.engines import Engine, opener
from tests.support.replay import Replay

SEEDS = (24, 25, 31, 43)
STEPS = 2_000
COMMITS_PER_LOOK = 150


class Lived(NamedTuple):
    said: list[Effect]
    looks: list[dict[str, str]]
    wrote: set[str]


def lived(seed: int, engine: Engine, directory: Path) -> Lived:
    replay = Replay(log_of(seed), opener(engine, directory), World(seed).hub.settings)
    looks = []
    for _ in replay.run(commits_per_look=COMMITS_PER_LOOK):
        mirror.compare(replay)
        looks.append(digests_of(replay.store, requests=replay.answered))
    replay.close()
    return Lived(replay.said, looks, replay.wrote)


@cache
def lived_in_memory(seed: int) -> Lived:
    return lived(seed, Engine.MEMORY, Path())


def log_of(seed: int) -> CommandLog:
    return with_asides(log_of_a_life(seed, steps=STEPS))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_commands_say_the_same_and_leave_the_same_on_every_engine(seed: int, tmp_path: Path) -> None:
    expected = lived_in_memory(seed)
    for engine in (Engine.SQLITE, Engine.POSTGRES):
        found = lived(seed, engine, tmp_path)
        assert found.said == expected.said, engine
        assert found.looks == expected.looks, engine


@pytest.mark.slow
def test_these_lives_have_every_kind_of_change_and_several_processes_each() -> None:
    """Without them the comparison would prove less than it says."""
    wrote = {name for seed in SEEDS for name in lived_in_memory(seed).wrote}
    assert wrote == set(Batch.__struct_fields__)
    entries = [entry for seed in SEEDS for entry in log_of(seed).entries]
    assert sum(isinstance(entry, Loaded) for entry in entries) > 2 * len(SEEDS)

"""The power may fail at any write or sync: what comes back is a prefix that has every acknowledged commit."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from taskyard.store.sqlite import SqliteStore
from tests.support.records import a_batch, a_task
from tests.support.store_disk import Acknowledge, Cut, Disk, Operation, Wreck, a_disk, restore
from tests.support.store_script import State, expected_states, script, state_of

# Every point of a longer script is for the soak: POWER_CUT_STEP=1 POWER_CUT_BATCHES=400.
STEP = int(os.environ.get("POWER_CUT_STEP", "29"))
BATCHES = int(os.environ.get("POWER_CUT_BATCHES", "40"))
LOG_PAGES = 60  # so that the script meets several copies of the log into the file


def recorded(disk: Disk, directory: Path) -> list[Operation]:
    """All that the disk was asked to do in the life of a yard, from its first opening to its closing."""
    directory.mkdir()
    store = SqliteStore(directory / "hub.db", new_cluster_id="c_test", vfs=disk.name, log_pages=LOG_PAGES)
    batches = script(store.open(), batches=BATCHES)
    for batch in batches:
        store.write(batch)
        disk.acknowledge(batch.seq)
        store.tend()
    store.close()
    return disk.operations


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Operation]]:
    with a_disk("power-cut") as disk:
        yield recorded(disk, tmp_path_factory.mktemp("power") / "life")


@pytest.fixture(scope="module")
def states() -> list[State]:
    return expected_states(batches=BATCHES)


def wrecks(life: list[Operation], *, first: int) -> Iterator[tuple[int, Wreck]]:
    """The disk after every so many operations, and just before and after each acknowledgement."""
    wreck = Wreck()
    for number, operation in enumerate(life):
        near = isinstance(operation, Acknowledge) or isinstance(life[number - 1], Acknowledge)
        if number % STEP == first % STEP or near:
            yield number, wreck
        wreck.apply(operation)
    yield len(life), wreck


@pytest.mark.slow
@pytest.mark.parametrize("cut", Cut)
def test_a_power_cut_takes_back_nothing_that_was_acknowledged(
    life: list[Operation], states: list[State], tmp_path: Path, cut: Cut
) -> None:
    rng = Random(STEP)
    place = tmp_path / "wreck"
    recovered = 0
    for number, wreck in wrecks(life, first=list(Cut).index(cut)):
        restore(wreck.image(cut, rng), place)
        with SqliteStore(place / "hub.db", new_cluster_id="c_test") as store:
            state = state_of(store)
            seq = state.image.identity.seq
            assert wreck.acknowledged <= seq <= wreck.acknowledged + 1, f"at operation {number}"
            assert state == states[seq], f"at operation {number}"
            # And the yard lives on.
            identity = store.load().identity
            store.write(a_batch(identity, created=[a_task(number=10_000)]))
        shutil.rmtree(place)
        recovered += 1
    assert recovered >= len(life) // STEP

"""A flipped bit or a missing end is noticed, not served: the state is the same, or there is none."""

import os
from pathlib import Path
from random import Random

import pytest

from taskyard.store.port import StoreBroken, StoreRefused
from taskyard.store.sqlite import SqliteStore
from tests.support.records import Yard, a_task
from tests.support.store_script import State, script, state_of

SEEDS = int(os.environ.get("DAMAGE_SEEDS", "50"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, State]:
    """A database file at rest, and what is in it."""
    file = tmp_path_factory.mktemp("whole") / "hub.db"
    with SqliteStore(file, new_cluster_id="c_test") as store:
        for batch in script(store.load().identity, batches=30):
            store.write(batch)
        state = state_of(store)
    return file.read_bytes(), state


def assert_same_or_refused(content: bytes, state: State, directory: Path) -> bool:
    """Whether the damage was noticed. Served wrongly it must never be."""
    file = directory / "hub.db"
    file.write_bytes(content)
    store = SqliteStore(file, new_cluster_id="c_test")
    try:
        store.open()
        served = state_of(store)
    except (StoreRefused, StoreBroken):
        return True
    finally:
        store.close()
    assert served == state
    return False


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_flipped_bit_is_noticed_or_harmless(whole: tuple[bytes, State], tmp_path: Path, seed: int) -> None:
    content, state = whole
    rng = Random(seed)
    damaged = bytearray(content)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    assert_same_or_refused(bytes(damaged), state, tmp_path)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_page_of_rubbish_is_noticed_or_harmless(whole: tuple[bytes, State], tmp_path: Path, seed: int) -> None:
    content, state = whole
    rng = Random(seed)
    start = rng.randrange(0, len(content), 4096)
    damaged = content[:start] + rng.randbytes(4096) + content[start + 4096 :]
    assert_same_or_refused(damaged, state, tmp_path)


@pytest.mark.parametrize("seed", range(SEEDS // 5))
def test_a_missing_end_is_noticed(whole: tuple[bytes, State], tmp_path: Path, seed: int) -> None:
    content, state = whole
    size = Random(seed).randrange(1, len(content) - 4096)
    assert assert_same_or_refused(content[:size], state, tmp_path)


def test_a_renamed_column_is_noticed(whole: tuple[bytes, State], tmp_path: Path) -> None:
    content, state = whole
    start = content.index(b"parent_id TEXT")
    assert assert_same_or_refused(content[:start] + b"q" + content[start + 1 :], state, tmp_path)


def test_a_changed_letter_in_a_record_is_noticed(tmp_path: Path) -> None:
    # Given one task, and the place of its summary in the file
    file = tmp_path / "hub.db"
    with SqliteStore(file, new_cluster_id="c_test") as store:
        task = a_task(summary="a summary that can be found")
        Yard.of(store).has(task)
    content = file.read_bytes()
    start = content.index(b"a summary that can be found")

    # When one letter of it changes
    file.write_bytes(content[:start] + b"A" + content[start + 1 :])

    # Then the hub does not start with it, and says which task it is
    with pytest.raises(StoreRefused, match=task.id), SqliteStore(file, new_cluster_id="c_test") as store:
        store.load()

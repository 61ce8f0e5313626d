"""A flipped bit or a missing end is noticed, not served: the state is the same, or there is none."""

import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import apsw
import pytest

from taskyard.store.port import Reader, StoreBroken, StoreRefused, TaskFilter
from taskyard.store.sqlite import SqliteStore
from tests.support.records import USER, Yard, a_task, ended
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


def test_a_changed_letter_in_an_outcome_is_noticed(tmp_path: Path) -> None:
    # Given a task that ended, and the place of its outcome in the file
    file = tmp_path / "hub.db"
    task = ended(a_task())
    with SqliteStore(file, new_cluster_id="c_test") as store:
        Yard.of(store).has(task, outcomes=[(task.id, b"a result that can be found")])
    content = file.read_bytes()
    start = content.index(b"a result that can be found")

    # When one letter of it changes
    file.write_bytes(content[:start] + b"A" + content[start + 1 :])

    # Then it is not served
    with SqliteStore(file, new_cluster_id="c_test") as store, pytest.raises(StoreBroken, match=task.id):
        store.reader().find(user_id=USER, task=task.id)


def lead_astray(file: Path, index: str) -> None:
    """Rows 1 and 2 of history change places behind the back of an index."""
    connection = apsw.Connection(str(file))
    entry = connection.execute("SELECT * FROM sqlite_schema WHERE name = ?", (index,)).fetchone()
    connection.pragma("writable_schema", True)
    connection.execute("DELETE FROM sqlite_schema WHERE name = ?", (index,))
    connection.close()
    connection = apsw.Connection(str(file))
    for was, now in ((1, 3), (2, 1), (3, 2)):
        connection.execute("UPDATE history SET rowid = ? WHERE rowid = ?", (now, was))
    connection.pragma("writable_schema", True)
    connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", entry)
    connection.close()


QUESTIONS: dict[str, tuple[str, Callable[[Reader], object]]] = {
    "a ref": ("history_number", lambda reader: reader.find(user_id=USER, task="T-001")),
    "a list": ("history_number", lambda reader: reader.tasks(TaskFilter(user_id=USER))),
    "a key": ("history_key", lambda reader: reader.known(user_id=USER, ids=(), refs=(), keys=("k1",))),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_index_that_leads_to_the_row_of_another_is_noticed(tmp_path: Path, question: str) -> None:
    # Given tasks of two users, and an index of a past so long that it was not walked at the start
    file = tmp_path / "hub.db"
    index, ask = QUESTIONS[question]
    store = SqliteStore(file, new_cluster_id="c_test")
    with store:
        other = ended(a_task(number=2, user_id="u_bob", key="k2"))
        Yard.of(store).has(ended(a_task(number=1, key="k1")), other)
    lead_astray(file, index)

    # Then nobody is shown what is another's
    reader = store.reader()
    with pytest.raises(StoreBroken):
        ask(reader)
    reader.close()

"""A yard that moves: from every engine to every other, whole or not at all."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import apsw
import psycopg
import pytest

from taskyard.core.changes import Kept
from taskyard.store.copy import BYTES_MAX, copy
from taskyard.store.dump import Kind, Row, Target
from taskyard.store.port import Store, StoreBroken, StoreRefused
from taskyard.store.postgres import dump as in_postgres
from taskyard.store.sqlite import dump as in_sqlite
from taskyard.vocabulary import Keeps, Status
from tests.support.moving import Place, at, database_place, file_place, found_at, lines_place, live, moved, quietly
from tests.support.postgres import new_yard
from tests.support.records import NOW, USER, Yard, a_body, a_task, ended

pytestmark = pytest.mark.slow

MIB = 1024 * 1024


def a_place(engine: str, directory: Path) -> Place:
    return database_place(new_yard()) if engine == "postgres" else file_place(directory / "yard.db")


@pytest.fixture(params=["sqlite", "postgres"])
def here(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    (tmp_path / "here").mkdir()
    return a_place(request.param, tmp_path / "here")


@pytest.fixture(params=["sqlite", "postgres"])
def there(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    (tmp_path / "there").mkdir()
    return a_place(request.param, tmp_path / "there")


def test_everything_that_can_be_read_is_there_after_it_moved(here: Place, there: Place) -> None:
    # Given a yard with a past
    live(here)
    before = found_at(here)

    # When it moves
    copied = moved(here, there)

    # Then a hub finds it as it was, and the next epoch after its last
    assert found_at(there) == before
    assert before[0].tasks
    assert before[0].archived
    identity = at(there, lambda store: store.load().identity)
    assert (identity.cluster_id, identity.epoch) == ("c_new", copied.identity.epoch + 2)
    assert sum(copied.counts.values()) > 100


def test_what_moved_there_and_back_has_the_digest_it_had(tmp_path: Path) -> None:
    first, second = file_place(tmp_path / "a.db"), database_place(new_yard())
    third, fourth = database_place(new_yard()), file_place(tmp_path / "b.db")
    live(first)
    assert len({moved(*pair).digest for pair in ((first, second), (second, third), (third, fourth))}) == 1


def test_who_follows_the_events_goes_on_after_the_move(here: Place, there: Place) -> None:
    live(here)

    def last_two(store: Store) -> list[tuple[int, int, int]]:
        identity, reader = store.load().identity, store.reader()
        try:
            seqs = range(identity.seq - 4, identity.seq + 1)
            events = [event for seq in seqs for event in reader.events_after(epoch=1, seq=seq, index=-1, limit=1) or ()]
            return [(event.epoch, event.seq, event.index) for event in events][:2]
        finally:
            reader.close()

    places = at(here, last_two)
    moved(here, there)

    def follow(store: Store) -> object:
        reader = store.reader()
        try:
            epoch, seq, index = places[0]
            return reader.events_after(epoch=epoch, seq=seq, index=index, limit=1)
        finally:
            reader.close()

    assert places
    assert at(there, follow) is not None


def test_a_yard_goes_on_where_it_is_now(here: Place, there: Place) -> None:
    live(here)
    moved(here, there)

    def go_on(store: Store) -> int:
        yard = Yard.of(store)
        task = a_task(number=950)
        yard.has(task)
        yard.write(ended=[ended(task, at=NOW)], archive=(NOW + 1, NOW + 1))
        yard.reader.close()
        return store.load().numbers[USER]

    assert at(there, go_on) == 950


# --- refusals ---


def test_nothing_is_copied_over_a_yard(here: Place, there: Place) -> None:
    live(here)
    at(there, lambda store: None)
    with here.opened() as source, pytest.raises(StoreRefused, match="nothing is copied over"), there.made() as target:
        copy(source, target, tell=quietly)
    assert at(there, lambda store: store.load().tasks) == []


def test_a_yard_that_a_hub_uses_is_not_copied(here: Place) -> None:
    store = here.store()
    store.open()
    try:
        with pytest.raises(StoreRefused, match="copied while it stands still"), here.opened():
            pass
    finally:
        store.close()


def test_two_copies_to_one_place_do_not_wait_for_each_other(there: Place) -> None:
    with there.made(), pytest.raises(StoreRefused, match="copied while it stands still"), there.made():
        pass


def test_no_hub_leads_while_a_yard_is_copied(here: Place) -> None:
    live(here)
    with here.opened(), pytest.raises(StoreRefused):
        here.store().open()


def test_a_yard_that_nobody_opened_has_nothing_to_copy(tmp_path: Path) -> None:
    with pytest.raises(StoreRefused, match="no hub has ever opened it"), in_postgres.opened(new_yard()):
        pass
    with pytest.raises(StoreRefused, match="There is no"), in_sqlite.opened(tmp_path / "none.db"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    place = file_place(tmp_path / "yard.db")
    live(place)
    for version, said in ((1, "Let a hub of this version open it once"), (99, "written by a newer Taskyard")):
        connection = apsw.Connection(str(tmp_path / "yard.db"))
        connection.pragma("user_version", version)
        connection.close()
        with pytest.raises(StoreRefused, match=said), place.opened():
            pass


def test_a_file_that_is_no_yard_is_refused(tmp_path: Path) -> None:
    (tmp_path / "yard.db").write_bytes(b"no database at all" * 1000)
    with pytest.raises(StoreRefused, match="not a SQLite database"), in_sqlite.opened(tmp_path / "yard.db"):
        pass
    other = apsw.Connection(str(tmp_path / "other.db"))
    other.execute("CREATE TABLE t (x)")
    other.close()
    with pytest.raises(StoreRefused, match="not a hub's database"), in_sqlite.opened(tmp_path / "other.db"):
        pass


# --- all or nothing ---


class Through:
    """A target behind something that goes wrong, or looks."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def __getattr__(self, name: str) -> Any:
        return getattr(self.target, name)


def is_empty(place: Place) -> bool:
    with place.made():
        return True


@pytest.mark.parametrize("statement", ["UPDATE late_result SET at = at + 1", "UPDATE task SET record = record || 'x'"])
def test_a_damaged_yard_is_not_copied_in_part(tmp_path: Path, there: Place, statement: str) -> None:
    place = file_place(tmp_path / "yard.db")
    live(place)
    connection = apsw.Connection(str(tmp_path / "yard.db"))
    connection.execute(statement)
    connection.close()
    with pytest.raises(StoreBroken):
        moved(place, there)
    assert is_empty(there)


def test_a_damaged_database_is_not_copied_either(there: Place) -> None:
    url = new_yard()
    live(database_place(url))
    with psycopg.connect(url) as connection:
        connection.execute("DELETE FROM taskyard.body")
    with pytest.raises(StoreBroken, match="has lost its body"):
        moved(database_place(url), there)
    assert is_empty(there)


def test_what_was_not_committed_leaves_nothing(here: Place, there: Place) -> None:
    live(here)
    with here.opened() as source, there.made() as target:
        copy(source, target, tell=quietly)
    assert is_empty(there)


def test_a_copy_that_differs_is_not_believed(tmp_path: Path, there: Place) -> None:
    place = file_place(tmp_path / "yard.db")
    live(place)

    class Forgetful(Through):
        def take(self, kind: Kind, rows: list[Row]) -> None:
            self.target.take(kind, rows[1:] if kind.name == "late_results" else rows)

    with place.opened() as source, there.made() as target, pytest.raises(StoreBroken, match="is not what was read"):
        copy(source, Forgetful(target), tell=quietly)


# --- large ones ---


def test_no_more_than_a_chunk_is_in_memory(tmp_path: Path, there: Place) -> None:
    # Given forty tasks of a MiB each
    place = file_place(tmp_path / "yard.db")

    def write(store: Store) -> None:
        yard = Yard.of(store)
        for _ in range(4):
            tasks = [a_task() for _ in range(10)]
            yard.write(created=tasks, bodies=[a_body(task, text="z" * MIB) for task in tasks])
        yard.reader.close()

    at(place, write)
    sizes: list[int] = []

    class Weighing(Through):
        def take(self, kind: Kind, rows: list[Row]) -> None:
            sizes.append(sum(len(value) for row in rows for value in row if isinstance(value, bytes)))
            self.target.take(kind, rows)

    # When they move
    told: list[tuple[str, int, int]] = []
    with place.opened() as source, there.made() as target:
        copy(source, Weighing(target), tell=lambda *said: told.append(said))

    # Then they come in pieces, and whoever waits hears of it
    assert len(sizes) > 4
    assert max(sizes) < BYTES_MAX + 2 * MIB
    assert told[-1] == ("verified", told[-1][2], told[-1][2])


def test_the_past_lies_in_partitions_of_its_weeks(tmp_path: Path) -> None:
    # Given tasks that ended today, last year and long ago
    here, url = file_place(tmp_path / "yard.db"), new_yard()
    with psycopg.connect(url) as connection:
        now_ms = connection.execute("SELECT (extract(epoch FROM now()) * 1000)::bigint").fetchone()[0]  # type: ignore[index]
    ages = (0, 400 * 86_400_000, 3000 * 86_400_000)

    def write(store: Store) -> None:
        yard = Yard.of(store)
        yard.has(*(ended(a_task(), Status.PERMANENTLY_FAILED, at=now_ms - age) for age in ages))
        yard.reader.close()

    at(here, write)
    moved(here, database_place(url))

    # Then only what is too old shares the partition of the rest
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT tableoid::regclass::text FROM taskyard.history").fetchall()
        log = connection.execute("SELECT DISTINCT tableoid::regclass::text FROM taskyard.commit_log").fetchall()
    assert sorted(name.startswith("taskyard.history_rest") for (name,) in rows) == [False, True, True]
    assert log == [("taskyard.commit_log_0",)]


# --- nothing is forgotten ---

OF_HUBS_THAT_RUN = {"lease", "hub"}
"""Who leads and who is there: of no use to hubs elsewhere."""


@pytest.mark.parametrize("engine", [in_sqlite, in_postgres])
def test_every_table_is_read_and_written(engine: ModuleType) -> None:
    schema = "".join(path.read_text() for path in sorted(Path(str(engine.__file__)).parent.glob("migrations/*.sql")))
    tables = set(re.findall(r"CREATE TABLE (\w+)(?! PARTITION OF)\b", schema)) - OF_HUBS_THAT_RUN
    statements = [getattr(statement, "text", statement) for statement in engine.SQL.values()]
    text = " ".join(each.decode() if isinstance(each, bytes) else each for each in statements)
    assert len(tables) > 14
    assert not {table for table in tables if not re.search(rf"\b(?:FROM|JOIN) {table}\b", text)} - {"identity"}
    written = {table for table in tables if re.search(rf"\b(?:INTO|UPDATE) {table}\b", text)}
    assert tables - written <= {"log_start"}


def test_templates_move_by_file(tmp_path: Path) -> None:
    # Given a yard whose user has a template
    here, lines, there = (
        file_place(tmp_path / "a.db"),
        lines_place(tmp_path / "yard.jsonl"),
        file_place(tmp_path / "b.db"),
    )
    template = Kept(Keeps.TEMPLATE, f"{USER}/review", b'{"user_id":"u","name":"review"}')
    at(here, lambda store: Yard.of(store).write(kept=[template]))

    # When the yard is copied to a file, and the file to a new place
    moved(here, lines)
    moved(lines, there)

    # Then a hub finds the template there
    assert at(there, lambda store: store.load().kept) == [template]

"""A damaged row of the past is an error that names its task, and nothing else; on both databases."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, NoReturn
from zlib import crc32

import pytest

from taskyard.core.changes import AuditRecord, LogChunk
from taskyard.core.task import Dependency
from taskyard.store import damage, paging
from taskyard.store.port import Reader, RecordDamaged, Store, StoredTask, StoreRefused, TaskFilter
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.postgres import dump as in_postgres
from taskyard.store.records import checksum
from taskyard.store.sqlite import SqliteStore
from taskyard.store.sqlite import dump as in_sqlite
from taskyard.vocabulary import Status
from tests.support.damage import AUDIT, KINDS, LINES, LOG, Damager, Kind
from tests.support.engines import Engine
from tests.support.postgres import Cluster
from tests.support.records import NOW, USER, Yard, a_body, a_task, an_event, an_id, ended

HURT = an_id(2)
ALL = TaskFilter(user_id=USER, shows_damaged=True)


class Place(NamedTuple):
    """A yard with three ended tasks, the second of which is going to be damaged, and one that waits for it."""

    yard: Yard
    damager: Damager

    @property
    def reader(self) -> Reader:
        return self.yard.reader

    def hurt(self, kind: Kind, *, table: str = "history") -> None:
        self.damager.do(kind, table=table, id=HURT)


@pytest.fixture(params=[Engine.SQLITE, Engine.POSTGRES])
def place(request: pytest.FixtureRequest, tmp_path: Path, server: Cluster) -> Iterator[Place]:
    store: Store
    if request.param is Engine.SQLITE:
        where = str(tmp_path / "taskyard.db")
        store = SqliteStore(where, new_cluster_id="c_test")
    else:
        where = server.url(server.lend_database())
        store = PostgresStore(where, new_cluster_id="c_test", candidate=Candidate("h_test"))
    yard = Yard(store)
    past = [ended(a_task(number=number, key=f"k{number}", trail=[yard.began + 1])) for number in (1, 2, 3)]
    heir = a_task(number=4, depends=[Dependency(an_id(3), Status.COMPLETED), Dependency(HURT, Status.COMPLETED)])
    yard.has(
        *past,
        heir,
        outcomes=[(task.id, b'{"result":"a result"}') for task in past],
        bodies=[a_body(task, title=f"title {task.number}") for task in (*past, heir)],
        events=[an_event(task) for task in past],
        audit=[AuditRecord(at=NOW, actor="ada", action="x", subject="y")],
        logs=[LogChunk(HURT, 1, NOW, "a line")],
    )
    yield Place(yard, Damager(request.param, where))
    yard.reader.close()
    store.close()


QUESTIONS: dict[str, Callable[[Reader], object]] = {
    "by its id": lambda reader: reader.find(user_id=USER, task=HURT),
    "by its ref": lambda reader: reader.find(user_id=USER, task="T-002"),
    "in a list that cannot show it": lambda reader: reader.tasks(TaskFilter(user_id=USER)),
}
LOOKUPS: dict[str, Callable[[Reader], object]] = {
    "by its id": lambda reader: reader.known(user_id=USER, ids=(an_id(1), HURT), refs=(), keys=()),
    "by its ref": lambda reader: reader.known(user_id=USER, ids=(), refs=("T-002",), keys=()),
    "by its idempotency key": lambda reader: reader.known(user_id=USER, ids=(), refs=(), keys=("k2",)),
}
OF_EACH_SORT = (
    "a record with other bytes",
    "a column that is not UTF-8",
    "a body with other bytes",
    "a result with other bytes",
)
OF_THE_ROW = [kind for kind in KINDS if "body" not in kind and "result" not in kind]


def refused(ask: Callable[[Reader], object], reader: Reader) -> RecordDamaged:
    with pytest.raises(RecordDamaged) as raised:
        ask(reader)
    return raised.value


@pytest.mark.parametrize("kind", KINDS)
def test_reading_it_names_the_task_and_the_others_are_read(place: Place, kind: str) -> None:
    place.hurt(KINDS[kind])
    for ask in QUESTIONS.values():
        damaged = refused(ask, place.reader)
        assert damaged.task_id == HURT
        assert HURT in str(damaged)
    other = place.reader.find(user_id=USER, task="T-003")
    assert other is not None
    assert other.outcome == b'{"result":"a result"}'


@pytest.mark.parametrize("kind", OF_THE_ROW)
def test_a_look_up_before_a_command_names_the_task(place: Place, kind: str) -> None:
    place.hurt(KINDS[kind])
    assert [refused(look_up, place.reader).task_id for look_up in LOOKUPS.values()] == [HURT] * 3
    assert set(place.reader.known(user_id=USER, ids=(an_id(1),), refs=("T-003",), keys=("k1",)).tasks) == {
        an_id(1),
        an_id(3),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_shows_it_in_its_place_as_damaged(place: Place, kind: str) -> None:
    place.hurt(KINDS[kind])
    found = place.reader.tasks(ALL)
    assert [(one.task.id, one.damaged is not None) for one in found] == [
        (an_id(4), False),
        (an_id(3), False),
        (HURT, True),
        (an_id(1), False),
    ]
    hurt = found[2]
    assert HURT in str(hurt.damaged)
    assert (hurt.task.number, hurt.task.user_id, hurt.task.status) == (2, USER, Status.COMPLETED)
    assert b"damaged" in hurt.body
    assert place.reader.tasks(TaskFilter(user_id=None, limit=2, shows_damaged=True))[1].task.id == an_id(3)


@pytest.mark.parametrize("kind", OF_EACH_SORT)
def test_what_needs_nothing_of_it_goes_on(place: Place, kind: str) -> None:
    place.hurt(KINDS[kind])
    reader = place.reader
    assert reader.keys_used(after=("", ""), limit=9) == [(USER, f"k{number}") for number in (1, 2, 3)]
    assert reader.counts(user_id=USER) == {Status.QUEUED: 1, Status.COMPLETED: 3}
    assert reader.search_end(TaskFilter(user_id=USER, text="x")) is None
    assert len(place.yard.store.load().tasks) == 1

    # A task that waits for it is read, and what is read of its parent says that it is damaged
    whole, hurt = reader.loads((an_id(4),))[an_id(4)].parents
    assert (whole.damaged, whole.outcome) == (None, b'{"result":"a result"}')
    assert HURT in str(hurt.damaged)
    assert hurt.outcome is None

    # And it can be moved to the archive like any other
    place.yard.write(archive=(NOW + 10, 0))
    assert refused(QUESTIONS["by its id"], reader).task_id == HURT
    archived = reader.tasks(TaskFilter(user_id=USER, archived=True, shows_damaged=True))
    assert [one.damaged is not None for one in archived] == [False, True, False]


def test_an_error_that_is_kept_does_not_keep_what_is_read_next_from_being_new(place: Place) -> None:
    place.hurt(KINDS["a body with other bytes"])
    kept = [
        refused(ask, place.reader)
        for ask in (
            QUESTIONS["in a list that cannot show it"],
            lambda reader: reader.bodies((HURT, an_id(1))),
            lambda reader: reader.tasks(TaskFilter(user_id=USER, limit=2, before="3")),
        )
    ]
    before = place.reader.position()
    place.yard.write(created=[a_task(number=5)])
    assert place.reader.position() == before + 1
    assert all(kept)


def test_a_status_that_is_no_word_is_counted_among_the_others(place: Place) -> None:
    place.hurt(("UPDATE history SET status = 'complEted' WHERE id = '{id}'",) * 2)
    assert place.reader.counts(user_id=None) == {Status.QUEUED: 1, Status.COMPLETED: 3}


NOT_JSON = b'{"title'


def test_a_search_for_a_text_names_what_it_cannot_search(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(damage, "LOOKED_AT_ONCE", 1)
    searched = TaskFilter(user_id=USER, text="title")
    place.hurt(KINDS["a body with other bytes"])
    assert [one.task.number for one in place.reader.tasks(searched)] == [4, 3, 1], "it holds that text no more"
    place.hurt(
        (
            f"UPDATE body SET content = x'{NOT_JSON.hex()}' WHERE id = '{{id}}'",
            f"UPDATE history SET body = '\\x{NOT_JSON.hex()}' WHERE id = '{{id}}'",
        )
    )
    assert refused(lambda reader: reader.tasks(searched), place.reader).task_id == HURT
    # With a checksum that fits, nothing tells which one it is
    crc = crc32(NOT_JSON)
    place.hurt(
        (
            f"UPDATE body SET crc = {crc} WHERE id = '{{id}}'",
            f"UPDATE history SET body_crc = {crc} WHERE id = '{{id}}'",
        )
    )
    assert str(refused(lambda reader: reader.tasks(searched), place.reader)).endswith("is not JSON")


@pytest.mark.parametrize("name", ["no id", "ffffffff-ffff-7000-8000-000000000002"])
def test_a_damaged_task_whose_id_does_not_say_when_it_was_made_is_shown_too(name: str) -> None:
    columns = (name, USER, 2, "completed", "normal", "default", "general", "user", None, None)

    def unreadable(*_: object) -> NoReturn:
        raise RecordDamaged("its record")

    row = (paging.HISTORY, *columns, b"", 0)
    (shown,) = damage.with_damaged([row], read=unreadable, task_of=unreadable)
    assert (shown.task.id, shown.task.created_at, shown.damaged) == (name, 0, "its record")


def test_what_no_decision_needs_names_no_task_to_decide_by(place: Place) -> None:
    stored = place.reader.find(user_id=USER, task=HURT)
    assert isinstance(stored, StoredTask)
    seq = place.yard.began + 1
    for kind in (LOG, AUDIT, LINES):
        place.damager.do(kind, seq=seq)
    for ask, said in (
        (lambda reader: reader.task_events(stored.task), f"what happened to task {HURT} (T-002): commit {seq}"),
        (lambda reader: reader.events_after(epoch=1, seq=place.yard.began, index=0, limit=9), f"commit {seq}"),
        (lambda reader: reader.audit(subject=None, limit=9, before=None), "audit entry"),
        (lambda reader: reader.log(task_id=HURT, attempt=None), f"the log of task {HURT}"),
    ):
        damaged = refused(ask, place.reader)
        assert said in str(damaged)
        assert damaged.task_id is None


@pytest.mark.parametrize("kind", [kind for kind in OF_EACH_SORT if "result" not in kind])
def test_a_damaged_row_of_what_is_hot_is_never_shown_and_stops_a_start(place: Place, kind: str) -> None:
    place.damager.do(KINDS[kind], table="task", id=an_id(4))
    for ask in (lambda reader: reader.tasks(ALL), lambda reader: reader.loads((an_id(4),))):
        assert refused(ask, place.reader).task_id == an_id(4)
    if kind in OF_THE_ROW:
        with pytest.raises(StoreRefused, match=an_id(4)):
            place.yard.store.load()


@pytest.mark.parametrize("kind", OF_EACH_SORT)
def test_every_damaged_row_is_found_by_reading_all(place: Place, kind: str) -> None:
    with looked_at(place) as yard:
        assert list(yard.damage()) == []
    place.hurt(KINDS[kind])
    for other in (LOG, AUDIT, LINES):
        place.damager.do(other, seq=place.yard.began + 1)
    with looked_at(place) as yard:
        found = [str(damaged) for damaged in yard.damage()]
    assert len(found) == 4, found
    assert HURT in found[0]
    assert [next(word for word in ("logs", "commits", "audit") if word in said) for said in found[1:]] == [
        "logs",
        "commits",
        "audit",
    ]


def test_what_has_its_checksum_and_cannot_be_read_is_found_too(place: Place) -> None:
    rubbish = b"\xff"
    for table, column, sql in (("log_chunk", "text", "attempt = 1"), ("audit", "record", "n > 0")):
        facts = {"log_chunk": "attempt, n, at", "audit": "n"}[table]
        crc = checksum(rubbish, *place.damager.read(f"SELECT {facts} FROM {table}"))
        place.damager.do(
            (
                f"UPDATE {table} SET {column} = x'ff', crc = {crc} WHERE {sql}",
                f"UPDATE {table} SET {column} = '\\xff', crc = {crc} WHERE {sql}",
            )
        )
    seq, epoch = place.damager.read("SELECT seq, epoch FROM commit_log ORDER BY seq DESC LIMIT 1")
    crc = checksum(rubbish, seq, epoch)
    place.damager.do(
        (
            f"UPDATE commit_log SET events = x'ff', crc = {crc} WHERE seq = {seq}",
            f"UPDATE commit_log SET events = '\\xff', crc = {crc} WHERE seq = {seq}",
        )
    )
    with looked_at(place) as yard:
        assert sorted(str(damaged).partition(" cannot be read")[0] for damaged in yard.damage()) == [
            "one of the logs ('01970000-0000-7000-8000-000000000002')",
            f"the events of commit {seq}",
            f"the record of one of the audit entries ({place.damager.read('SELECT n FROM audit')[0]})",
        ]
    for ask in (
        lambda reader: reader.audit(subject=None, limit=9, before=None),
        lambda reader: reader.log(task_id=HURT, attempt=None),
        lambda reader: reader.events_after(epoch=epoch, seq=place.yard.began, index=0, limit=9),
    ):
        assert "cannot be read" in str(refused(ask, place.reader))


def looked_at(place: Place) -> AbstractContextManager[in_sqlite.SqliteYard | in_postgres.PostgresYard]:
    engine, where = place.damager.engine, place.damager.place
    return in_sqlite.looked_at(Path(where)) if engine is Engine.SQLITE else in_postgres.looked_at(where)

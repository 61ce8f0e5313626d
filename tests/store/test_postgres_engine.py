"""What only an engine with a server has: partitions, sessions, and rows that lie where they are small enough."""

import time
from collections.abc import Callable, Iterator

import msgspec
import psycopg
import pytest
from psycopg.errors import ReadOnlySqlTransaction, UniqueViolation

from taskyard.core.changes import AuditRecord, Kept
from taskyard.store.port import REQUESTS_KEPT_MS, Identity, StoreBroken, StoreUnavailable, TaskFilter
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.postgres.image import TASKS_PER_QUERY
from taskyard.store.postgres.log import COMMITS_PER_QUERY
from taskyard.store.postgres.partitions import COMMITS, WEEK_MS
from taskyard.store.postgres.reader import PostgresReader
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import placed
from taskyard.vocabulary import Keeps, Status
from tests.support.live import wait_until
from tests.support.postgres import LOOKS_MAX, Cluster
from tests.support.records import NOW, USER, Yard, a_batch, a_task, an_event, ended

Operator = psycopg.Connection[tuple[object, ...]]
FIGURES_AT_ONCE = 150_000
"""The version of the server that shows at once what a session did; before, a collector did every half second."""
COLLECTED_S = 1.2
AT_WORK = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ '^taskyard '"


@pytest.fixture
def url(server: Cluster) -> str:
    return server.url(server.new_database())


@pytest.fixture
def yard(url: str) -> Iterator[Yard]:
    store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"))
    yard = Yard(store)
    yield yard
    yard.reader.close()
    store.close()


@pytest.fixture
def operator(url: str) -> Iterator[Operator]:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET search_path = taskyard")
        yield connection


# --- partitions ---


def partitions(operator: Operator, parent: str) -> list[str]:
    rows = operator.execute(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = %s::regclass ORDER BY 1", [parent]
    )
    return [str(name) for (name,) in rows]


def week(number: int) -> str:
    return f"history_{(NOW // WEEK_MS + number) * WEEK_MS}"


def where(operator: Operator, task_id: str) -> str:
    row = operator.execute("SELECT tableoid::regclass::text FROM history WHERE id = %s", [task_id]).fetchone()
    return str(row[0])


def test_weeks_of_history_are_made_ahead(yard: Yard, operator: Operator) -> None:
    yard.write(events=[an_event(a_task())], at=NOW)
    yard.store.tend()
    assert {week(0), week(1), "history_rest"} <= set(partitions(operator, "history"))
    this, next_, later = (ended(a_task(), at=NOW + n * WEEK_MS) for n in range(3))
    yard.has(this, next_, later)
    assert [where(operator, task.id) for task in (this, next_, later)] == [week(0), week(1), "history_rest"]


def test_weeks_that_the_clock_jumped_into_stay_in_the_rest(yard: Yard, operator: Operator) -> None:
    task, other = ended(a_task(), at=NOW), ended(a_task(), at=NOW + 1)
    yard.has(task)
    yard.store.tend()
    yard.has(other)
    assert {where(operator, task.id), where(operator, other.id)} == {"history_rest"}
    assert week(0) not in partitions(operator, "history")


@pytest.mark.parametrize("at", [0, -1, -WEEK_MS - 1, 253_402_300_800_000])
def test_a_clock_may_say_anything(yard: Yard, at: int) -> None:
    yard.has(ended(a_task(), at=at), at=at)
    yard.store.tend()
    yard.has(ended(a_task(), at=at), at=at)
    assert len(yard.reader.tasks(TaskFilter(user_id=USER))) == 2


def test_a_week_that_was_archived_is_dropped_and_its_dead_letters_are_kept(yard: Yard, operator: Operator) -> None:
    # Given a week of history with dead letters in it
    yard.write(events=[an_event(a_task())], at=NOW)
    yard.store.tend()
    done, dead = ended(a_task(number=1)), ended(a_task(number=2), Status.PERMANENTLY_FAILED)
    yard.has(done, dead)
    assert where(operator, dead.id) == week(0)

    # When it is long past, and the rest of it archived
    yard.write(events=[an_event(a_task())], at=NOW + 3 * WEEK_MS)
    yard.store.tend()
    assert week(0) in partitions(operator, "history"), "nobody archived it yet"
    yard.write(archive=(NOW + 1, 0), at=NOW + 4 * WEEK_MS)
    yard.store.tend()

    # Then its table is gone, and what a person has to decide about is not
    assert week(0) not in partitions(operator, "history")
    assert where(operator, dead.id) == "history_rest"
    assert [stored.task for stored in yard.reader.dead_letters(user_id=USER, limit=9, before=None)] == [dead]
    assert [stored.task for stored in yard.reader.tasks(TaskFilter(user_id=USER, archived=True))] == [done]


def the_log_continues_at(url: str, operator: Operator, seq: int) -> Yard:
    """A yard whose next commit has this number, as if the others had been made."""
    store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"))
    store.open()
    store.close()
    operator.execute("INSERT INTO commit_log VALUES (%s, 1, 'b', 0, '\\x90', 0)", [seq - 2])
    yard = Yard(store)
    assert yard.identity.seq == seq - 1
    return yard


def test_the_log_is_made_ahead_by_number_and_cut_from_its_beginning(url: str, operator: Operator) -> None:
    # Given a log that leaves its first partition
    yard = the_log_continues_at(url, operator, COMMITS - 1)
    for n in range(4):
        yard.write(events=[an_event(a_task())], at=10 + n)
    lies = dict(operator.execute("SELECT seq, tableoid::regclass::text FROM commit_log").fetchall())
    assert (lies[COMMITS - 1], lies[COMMITS]) == ("commit_log_0", f"commit_log_{COMMITS}")

    # When its beginning is old
    yard.write(archive=(0, 12), at=20)

    # Then it is gone for readers
    assert yard.reader.events_after(epoch=2, seq=COMMITS, index=0, limit=9) is None
    found = yard.reader.events_after(epoch=2, seq=COMMITS + 1, index=-1, limit=9)
    assert found is not None
    assert [entry.seq for entry in found] == [COMMITS + 1, COMMITS + 2]

    # And from the disk, as soon as somebody tends it
    yard.store.tend()
    assert partitions(operator, "commit_log") == [
        f"commit_log_{COMMITS}",
        f"commit_log_{2 * COMMITS}",
        "commit_log_rest",
    ]
    yard.reader.close()
    yard.store.close()


def test_what_lies_in_the_rest_of_the_log_is_dropped_too(url: str, operator: Operator) -> None:
    yard = the_log_continues_at(url, operator, 5 * COMMITS)
    rest = "SELECT count(*) FROM commit_log_rest"
    assert operator.execute(rest).fetchone() == (2,)
    yard.write(events=[an_event(a_task())], at=10)
    yard.write(archive=(0, 5), at=20)
    yard.store.tend()
    assert operator.execute(rest).fetchone() == (0,)
    yard.reader.close()
    yard.store.close()


def test_whoever_holds_the_tables_for_long_does_not_hold_up_the_hub(yard: Yard, url: str, operator: Operator) -> None:
    with psycopg.connect(url) as backup:
        backup.execute("LOCK TABLE taskyard.history, taskyard.commit_log IN ACCESS SHARE MODE")
        yard.write(events=[an_event(a_task())], at=NOW)
        yard.store.tend()
        assert week(0) not in partitions(operator, "history")
        yard.has(a_task())
    yard.write(events=[an_event(a_task())], at=NOW + 3_600_000)
    yard.store.tend()
    assert week(0) in partitions(operator, "history")


def test_tending_happens_once_an_hour(yard: Yard, operator: Operator) -> None:
    yard.store.tend()
    assert week(0) not in partitions(operator, "history"), "nothing was ever committed"
    yard.write(events=[an_event(a_task())], at=NOW)
    yard.store.tend()
    operator.execute(f"DROP TABLE {week(1)}".encode())
    yard.store.tend()
    assert week(1) not in partitions(operator, "history")


# --- rows ---


def test_changes_of_hot_tasks_write_no_index(yard: Yard, operator: Operator) -> None:
    tasks = [a_task() for _ in range(300)]
    yard.has(*tasks)
    yard.write(changed=[msgspec.structs.replace(task, status=Status.RUNNING) for task in tasks])
    yard.store.close()
    # The server counts a little later.
    counted = "SELECT n_tup_upd, n_tup_hot_upd, pg_sleep(0.01) FROM pg_stat_user_tables WHERE relname = 'task'"
    looks = (operator.execute(counted).fetchone() for _ in range(LOOKS_MAX))
    updates = next(found for found in looks if found is not None and found[0])
    assert updates[:2] == (300, 300)


def test_rows_say_which_commit_wrote_them(yard: Yard, operator: Operator) -> None:
    one, two = a_task(), a_task()
    yard.has(one, two)
    yard.write(changed=[two])
    found = dict(operator.execute("SELECT id, seq FROM task").fetchall())
    assert found == {one.id: yard.began + 1, two.id: yard.began + 2}


def test_a_task_that_is_created_twice_fails_its_batch_whole_and_the_next_is_written(yard: Yard) -> None:
    task, other = a_task(), a_task()
    yard.has(task)
    with pytest.raises(UniqueViolation):
        yard.write(created=[other, task])
    assert yard.store.load().tasks == [task]
    yard.has(other)
    assert yard.store.load().tasks == [task, other]


def test_a_task_that_ends_without_having_been_here_fails_its_batch(yard: Yard) -> None:
    with pytest.raises(AssertionError, match="hot table or new"):
        yard.write(ended=[ended(a_task())])


def test_a_task_without_its_body_is_a_broken_store(yard: Yard) -> None:
    task = a_task()
    yard.write(created=[task], bodies=[])
    with pytest.raises(StoreBroken, match="lost its body"):
        yard.reader.find(user_id=None, task=task.id)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE task SET body = 'x'", "the body of task"),
        ("UPDATE task SET outcome = 'x', outcome_crc = 0", "the outcome of task"),
        ("UPDATE task SET user_id = 'u_bob'", "does not agree with its record"),
        ("UPDATE commit_log SET events = 'x'", "commit 1 is not"),
        ("UPDATE audit SET record = 'x'", "audit entry"),
        ("UPDATE request SET answer = 'x'", "request r_1"),
    ],
)
def test_what_is_not_what_was_written_is_not_served(yard: Yard, operator: Operator, damage: str, said: str) -> None:
    task = a_task(number=1)
    yard.has(
        task,
        events=[an_event(task)],
        audit=[AuditRecord(at=NOW, actor="ada", action="x", subject="y")],
        requests=[("r_1", b"answer")],
    )
    operator.execute(damage.encode())
    with pytest.raises(StoreBroken, match=said):
        read_everything(yard, task.id)


def read_everything(yard: Yard, task_id: str) -> None:
    yard.reader.find(user_id=None, task=task_id)
    yard.reader.events_after(epoch=1, seq=1, index=0, limit=9)
    yard.reader.audit(subject=None, limit=9, before=None)
    yard.reader.request("r_1")


def test_an_index_that_leads_to_the_row_of_another_is_noticed(yard: Yard, operator: Operator) -> None:
    yard.has(a_task(number=1))
    # What a damaged index would do, a view can.
    operator.execute("ALTER VIEW anywhere RENAME TO everything")
    columns = "id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc"
    operator.execute(
        f"CREATE VIEW anywhere AS SELECT 0 AS place, {columns.replace('number,', '7::bigint AS number,', 1)},"
        " body, body_crc, outcome, outcome_crc FROM task".encode()
    )
    with pytest.raises(StoreBroken, match="does not agree"):
        yard.reader.find(user_id=USER, task="T-007")


def test_more_tasks_than_are_read_at_once_are_loaded_in_order(yard: Yard) -> None:
    tasks = [a_task() for _ in range(TASKS_PER_QUERY + 1)]
    yard.has(*tasks)
    assert [task.id for task in yard.store.load().tasks] == [task.id for task in tasks]


def test_more_commits_than_are_read_at_once_are_followed_in_order(yard: Yard) -> None:
    commits = COMMITS_PER_QUERY + 1
    for _ in range(commits):
        yard.write(events=[an_event(a_task())])
    found = yard.reader.events_after(epoch=1, seq=yard.began, index=0, limit=10_000)
    assert found is not None
    assert [entry.seq - yard.began for entry in found] == list(range(1, commits + 1))


# --- sessions ---


def test_sessions_say_what_they_are_for_and_what_they_wait_for(yard: Yard, url: str, operator: Operator) -> None:
    rows = operator.execute("SELECT application_name FROM pg_stat_activity WHERE datname = current_database()")
    assert {"taskyard writer", "taskyard reader"} <= {str(name) for (name,) in rows}
    settings = (
        "SELECT name, setting FROM pg_settings WHERE name = ANY (ARRAY['statement_timeout', 'search_path', 'jit'])"
    )
    with Session(url, purpose="test", timeout_s=2.0) as session:
        assert dict(session.rows(placed(settings))) == {
            "statement_timeout": "3000",
            "search_path": "taskyard",
            "jit": "off",
        }


@pytest.mark.slow
def test_the_server_ends_what_takes_too_long(url: str) -> None:
    with Session(url, purpose="test", timeout_s=20.0, settings={"statement_timeout": "1s"}) as session:
        with pytest.raises(StoreUnavailable, match="statement timeout"):
            session.rows(placed("SELECT pg_sleep(60)"))
        assert session.rows(placed("SELECT 1::bigint")) == [(1,)], "and the session goes on"


@pytest.mark.slow
def test_the_client_ends_its_wait_for_what_takes_too_long(url: str) -> None:
    with Session(url, purpose="test", timeout_s=1.0) as session:
        with pytest.raises(StoreUnavailable):
            session.rows(placed("SELECT pg_sleep(60)"))
        assert session.is_closed


def test_a_reader_cannot_write(url: str) -> None:
    reader = PostgresReader(url)
    with pytest.raises(StoreUnavailable) as refused:
        reader._read(lambda session: session.change(placed("DELETE FROM lease")))
    assert isinstance(refused.value.__cause__, ReadOnlySqlTransaction)
    reader.close()


def test_a_store_that_is_not_open_is_not_written(url: str) -> None:
    store = PostgresStore(url, new_cluster_id="c", candidate=Candidate("h"))
    with pytest.raises(AssertionError, match="not open"):
        store.write(a_batch(Identity(cluster_id="c", epoch=1, seq=1), created=[a_task()]))
    store.close()


def test_a_statement_that_is_a_bug_stays_one(url: str) -> None:
    with Session(url, purpose="test", timeout_s=2.0) as session:
        with pytest.raises(psycopg.errors.UndefinedTable):
            session.rows(placed("SELECT 1 FROM nowhere"))
        assert not session.is_closed


def test_a_page_that_the_server_cannot_read_is_a_broken_store(url: str) -> None:
    raise_ = "DO $$ BEGIN RAISE EXCEPTION 'invalid page' USING ERRCODE = 'XX001'; END $$"
    with Session(url, purpose="test", timeout_s=2.0) as session, pytest.raises(StoreBroken, match="invalid page"):
        session.rows(placed(raise_))


def test_a_session_that_cannot_be_configured_is_not_left_open(url: str) -> None:
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        Session(url, purpose="test", timeout_s=2.0, settings={"statement_timeout": "soon"})


def test_a_session_knows_that_it_is_closed(url: str) -> None:
    session = Session(url, purpose="test", timeout_s=2.0)
    assert not session.has_ended
    session.close()
    assert session.has_ended


def blocks_of(url: str, tables: list[str], work: Callable[[Yard], object]) -> int:
    """How many blocks of these tables were looked at by a hub that did this."""
    blocks = (
        "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::bigint FROM pg_statio_user_tables"
        " WHERE schemaname = 'taskyard' AND relname = ANY (%s)"
    )
    with psycopg.connect(url, autocommit=True) as operator:
        (before,) = operator.execute(blocks, [tables]).fetchone() or (0,)
        # A session tells what it did at its end, and whoever looked keeps what it saw for a moment.
        store = PostgresStore(url, new_cluster_id="c_test", candidate=Candidate("h_test"))
        yard = Yard(store)
        work(yard)
        yard.reader.close()
        store.close()
        wait_until(lambda: not operator.execute(AT_WORK).fetchall(), within_s=20, what="the end of its sessions")
        if operator.info.server_version < FIGURES_AT_ONCE:
            time.sleep(COLLECTED_S)
        (after,) = operator.execute(blocks, [tables]).fetchone() or (0,)
    return int(after - before)


def blocks_of_lives(url: str, first: int, count: int) -> int:
    def live(yard: Yard) -> None:
        for number in range(first, first + count):
            task = a_task(number=number)
            yard.has(task, kept=[Kept(Keeps.USAGE, "u", b"{}")])
            yard.has(ended(task), bodies=[], kept=[Kept(Keeps.USAGE, "u", b"[]")])

    return blocks_of(url, ["task", "kept", "numbering"], live)


@pytest.mark.slow
def test_a_snapshot_that_somebody_holds_open_makes_no_commit_dearer(url: str) -> None:
    # Given somebody who may still see all that commits leave behind
    with psycopg.connect(url) as held, psycopg.connect(url, autocommit=True) as operator:
        held.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        held.execute("SELECT count(*) FROM taskyard.task")
        blocks_of_lives(url, 1, 20)
        fresh = blocks_of_lives(url, 21, 30)
        # When many have come and gone, and the server takes the tables for empty
        blocks_of_lives(url, 51, 300)
        operator.execute("VACUUM ANALYZE taskyard.task, taskyard.kept, taskyard.numbering")
        # Then as many lives look at as many blocks
        assert blocks_of_lives(url, 351, 30) < 2 * fresh


def blocks_of_answers(url: str, first: int, count: int) -> int:
    def answer(yard: Yard) -> None:
        for n in range(first, first + count):
            at = NOW + 2 * REQUESTS_KEPT_MS + n
            yard.write(events=[an_event(a_task())], requests=[(f"new {n}", b"answer")], at=at)

    return blocks_of(url, ["request"], answer)


def test_nor_does_it_if_answers_are_forgotten_meanwhile(url: str) -> None:
    # Given more answers than are forgotten here, all old enough, and somebody who may see them for longer
    with psycopg.connect(url) as held, psycopg.connect(url, autocommit=True) as operator:
        operator.execute(
            "INSERT INTO taskyard.request SELECT 'old ' || n, 0, %s + n, %s, 0 FROM generate_series(1, 1000) AS n",
            [NOW, b"a few to a page" * 100],
        )
        held.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        held.execute("SELECT count(*) FROM taskyard.request")
        fresh = blocks_of_answers(url, 1, 30)
        # When many are forgotten
        blocks_of_answers(url, 31, 300)
        # Then as many commits look at as many blocks
        assert blocks_of_answers(url, 331, 30) < 2 * fresh
        assert operator.execute("SELECT count(*) FROM taskyard.request WHERE name ~ 'old'").fetchone() == (280,)


def test_answers_are_forgotten_although_the_clock_was_put_back(yard: Yard) -> None:
    # Given an answer, and one that was given when the clock had been put back
    yard.write(events=[an_event(a_task())], requests=[("ahead", b"1")], at=NOW + 3 * REQUESTS_KEPT_MS)
    yard.write(events=[an_event(a_task())], requests=[("back", b"2")], at=NOW)
    # When the second is old
    yard.write(events=[an_event(a_task())], requests=[("new", b"3")], at=NOW + REQUESTS_KEPT_MS + 1)
    # Then it is forgotten
    assert [yard.reader.request(name) for name in ("ahead", "back", "new")] == [b"1", None, b"3"]

"""How PostgreSQL answers: by an index, whatever the length of the past."""

import re
from collections.abc import Iterator

import pytest

from taskyard.core.changes import Batch
from taskyard.store.port import Identity
from taskyard.store.postgres.arrays import ids, numbers, texts
from taskyard.store.postgres.commit import Commit, changed_rows
from taskyard.store.postgres.session import Session, Value
from taskyard.store.postgres.statements import PARTS, SQL, Statement, placed
from taskyard.store.postgres.versions import Versions
from tests.support.postgres import new_yard
from tests.support.records import a_row, a_task, ended
from tests.support.store_script import script

# A walk is what these are for: the hot table and the numbers at the start and by who follows it, and the index of dead
# letters, which are as many as people have not decided about.
WALKS = {"every_hot_task", "hot_tasks_since", "count_hot", "every_number"}
GROWING = re.compile(
    r"Seq Scan on (task|history|archive|body|outcome|checkpoint|log_chunk|late_result|audit|commit_log|request"
    r"|kept|numbering)"
)
TEXTS = ("ids", "keys", "statuses", "keeping")
NUMBERS = ("numbers", "seqs")
WORDS = (
    *("user_id", "task_id", "subject", "name", "before_id", "last_id", "after", "key"),
    *("queue", "type", "source", "level", "text", "correlation_id", "parent_id"),
    *("user_min", "user_max", "raw", "schedule_id"),
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    settings = {"enable_hashjoin": "off", "enable_mergejoin": "off"}
    with Session(new_yard(), purpose="test", timeout_s=10.0, settings=settings) as session:
        yield session


def walks(session: Session, text: str, given: dict[str, Value]) -> list[str]:
    """The steps of its plan that walk a table that grows."""
    plan = session.rows(placed(f"EXPLAIN {text}"), given)
    return [step for (step,) in plan if GROWING.search(step)]


def a_value(name: str) -> Value:
    if name in TEXTS:
        return texts(["x"])
    if name in NUMBERS:
        return numbers([1])
    return "x" if name in WORDS else 1


# Those that stand for themselves and look at tables; but for what asks the server about itself.
READS = [
    name
    for name, text in PARTS.items()
    if re.match(r"(--[^\n]*\n)*SELECT ", text)
    and re.search(r" FROM [a-z_]+", text)
    and text.endswith(";")
    and not {"names", "firsts"} & set(SQL[name].names)
]


def test_there_are_statements_to_look_at() -> None:
    assert {"tasks_by_id", "list_by_number", "commits_from", "request_named"} <= set(READS)


@pytest.mark.parametrize("name", READS)
def test_no_statement_walks_a_table_that_grows(session: Session, name: str) -> None:
    given = {parameter: a_value(parameter) for parameter in SQL[name].names}
    assert not walks(session, PARTS[name], given) or name in WALKS


def everything() -> Batch:
    """One batch of the script's kinds, all of them that are ever in one."""
    busiest = max(script(Identity(cluster_id="c", epoch=1, seq=1), batches=40), key=lambda batch: len(batch.ended))
    busiest.requests = [("r_1", b"answer")]
    busiest.users = []
    return busiest


def test_a_commit_walks_no_table_that_grows(session: Session) -> None:
    batch = everything()
    known = Versions({row.task.user_id: 0 for row in batch.created}, {(each.kind, each.name): 1 for each in batch.kept})
    commit = Commit(batch, after="b", versions=known)
    text = commit.statement.text.decode()
    plan = session.rows(Statement(f"EXPLAIN {text}".encode(), commit.statement.names), commit.parameters)
    assert [step for (step,) in plan if GROWING.search(step)] == []


@pytest.mark.parametrize("name", ["delete_history", "delete_archive", "amend_history", "amend_archive"])
def test_tasks_of_the_past_are_changed_by_their_index(session: Session, name: str) -> None:
    given: dict[str, Value] = {
        **changed_rows([a_row(ended(a_task()))]),
        "seq": 1,
        "at": numbers([1]),
        "anew": ids(["x"]),
    }
    assert walks(session, PARTS[name], given) == []


def test_the_archive_is_filled_by_age(session: Session) -> None:
    given: dict[str, Value] = {"ended_before": 1, "rows_max": 500}
    assert walks(session, PARTS["copy_to_archive"], given) == []


def test_parameters_are_placed_by_name() -> None:
    statement = placed("SELECT :one::text, :two, :one FROM t WHERE a::int = 1")
    assert statement == Statement(b"SELECT $1::text, $2, $1 FROM t WHERE a::int = 1", ("one", "two"))

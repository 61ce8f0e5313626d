"""How SQLite answers: by an index, whatever the length of the past."""

from collections import defaultdict
from pathlib import Path

import apsw
import pytest

from taskyard.store.sqlite import SqliteStore
from taskyard.store.sqlite.statements import SQL
from taskyard.store.statements import named_statements

GROWING = ("task", "history", "archive", "body", "outcome", "log_chunk", "late_result", "audit", "commit_log")
# A walk is what these are for: the hot table at start, a bounded number from one end of a log, and the index of dead
# letters, which are as many as people have not decided about.
WALKS = {"every_hot_task", "oldest_commits", "first_ages", "audit_entries", "list_dead", "search_end_dead"}


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> apsw.Connection:
    file = tmp_path_factory.mktemp("schema") / "hub.db"
    with SqliteStore(Path(file), new_cluster_id="c"):
        pass
    return apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)


@pytest.mark.parametrize("name", SQL)
def test_no_statement_walks_a_table_that_grows(connection: apsw.Connection, name: str) -> None:
    plan = connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", defaultdict(lambda: None))
    steps = [detail for *_, detail in plan]
    walks = [step for step in steps if step.startswith("SCAN ") and step.split()[1] in GROWING]
    assert not walks or name in WALKS, steps


@pytest.mark.parametrize("name", ["list_status_by_number", "list_status_by_id", "count_status", "search_end_status"])
def test_what_few_tasks_are_is_looked_for_among_those_few(connection: apsw.Connection, name: str) -> None:
    plan = connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", defaultdict(lambda: None))
    assert any("task_status (status=?" in detail for *_, detail in plan)


def test_a_file_of_statements_is_read_by_its_names() -> None:
    text = "-- An essay.\n\n-- first\n-- Why.\nSELECT 1;\n\n-- second\nSELECT 2;\n"
    assert named_statements(text) == {"first": "-- Why.\nSELECT 1;", "second": "SELECT 2;"}

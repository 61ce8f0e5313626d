"""Every test of the contract runs on every engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.store.memory import MemoryStore
from taskyard.store.port import Store
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from tests.support.postgres import new_yard
from tests.support.records import Yard


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store that is not open yet."""
    opened: Store
    match request.param:
        case "memory":
            opened = MemoryStore(new_cluster_id="c_test")
        case "postgres":
            opened = PostgresStore(new_yard(), new_cluster_id="c_test", candidate=Candidate("h_test"))
        case _:
            opened = SqliteStore(tmp_path / "hub.db", new_cluster_id="c_test")
    yield opened
    opened.close()


@pytest.fixture
def yard(store: Store) -> Iterator[Yard]:
    yard = Yard(store)
    yield yard
    yard.reader.close()

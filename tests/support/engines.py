"""The engines by name, and what opens a store of each."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

from taskyard.store.memory import MemoryStore
from taskyard.store.port import Store
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from tests.support.postgres import lent_yard

CLUSTER_ID = "c_test"


class Engine(StrEnum):
    MEMORY = "memory"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


def opener(engine: Engine, directory: Path) -> Callable[[], Store]:
    """What makes one store again and again, not open yet, as one process after another does."""
    match engine:
        case Engine.MEMORY:
            kept = MemoryStore(new_cluster_id=CLUSTER_ID)
            return lambda: kept
        case Engine.SQLITE:
            return lambda: SqliteStore(directory / "taskyard.db", new_cluster_id=CLUSTER_ID)
        case Engine.POSTGRES:
            url = lent_yard()
            return lambda: PostgresStore(url, new_cluster_id=CLUSTER_ID, candidate=Candidate("h_test"))

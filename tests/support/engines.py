"""The engines, by name, and a store of each that nobody has opened."""

from enum import StrEnum
from pathlib import Path

from taskyard.store.memory import MemoryStore
from taskyard.store.port import Store
from taskyard.store.postgres import Candidate, PostgresStore
from taskyard.store.sqlite import SqliteStore
from tests.support.postgres import new_yard

CLUSTER_ID = "c_test"


class Engine(StrEnum):
    MEMORY = "memory"
    SQLITE = "sqlite"
    POSTGRES = "postgres"


def a_store(engine: Engine, directory: Path) -> Store:
    match engine:
        case Engine.MEMORY:
            return MemoryStore(new_cluster_id=CLUSTER_ID)
        case Engine.SQLITE:
            return SqliteStore(directory / "taskyard.db", new_cluster_id=CLUSTER_ID)
        case Engine.POSTGRES:
            return PostgresStore(new_yard(), new_cluster_id=CLUSTER_ID, candidate=Candidate("h_test"))

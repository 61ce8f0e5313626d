"""Every test of the contract runs on every engine; what only PostgreSQL does, on a server of the tests' own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.store.port import Store
from tests.support.engines import Engine, opener
from tests.support.postgres import Cluster, cluster, take_back
from tests.support.records import Yard


@pytest.fixture(autouse=True)
def _databases_are_lent() -> Iterator[None]:
    """Requested before all others, so that it ends when they have closed what they opened."""
    yield
    take_back()


@pytest.fixture(params=Engine)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store that is not open yet."""
    opened = opener(request.param, tmp_path)()
    yield opened
    opened.close()


@pytest.fixture
def yard(store: Store) -> Iterator[Yard]:
    yard = Yard(store)
    yield yard
    yard.reader.close()


@pytest.fixture
def server() -> Cluster:
    return cluster()


@pytest.fixture
def database(server: Cluster) -> str:
    return server.lend_database()

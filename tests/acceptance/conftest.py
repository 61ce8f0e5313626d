"""Fixtures of the acceptance tests: a yard per test, and one that the tests of a module share.

Whatever has a yard runs on both engines, but for what `sqlite_only.py` names; what `with_gateways.py` names runs with
gateways too.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.sqlite_only import SQLITE_ONLY
from tests.acceptance.with_gateways import WITH_GATEWAYS
from tests.support.engines import Engine
from tests.support.live import GATEWAYS, LiveHub, LiveYard, live_yard


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        name = metafunc.definition.originalname
        engines = [Engine.SQLITE] if name in SQLITE_ONLY else [Engine.SQLITE, Engine.POSTGRES]
        fronts = [0, GATEWAYS] if name in WITH_GATEWAYS else [0]
        yards = [(engine, gateways) for gateways in fronts for engine in engines]
        ids = [f"{engine}-gateways" if gateways else str(engine) for engine, gateways in yards]
        metafunc.parametrize(("engine", "gateways"), yards, ids=ids, scope="module")


@pytest.fixture
def yard(tmp_path: Path, engine: Engine, gateways: int) -> Iterator[LiveYard]:
    with live_yard(tmp_path, engine, gateways=gateways) as made:
        yield made


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine, gateways: int) -> Iterator[LiveHub]:
    """One hub for the tests of a module that leave no trace for each other."""
    with live_yard(tmp_path_factory.mktemp("shared"), engine, gateways=gateways) as made:
        yield made.hub()


@pytest.fixture
def client(shared_hub: LiveHub) -> Iterator[Client]:
    with shared_hub.client() as made:
        yield made

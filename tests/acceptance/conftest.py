"""Fixtures of the acceptance tests: a yard per test, and one that the tests of a module share.

Whatever has a yard runs on both engines, but for what `sqlite_only.py` names.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.sqlite_only import SQLITE_ONLY
from tests.support.engines import Engine
from tests.support.live import LiveHub, LiveYard, live_yard


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        name = metafunc.definition.originalname
        engines = [Engine.SQLITE] if name in SQLITE_ONLY else [Engine.SQLITE, Engine.POSTGRES]
        metafunc.parametrize("engine", engines, ids=str, scope="module")


@pytest.fixture
def yard(tmp_path: Path, engine: Engine) -> Iterator[LiveYard]:
    with live_yard(tmp_path, engine) as made:
        yield made


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Iterator[LiveHub]:
    """One hub for the tests of a module that leave no trace for each other."""
    with live_yard(tmp_path_factory.mktemp("shared"), engine) as made:
        yield made.hub()


@pytest.fixture
def client(shared_hub: LiveHub) -> Iterator[Client]:
    with shared_hub.client() as made:
        yield made

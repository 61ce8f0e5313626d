"""Fixtures of the acceptance tests: a yard per test, and one that the tests of a module share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.support.live import LiveHub, LiveYard, live_yard


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[LiveYard]:
    with live_yard(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveHub]:
    """One hub for the tests of a module that leave no trace for each other."""
    with live_yard(tmp_path_factory.mktemp("shared")) as made:
        yield made.hub()


@pytest.fixture
def client(shared_hub: LiveHub) -> Iterator[Client]:
    with shared_hub.client() as made:
        yield made

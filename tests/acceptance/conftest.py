"""Fixtures of the acceptance tests: a yard of a test's own, and a hub that tests share, each as a user of its own.

A test runs on SQLite, and where `both_engines` says so on PostgreSQL too: commits, recovery and look-ups are what it
shows. `make soak` runs all of them on PostgreSQL.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from taskyard.sdk.client import Client
from tests.acceptance.guests import SETTINGS, Guest
from tests.support.engines import Engine
from tests.support.live import LiveHub, LiveYard, live_yard


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "engine" in metafunc.fixturenames:
        always = metafunc.definition.get_closest_marker("both_engines") is not None
        other = pytest.param(Engine.POSTGRES, marks=() if always else pytest.mark.soak)
        metafunc.parametrize("engine", [Engine.SQLITE, other], ids=str, scope="session")


@pytest.fixture
def yard(tmp_path: Path, engine: Engine) -> Iterator[LiveYard]:
    with live_yard(tmp_path, engine) as made:
        yield made


@pytest.fixture(scope="session")
def shared_hub(tmp_path_factory: pytest.TempPathFactory, engine: Engine) -> Iterator[LiveHub]:
    """One hub for all tests that neither kill it nor need settings of their own."""
    with live_yard(tmp_path_factory.mktemp("shared"), engine) as made:
        yield made.hub(settings=SETTINGS)


@pytest.fixture
def guest(shared_hub: LiveHub) -> Guest:
    """A user of the test's own at the shared hub: it sees no other test's tasks and daemons."""
    return Guest(shared_hub)


@pytest.fixture
def client(guest: Guest) -> Iterator[Client]:
    with guest.client() as made:
        yield made

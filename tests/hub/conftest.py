"""Tests of hubs are coroutines, each with an event loop of its own; databases that hubs were lent are emptied."""

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from taskyard.hub import leadership, members
from tests.support.nodes import Place
from tests.support.postgres import cluster, take_back


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine as a hub's process runs one."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj) or pyfuncitem.get_closest_marker("anyio"):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    uvloop.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def _databases_are_lent() -> Iterator[None]:
    """Requested before all others, so that it ends when they have closed what they opened."""
    yield
    take_back()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Its hubs look around more often than those of a yard at work."""
    monkeypatch.setattr(leadership, "LOOK_S", 0.05)
    monkeypatch.setattr(leadership, "RETRY_S", 0.02)
    monkeypatch.setattr(members, "ANNOUNCE_S", 0.3)
    return Place(cluster(), tmp_path)

"""Tests of hubs are coroutines, each with an event loop of its own; databases that hubs were lent are emptied."""

import inspect
from collections.abc import Iterator

import pytest
import uvloop

from tests.support.postgres import take_back


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

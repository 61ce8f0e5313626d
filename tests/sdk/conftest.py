"""One suite for both clients: tests speak to `Driver`, which awaits where the client must be awaited."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from itertools import islice
from typing import Any

import pytest

from taskyard.sdk.async_client import AsyncClient
from taskyard.sdk.client import Client
from taskyard.sdk.retry import RetryPolicy
from tests.support.http_stub import KEY, StubHub, running_stub

QUICK = RetryPolicy(attempts_max=3, delay_s=0.001, delay_s_max=0.001)
LONGER = RetryPolicy(attempts_max=5, delay_s=0.001, delay_s_max=0.001)


class Driver:
    """Calls a client of either kind, and answers as if it were the plain one."""

    def __init__(self, url: str, *, asynchronous: bool) -> None:
        self._runner = asyncio.Runner() if asynchronous else None
        kind = AsyncClient if asynchronous else Client
        self.client: Any = kind(url, KEY, retry=QUICK, patience=LONGER, timeout_s=30)

    def do(self, outcome: Any) -> Any:
        """The value of what a call gave."""
        if inspect.isawaitable(outcome):
            assert self._runner is not None
            return self._runner.run(self._settled(outcome))
        return outcome

    def take(self, things: Any, count: int | None = None) -> list[Any]:
        """So many of what a call iterates over, and then no more."""
        if isinstance(things, AsyncIterator):
            assert self._runner is not None
            return self._runner.run(self._taken(things, count))
        with closing(things):
            return list(islice(things, count))

    def close(self) -> None:
        self.do(self.client.close())
        if self._runner is not None:
            self._runner.close()

    async def _settled(self, outcome: Any) -> Any:
        return await outcome

    async def _taken(self, things: Any, count: int | None) -> list[Any]:
        taken: list[Any] = []
        async with aclosing(things):
            while count is None or len(taken) < count:
                try:
                    taken.append(await anext(things))
                except StopAsyncIteration:
                    break
        return taken


@pytest.fixture
def hub() -> Iterator[StubHub]:
    with running_stub() as stub:
        yield stub


@pytest.fixture
def other_hub() -> Iterator[StubHub]:
    """Of the same yard."""
    with running_stub() as stub:
        yield stub


@pytest.fixture(params=["Client", "AsyncClient"])
def driver(request: pytest.FixtureRequest, hub: StubHub) -> Iterator[Driver]:
    driver = Driver(hub.url, asynchronous=request.param == "AsyncClient")
    yield driver
    driver.close()


@pytest.fixture
def driver_of_two(driver: Driver, hub: StubHub, other_hub: StubHub) -> Iterator[Driver]:
    """Its client knows both hubs."""
    made = Driver(f"{hub.url},{other_hub.url}", asynchronous=isinstance(driver.client, AsyncClient))
    yield made
    made.close()

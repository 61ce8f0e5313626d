from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.vocabulary import Scope
from tests.support.engines import Engine, opener
from tests.support.gateway_client import Client
from tests.support.gateway_hub import GatewayHub


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=Engine)
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GatewayHub]:
    made = GatewayHub(store=opener(request.param, tmp_path)())
    yield made
    made.close()


@pytest.fixture
async def app(hub: GatewayHub) -> AsyncIterator[GatewayApp]:
    built = build_app(hub, GatewaySettings())
    yield built
    await built.door.close()


@pytest.fixture
def ann(hub: GatewayHub, app: GatewayApp) -> Client:
    """A user with a key for tasks and for daemons."""
    return Client(app, hub.a_key(hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))

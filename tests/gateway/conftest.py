from collections.abc import AsyncIterator

import pytest

from taskyard.core.settings import Settings
from taskyard.gateway.app import GatewayApp, build_app
from taskyard.gateway.door import GatewaySettings
from taskyard.vocabulary import Scope
from tests.support.gateway_client import Client, Connection
from tests.support.gateway_hub import GatewayHub, a_hub


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def settings() -> Settings:
    """Those of the hub; a test that needs others says which."""
    return Settings()


@pytest.fixture
async def hub(settings: Settings) -> AsyncIterator[GatewayHub]:
    async with a_hub(settings) as made:
        yield made


@pytest.fixture
async def app(hub: GatewayHub) -> AsyncIterator[GatewayApp]:
    built = build_app(hub, GatewaySettings())
    yield built
    await built.door.close()


@pytest.fixture
async def ann(hub: GatewayHub, app: GatewayApp) -> Client:
    """An ordinary user."""
    return Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS))


@pytest.fixture
async def owner(hub: GatewayHub, app: GatewayApp) -> Client:
    """The same, who has daemons too."""
    return Client(app, await hub.a_key(await hub.a_user("ann"), Scope.TASKS, Scope.DAEMON))


@pytest.fixture
async def daemon(owner: Client) -> AsyncIterator[Connection]:
    """Connected and welcome."""
    async with owner.daemon() as connection:
        yield connection


@pytest.fixture
async def bob(hub: GatewayHub, app: GatewayApp) -> Client:
    """Another one."""
    return Client(app, await hub.a_key(await hub.a_user("bob"), Scope.TASKS))


@pytest.fixture
async def admin(hub: GatewayHub, app: GatewayApp) -> Client:
    return Client(app, await hub.a_key(await hub.a_user("root"), Scope.TASKS, Scope.ADMIN))

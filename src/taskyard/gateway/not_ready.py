"""What is answered under a hub's address before there is a hub behind it: that the process lives, and that it waits.

Every caller is told to come again, also one with a key: keys are known once the hub is there.
"""

from typing import Final

from taskyard.gateway.app import READS, GatewayApp
from taskyard.gateway.asgi import Receive, Scope
from taskyard.gateway.auth import Principal
from taskyard.gateway.call import Reply, RequestRefused, Stream
from taskyard.gateway.port import RETRY_AFTER_S
from taskyard.vocabulary import Refusal
from taskyard.wire.people import HealthAnswer

HEALTH: Final = "/healthz"
WAITS: Final = "This hub is starting and waits for its database; try again."


class NotReadyApp(GatewayApp):
    async def _answer(self, scope: Scope, _receive: Receive) -> Reply | Stream:
        if scope["path"] == HEALTH and scope["method"] in READS:
            return Reply(HealthAnswer("ok"))
        raise _not_ready()

    async def _socket_caller(self, _scope: Scope) -> Principal:
        raise _not_ready()


def _not_ready() -> RequestRefused:
    return RequestRefused(Refusal.STORE_UNAVAILABLE, WAITS, retry_after_s=RETRY_AFTER_S)

"""What all connections of one gateway share: the hub, who may come in, and who is inside."""

import asyncio
import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from taskyard.core.settings import Sizes
from taskyard.gateway.asgi import Receive, Scope
from taskyard.gateway.auth import Authenticator, AuthSettings, Principal
from taskyard.gateway.counted import Counted
from taskyard.gateway.port import Hub
from taskyard.gateway.refused_deliveries import RefusedDeliveries
from taskyard.gateway.sign_in import SignIn
from taskyard.vocabulary import Scope as KeyScope

if TYPE_CHECKING:
    from taskyard.gateway.call import Reply, Stream

REVIEW_S: Final = 2.0
# A revoked key must be out within 5 s: half of that, and a little for a busy loop.


class GatewaySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    host: str = "127.0.0.1"
    port: int = 8420
    hosts: tuple[str, ...] = ()
    """Names under which this hub may be addressed, besides loopback and `host`."""
    origins: tuple[str, ...] = ()
    """Web origins that may send unsafe requests, besides the hub's own."""
    auth: AuthSettings = AuthSettings()
    connections_max: int = 10_000
    subscribers_max: int = 1000


class Deadlines(Struct, frozen=True, kw_only=True):
    """How long a connection may take over a request before it is closed."""

    head_s: float = 10.0
    body_s: float = 30.0
    unread_s: float = 5.0
    """Of a body that was refused, for its sender to come to read why."""


class Description(Struct, frozen=True):
    """What the API says of itself."""

    openapi_json: bytes
    docs_html: bytes


class Visitor(Protocol):
    """A connection that stays."""

    principal: Principal

    def show_out(self) -> None:
        """Its credential has ended; there is nothing to come back with."""

    def send_home(self) -> None:
        """The hub stops; whoever comes back to the next one is welcome."""


class Door:
    def __init__(
        self,
        hub: Hub,
        settings: GatewaySettings,
        describe: Callable[[], Description],
        deadlines: Deadlines,
    ) -> None:
        self.hub = hub
        self.deadlines = deadlines
        self._describe = describe
        self._described: Description | None = None
        self.settings = settings
        self.sign_in = SignIn(hub, ticket_s=settings.auth.ticket_s, session_s=settings.auth.session_s)
        self.authenticator = Authenticator(hub, settings.auth, self.sign_in)
        self.answer: Callable[[Scope, Receive], Awaitable[Reply | Stream]]
        """To one request, for whoever is inside and asks as its caller. The application sets it."""
        self.session_ids: Iterator[int] = itertools.count(1)
        self.subscribers = 0
        self.requests: Counter[tuple[str, str, int]] = Counter()
        """Answered so far, by method, route and the hundreds of the status; no route is empty."""
        self.malformed = 0
        """Requests so far that broke the rules of HTTP. A line in the log for each could be had without a key."""
        self.refused_deliveries = RefusedDeliveries()
        self.counted = Counted(hub)
        self._visitors: set[Visitor] = set()
        self._is_closing = False
        self._review: asyncio.Task[None] | None = None

    @property
    def size(self) -> Sizes:
        """Those of this moment: the hub's settings may have changed since the last request."""
        return self.hub.settings.limits.size

    @property
    def description(self) -> Description:
        """Of the routes: made when somebody asks, since few do."""
        if self._described is None:
            self._described = self._describe()
        return self._described

    def adopt(self, settings: GatewaySettings) -> None:
        """Other settings hold from the next request on. Sessions and tickets that were given keep their time."""
        self.settings = settings
        self.sign_in.adopt(ticket_s=settings.auth.ticket_s, session_s=settings.auth.session_s)
        self.authenticator.adopt(settings.auth)

    def sign_in_link(self, *, user_id: str, base_url: str) -> str:
        """A link that signs a browser in once. For whoever starts the hub to print."""
        scopes = frozenset({KeyScope.TASKS, KeyScope.ADMIN})
        ticket = self.sign_in.ticket(user_id=user_id, scopes=scopes)
        return f"{base_url}/?ticket={ticket}"

    def sign_in_link_for_key(self, key_id: str, *, base_url: str) -> str:
        """A link that is worth what this key is, and ends with it."""
        ticket, _ = self.sign_in.ticket_for_key(key_id)
        return f"{base_url}/?ticket={ticket}"

    def enter(self, visitor: Visitor) -> None:
        if self._is_closing:
            # Those sent home are back before the socket stops listening.
            visitor.send_home()
            return
        self._visitors.add(visitor)
        if self._review is None:
            self._review = asyncio.get_running_loop().create_task(self._review_visitors())

    def leave(self, visitor: Visitor) -> None:
        self._visitors.discard(visitor)

    async def _review_visitors(self) -> None:
        """Runs while anybody is inside."""
        while self._visitors:
            await asyncio.sleep(REVIEW_S)
            for visitor in tuple(self._visitors):
                if not self.authenticator.is_valid(visitor.principal):
                    visitor.show_out()
        self._review = None

    async def close(self) -> None:
        self._is_closing = True
        for visitor in tuple(self._visitors):
            visitor.send_home()
        self._visitors.clear()
        if self._review is not None:
            self._review.cancel()
            self._review = None

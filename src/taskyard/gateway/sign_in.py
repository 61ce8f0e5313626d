"""How a browser gets in: by a one-time link or by a key, each exchanged for a session cookie.

A link is printed by whoever starts the hub, or asked for with a key, and then worth what the key is. The cookie is
`HttpOnly` and `SameSite=Strict`, and an unsafe request that relies on it must also carry a header that no form of
another site can set.

Both carry under the yard's seal all there is to know of them, so every gateway of a yard takes what another one gave,
and a restart signs nobody out. Whether a link was used, the hub that leads remembers for as long as it leads; a link
that was made under another leader is worth nothing. Of sessions nobody keeps anything: none is ended on its own, each
ends with its time, with its user or its key, or with the yard's secret.
"""

from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from taskyard.gateway.port import Hub
from taskyard.vocabulary import Scope

COOKIE: Final = "taskyard_session"
REQUEST_HEADER: Final = b"x-taskyard-request"
TICKET_CHARS_MAX: Final = 1024
TICKET, SESSION, KEY_TICKET, KEY_SESSION = "ticket", "session", "key-ticket", "key-session"


class Session(Struct, frozen=True, array_like=True):
    """Hubs one version apart read each other's: fields are added at the end, never changed."""

    id: str
    user_id: str
    scopes: frozenset[Scope]
    expires_at: int


class KeySession(Struct, frozen=True, array_like=True):
    """Stands for a key: whose it is and what it may do is looked up there each time.

    Sealed for a purpose of its own, so that a hub that does not know of it opens nothing with it.
    """

    id: str
    key_id: str
    expires_at: int


class Ticket(Struct, frozen=True, array_like=True):
    """The same holds; no kind of session, since a field that is added there would push `epoch` from its place."""

    id: str
    user_id: str
    scopes: frozenset[Scope]
    expires_at: int
    epoch: int


class KeyTicket(Struct, frozen=True, array_like=True):
    """Signs in as whoever showed the key does, and is sealed for a purpose of its own like what it is given for."""

    id: str
    key_id: str
    expires_at: int
    epoch: int


Given = TypeVar("Given", Session, KeySession, Ticket, KeyTicket)


class SignIn:
    def __init__(self, hub: Hub, *, ticket_s: int, session_s: int) -> None:
        self._hub = hub
        self.adopt(ticket_s=ticket_s, session_s=session_s)

    def adopt(self, *, ticket_s: int, session_s: int) -> None:
        self._ticket_ms = ticket_s * 1000
        self._session_ms = session_s * 1000

    def ticket(self, *, user_id: str, scopes: frozenset[Scope]) -> str:
        """What signs in once, soon, while the hub leads that leads now."""
        hub = self._hub
        return self._sealed(
            TICKET, Ticket(hub.mint(), user_id, scopes, hub.now_ms() + self._ticket_ms, hub.identity.epoch)
        )

    def ticket_for_key(self, key_id: str) -> tuple[str, int]:
        """The same for whoever showed this key; and when it ends."""
        hub, expires_at = self._hub, self._hub.now_ms() + self._ticket_ms
        return self._sealed(KEY_TICKET, KeyTicket(hub.mint(), key_id, expires_at, hub.identity.epoch)), expires_at

    async def exchange(self, sealed: str) -> str | None:
        """A session for the cookie; the ticket is spent. Raises `Unavailable`, and then it may be."""
        hub = self._hub
        ticket = self._opened(TICKET, sealed, Ticket) or self._opened(KEY_TICKET, sealed, KeyTicket)
        if ticket is None or not await hub.redeem(ticket.id, ticket.expires_at):
            return None
        # Looked at last: should the lead have moved while we asked, it was the next leader who saw the ticket first.
        if ticket.epoch != hub.identity.epoch:
            return None
        if isinstance(ticket, KeyTicket):
            return self.for_key(ticket.key_id)
        return self._sealed(
            SESSION, Session(hub.mint(), ticket.user_id, ticket.scopes, hub.now_ms() + self._session_ms)
        )

    def for_key(self, key_id: str) -> str:
        """A session for the cookie of whoever showed this key."""
        hub = self._hub
        return self._sealed(KEY_SESSION, KeySession(hub.mint(), key_id, hub.now_ms() + self._session_ms))

    def session(self, sealed: str) -> Session | KeySession | None:
        return self._opened(SESSION, sealed, Session) or self._opened(KEY_SESSION, sealed, KeySession)

    def _sealed(self, purpose: str, given: Session | KeySession | Ticket | KeyTicket) -> str:
        return self._hub.seal(purpose, msgspec.json.encode(given).decode())

    def _opened(self, purpose: str, sealed: str, kind: type[Given]) -> Given | None:
        text = self._hub.unseal(purpose, sealed)
        if text is None:
            return None
        try:
            given = msgspec.json.decode(text, type=kind)
        except msgspec.ValidationError:
            # A newer hub of the yard gave it, with a scope that we do not know.
            return None
        return given if given.expires_at > self._hub.now_ms() else None


def cookie_of(session: str, *, session_s: int, is_secure: bool) -> tuple[bytes, bytes]:
    """The header that has a browser keep a session; for no time at all: forget it."""
    secure = "; Secure" if is_secure else ""
    cookie = f"{COOKIE}={session}; Path=/; HttpOnly; SameSite=Strict; Max-Age={session_s}{secure}"
    return b"set-cookie", cookie.encode()

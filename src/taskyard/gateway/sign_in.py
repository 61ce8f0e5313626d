"""How a browser gets in: a one-time link, exchanged once for a session cookie.

The link is printed by whoever starts the hub. The cookie is `HttpOnly` and `SameSite=Strict`, and an
unsafe request that relies on it must also carry a header that no form of another site can set. Both
live in memory: a restart signs browsers out, and nothing worth stealing is on disk.
"""

import hashlib
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from taskyard.vocabulary import Scope

COOKIE: Final = "taskyard_session"
REQUEST_HEADER: Final = b"x-taskyard-request"
TICKETS_MAX: Final = 100
SESSIONS_MAX: Final = 10_000


class Session(Struct, frozen=True):
    user_id: str
    scopes: frozenset[Scope]
    expires_at: int


class SignIn:
    def __init__(self, *, mint_secret: Callable[[], str], ticket_s: int, session_s: int) -> None:
        self._mint_secret = mint_secret
        self.adopt(ticket_s=ticket_s, session_s=session_s)
        # By hash, like keys: what is in memory opens nothing.
        self._tickets: dict[str, Session] = {}
        self._sessions: dict[str, Session] = {}

    def adopt(self, *, ticket_s: int, session_s: int) -> None:
        self._ticket_ms = ticket_s * 1000
        self._session_ms = session_s * 1000

    def ticket(self, *, user_id: str, scopes: frozenset[Scope], now_ms: int) -> str:
        """A secret that signs in once, soon."""
        secret = self._mint_secret()
        _keep(self._tickets, secret, Session(user_id, scopes, now_ms + self._ticket_ms), TICKETS_MAX)
        return secret

    def exchange(self, ticket: str, now_ms: int) -> str | None:
        """A session's secret for the cookie; the ticket is spent."""
        offered = self._tickets.pop(_hash(ticket), None)
        if offered is None or offered.expires_at <= now_ms:
            return None
        secret = self._mint_secret()
        session = Session(offered.user_id, offered.scopes, now_ms + self._session_ms)
        _keep(self._sessions, secret, session, SESSIONS_MAX)
        return secret

    def session(self, secret: str, now_ms: int) -> Session | None:
        session = self._sessions.get(_hash(secret))
        return None if session is None or session.expires_at <= now_ms else session

    def end(self, secret: str) -> None:
        self._sessions.pop(_hash(secret), None)


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _keep(table: dict[str, Session], secret: str, session: Session, size_max: int) -> None:
    if len(table) >= size_max:
        del table[next(iter(table))]
    table[_hash(secret)] = session
